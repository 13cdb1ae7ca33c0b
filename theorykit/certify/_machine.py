"""Run a jaxpr, the program that JAX makes of a function, on numbers that carry their error.

Numbers live in numpy object arrays; integers and truth values in numpy arrays of their own dtype,
exact. The field says what a number is: a ball (`REALS`), or something else with the same methods
(`_growth.Bound`, a quotient of polynomials in `_quotients`). Each primitive has one rule; rules
live in `_elementwise`, `_choice`, `_structure`, `_control` and `_linalg`.

An equation that cannot be certified does not stop the run: its outputs are `Unknown`, which is
raised only if a result depends on it.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from theorykit.certify import _numbers
from theorykit.certify._spans import Mixed


class NotCertifiable(ValueError):
    """The function cannot be enclosed; one sentence names the primitive, its shape and the place.

    **Fields:** `primitive`; `place`, a file and line of the function, or ""; `hopeless`, whether
    there is no rule, so that no other point or precision would help.
    """

    def __init__(self, message: str, primitive: str = "", place: str = "", hopeless: bool = False):
        super().__init__(message)
        self.primitive, self.place, self.hopeless = primitive, place, hopeless


@dataclasses.dataclass(frozen=True)
class Unknown:
    """The value of an equation that could not be certified, and why."""

    why: NotCertifiable


class Doubt(Exception):
    """Raised by a rule that cannot go on; the machine adds primitive, shape and place."""


class NoRule(Doubt):
    """Raised for a primitive that has no rule."""


@dataclasses.dataclass(frozen=True)
class Field:
    """What numbers are: how a constant becomes one, and how two of them compare."""

    constant: Callable[[Any], Any]
    less: Callable[[Any, Any], bool | None]
    equal: Callable[[Any, Any], bool | None]
    rules: Mapping[str, "Rule"] | None = None
    """Rules of its own, in place of the general ones; None stands for no difference."""
    root: Callable[[Any], Any] = lambda x: x.sqrt()
    """The square root of what is certainly positive."""
    wide: Callable[[Any], bool] | None = None
    """Whether a number is a wide ball; None if the numbers are not balls."""
    many: bool = False
    """Whether a number is a vector, so that a maximum is taken piece by piece."""


REALS = Field(_numbers.constant, _numbers.less, _numbers.equal, wide=_numbers.is_wide)

Rule = Callable[..., Any]
RULES: dict[str, Rule] = {}
"""What each primitive does with numbers, by its name."""
TAKES_UNKNOWN: set[str] = set()


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register the rule of these primitives: called with machine, equation and inputs."""

    def register(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, function))
        return function

    return register


@dataclasses.dataclass
class Machine:
    """One run.

    **Fields:** `field`; `hull`, whether a choice that the numbers leave open takes both branches
    (their union) in place of raising; `analytic`, for complex numbers: a choice that is left open
    gives NaN, since the union is not analytic; `culprit`, the first equation that made a number
    without bounds from numbers that had them; `remembers`, whether wide numbers remember what they
    were made of, in `origins`: by identity, the number, the name of a function, its arguments;
    `shares`, the parts of sums of exponentials that were found, see `_fused`.
    """

    field: Field = REALS
    hull: bool = False
    analytic: bool = False
    culprit: NotCertifiable | None = None
    calls: list[Any] = dataclasses.field(default_factory=list, repr=False)
    remembers: bool = False
    origins: dict[int, tuple[Any, str, tuple[Any, ...]]] = dataclasses.field(
        default_factory=dict, repr=False
    )
    shares: dict[tuple[int, ...], tuple[Any, Any]] = dataclasses.field(
        default_factory=dict, repr=False
    )
    spend: Callable[[int], None] | None = None

    def run(self, jaxpr: Any, consts: Sequence[Any], args: Sequence[Any]) -> list[Any]:
        """Return the outputs of a jaxpr at these arrays; an `Unknown` may be among them."""
        values: dict[Any, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
        values.update(zip(jaxpr.invars, args, strict=True))
        for eqn in _needed(jaxpr):
            inputs = [self._read(values, atom) for atom in eqn.invars]
            self.calls.append(eqn)
            outputs = self._step(eqn, inputs)
            self.calls.pop()
            values.update(zip(eqn.outvars, outputs, strict=True))
        return [self._read(values, atom) for atom in jaxpr.outvars]

    def closed(self, closed: Any, args: Sequence[Any]) -> list[Any]:
        """Return the outputs of a closed jaxpr."""
        return self.run(closed.jaxpr, [self.array(c) for c in closed.consts], args)

    def array(self, value: Any) -> Any:
        """Return a constant of a program as this machine's array; `Unknown` if it is no number."""
        if isinstance(value, np.ndarray) and value.dtype == object:
            return value
        dtype: Any = getattr(value, "dtype", None)
        try:
            value = np.asarray(value)
        except TypeError:  # of a dtype of JAX's own
            pass
        else:
            dtype = value.dtype
        if jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key):
            return Unknown(NotCertifiable(f"a constant is a random key: {_missing('random')}."))
        if not isinstance(value, np.ndarray) or dtype.kind not in "biufcV":
            return Unknown(NotCertifiable(f"a constant of dtype {dtype} cannot be enclosed."))
        if dtype.kind in "biu":
            return value
        made = np.empty(value.shape, dtype=object)
        flat, seen = made.reshape(-1), {}
        for i, x in enumerate(value.astype(complex if value.dtype.kind == "c" else float).flat):
            if x not in seen:
                seen[x] = self.field.constant(x)
            flat[i] = seen[x]
        return made

    def number(self, value: Any) -> Any:
        """Return one exact number of this machine's field."""
        return self.field.constant(value)

    def _read(self, values: dict[Any, Any], atom: Any) -> Any:
        return self.array(atom.val) if hasattr(atom, "val") else values[atom]

    def _step(self, eqn: Any, inputs: list[Any]) -> list[Any]:
        name = eqn.primitive.name
        if self.spend is not None:
            self.spend(_cost(eqn))
        if name not in TAKES_UNKNOWN:
            for value in inputs:
                if isinstance(value, Unknown):
                    return [value] * len(eqn.outvars)
        try:
            found = self.field.rules.get(name) if self.field.rules is not None else RULES.get(name)
            if not any(map(is_inexact, (*eqn.invars, *eqn.outvars))) and name not in CALLS:
                outputs = _exactly(eqn, inputs, found, self)
            elif found is None:
                raise NoRule(_missing(name))
            else:
                outputs = found(self, eqn, *inputs)
        except Mixed:  # an answer for all pieces is wanted, see _many
            raise
        except NotCertifiable as error:
            return [Unknown(error)] * len(eqn.outvars)
        except Exception as error:  # whatever a rule, flint or JAX says of these numbers
            return [Unknown(self.doubt(eqn, error))] * len(eqn.outvars)
        outputs = outputs if isinstance(outputs, list) else [outputs]
        for value, variable in zip(outputs, eqn.outvars, strict=True):
            if not isinstance(value, Unknown) and value.shape != variable.aval.shape:
                raise AssertionError(
                    f"the rule of {name} gave the shape {value.shape}, not {variable.aval.shape}"
                )
        return outputs

    def doubt(self, eqn: Any, why: Any) -> NotCertifiable:
        """Return the error of an equation: what it is, its shape, its place, and why."""
        name = eqn.primitive.name
        # Equations inside JAX's own functions have no place of their own; the call that led there
        # has.
        place = next(filter(None, map(place_of, (eqn, *reversed(self.calls)))), "")
        shapes = ", ".join(_shown(v.aval) for v in eqn.invars) or "nothing"
        where = f" at {place}" if place else ""
        said = str(why) or type(why).__name__
        reason = said if isinstance(why, Doubt) else f"these numbers do not allow it ({said})"
        sentence = f"{name} of {shapes}{where}: {reason}."
        return NotCertifiable(sentence, name, place, isinstance(why, NoRule))

    def blame(self, eqn: Any, why: str) -> None:
        """Note the first equation after which nothing is known of a number."""
        if self.culprit is None:
            self.culprit = self.doubt(eqn, Doubt(why))


CALLS = {
    "jit",
    "pjit",
    "cond",
    "while",
    "scan",
    "custom_jvp_call",
    "custom_vjp_call",
    "checkpoint",
    "remat2",
}


CUBIC = {"cholesky", "lu", "eigh", "svd", "triangular_solve", "custom_linear_solve"}


def _cost(eqn: Any) -> int:
    """Return about how many operations an equation takes; those inside a call count there."""
    name = eqn.primitive.name
    if name in CALLS:
        return 0
    shapes = [getattr(v.aval, "shape", ()) for v in (*eqn.invars, *eqn.outvars)]
    count = 100 + sum(map(math.prod, shapes))  # the equation itself costs about a hundred
    if name == "dot_general":
        (summed, _), _ = eqn.params["dimension_numbers"]
        return count + math.prod(shapes[-1]) * math.prod(shapes[0][i] for i in summed)
    return count * max(s[-1] for s in shapes if s) if name in CUBIC else count


def is_inexact(atom: Any) -> bool:
    """Whether a variable or literal of a jaxpr holds real or complex numbers."""
    return _inexact(getattr(atom.aval, "dtype", None))


@functools.cache
def _inexact(dtype: Any) -> bool:
    if dtype is None or jax.dtypes.issubdtype(dtype, jax.dtypes.extended):
        return False
    return np.dtype(dtype).kind not in "biu"


def _exactly(eqn: Any, inputs: list[Any], found: Rule | None, machine: Machine) -> list[Any]:
    """Evaluate an equation on integers and truth values, which are exact."""
    name = eqn.primitive.name
    if name in RANDOM or any(_is_key(v) for v in (*eqn.invars, *eqn.outvars)):
        raise NoRule(_missing(name))
    undecided = any(isinstance(x, np.ndarray) and x.dtype == object for x in inputs)
    if found is not None and (undecided or name in IN_NUMPY):
        outputs = found(machine, eqn, *inputs)
        outputs = outputs if isinstance(outputs, list) else [outputs]
        if undecided:
            return outputs
        return [
            np.asarray(x).astype(v.aval.dtype) for x, v in zip(outputs, eqn.outvars, strict=True)
        ]
    if undecided:
        raise Doubt("a comparison before it could not be decided")
    with jax.enable_x64(True):
        outputs = eqn.primitive.bind(*map(jax.numpy.asarray, inputs), **eqn.params)
    return [np.asarray(x) for x in (outputs if eqn.primitive.multiple_results else [outputs])]


IN_NUMPY: set[str] = set()
"""Primitives whose rule serves integers as well, faster than a compilation."""

RANDOM = {
    "random_bits", "random_seed", "random_wrap", "random_unwrap", "random_fold_in", "random_split",
    "random_clone", "random_gamma", "threefry2x32", "rng_bit_generator", "rng_uniform",
}  # fmt: skip


def _is_key(atom: Any) -> bool:
    dtype = getattr(atom.aval, "dtype", None)
    return dtype is not None and jax.dtypes.issubdtype(dtype, jax.dtypes.extended)


def _missing(name: str) -> str:
    if name in RANDOM or name.startswith("random"):
        return "random numbers cannot be enclosed; draw them before and give them as an argument"
    if "callback" in name:
        return "a call back to Python cannot be enclosed; write it in JAX, or leave it out"
    return f"there is no rule that encloses the primitive {name}"


@functools.lru_cache(maxsize=1024)
def _needed(jaxpr: Any) -> list[Any]:
    """Return the equations that the outputs depend on."""
    wanted = {v for v in jaxpr.outvars if not hasattr(v, "val")}
    kept = []
    for eqn in reversed(jaxpr.eqns):
        if wanted.intersection(eqn.outvars) or (eqn.effects and not eqn.outvars):
            kept.append(eqn)
            wanted.update(v for v in eqn.invars if not hasattr(v, "val"))
    return kept[::-1]


def place_of(eqn: Any) -> str:
    """Return file:line of the function that an equation comes from, or ""."""
    try:
        from jax.extend import source_info_util

        text = source_info_util.summarize(eqn.source_info)
    except Exception:
        return ""
    path, colon, rest = text.partition(":")
    return f"{Path(path).name}:{rest.split(':')[0].split(' ')[0]}" if colon else ""


def _shown(aval: Any) -> str:
    dtype = getattr(aval, "dtype", None)
    shape = ",".join(map(str, getattr(aval, "shape", ())))
    return f"{dtype}[{shape}]"

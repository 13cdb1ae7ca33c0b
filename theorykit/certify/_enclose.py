"""Enclose a JAX function: bounds that hold whatever the rounding."""

import dataclasses
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flint import acb, arb
from jaxtyping import Shaped

from theorykit.certify import (  # noqa: F401
    _choice,
    _constants,
    _control,
    _elementwise,
    _fused,
    _layer_norm,
    _linalg,
    _structure,
)
from theorykit.certify._machine import Machine, NotCertifiable, Unknown
from theorykit.certify._numbers import ball, float_above, float_below, objects, precision
from theorykit.common import picture
from theorykit.common.arguments import function, instance


@dataclasses.dataclass(frozen=True, eq=False)
class Balls:
    """An array of balls, each of which contains the number that it stands for.

    **Fields:** `array`, of the dtype object: python-flint's `arb` (or `acb`).
    `float(balls)` of one ball is its midpoint.
    """

    array: Shaped[np.ndarray, "..."]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self.array.shape

    @property
    def lower(self) -> Any:
        """Float64 bounds from below, rounded down; a float where there is one ball."""
        return self._floats(float_below)

    @property
    def upper(self) -> Any:
        """Float64 bounds from above, rounded up; a float where there is one ball."""
        return self._floats(float_above)

    @property
    def radius(self) -> float:
        """The largest radius."""
        return max((float_above(b.rad()) for b in self.array.flat), default=0.0)

    def contains(self, value: Any) -> bool:
        """Whether every ball contains the exact number at the same place.

        **Raises:** `ValueError` for anything but numbers, or for another shape.
        """
        others = _objects_of(value)
        try:
            others = np.broadcast_to(others, self.shape)
        except ValueError:
            raise ValueError(
                f"there are balls of the shape {self.shape}, and numbers of {others.shape}."
            ) from None
        with precision(1024):  # a fraction becomes a ball too, far smaller than these
            pairs = zip(self.array.flat, map(ball, others.flat), strict=True)
            return all((acb(b) if isinstance(v, acb) else b).contains(v) for b, v in pairs)

    def _floats(self, of: Callable[[arb], float]) -> Any:
        if any(isinstance(b, acb) for b in self.array.flat):
            raise ValueError("complex balls have no lower and upper; take .array's real and imag.")
        made = np.array([of(b) for b in self.array.flat], dtype=float).reshape(self.shape)
        return made if self.shape else float(made)

    def __getitem__(self, index: Any) -> "Balls":
        part = self.array[index]
        return Balls(part if isinstance(part, np.ndarray) else objects(part, ()))

    def __len__(self) -> int:
        return len(self.array)

    def __float__(self) -> float:
        return float(self.array.item().mid())

    def __repr__(self) -> str:
        if not self.shape:
            return f"Balls({shown(self.array.item())})"
        text = np.array2string(self.array, formatter={"object": shown}, separator=", ")
        return f"Balls({text})"

    def __str__(self) -> str:
        """Return one line: the ball, or how many balls and how wide they are."""
        if not self.shape or self.array.size == 1:
            return shown(self.array.item())
        size = " x ".join(map(str, self.shape))
        return f"{size} balls, the widest of radius {self.radius:.3g}"

    _repr_html_ = picture.html


MOST = 40
"""The most balls that are shown one by one."""


@picture.pieces.register
def _(balls: Balls) -> list[Any]:
    found = list(np.ndenumerate(balls.array))
    rows = [{"entry": ", ".join(map(str, at)) or "all", "enclosed in": shown(b)} for at, b in found]
    return [picture.Words(f"{balls}."), picture.Rows(rows[:MOST])]


def shown(x: Any) -> str:
    """Return a ball in decimals, with as many digits as are certain.

    **Raises:** `ValueError` for anything but a ball.
    """
    instance("x", x, arb | acb, "a ball, python-flint's arb or acb")
    if isinstance(x, arb) and x in (arb.pos_inf(), arb.neg_inf()):
        return "inf" if x > 0 else "-inf"
    digits = max(3, min(60, int(x.rel_accuracy_bits() * 0.30103))) if not x.is_exact() else 40
    return str(x.str(digits)) if isinstance(x, arb) else str(x)


LEAVES_JAX = (
    jax.errors.ConcretizationTypeError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
    jax.errors.NonConcreteBooleanIndexError,
)


@dataclasses.dataclass(frozen=True)
class Program:
    """A function traced once, to be run at many points, precisions and kinds of numbers."""

    closed: Any
    tree: Any

    @classmethod
    def trace(cls, f: Callable[..., Any], like: Sequence[Any]) -> "Program":
        """Trace a function at arguments of these shapes; floats are float64.

        **Raises:** `NotCertifiable` if it cannot be traced; `ValueError` if it returns anything
        but arrays and trees of them.
        """
        found = lambda *args: jax.tree.map(_found, f(*args))
        with jax.enable_x64(True):
            try:
                closed, shape = jax.make_jaxpr(found, return_shape=True)(*like)
            except LEAVES_JAX as error:
                first = str(error).split("\n")[0].rstrip(".")
                raise NotCertifiable(
                    f"the function branches in Python on a number that it is given, or leaves JAX "
                    f"({first}); write the branch with jnp.where or lax.cond."
                ) from error
        return cls(closed, jax.tree.structure(shape))

    def run(self, machine: Machine, leaves: Sequence[Any]) -> list[Any]:
        """Return the outputs, one array per leaf.

        **Raises:** `NotCertifiable` if one of them cannot be certified.
        """
        wide = machine.field.wide
        machine.remembers = wide is not None and any(
            x.dtype == object and any(map(wide, x.flat)) for x in leaves
        )
        outputs = machine.closed(self.closed, leaves)
        for value in outputs:
            if isinstance(value, Unknown):
                raise value.why
        return outputs


def enclose(f: Callable[..., Any], *args: Any, bits: int = 128) -> Any:
    """Evaluate a JAX function in ball arithmetic: what it returns lies within the balls.

    The function is traced to its jaxpr, which is then run on balls; so it may be a gradient or a
    Hessian. Numbers are real numbers: rounding to float32 or float64 is not modelled, and a float
    argument or constant is taken as its exact value (`exact("1/3")` is a third).

    **Arguments:** `f`: a function of arrays; `args`: numbers, arrays and trees of floats,
    integers, `Fraction`s, decimal strings, `arb`, `acb` or `Balls`; an integer counts as an
    integer, as in JAX. `bits`: the working precision.

    **Returns:** what `f` returns, with `Balls` in place of real arrays; integers and truth values
    are numpy arrays, exact.

    **Raises:** `NotCertifiable` if a comparison that matters cannot be decided, a primitive has no
    rule, or nothing is known of a result, and says where; `ValueError` for NaN, infinity, a random
    key, too few bits, or anything but a function.
    """
    function("f", f, "a function of arrays")
    with precision(bits):
        leaves, like = arguments(args)
        program = Program.trace(f, like)
        machine = Machine()
        outputs = program.run(machine, leaves)
        refuse_unbounded(machine, outputs)
        made = [Balls(x) if isinstance(x, np.ndarray) and x.dtype == object else x for x in outputs]
        return jax.tree.unflatten(program.tree, made)


def refuse_unbounded(machine: Machine, outputs: Sequence[Any]) -> None:
    """Raise if nothing is known of a result, and say which equation lost it."""
    for x in outputs:
        if x.dtype != object:
            continue
        for b in x.flat:
            if not b.is_finite() and b not in (arb.pos_inf(), arb.neg_inf()):
                raise machine.culprit or NotCertifiable(
                    "a result cannot be bounded: it is NaN, or too large."
                )


def arguments(args: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Return the leaves as arrays of balls and integers, and placeholders of the same shapes."""
    leaves: list[Any] = []

    def placeholder(leaf: Any) -> Any:
        value = number_array(leaf)
        leaves.append(value)
        with jax.enable_x64(True):
            if value.dtype != object:
                return jnp.asarray(value)
            kind = complex if any(isinstance(v, acb) for v in value.flat) else float
            return jnp.zeros(value.shape, kind)

    like = [jax.tree.map(placeholder, a, is_leaf=_is_leaf) for a in args]
    return leaves, like


def _found(leaf: Any) -> Any:
    """Return what a function returned, if JAX accepts it as an array."""
    numbers = jax.Array | np.ndarray | np.generic | int | float | complex
    return instance("what the function returns", leaf, numbers, "arrays of numbers")


def _is_leaf(x: Any) -> bool:
    if isinstance(x, Balls | arb | acb | Fraction | str | np.ndarray):
        return True
    return isinstance(x, list | tuple) and not hasattr(x, "_fields") and _nested_numbers(x)


def _nested_numbers(x: Any) -> bool:
    """Whether a list is an array written down: numbers in equal rows."""
    if isinstance(x, list):
        return bool(x) and all(_nested_numbers(v) for v in x)
    return isinstance(x, int | float | Fraction | str | arb | acb | np.number)


def number_array(leaf: Any) -> Shaped[np.ndarray, "..."]:
    """Return one argument as an array of balls, or of integers or truth values.

    **Raises:** `ValueError` if it holds no numbers, NaN or infinity, or is a random key.
    """
    if isinstance(leaf, jax.Array) and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        raise ValueError(
            "a random key cannot be enclosed; draw the numbers first and give them as an argument."
        )
    if isinstance(leaf, np.ndarray | jax.Array) and np.dtype(leaf.dtype).kind in "biu":
        return np.asarray(leaf)
    given = _objects_of(leaf)
    if given.size and all(isinstance(v, int | np.bool_ | np.integer) for v in given.flat):
        whole = np.asarray(given.tolist())
        if whole.dtype.kind in "biu":  # larger integers are numbers like others
            return whole
    made = np.empty(given.shape, dtype=object)
    for where in np.ndindex(given.shape):
        try:
            made[where] = ball(given[where])
        except ValueError as error:
            at = f" (entry {list(where)})" if where else ""
            raise ValueError(f"an argument cannot be enclosed{at}: {error}") from None
    return made


def _objects_of(leaf: Any) -> Shaped[np.ndarray, "..."]:
    if isinstance(leaf, Balls):
        return leaf.array
    if isinstance(leaf, list):
        rows = [_objects_of(v) for v in leaf]
        if len({r.shape for r in rows}) > 1:
            raise ValueError(f"the rows of an argument differ in shape: {[r.shape for r in rows]}.")
        return np.stack(rows) if rows else np.empty(0, dtype=object)
    if isinstance(leaf, np.ndarray | jax.Array):
        a = np.asarray(leaf)
        return a if a.dtype == object else objects(a, a.shape)
    return objects(leaf, ())

"""Where a claim is asserted to hold: named arguments, their shapes, and the sizes to try.

A domain is reached from unconstrained real numbers in two steps, so that a gradient can move
about in it freely:

    latent  --squash-->  parameter  --finish-->  value
    z       --exp----->  x > 0      --as it is-> x > 0
    F       --as it is-> F          --F F^T----> a positive semidefinite matrix

The parameter is what a witness is simplified in: its entries may be rounded or set to zero as
long as `contains` says that they are still allowed.
"""

import dataclasses
import functools
import inspect
import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from theorykit.common.arguments import as_array, instance, real, shown, whole
from theorykit.common.arguments import function as callable_
from theorykit.common.arguments import positive as above_0

__all__ = [
    "PSD",
    "Choices",
    "Domain",
    "Inputs",
    "Integers",
    "Interval",
    "Positive",
    "Reals",
    "Simplex",
    "choices",
    "inputs",
    "integers",
    "interval",
    "positive",
    "psd",
    "reals",
    "resolve",
    "simplex",
]

Function = TypeVar("Function", bound=Callable[..., Any])
Shape = str | int | Sequence[str | int]
Sizes = Mapping[str, Any]

LARGE = 30.0
"""The largest latent among the structured ones: exp(-30) is 1e-13, still above rounding."""

_SCALES = (0.03, 0.3, 1.0, 1.0, 3.0, 10.0)


@dataclasses.dataclass(frozen=True)
class Domain:
    """One argument's set of values. A new kind overrides `squash`, `finish` or `contains`.

    **Arguments:** `shape`: dimensions, each an integer, a size's name or a sum of products of
    the two (`"T"`, `"T T"`, `"2*T d+1"`, `("T", 3)`; `""` is a scalar).
    """

    shape: Shape = ""

    differentiable = True

    def __post_init__(self):
        _dimensions(self.shape)

    def latent_shape(self, sizes: Sizes) -> tuple[int, ...]:
        """Return the shape of the latent at these sizes."""
        return resolve(self.shape, sizes)

    def squash(self, latent: Any, xp: Any) -> Any:
        """Map real numbers to the parameter, entry by entry, with the functions of `xp`."""
        return latent

    def finish(self, parameter: Any, sizes: Sizes, xp: Any) -> Any:
        """Map the parameter to the value that the claim's functions take."""
        return parameter

    def made_from(self, name: str) -> str:
        """Return how the argument of this name is made from its parameter, "" if it is that."""
        return ""

    def contains(self, parameter: np.ndarray) -> bool:
        """Whether this parameter is allowed; asked while a witness is simplified."""
        return bool(np.isfinite(parameter).all())

    def structured(self, sizes: Sizes) -> list[np.ndarray]:
        """Return the latents worth trying first: zeros, ones, one large entry, ties, ..."""
        shape = self.latent_shape(sizes)
        count = math.prod(shape)
        flat = np.arange(count)
        first, sign = (flat == 0).astype(float), 1.0 - 2.0 * (flat % 2)
        half = (flat < (count + 1) // 2).astype(float)
        patterns = [
            0.0 * first,
            1.0 + 0.0 * first,
            3.0 * first,
            -3.0 * first,
            sign,
            half - 1.0,  # two groups of equal entries
            3.0 * half + first,
            np.linspace(-2.0, 2.0, count) if count > 1 else 2.0 + 0.0 * first,
            LARGE * first,
            -LARGE * first,
            LARGE * sign,
            LARGE * half,
            1e-3 * sign,
        ]
        if len(shape) == 2 and shape[0] == shape[1]:
            patterns += [np.eye(shape[0]).ravel(), 3.0 * np.eye(shape[0])[::-1].ravel()]
        distinct = {p.tobytes(): p.reshape(shape) for p in patterns}
        return list(distinct.values())

    def random(self, rng: np.random.Generator, sizes: Sizes) -> np.ndarray:
        """Return a Gaussian latent, at a scale that is itself drawn."""
        return rng.choice(_SCALES) * rng.standard_normal(self.latent_shape(sizes))

    def __str__(self) -> str:
        """Return it as it is written: bounds, the shape, and what differs from its default."""
        fields = {f.name: (getattr(self, f.name), f.default) for f in dataclasses.fields(self)}
        shape = _shown(fields.pop("shape")[0])
        parts = [f"{fields.pop(end)[0]:g}" for end in ("lo", "hi") if end in fields]
        parts += [shape] if shape else []
        parts += [
            f"{name}={value}" for name, (value, default) in fields.items() if value != default
        ]
        return f"{type(self).__name__.lower()}({', '.join(parts)})"


@dataclasses.dataclass(frozen=True)
class Reals(Domain):
    """All real arrays; `scale` is the typical size of an entry."""

    scale: float = 1.0

    def __post_init__(self):
        super().__post_init__()
        above_0("scale", self.scale)

    def squash(self, latent, xp):
        """Scale."""
        return self.scale * latent


@dataclasses.dataclass(frozen=True)
class Positive(Domain):
    """Arrays of numbers greater than zero."""

    scale: float = 1.0

    def __post_init__(self):
        super().__post_init__()
        above_0("scale", self.scale)

    def squash(self, latent, xp):
        """exp, held between 1e-13 and 1e13 times the scale."""
        return self.scale * xp.exp(xp.clip(latent, -LARGE, LARGE))

    def contains(self, parameter):
        """Positive."""
        return bool((parameter > 0).all() and np.isfinite(parameter).all())


@dataclasses.dataclass(frozen=True)
class Interval(Domain):
    """Arrays with entries in the closed interval from `lo` to `hi`; the ends are reached."""

    lo: float = 0.0
    hi: float = 1.0

    def __post_init__(self):
        super().__post_init__()
        if not real("lo", self.lo) < real("hi", self.hi):
            raise ValueError(f"an interval needs lo < hi, not lo={self.lo}, hi={self.hi}.")

    def squash(self, latent, xp):
        """A sine: smooth, onto the closed interval, and flat at its ends."""
        middle, half = (self.lo + self.hi) / 2, (self.hi - self.lo) / 2
        return xp.clip(middle + half * xp.sin(latent), self.lo, self.hi)

    def contains(self, parameter):
        """Between the ends."""
        return bool(((self.lo <= parameter) & (parameter <= self.hi)).all())

    def structured(self, sizes):
        """Return the usual patterns, with both ends and the middle for its unit steps."""
        quarter = math.pi / 2  # sin is 1 there: all at one end, or at alternating ends
        return [quarter * np.clip(z, -1.0, 1.0) for z in super().structured(sizes)] + [
            np.full(self.latent_shape(sizes), -quarter)
        ]


@dataclasses.dataclass(frozen=True)
class PSD(Domain):
    """Positive semidefinite n x n matrices F F^T, F of shape (n, rank), entries at most `bound`."""

    bound: float | None = None
    rank: Shape | None = None

    def __post_init__(self):
        super().__post_init__()
        if self.bound is not None:
            above_0("bound", self.bound)
        if self.rank is not None:
            _dimensions(self.rank, "rank")

    def latent_shape(self, sizes):
        """Return (n, rank)."""
        (n,) = resolve(self.shape, sizes)
        (rank,) = (n,) if self.rank is None else resolve(self.rank, sizes)
        return n, rank

    def finish(self, parameter, sizes, xp):
        """F F^T, after rows of F that are longer than sqrt(bound) are cut to that length."""
        F = parameter
        if self.bound is not None:
            # The largest entry of a positive semidefinite matrix is on its diagonal.
            square = (F * F).sum(-1, keepdims=True)
            F = F * xp.sqrt(self.bound / xp.maximum(square, self.bound))
        return F @ F.swapaxes(-1, -2)

    def made_from(self, name):
        """A factor."""
        cut = "" if self.bound is None else ", with rows of F cut to the square root of the bound"
        return f"{name} by its factor F ({name} = F F^T{cut})"


@dataclasses.dataclass(frozen=True)
class Simplex(Domain):
    """Vectors of n weights that are not negative and sum to one."""

    def squash(self, latent, xp):
        """exp: weights that are not normalised yet."""
        return xp.exp(latent - latent.max(-1, keepdims=True))

    def finish(self, parameter, sizes, xp):
        """Normalise."""
        return parameter / parameter.sum(-1, keepdims=True)

    def made_from(self, name):
        """Weights that need not sum to one."""
        return f"{name} by weights that are divided by their sum"

    def contains(self, parameter):
        """No negative weight, and not all zero."""
        return bool((parameter >= 0).all() and (parameter.sum(-1) > 0).all())


@dataclasses.dataclass(frozen=True)
class Integers(Domain):
    """Integer arrays with entries from `lo` to `hi`, both included; sampled, without gradient."""

    lo: int = 0
    hi: int = 1

    differentiable = False

    def __post_init__(self):
        super().__post_init__()
        if _integer("lo", self.lo) > _integer("hi", self.hi):
            raise ValueError(f"integers need lo <= hi, not lo={self.lo}, hi={self.hi}.")

    def structured(self, sizes):
        """Return all low, all high, alternating, one high, ascending."""
        shape = self.latent_shape(sizes)
        flat = np.arange(math.prod(shape))
        patterns = [
            np.full_like(flat, self.lo),
            np.full_like(flat, self.hi),
            np.where(flat % 2, self.hi, self.lo),
            np.where(flat == 0, self.hi, self.lo),
            self.lo + flat % (self.hi - self.lo + 1),
        ]
        return list({p.tobytes(): p.reshape(shape) for p in patterns}.values())

    def random(self, rng, sizes):
        """Return integers drawn uniformly."""
        return rng.integers(self.lo, self.hi, self.latent_shape(sizes), endpoint=True)

    def contains(self, parameter):
        """Integers between the ends."""
        inside = (self.lo <= parameter) & (parameter <= self.hi)
        return bool(inside.all() and (parameter == np.round(parameter)).all())


@dataclasses.dataclass(frozen=True)
class Choices(Domain):
    """One of a few numbers or arrays of one shape; sampled, without gradient."""

    options: tuple[Any, ...] = ()

    differentiable = False

    def __post_init__(self):
        super().__post_init__()
        options = instance("options", self.options, tuple | list, "a tuple")
        shapes = [
            () if isinstance(o, Fraction) else as_array("an option", o).shape for o in options
        ]
        if len(set(shapes)) != 1:
            raise ValueError(
                f"choices need at least one option, and options of one shape, not {shapes}."
            )

    def latent_shape(self, sizes):
        """Return the shape of one index: a scalar."""
        return ()

    def finish(self, parameter, sizes, xp):
        """Look the option up; fractions stay exact where balls are computed with."""
        if not any(isinstance(o, Fraction) for o in self.options):
            return xp.asarray(np.stack(self.options))[parameter]
        if xp is np:
            return np.array([float(o) for o in self.options])[parameter]
        from theorykit.certify import exact

        return xp.stack([exact(Fraction(o)) for o in self.options])[parameter]

    def made_from(self, name):
        """An index."""
        return f"{name} by the index of its option, from 0"

    def structured(self, sizes):
        """Return every option."""
        return [np.asarray(i) for i in range(len(self.options))]

    def random(self, rng, sizes):
        """Return an option drawn uniformly."""
        return rng.integers(len(self.options))

    def contains(self, parameter):
        """An option's index."""
        return bool(parameter == np.round(parameter) and 0 <= parameter < len(self.options))

    def __str__(self) -> str:
        return f"choices({', '.join(map(str, self.options))})"


def _one_shape(made: Function) -> Function:
    """Return a function of a shape that says so where each dimension is given by itself."""

    @functools.wraps(made)
    def call(*args: Any, **options: Any) -> Any:
        parts = [a for a in args if isinstance(a, str)]
        if len(parts) > 1:
            raise ValueError(
                f"{made.__name__} has one shape, {' '.join(parts)!r}, not "
                f"{' and '.join(map(repr, parts))}."
            )
        return made(*args, **options)

    return call  # type: ignore[return-value]


@_one_shape
def reals(shape: Shape = "", scale: float = 1.0) -> Reals:
    """Return the domain of all real arrays of a shape; `scale` is the typical entry."""
    return Reals(shape, scale)


@_one_shape
def positive(shape: Shape = "", scale: float = 1.0) -> Positive:
    """Return the domain of arrays with entries greater than zero."""
    return Positive(shape, scale)


@_one_shape
def interval(lo: float, hi: float, shape: Shape = "") -> Interval:
    """Return the domain of arrays with entries in [lo, hi]."""
    return Interval(shape, real("lo", lo), real("hi", hi))


def psd(n: Shape, bound: float | None = None, rank: Shape | None = None) -> PSD:
    """Return the domain of n x n positive semidefinite matrices.

    **Arguments:** `bound`: the largest entry allowed (max norm); `rank`: the largest rank.
    """
    if isinstance(bound, str):
        raise ValueError(
            f"psd has matrices of {n!r} rows and columns; a rank is given by name, as in "
            f"psd({n!r}, rank={bound!r})."
        )
    return PSD(n, bound, rank)


@_one_shape
def simplex(n: Shape) -> Simplex:
    """Return the domain of n weights that sum to one."""
    return Simplex(n)


@_one_shape
def integers(lo: int, hi: int, shape: Shape = "") -> Integers:
    """Return the domain of integer arrays with entries lo, ..., hi."""
    return Integers(shape, _integer("lo", lo), _integer("hi", hi))


def choices(*options: Any) -> Choices:
    """Return the domain whose members are the options: numbers, or arrays of one shape."""
    return Choices("", options)


Case = dict[str, np.ndarray]
"""One latent, or one parameter, an argument."""


@dataclasses.dataclass(frozen=True)
class Inputs:
    """The arguments of a claim's functions: a domain each, at every combination of the sizes."""

    arguments: Mapping[str, Domain]
    sizes: Mapping[str, tuple[Any, ...]]
    maps: tuple[Callable[..., Mapping[str, Any]], ...] = ()
    premises: tuple[Callable[..., Any], ...] = ()

    def given(self, premise: Callable[..., Any]) -> "Inputs":
        """Return the domain cut down to where a premise of the statement is true.

        **Arguments:** `premise`: takes arguments and sizes by name, returns a truth value. Points
        where it is false are not tried, and no witness lies there. It is looked at point by point
        and not searched for: a domain whose map makes it true everywhere is tried more densely.
        """
        callable_("premise", premise, "a function of the arguments that it names")
        return dataclasses.replace(self, premises=(*self.premises, premise))

    def meet(self, parameters: Sequence[Case], sizes: Sizes) -> list[Case]:
        """Return the parameters at which every premise is true."""
        return [p for p in parameters if self._within(p, sizes)]

    def admits(self, parameters: Case, sizes: Sizes) -> bool:
        """Whether the parameters are allowed, and every premise is true there."""
        return self.contains(parameters) and self._within(parameters, sizes)

    def _within(self, parameters: Case, sizes: Sizes) -> bool:
        if not self.premises:
            return True
        point = self.point(parameters, sizes, np)
        return all(_truth(call(p, point, sizes, "the premise"), point) for p in self.premises)

    def map(self, function: Callable[..., Mapping[str, Any]]) -> "Inputs":
        """Return the domain reparametrised: the names that `function` returns are the arguments.

        **Arguments:** `function`: takes arguments (and sizes) by name, returns a dict of values.
        """
        callable_("function", function, "a function of the arguments that returns new ones")
        return dataclasses.replace(self, maps=(*self.maps, function))

    @property
    def differentiable(self) -> bool:
        """Whether there is anything that a gradient can move."""
        return any(domain.differentiable for domain in self.arguments.values())

    def settings(self) -> list[dict[str, Any]]:
        """Return every combination of the sizes, smallest first."""
        names = list(self.sizes)
        grid = [
            dict(zip(names, pick, strict=True)) for pick in itertools.product(*self.sizes.values())
        ]
        return sorted(
            grid, key=lambda s: math.prod(v for v in s.values() if isinstance(v, int)) if s else 0
        )

    def cases(self, rng: np.random.Generator, sizes: Sizes, count: int) -> list[Case]:
        """Return the structured latents, alone and combined, then `count` random ones."""
        return [*self._structured(rng, sizes), *(self.random(rng, sizes) for _ in range(count))]

    def random(self, rng: np.random.Generator, sizes: Sizes) -> Case:
        """Return one random latent for every argument."""
        return {name: np.asarray(d.random(rng, sizes)) for name, d in self.arguments.items()}

    def _structured(self, rng: np.random.Generator, sizes: Sizes) -> Iterator[Case]:
        patterns = {name: d.structured(sizes) for name, d in self.arguments.items()}
        rounds = max((len(p) for p in patterns.values()), default=1)
        for i in range(rounds):
            yield {name: p[i % len(p)] for name, p in patterns.items()}
        if len(patterns) > 1:  # one argument structured among random ones
            for name, own in patterns.items():
                for pattern in own:
                    yield self.random(rng, sizes) | {name: pattern}

    def squash(self, latents: Mapping[str, Any], xp: Any) -> dict[str, Any]:
        """Map latents to parameters, argument by argument."""
        return {name: d.squash(latents[name], xp) for name, d in self.arguments.items()}

    def point(self, parameters: Mapping[str, Any], sizes: Sizes, xp: Any) -> dict[str, Any]:
        """Map parameters to the values that the claim's functions are called with."""
        values = {name: d.finish(parameters[name], sizes, xp) for name, d in self.arguments.items()}
        for function in self.maps:
            values = dict(call(function, values, sizes))
        return values

    def contains(self, parameters: Mapping[str, np.ndarray]) -> bool:
        """Whether every parameter is allowed."""
        return all(d.contains(parameters[name]) for name, d in self.arguments.items())

    def parameters(self) -> str:
        """Return a sentence on arguments that a point gives by something else, "" if none is."""
        made = [domain.made_from(name) for name, domain in self.arguments.items()]
        given = " and ".join(filter(None, made))
        said = [f"gives {given}"] if given else []
        said += ["is before the domain's map"] if self.maps else []
        return f"The point of the replay {' and '.join(said)}." if said else ""

    def _told(self) -> str:
        count = len(self.premises)
        premises = f", under {count} premise{'s' * (count > 1)}" if count else ""
        return (", reparametrised" if self.maps else "") + premises

    def __str__(self) -> str:
        arguments = [f"{name} in {domain}" for name, domain in self.arguments.items()]
        sizes = [f"{name} in {set_of(values)}" for name, values in self.sizes.items()]
        return ", ".join(arguments + sizes) + self._told()


def _truth(found: Any, point: Mapping[str, Any]) -> bool:
    """Return whether a premise is true in all entries, for which it has to say so."""
    made = np.asarray(found)
    if made.dtype.kind not in "biuf" or (made.dtype.kind == "f" and np.isnan(made).any()):
        raise ValueError(
            f"a premise returns a truth value, not {shown(found)}, as it does at "
            f"{', '.join(f'{k}={shown(v)}' for k, v in point.items())}."
        )
    return bool(made.all())


def inputs(**arguments: Any) -> Inputs:
    """Return the inputs of a claim: domains are arguments, tuples are sizes to try.

    `inputs(S=reals("T T"), x=positive("T"), T=(2, 4, 16))` calls the claim's functions by name,
    `lhs(S=..., x=...)`, with each function getting the arguments that it names. A function that
    names a size gets that too. Anything else than integers in a tuple (an activation's name,
    say) is a setting that only the functions see.
    """
    domains = {k: v for k, v in arguments.items() if isinstance(v, Domain)}
    sizes = {k: tuple(v) if isinstance(v, tuple | list) else (v,) for k, v in arguments.items()}
    sizes = {k: v for k, v in sizes.items() if k not in domains}
    for name, values in sizes.items():
        for value in values:
            if getattr(value, "__module__", None) == __name__:  # `reals`, or a class of domains
                raise ValueError(
                    f"{name} is the function {value.__name__} itself; a domain is what it returns, "
                    f"as in {name}={value.__name__.lower()}(...)."
                )
        if not values:
            raise ValueError(f"size {name} needs at least one value, as in {name}=(2, 4).")
    made = Inputs(domains, sizes)
    smallest = made.settings()[0]
    for domain in domains.values():
        domain.latent_shape(smallest)  # an unknown size is named here, not inside a run
    return made


def call(
    function: Callable[..., Any],
    values: Mapping[str, Any],
    sizes: Sizes,
    name: str = "a function of the claim",
) -> Any:
    """Call a claim's function with those of the arguments and sizes that it names.

    **Raises:** `ValueError` if it names others; `name` is what it is called there.
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return function(**values)
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return function(**values)
    known = {**sizes, **values}
    missing = [
        p.name
        for p in parameters
        if p.name not in known and p.default is p.empty and p.kind is not p.VAR_POSITIONAL
    ]
    if missing:
        own = getattr(function, "__name__", "<lambda>")
        which = f"{name}={own}" if name.isidentifier() and own != "<lambda>" else name
        there = ", ".join([*values, *(s for s in sizes if s not in values)])
        example = f"{name if name.isidentifier() else 'lhs'}=lambda {there}: f({there})"
        raise ValueError(
            f"{which} asks for {', '.join(missing)}, but its domain has "
            f"{there or 'no argument'}, and "
            f"arguments are given by name, as in {example}."
        )
    leading = [known[p.name] for p in parameters if p.kind is p.POSITIONAL_ONLY and p.name in known]
    named = {
        p.name: known[p.name]
        for p in parameters
        if p.name in known and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    }
    return function(*leading, **named)


def resolve(shape: Shape, sizes: Sizes) -> tuple[int, ...]:
    """Return the dimensions of a shape at these sizes.

    **Raises:** `ValueError` if a dimension names no size or is negative.
    """
    instance("sizes", sizes, Mapping, "a dict of numbers by name")
    return tuple(_dimension(part, sizes) for part in _dimensions(shape))


def _dimensions(shape: Any, name: str = "a shape") -> list[str | int]:
    """Return the dimensions of a shape as they are written."""
    parts = re.split(r"[\s,]+", shape.strip()) if isinstance(shape, str) else shape
    parts = [parts] if isinstance(parts, int) else parts
    right = isinstance(parts, tuple | list) and all(
        isinstance(p, str) or (isinstance(p, int) and not isinstance(p, bool) and p >= 0)
        for p in parts
    )
    if not right:
        raise ValueError(
            f"{name} is dimensions, each an integer or made of names of sizes, as in 'T 2*T' or "
            f"('T', 3), got {shown(shape)}."
        )
    return [p for p in parts if p != ""]


def _integer(name: str, value: Any) -> int:
    """Return an integer that a float64 holds."""
    return whole(name, value, -(2**53), 2**53)


def _dimension(text: str | int, sizes: Sizes) -> int:
    if isinstance(text, int):
        return text
    total = 0
    for term in text.split("+"):
        # "2T" is "2*T"
        factors = re.sub(r"^(\d+)(?=[A-Za-z_])", r"\1*", term).split("*")
        for factor in factors:
            if not factor.isdigit() and not isinstance(sizes.get(factor), int):
                raise ValueError(
                    f"the shape {text!r} needs a size {factor!r}, as in inputs(..., "
                    f"{factor}=(2, 4)); there is {', '.join(sizes) or 'none'}."
                )
        total += math.prod(int(f) if f.isdigit() else sizes[f] for f in factors)
    return total


def set_of(values: Sequence[Any]) -> str:
    """Return values as a set is written: {2, 4, 16}."""
    return "{" + ", ".join(map(str, values)) + "}"


def _shown(shape: Shape | None) -> str:
    return shape if isinstance(shape, str) else str(shape)

"""The kinds of domains: what values an argument of a claim may have.

A domain is reached from unconstrained real numbers in two steps, so that a gradient can move
about in it freely:

    latent  --squash-->  parameter  --finish-->  value
    z       --exp----->  x > 0      --as it is-> x > 0
    F       --as it is-> F          --F F^T----> a positive semidefinite matrix

The parameter is what a witness is simplified in: its entries may be rounded or set to zero as
long as `contains` says that they are still allowed.
"""

import dataclasses
import math
from fractions import Fraction
from typing import Any

import numpy as np

from theorykit.checks._shapes import Shape, Sizes, dimensions, resolve
from theorykit.common.arguments import as_array, instance, real, whole
from theorykit.common.arguments import positive as above_0

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
        dimensions(self.shape)

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
        """Return how this argument is made from its parameter, "" if it is the parameter."""
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
            dimensions(self.rank, "rank")

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
        if an_integer("lo", self.lo) > an_integer("hi", self.hi):
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


def an_integer(name: str, value: Any) -> int:
    """Return an integer that a float64 holds."""
    return whole(name, value, -(2**53), 2**53)


def _shown(shape: Shape | None) -> str:
    return shape if isinstance(shape, str) else str(shape)

"""The data of the construction: f, the context length and the scale of the scores."""

import dataclasses
import math
from numbers import Real

import numpy as np
from jaxtyping import Float64

from theorykit.common.arguments import flag, number, shown, whole
from theorykit.subjects.boolean._functions import Parities

SCALE = 2.0


def leakage(members: int, others: int, n: int, scale: float) -> float:
    """Return the share of attention that goes to others when members score scale log n."""
    lost = others * math.exp(-scale * math.log(n))
    return lost / (members + lost)


def positive(scale: float) -> None:
    """Raise a `ValueError` unless the scale is a finite number above 0."""
    if not isinstance(scale, Real) or isinstance(scale, bool) or not 0 < scale < math.inf:
        raise ValueError(f"the scale is a finite number above 0, got {shown(scale)}.")


@dataclasses.dataclass(frozen=True)
class Design:
    """The numbers behind `transformer(f, T, scale=scale)`.

    **Fields:** `f`, `T`, `scale`; `projected`, whether encodings are random instead of unit
    vectors.

    **Raises:** `ValueError` for a coefficient that is not positive, sets of different sizes, an
    empty set, more sets than T, fewer bits than f has, or a scale that is not finite or at which
    the first attention leaks more than the lookup tolerates.
    """

    f: Parities
    T: int
    scale: float = SCALE
    projected: bool = False

    def __post_init__(self):
        f, T = self.f, whole("T", self.T)
        flag("projected", self.projected)
        if not isinstance(f, Parities):
            raise ValueError(f"f is a Parities, got {type(f).__name__}.")
        if T < f.T:
            raise ValueError(f"T is at least the {f.T} bits of f, got {T}.")
        if not f.sets:
            raise ValueError("f has at least one parity; this one is zero.")
        sizes = {len(S) for S in f.sets}
        if len(sizes) > 1 or 0 in sizes:
            raise ValueError(f"the parities of f have one size of at least 1, got {sorted(sizes)}.")
        if len(f.sets) > T:
            raise ValueError(f"the sparsity is at most T = {T}, got {len(f.sets)}.")
        for c in f.coefficients:
            if c <= 0:
                raise ValueError(f"the coefficients of f are positive, got {c}.")
        number("the sum of coefficients", self.total, "finite", lambda v: True)
        positive(self.scale)
        if not self.leakages[0] < 1 / (4 * f.degree):
            raise ValueError(
                "the scale is so large that the first attention leaks less than "
                f"1/{4 * f.degree}; {self.scale} is not at T = {T}."
            )

    @property
    def strength(self) -> float:
        """The score of a member: scale times log(T + 1)."""
        return self.scale * math.log(self.T + 1)

    @property
    def coefficients(self) -> Float64[np.ndarray, " sets"]:
        """The coefficients of f."""
        return np.array([float(c) for c in self.f.coefficients])

    @property
    def total(self) -> float:
        """The sum C of the coefficients."""
        with np.errstate(over="ignore"):
            return float(self.coefficients.sum())

    @property
    def scores(self) -> Float64[np.ndarray, " sets"]:
        """The scores of the second attention at 0 ... s - 1: strength + log(c_i / C)."""
        return self.strength + np.log(self.coefficients / self.total)

    @property
    def leakages(self) -> tuple[float, float]:
        """The share of each attention that goes to the wrong positions.

        (T + 1 - d) / (d (T + 1)^scale + T + 1 - d), and (T + 1 - s) / ((T + 1)^scale + T + 1 - s).
        """
        n, d, s = self.T + 1, self.f.degree, len(self.f.sets)
        return leakage(d, n - d, n, self.scale), leakage(1, n - s, n, self.scale)

    @property
    def error(self) -> float:
        """A bound on |network - f| at every input: C times the second leakage.

        The first leakage costs nothing, because the lookup is flat within 1 / (4 d) of its grid.
        The bound is for exact arithmetic; rounding in the network's dtype comes on top. Infinity
        for random encodings, for which nothing is promised.
        """
        return math.inf if self.projected else self.total * self.leakages[1]

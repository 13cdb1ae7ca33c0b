"""The transformer that computes a sum of parities: its weights, in closed form."""

import dataclasses
import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from flax import nnx

from theorykit.arguments import whole
from theorykit.boolean._functions import Parities
from theorykit.boolean._network import Transformer

Array = Any
SCALE = 2.0


@dataclasses.dataclass(frozen=True)
class Lookup:
    """Theorem 9: four hidden units a grid value k / d, a trapezoid of height 1 at even k.

    Unit j gives relu(z - threshold_j), its output weight is `slope_j`: +-2 d at even k, 0 at odd.
    The sum is 1 within 1 / (4 d) of even k / d, 0 within 1 / (4 d) of odd, and linear between.
    Exact fractions for exact z.
    """

    d: int

    @property
    def thresholds(self) -> list:
        """Return the 4 (d + 1) thresholds, fractions."""
        from fractions import Fraction

        return [Fraction(4 * k + o, 4 * self.d) for k in range(self.d + 1) for o in (-3, -1, 1, 3)]

    @property
    def slopes(self) -> list[int]:
        """Return the 4 (d + 1) output weights."""
        signs = [[0] * 4, [1, -1, -1, 1]]
        return [2 * self.d * s for k in range(self.d + 1) for s in signs[1 - k % 2]]

    def __call__(self, z: Any) -> Any:
        """Return the value at one number."""
        units = zip(self.thresholds, self.slopes, strict=True)
        return sum(w * max(z - t, 0) for t, w in units)


class Construction(Transformer):
    """The network of `transformer`: what it computes, and its bounds in closed form.

    **Fields:** `f`, `T`, `scale`; the weights are parameters and can be trained or perturbed, the
    closed forms speak of the weights as built.
    """

    def __init__(self, f: Parities, T: int, scale: float, encodings: Array | None, dtype: Any):
        """Set all weights."""
        d, s = f.degree, len(f.sets)
        super().__init__(T, hidden=4 * (d + 1), encodings=encodings, dtype=dtype)
        self.f, self.scale = f, scale
        codes = np.asarray(self.encodings[...], float)
        wide = lambda W: np.pad(codes.T @ W @ codes, (0, 1))
        score1 = np.zeros((T + 1, T + 1))
        score1[:s, : f.T] = self.strength * f.membership
        score2 = np.zeros((T + 1, T + 1))
        score2[T, :s] = self.scores
        corner = np.zeros_like(wide(score1))
        corner[-1, -1] = 1
        lookup, r = Lookup(d), len(corner)
        last = lambda v: np.eye(r)[-1][:, None] * np.asarray(v, float)
        set_to = dict(
            score1=wide(score1),
            value1=corner,
            mlp_in=last(np.ones(4 * (d + 1))),
            bias=-np.array([float(t) for t in lookup.thresholds]),
            mlp_out=last(lookup.slopes).T,
            score2=wide(score2),
            value2=self.total * np.eye(r)[-1],
        )
        for name, value in set_to.items():
            self[name] = value

    def __setitem__(self, name: str, value: Array) -> None:
        block = getattr(self, name)
        block[...] = jnp.asarray(value, block.dtype)

    @property
    def strength(self) -> float:
        """The score of a member: scale times log(T + 1)."""
        return self.scale * math.log(self.T + 1)

    @property
    def total(self) -> float:
        """The sum C of the coefficients."""
        return float(sum(self.f.coefficients))

    @property
    def scores(self) -> np.ndarray:
        """The scores of the second attention at 0 ... s - 1: strength + log(c_i / C)."""
        c = np.array([float(c) for c in self.f.coefficients])
        return self.strength + np.log(c / c.sum())

    @property
    def leakages(self) -> tuple[float, float]:
        """How much of each attention goes where it should not, unprojected.

        (T + 1 - d) / (d (T + 1)^scale + T + 1 - d), and (T + 1 - s) / ((T + 1)^scale + T + 1 - s).
        """
        weight, n = (self.T + 1) ** self.scale, self.T + 1
        d, s = self.f.degree, len(self.f.sets)
        return (n - d) / (d * weight + n - d), (n - s) / (weight + n - s)

    @property
    def error(self) -> float:
        """A bound of |network - f| at every input: C times the second leakage.

        The first leakage costs nothing: the lookup is flat within 1 / (4 d) of its grid.
        """
        return self.total * self.leakages[1]


def transformer(
    f: Parities,
    T: int | None = None,
    project: int | None = None,
    *,
    scale: float = SCALE,
    seed: int = 0,
    dtype: Any = None,
) -> Construction:
    """Return the network of appendix B that computes f, a sum of parities with c_i > 0.

    Position i < s attends to S_i with weights 1 / d and reads the mean bit; the MLP looks its
    parity up; the output position attends to i with weight c_i / C and reads C times the parity.

    **Arguments:** `T`: bits of an input, those of f or more; `project`: replaces the unit vectors
    that encode positions by random ones of so many numbers, N(0, 1 / project), from `seed`;
    `scale`: scores are scale log(T + 1), so that leakage falls like T^(1 - scale); `dtype`: of the
    parameters, JAX's default float if not given.

    **Raises:** `ValueError` for a coefficient that is not positive, sets of different sizes or an
    empty one, more sets than T, fewer bits than f has, or a scale at which the first attention
    leaks more than the lookup forgives.
    """
    T = whole("T", f.T if T is None else T)
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
    n, d = T + 1, f.degree
    if not (scale > 0 and (n - d) * (4 * d - 1) < d * n**scale):
        raise ValueError(
            f"the scale is large enough for the first attention to leak less than 1/{4 * d}, which "
            f"{scale} is not at T = {T}."
        )
    encodings = None
    if project is not None:
        shape = (n, whole("project", project))
        draws = np.random.default_rng(whole("seed", seed, 0)).standard_normal(shape)
        encodings = draws / math.sqrt(project)
    return Construction(f, T, float(scale), encodings, dtype)


def rescaled(network: Transformer, factor: float | None = None) -> Transformer:
    """Return a copy with F1 and b times a factor and F2 divided by it: the same function, App. D.

    **Arguments:** `factor`, above 0; None takes the fourth root of |F2|^2 / (|F1|^2 + |b|^2), at
    which the norm is least.

    **Raises:** `ValueError` for a factor at or below 0.
    """
    if factor is None:
        norms = network.squared_norms()
        factor = (norms["mlp_out"] / (norms["mlp_in"] + norms["bias"])) ** 0.25
    if not (factor > 0 and math.isfinite(factor)):
        raise ValueError(f"the factor is a positive number, got {factor}.")
    copy = nnx.clone(network)
    for name, power in dict(mlp_in=1, bias=1, mlp_out=-1).items():
        block = getattr(copy, name)
        block[...] = block[...] * factor**power
    return copy

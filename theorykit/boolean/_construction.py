"""The transformer that computes a sum of parities: its weights, in closed form."""

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from flax import nnx

from theorykit.arguments import whole
from theorykit.boolean._functions import Parities
from theorykit.boolean._lookup import slopes, thresholds
from theorykit.boolean._network import Transformer

Array = Any
SCALE = 2.0


class Construction(Transformer):
    """The network of `transformer`: what it computes, and its bounds in closed form.

    **Fields:** `f`, `T`, `scale`. The weights are parameters and can be trained or perturbed; the
    closed forms speak of them as built.
    """

    def __init__(self, f: Parities, T: int, scale: float, encodings: Array | None, dtype: Any):
        """Set all weights."""
        d, s = f.degree, f.sparsity
        super().__init__(T, hidden=4 * (d + 1), encodings=encodings, dtype=dtype)
        self.scale = scale
        # Arrays and no f: networks of one shape then share what is compiled.
        self.membership = nnx.Variable(jnp.asarray(f.membership, jnp.int32))
        self.coefficients = nnx.Variable(jnp.asarray(f.coefficients, self.value2.dtype))
        codes = np.asarray(self.encodings[...], float)
        wide = lambda W: np.pad(codes.T @ W @ codes, (0, 1))
        score1 = np.zeros((T + 1, T + 1))
        score1[:s, : f.T] = self.strength * f.membership
        score2 = np.zeros((T + 1, T + 1))
        score2[T, :s] = self.scores
        last = np.eye(codes.shape[1] + 1)[-1]
        self.set_blocks(
            score1=wide(score1),
            value1=np.outer(last, last),
            mlp_in=np.outer(last, np.ones(4 * (d + 1))),
            bias=-np.array(thresholds(d), float),
            mlp_out=np.outer(slopes(d), last),
            score2=wide(score2),
            value2=self.total * last,
        )

    @property
    def f(self) -> Parities:
        """The function, its coefficients in the network's dtype."""
        rows, c = np.asarray(self.membership[...]), np.asarray(self.coefficients[...])
        sets = tuple(tuple(np.flatnonzero(row).tolist()) for row in rows)
        return Parities(rows.shape[1], sets, tuple(c.tolist()))

    @property
    def strength(self) -> float:
        """The score of a member: scale times log(T + 1)."""
        return self.scale * math.log(self.T + 1)

    @property
    def total(self) -> float:
        """The sum C of the coefficients."""
        return float(np.sum(self.coefficients[...]))

    @property
    def scores(self) -> np.ndarray:
        """The scores of the second attention at 0 ... s - 1: strength + log(c_i / C)."""
        c = np.asarray(self.coefficients[...], float)
        return self.strength + np.log(c / c.sum())

    @property
    def leakages(self) -> tuple[float, float]:
        """How much of each attention goes where it should not, unprojected.

        (T + 1 - d) / (d (T + 1)^scale + T + 1 - d), and (T + 1 - s) / ((T + 1)^scale + T + 1 - s).
        """
        weight, n = (self.T + 1) ** self.scale, self.T + 1
        d, s = self.f.degree, self.f.sparsity
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
    powers = dict(mlp_in=1, bias=1, mlp_out=-1)
    copy.set_blocks(**{k: getattr(network, k)[...] * factor**p for k, p in powers.items()})
    return copy

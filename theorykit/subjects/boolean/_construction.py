"""The transformer that computes a sum of parities: its weights, in closed form."""

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Float

from theorykit.common.arguments import affordable, instance, positive, whole
from theorykit.subjects.boolean._design import SCALE, Design
from theorykit.subjects.boolean._functions import Parities
from theorykit.subjects.boolean._lookup import slopes, thresholds
from theorykit.subjects.boolean._network import Transformer


class Construction(Transformer):
    """The network that `transformer` returns. Its weights are parameters: they can be trained.

    **Fields:** `T`, `scale`, `projected`; `design`, the closed forms, which describe the weights as
    built.
    """

    def __init__(self, design: Design, encodings: Float[np.ndarray, "codes r"] | None, dtype: Any):
        """Set all weights."""
        instance("design", design, Design, "a boolean.Design")
        f, T, d = design.f, design.T, design.f.degree
        super().__init__(T, hidden=4 * (d + 1), encodings=encodings, dtype=dtype, rngs=None)
        self.scale, self.projected = float(design.scale), design.projected
        # Arrays instead of f: networks of one shape then share a compiled function.
        self.membership = nnx.Variable(jnp.asarray(f.membership.astype(np.int32)))
        self.coefficients = nnx.Variable(jnp.asarray(design.coefficients, self.value2.dtype))
        codes = np.asarray(self.encodings[...], float)
        wide = lambda W: np.pad(codes.T @ W @ codes, (0, 1))
        score1, score2 = np.zeros((2, T + 1, T + 1))
        score1[: len(f.sets), : f.T] = design.strength * f.membership
        score2[T, : len(f.sets)] = design.scores
        last = np.eye(codes.shape[1] + 1)[-1]
        self.set_blocks(
            score1=wide(score1),
            value1=np.outer(last, last),
            mlp_in=np.outer(last, np.ones(4 * (d + 1))),
            bias=-np.array(thresholds(d), float),
            mlp_out=np.outer(slopes(d), last),
            score2=wide(score2),
            value2=design.total * last,
        )

    @property
    def f(self) -> Parities:
        """The function, with coefficients in the network's dtype."""
        rows, c = np.asarray(self.membership[...]), np.asarray(self.coefficients[...])
        sets = tuple(tuple(np.flatnonzero(row).tolist()) for row in rows)
        return Parities(rows.shape[1], sets, tuple(c.tolist()))

    @property
    def design(self) -> Design:
        """What it was made from."""
        return Design(self.f, self.T, self.scale, self.projected)


def transformer(
    f: Parities,
    T: int | None = None,
    project: int | None = None,
    *,
    scale: float = SCALE,
    seed: int = 0,
    dtype: Any = None,
) -> Construction:
    """Return the network of appendix B for f, a sum of parities with c_i > 0.

    Position i < s attends to S_i with weights 1 / d and reads the mean bit; the MLP looks up its
    parity; the output position attends to i with weight c_i / C and reads C times the parity.
    `network.design.error` bounds |network - f| up to rounding; with `project` it is infinity.

    **Arguments:** `T`: bits per input, at least those of f; `project`: if given, the dimension of
    random position encodings, N(0, 1 / project) from `seed`, in place of unit vectors; `scale`:
    scores are scale log(T + 1), so leakage falls like T^(1 - scale); `dtype`: of the parameters,
    JAX's default float if not given.

    **Raises:** `ValueError` as `Design`, and for a `project` below 1.
    """
    seed = whole("seed", seed, 0)
    design = Design(f, getattr(f, "T", 1) if T is None else T, scale, project is not None)
    encodings = None
    if project is not None:
        shape = (design.T + 1, whole("project", project))
        affordable("random encodings", math.prod(shape), 2**28)
        draws = np.random.default_rng(seed).standard_normal(shape)
        encodings = draws / math.sqrt(shape[1])
    return Construction(design, encodings, dtype)


def rescaled(network: Transformer, factor: float | None = None) -> Transformer:
    """Return a copy with F1 and b times a factor, F2 divided by it: the same function (App. D).

    **Arguments:** `factor`, above 0; None means the fourth root of |F2|^2 / (|F1|^2 + |b|^2), which
    minimises the norm.

    **Raises:** `ValueError` for a factor at or below 0, or None where F1 and b, or F2, are zero.
    """
    instance("network", network, Transformer, "a boolean.Transformer")
    if factor is None:
        norms = network.squared_norms()
        inside = norms["mlp_in"] + norms["bias"]
        if not (0 < norms["mlp_out"] < math.inf and 0 < inside < math.inf):
            raise ValueError(
                "no factor minimises the norm where one side of the MLP is zero or not finite: "
                f"|F1|^2 + |b|^2 = {inside}, |F2|^2 = {norms['mlp_out']}; give a factor."
            )
        factor = (norms["mlp_out"] / inside) ** 0.25
    factor = positive("the factor", factor)
    copy = nnx.clone(network)
    powers = dict(mlp_in=1, bias=1, mlp_out=-1)
    copy.set_blocks(**{k: getattr(network, k)[...] * factor**p for k, p in powers.items()})
    return copy

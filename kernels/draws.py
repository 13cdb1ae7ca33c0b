"""Draws of attention scores.

The scores of an infinitely wide attention head are Gaussian with
`Cov(S_ac(X_i), S_be(X_j)) = Sigma_ab Sigma_ce` (capture paper, eq. 7). With any factor
`Sigma = F F^T` over the tokens of a set of inputs and one iid normal `U`, the matrices
`S_i = F_i U F_i^T` have exactly that law for all inputs of the set at once.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtri
from jaxtyping import Array, Bool, Float, Int

from theorykit.common.arguments import as_floating
from theorykit.common.precision import highest
from theorykit.kernels.devices import varying
from theorykit.kernels.inputs import computed, widened

SAMPLERS = ("independent", "sobol")
MAX_SOBOL = 21201  # the largest dimension of scipy's direction numbers
NEAR = 0.999  # a pivot this near the largest is as good
KEEP = 2**24  # numbers that are drawn once and kept, rather than again at each use


class Ordered(NamedTuple):
    """A factor by pivoted Cholesky, and how it was found.

    **Fields:** `f`, (n, r) with `sigma = f f'`; `pivots`, the row of `sigma` that each column began
    with; `used`, whether a column did: it is zero if there was nothing left. `f[pivots]` is lower
    triangular in the columns that were used.
    """

    f: Float[Array, "n rank"]
    pivots: Int[Array, " rank"]
    used: Bool[Array, " rank"]

    @staticmethod
    @highest
    def of(sigma: Any, rank: int | None = None, floor: Any = None) -> tuple["Ordered", Any]:
        """Return the factor of `sigma`, and the diagonal of what it leaves out.

        Arguments as for `factor`; `floor`, the variance that is taken to be rounding.
        """
        sigma = jnp.asarray(sigma)
        n, diagonal = sigma.shape[0], jnp.diagonal(sigma)
        floor = _rounding(n, diagonal) if floor is None else floor

        def column(carry, k):
            f, left = carry
            # The first of the largest: among tokens of equal norm, rounding must not choose.
            pivot = jnp.argmax(left >= NEAR * jnp.max(left))
            size = left[pivot]
            done = size <= floor  # false for NaN, which goes on
            root = jnp.sqrt(jnp.where(done, 1.0, size))
            new = jnp.where(done, 0.0, (sigma[pivot] - f @ f[pivot]) / root)
            left = jnp.where(jnp.arange(n) == pivot, 0.0, jnp.maximum(left - new**2, 0.0))
            return (f.at[:, k].set(new), left), (pivot, ~done)

        columns = jnp.arange(n if rank is None else rank)
        start = jnp.zeros((n, columns.size), sigma.dtype), jnp.maximum(diagonal, 0.0)
        (f, left), found = jax.lax.scan(column, varying(start, sigma), columns)
        return Ordered(f, *found), left

    @highest
    def then(
        self, s12: Float[Array | np.ndarray, "n m"], s22: Float[Array | np.ndarray, "m m"]
    ) -> Float[Array, "m rank_and_m"]:
        """Return the rows that make this a factor of a larger covariance.

        The covariance is `[[f f', s12], [s12', s22]]`. These rows depend on the others as a draw
        does on the draws before it; the others stay as they are.
        """
        s12, s22, r = jnp.asarray(s12), jnp.asarray(s22), self.pivots.size

        def column(across, k):
            row = self.f[self.pivots[k]]
            new = (s12[self.pivots[k]] - across @ row) / jnp.where(self.used[k], row[k], 1.0)
            return across.at[:, k].set(jnp.where(self.used[k], new, 0.0)), None

        start = varying(jnp.zeros((s22.shape[0], r), s12.dtype), s12)
        across, _ = jax.lax.scan(column, start, jnp.arange(r))
        both = jnp.concatenate([jnp.sum(self.f**2, 1), jnp.diagonal(s22)])
        own, _ = Ordered.of(s22 - across @ across.T, floor=_rounding(both.size, both))
        return jnp.concatenate([across, own.f], 1)


def _rounding(n: int, variances: Float[Array, "..."]) -> Float[Array, ""]:
    """Return the variance that is lost in factorising n rows of a covariance."""
    return n * jnp.finfo(variances.dtype).eps * jnp.max(variances)


def factor(
    sigma: Float[Array | np.ndarray, "n n"], rank: int | None = None
) -> tuple[Float[Array, "n rank"], Float[Array, ""]]:
    """Factor a positive semidefinite matrix as `F F^T` by pivoted Cholesky.

    Works for singular matrices: a pivot below rounding ends the rank, its column is zero.

    **Arguments:**

    - `sigma`: (n, n), symmetric positive semidefinite.
    - `rank`: number of columns of `F`; `n` if not given.

    **Returns:** `F` of shape (n, rank), and the trace of `sigma - F F^T` relative to that of
    `sigma` (a scalar; rounding only, unless `rank` cuts). Both in the dtype of `sigma`, computed in
    float32 at least.

    **Raises:** `ValueError` for complex numbers.
    """
    (sigma,), dtype = widened("covariances", sigma)
    found, left = Ordered.of(sigma, rank)
    total = jnp.sum(jnp.maximum(jnp.diagonal(sigma), 0.0))
    share = jnp.sum(left) / jnp.where(total <= 0, 1.0, total)
    return found.f.astype(dtype), share.astype(dtype)


@lru_cache(maxsize=8)
def _sobol_bits(dimension: int, draws: int) -> np.ndarray:
    from scipy.stats import qmc

    if dimension > MAX_SOBOL:
        raise ValueError(
            f"the sobol sampler reaches {MAX_SOBOL} dimensions and these scores need {dimension}; "
            'use sampler="independent"'
        )
    # Owen's linear matrix scramble is fixed here; the random shift, which alone makes
    # the points uniform and the estimate unbiased, is drawn from the key.
    engine = qmc.Sobol(dimension, scramble=True, bits=32, rng=0)
    power = 1 << max(draws - 1, 0).bit_length()
    points = engine.random(power)[:draws]
    return np.minimum(np.floor(points * 2.0**32), 2.0**32 - 1).astype(np.uint32)


def normals(
    key: Any, shape: tuple[int, ...], dtype: Any, sampler: str = "independent"
) -> Float[Array, "draws ..."]:
    """Draw standard normal scores, `shape[0]` of them, from one key.

    **Arguments:**

    - `key`: a JAX random key.
    - `shape`: (draws, ...); the Sobol dimension is the product of the rest.
    - `dtype`: floating dtype of the result.
    - `sampler`: "independent", or "sobol": scrambled Sobol points (scipy) under a random digital
      shift, an unbiased estimate with a smaller error for smooth functions.

    **Raises:** `ValueError` for an unknown sampler, more dimensions than Sobol points have, or
    another dtype.
    """
    dtype = as_floating("dtype", dtype)
    if sampler == "independent":
        return jax.random.normal(key, shape, dtype)
    if sampler != "sobol":
        raise ValueError(f"sampler is one of {', '.join(map(repr, SAMPLERS))}, got {sampler!r}")
    draws, dimension = shape[0], int(np.prod(shape[1:]))
    shift = jax.random.bits(key, (dimension,), jnp.uint32)
    bits = jnp.asarray(_sobol_bits(dimension, draws)) ^ shift[None]
    # Midpoints of cells that the dtype can resolve: never 0 or 1.
    wide = computed(dtype)
    keep = min(32, jnp.finfo(wide).nmant)
    cells = (bits >> (32 - keep)).astype(wide)
    return ndtri((cells + 0.5) * jnp.asarray(2.0**-keep, wide)).reshape(shape).astype(dtype)


def blocks(
    key: Any,
    count: int,
    shape: tuple[int, ...],
    dtype: Any,
    sampler: str = "independent",
    laid: Callable[[Array], Array] = lambda block: block,
) -> Callable[[Any], Float[Array, "..."]]:
    """Return a function of a block number `b < count` that gives that block of draws.

    The numbers depend on the key and `b` alone; whether they are kept or drawn again
    at each call is a matter of memory.

    **Arguments:**

    - `key`, `dtype`, `sampler`: as in `normals`.
    - `count`: number of blocks.
    - `shape`: (draws in a block, ...).
    - `laid`: what a block is turned into, once where it is kept.
    """
    if sampler == "independent":
        make = lambda b: laid(normals(jax.random.fold_in(key, b), shape, dtype))
        if count * int(np.prod(shape)) > KEEP:
            return make
        kept = jax.vmap(make)(jnp.arange(count))
    else:
        whole = normals(key, (count * shape[0], *shape[1:]), dtype, sampler)
        kept = jax.vmap(laid)(whole.reshape(count, *shape))
    return lambda b: kept[b]


@highest
def conditional(
    s11: Float[Array | np.ndarray, "tokens tokens"],
    s12: Float[Array | np.ndarray, "tokens tokens"],
    s22: Float[Array | np.ndarray, "tokens tokens"],
    u: Float[Array | np.ndarray, "*draws 2 tokens tokens"],
) -> Float[Array, "*draws 2 tokens tokens"]:
    """Turn normals into score draws of two inputs by the two-step sampler of appendix D.

    First `S(X1) = L1 U1 L1^T`, then `S(X2)` from its law given `S(X1)`. The paper's `H`
    is printed with `Sigma_21` twice and with the whitening transposed; this is the form
    that has the covariance of eq. (7), with pseudo-inverses where a block is singular.

    **Arguments:**

    - `s11`, `s12`, `s22`: (T, T) blocks of the token covariance.
    - `u`: (..., 2, T, T) standard normals.

    **Returns:** (..., 2, T, T) scores of both inputs.

    **Raises:** `ValueError` for complex numbers.
    """
    (s11, s12, s22, u), dtype = widened("covariances and normals", s11, s12, s22, u)
    l1, _ = factor(s11)
    l2, _ = factor(s22)
    tolerance = s11.shape[0] * jnp.finfo(s11.dtype).eps
    regression = s12.T @ jnp.linalg.pinv(s11, rtol=tolerance, hermitian=True)
    whiten = jnp.linalg.pinv(l2, rtol=tolerance)
    h = whiten @ regression @ s12 @ whiten.T
    lam, q = jnp.linalg.eigh((h + h.T) / 2)
    spread = jnp.sqrt(jnp.maximum(1.0 - lam[:, None] * lam[None, :], 0.0))
    first = l1 @ u[..., 0, :, :] @ l1.T
    mean = regression @ first @ regression.T
    delta = spread * (q.T @ u[..., 1, :, :] @ q)
    basis = l2 @ q
    return jnp.stack([first, mean + basis @ delta @ basis.T], axis=-3).astype(dtype)

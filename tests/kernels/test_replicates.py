"""What a draw adds to a kernel, and the error over replicates, to rounding and not within noise."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from theorykit.kernels import InfiniteTransformer
from theorykit.kernels.attention import mechanism
from theorykit.kernels.features import features
from theorykit.kernels.recursion import scores


def test_features_are_the_moments_of_the_row_that_is_read():
    """Phi = F^T a and, of the NTK, F^T (diag a - a a^T) F, so that products are inner products."""
    rng = np.random.default_rng(0)
    n, tokens, rank, draws, beta = 3, 4, 3, 2, 0.7
    f = rng.normal(size=(n, tokens, rank))
    u = rng.normal(size=(draws, rank, rank))
    last, allowed = [3, 2, 3], np.ones((n, tokens), bool)
    allowed[1, 3] = False
    first, second = np.zeros((n, draws, rank)), np.zeros((n, draws, rank, rank))
    for i in range(n):
        for b in range(draws):
            s = beta * f[i, last[i]] @ u[b] @ f[i].T
            a = np.exp(s) * allowed[i]
            a /= a.sum()
            first[i, b] = f[i].T @ a
            second[i, b] = f[i].T @ (np.diag(a) - np.outer(a, a)) @ f[i]
    with jax.enable_x64(True):
        rows = jnp.asarray(f[np.arange(n), last])
        drawn = scores(jnp.asarray(f), rows[:, None], jnp.asarray(u), beta)[:, 0]
        given = mechanism("softmax"), drawn, jnp.asarray(f), jnp.asarray(allowed)
        phi, packed = features(*given, True)
        assert features(*given, False)[1] is None
    np.testing.assert_allclose(phi, first.reshape(n, -1), rtol=1e-12, atol=1e-14)
    exact = np.einsum("ibrs,jbrs->ij", second, second)
    packed = np.asarray(packed)
    np.testing.assert_allclose(packed @ packed.T, exact, rtol=1e-12)


@pytest.mark.parametrize("draw", ["joint", "pairwise"])
def test_the_standard_error_is_that_of_the_replicates(draw):
    """One more replicate leaves those before as they are, so that means give them one by one."""
    with jax.enable_x64(True):
        x = np.random.default_rng(1).normal(size=(3, 3, 2))
        network = InfiniteTransformer(depth=1)
        kernel = lambda r: network(
            x, key=jax.random.key(5), draws=16, replicates=r, draw=draw, progress=False
        )
        found = [kernel(r) for r in (1, 2, 3, 4)]
        for what in ("nngp", "ntk"):
            means = np.array([np.asarray(getattr(k, what)) for k in found])
            sums = means * np.arange(1, 5)[:, None, None]
            each = np.diff(sums, axis=0, prepend=0 * sums[:1])
            exact = each.std(0, ddof=1) / np.sqrt(4)
            error = np.asarray(getattr(found[-1], f"{what}_stderr"))
            np.testing.assert_allclose(error, exact, rtol=1e-8)

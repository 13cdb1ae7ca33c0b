"""Score draws: factors, their joint law, the conditional sampler, and Sobol points."""

import functools

import hypothesis
import hypothesis.extra.numpy
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import strategies as st

from theorykit.kernels import draws

pytestmark = pytest.mark.usefixtures("x64")


factor = jax.jit(draws.factor, static_argnums=1)
conditional = jax.jit(draws.conditional)


@functools.partial(jax.jit, static_argnums=1)
def two_steps(sigma, cut):
    """Return the factor of the first rows, and the rows that follow."""
    first, _ = draws.Ordered.of(sigma[:cut, :cut])
    return first, first.then(sigma[:cut, cut:], sigma[cut:, cut:])


roots = hypothesis.extra.numpy.arrays(
    float, (4, 4), elements=st.floats(-3, 3, allow_subnormal=False).map(lambda v: round(v, 2))
)


def spd(n, rank, seed=0):
    root = np.random.default_rng(seed).normal(size=(n, rank))
    return root @ root.T


@hypothesis.settings(deadline=None, max_examples=60)
@hypothesis.given(roots)
def test_factor_of_any_covariance(root):
    """Singular ones and zero included."""
    sigma = root @ root.T
    f, left = factor(sigma)
    scale = max(np.trace(sigma), 1e-300)
    np.testing.assert_allclose(f @ f.T, sigma, atol=1e-13 * scale)
    assert 0 <= left < 1e-13


def test_factor_of_a_singular_covariance_has_its_rank():
    f, _ = factor(spd(4, 2))
    assert np.all(np.linalg.norm(f, axis=0)[2:] == 0)
    assert np.all(np.linalg.norm(f, axis=0)[:2] > 0)
    assert not np.any(factor(np.zeros((4, 4)))[0])


def test_a_cut_factor_reports_the_trace_it_leaves_out():
    sigma = spd(4, 4)
    for rank in (1, 3):
        f, left = factor(sigma, rank)
        assert f.shape == (4, rank)
        np.testing.assert_allclose(left, np.trace(sigma - f @ f.T) / np.trace(sigma), rtol=1e-9)
    assert factor(spd(4, 1), 1)[1] < 1e-14


@pytest.mark.parametrize("seed", range(4))
def test_rounding_does_not_choose_among_tokens_of_equal_norm(seed):
    """As after a layer norm: the draws of a key are a smooth function of the covariance."""
    rng = np.random.default_rng(seed)
    sigma = spd(5, 5)
    sigma /= np.sqrt(np.outer(np.diag(sigma), np.diag(sigma)))
    off = 1e-7 * rng.standard_normal((5, 5))
    moved = factor(sigma + off + off.T)[0]
    np.testing.assert_allclose(moved, factor(sigma)[0], atol=1e-5)


def test_a_nan_is_not_hidden():
    sigma = spd(3, 3)
    sigma[1, 2] = sigma[2, 1] = np.nan
    assert not np.isfinite(factor(sigma)[0]).all()
    sigma = spd(3, 3)
    sigma[2, 2] = np.nan
    assert not np.isfinite(factor(sigma)[0]).all()


@hypothesis.settings(deadline=None, max_examples=60)
@hypothesis.given(roots, st.integers(1, 3))
def test_a_factor_goes_on(root, cut):
    """Rows of it that came first do not know of those that follow."""
    sigma = root @ root.T
    first, second = two_steps(sigma, cut)
    f = np.concatenate([np.pad(first.f, ((0, 0), (0, 4 - cut))), second])
    np.testing.assert_allclose(f @ f.T, sigma, atol=1e-7 * max(np.trace(sigma), 1e-300))
    np.testing.assert_array_equal(first.f, factor(sigma[:cut, :cut])[0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_same_input_again_adds_nothing(dtype):
    """Also tokens that repeat, or lie in one plane: what is left of them is rounding."""
    for rank in (1, 3, 8):
        s = spd(8, rank).astype(dtype)
        first, _ = draws.Ordered.of(s)
        second = first.then(s, s)
        np.testing.assert_allclose(second[:, :8], first.f, atol=30 * np.finfo(dtype).eps ** 0.5)
        assert not np.any(second[:, 8:])


def law(linear, shape):
    """Covariance of a linear map of standard normals, from its Jacobian."""
    jac = jax.jit(jax.jacobian(linear))(np.zeros(shape))
    jac = np.reshape(jac, (-1, int(np.prod(shape))))
    return jac @ jac.T


def equation_7(sigma, t):
    """Cov(S_ac(X_i), S_be(X_j)) = Sigma_ab Sigma_ce, as a matrix over (i, a, c)."""
    s = sigma.reshape(2, t, 2, t)
    return np.einsum("iajb,icje->iacjbe", s, s).reshape(2 * t * t, -1)


@pytest.mark.parametrize("rank", [6, 4, 1, 0])
@pytest.mark.parametrize("form", ["joint", "one after the other", "conditional"])
def test_scores_have_the_covariance_of_equation_7(form, rank):
    """Exactly, for singular covariances too."""
    sigma = spd(6, rank)

    def joint(u):
        f = draws.factor(sigma)[0].reshape(2, 3, 6)
        return f @ u @ f.transpose(0, 2, 1)

    def in_turn(u):
        first, second = two_steps(sigma, 3)
        return jnp.stack([first.f @ u[:3, :3] @ first.f.T, second @ u @ second.T])

    def pair(u):
        return draws.conditional(sigma[:3, :3], sigma[:3, 3:], sigma[3:, 3:], u)

    scores, shape = {
        "joint": (joint, (6, 6)),
        "one after the other": (in_turn, (6, 6)),
        "conditional": (pair, (2, 3, 3)),
    }[form]
    got = law(scores, shape)
    np.testing.assert_allclose(got, equation_7(sigma, 3), atol=1e-8 * max(rank, 1) ** 2)


def test_conditional_scores_of_one_input_twice_are_equal():
    s = spd(3, 3)
    first, second = conditional(s, s, s, np.random.default_rng(0).normal(size=(2, 3, 3)))
    np.testing.assert_allclose(first, second, atol=1e-6)


@functools.partial(jax.jit, static_argnums=1)
def sobol(key, shape=(256, 2, 2)):
    return draws.normals(key, shape, np.dtype(float), "sobol")


def test_sobol_points_are_standard_normal():
    u = np.reshape(sobol(jax.random.key(0)), (256, 4))
    np.testing.assert_allclose(u.mean(0), 0, atol=0.02)
    np.testing.assert_allclose(u.T @ u / 256, np.eye(4), atol=0.05)
    assert np.all(np.isfinite(u))


def test_sobol_points_depend_on_the_key():
    first, again, other = (sobol(jax.random.key(k)) for k in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_sobol_estimates_are_unbiased_over_keys():
    """Of a smooth function with a known mean, from very few points."""
    keys = jax.random.split(jax.random.key(0), 400)
    u = np.asarray(jax.jit(jax.vmap(lambda k: sobol(k, (4, 1))))(keys))
    means = np.exp(u).mean((1, 2))
    assert abs(means.mean() - np.exp(0.5)) < 4 * means.std(ddof=1) / np.sqrt(400)
    assert means.std() < 0.9 * np.sqrt((np.e - 1) * np.e / 4)


def test_single_precision_points_are_finite():
    u = draws.normals(jax.random.key(0), (1024, 1), np.dtype("float32"), "sobol")
    assert u.dtype == "float32"
    assert np.all(np.isfinite(u))
    assert np.max(np.abs(u)) < 6


@pytest.mark.parametrize("sampler", draws.SAMPLERS)
def test_blocks_are_the_same_kept_or_drawn_again(sampler, monkeypatch):
    key, shape = jax.random.key(0), (4, 2, 2)
    kept = draws.blocks(key, 3, shape, np.dtype(float), sampler)
    monkeypatch.setattr(draws, "KEEP", 0)
    again = draws.blocks(key, 3, shape, np.dtype(float), sampler)
    values = [np.asarray(kept(b)) for b in range(3)]
    assert all(np.array_equal(v, again(b)) for b, v in enumerate(values))
    assert not np.array_equal(values[0], values[1])


def test_too_many_dimensions_for_sobol():
    with pytest.raises(ValueError, match="reaches 21201 dimensions and these scores need 21202"):
        draws.normals(jax.random.key(0), (1, 21202), np.dtype(float), "sobol")


def test_unknown_sampler():
    with pytest.raises(ValueError, match="'independent', 'sobol', got 'halton'"):
        draws.normals(jax.random.key(0), (1, 2), np.dtype(float), "halton")

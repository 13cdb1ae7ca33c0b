"""Dual activations: closed forms against quadrature, and what any of them must satisfy."""

import functools
import itertools

import hypothesis
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import strategies as st

from theorykit.kernels import activations
from theorykit.kernels.activations import Cos, Erf, Gelu, Identity, Quadrature, Relu

from .tiers import tiers

SMOOTH = {
    Erf(): jax.scipy.special.erf,
    Gelu(): lambda x: x * jax.scipy.stats.norm.cdf(x),
    Cos(): jnp.cos,
    Cos(1.3, 0.4): lambda x: jnp.cos(1.3 * x + 0.4),
    Identity(): lambda x: x,
}
ALL = [Relu(), *SMOOTH]
# Variances and correlations, the ends included.
K11, C, K22 = (
    a.ravel()
    for a in np.meshgrid([0.2, 1.0, 1.5], [-1.0, -0.7, 0.0, 0.4, 1.0], [0.5, 1.0], indexing="ij")
)
K12 = C * np.sqrt(K11 * K22)
pytestmark = pytest.mark.usefixtures("x64")


@functools.partial(jax.jit, static_argnums=0)
def duals(phi, *k):
    k = jnp.broadcast_arrays(*map(jnp.asarray, k))
    return phi.dual(*k), phi.dual_derivative(*k)


@pytest.mark.parametrize("phi", SMOOTH, ids=str)
def test_closed_forms_equal_quadrature(phi):
    quadrature = duals(Quadrature(SMOOTH[phi], points=80), K11, K12, K22)
    np.testing.assert_allclose(duals(phi, K11, K12, K22), quadrature, atol=2e-6)


def test_relu_equals_quadrature():
    """As well as a kink allows."""
    quadrature = duals(Quadrature(jax.nn.relu, points=200), K11, K12, K22)
    np.testing.assert_allclose(duals(Relu(), K11, K12, K22), quadrature, atol=0.02)
    one = duals(Relu(), 1.0, np.array([-1.0, 0.0, 0.5, 1.0]), 1.0)
    value = np.array([0, 1 / (2 * np.pi), (np.sqrt(3) / 2 + np.pi / 3) / (2 * np.pi), 0.5])
    np.testing.assert_allclose(one, [value, [0, 1 / 4, 1 / 3, 1 / 2]], atol=1e-12)


@pytest.mark.parametrize("phi", ALL, ids=str)
def test_dual_derivative_is_the_derivative(phi):
    """Price's theorem."""
    inside = np.abs(C) < 1
    k = K11[inside], K12[inside], K22[inside]
    slope = jax.jit(jax.grad(lambda k12: phi.dual(k[0], k12, k[2]).sum()))(k[1])
    np.testing.assert_allclose(duals(phi, *k)[1], slope, rtol=1e-9)


@pytest.mark.parametrize("phi", ALL, ids=str)
@pytest.mark.parametrize("f", ["dual", "dual_derivative"])
def test_gradients_in_all_three_are_those_of_differences(phi, f):
    inside = np.abs(C) < 0.95
    k, f, h = np.stack([K11, K12, K22])[:, inside], getattr(phi, f), 1e-5
    slopes = jax.jit(jax.grad(lambda k: f(*k).sum()))(jnp.array(k))
    for i in range(3):
        up, down = (jnp.array(k).at[i].add(e) for e in (h, -h))
        right = (f(*up) - f(*down)) / (2 * h)
        np.testing.assert_allclose(slopes[i], right, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("phi", ALL, ids=str)
def test_equal_inputs_and_zero_variance_have_finite_derivatives(phi):
    def total(scale):
        a, b = jnp.array([1.0, 1.0, 0.0, 0.0]), jnp.array([1.0, 1.0, 1.0, 0.0])
        c = jnp.array([1.0, -1.0, 0.0, 0.0])
        return sum(
            f(scale * a, scale * c, scale * b).sum() for f in (phi.dual, phi.dual_derivative)
        )

    value, slope = jax.jit(jax.value_and_grad(total))(1.0)
    assert np.isfinite(value)
    assert np.isfinite(slope)
    # Of a constant zero: phi(0)^2 exactly.
    at_zero = 0.0 if phi not in SMOOTH else float(SMOOTH[phi](jnp.zeros(())))
    np.testing.assert_allclose(duals(phi, 0.0, 0.0, 0.0)[0], at_zero**2, atol=1e-15)


correlation = st.floats(-1, 1)
variance = st.just(0.0) | st.floats(1e-6, 4)


@pytest.mark.parametrize("phi", ALL, ids=str)
@hypothesis.settings(deadline=None, max_examples=50)
@hypothesis.given(variance, correlation, variance)
def test_symmetry_and_cauchy_schwarz(phi, a, c, b):
    k = c * np.sqrt(a * b)
    cross, swapped, one, two = np.transpose(
        duals(phi, np.array([a, b, a, b]), np.array([k, k, a, b]), np.array([b, a, a, b]))
    )
    np.testing.assert_allclose(cross, swapped, rtol=1e-9, atol=1e-12)
    assert np.all(np.abs(cross) <= np.sqrt(one * two) * (1 + 1e-9) + 1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_relu_gram_of_repeated_inputs_is_positive_semidefinite(dtype):
    x = np.random.default_rng(0).normal(size=(6, 4)).astype(dtype)
    x = np.concatenate([x, x, -x, np.zeros_like(x[:1])])
    k = x @ x.T
    v = np.diagonal(k)
    for gram in duals(Relu(), v[:, None], k, v):
        assert gram.dtype == dtype
        values = np.linalg.eigvalsh(np.asarray(gram, float))
        assert values[0] > -10 * np.finfo(dtype).eps * values[-1]


def _mp(phi, a, c, b):
    """The dual, its derivative, and the sizes of both, by textbook formulas at 400 digits."""
    import mpmath as mp

    a, c, b, half = mp.mpf(a), mp.mpf(c), mp.mpf(b), mp.mpf(1) / 2
    if isinstance(phi, Relu):
        scale = mp.sqrt(a * b)
        t = mp.acos(max(-1, min(1, c / scale)))
        values = scale * (mp.sin(t) + (mp.pi - t) * mp.cos(t)) / (2 * mp.pi), half - t / 2 / mp.pi
        return *values, scale, 1
    if isinstance(phi, Erf):
        gap = (1 + 2 * a) * (1 + 2 * b) - 4 * c**2
        dual = 2 / mp.pi * mp.asin(2 * c / mp.sqrt((1 + 2 * a) * (1 + 2 * b)))
        slope = 4 / mp.pi / mp.sqrt(gap)
        return dual, slope, abs(dual), slope
    gap = (1 + a) * (1 + b) - c**2
    both = mp.mpf(1) / 4 + mp.asin(c / mp.sqrt((1 + a) * (1 + b))) / 2 / mp.pi
    inner = a * b - c**2 * (1 - 1 / (1 + a) - 1 / (1 + b))
    dual = inner / (2 * mp.pi * mp.sqrt(gap)) + c * both
    slope = inner / gap - 2 * (1 - 1 / (1 + a) - 1 / (1 + b)) + 1
    return dual, c * slope / (2 * mp.pi * mp.sqrt(gap)) + both, mp.sqrt(a * b), 1


@pytest.mark.parametrize(
    ("phi", "dtype"),
    tiers(
        list(itertools.product((Relu(), Erf(), Gelu()), ("float32", "float64"))),
        [(Relu(), "float64"), (Erf(), "float32"), (Gelu(), "float32")],
    ),
)
def test_duals_over_the_whole_range(phi, dtype):
    """Against closed forms at 400 digits, of the numbers as they are rounded to the dtype."""
    import mpmath

    eps = np.finfo(dtype).eps
    wide = [1e-150, 1e150] if dtype == "float64" else []
    scales = [*wide, 1e-30, 1e-20, 1e-8, 1e-3, 0.7, 3.0, 1e4, 1e6, 1e8, 1e20, 1e30]
    near = [1e-2, 1e-4, 100 * eps]
    ends = [1.0, *(1 - d for d in near)]
    grid = [(a, r, b) for a in scales for b in (a, a / 3, 1.0) for r in (*ends, 0.4, 0.0)]
    grid += [(a, -r, b) for a, r, b in grid]
    a, r, b = np.array(grid).T
    c = (r * np.sqrt(a) * np.sqrt(b)).astype(dtype)
    a, b = a.astype(dtype), b.astype(dtype)
    c = np.where((a == b) & (np.abs(r) == 1), np.sign(r) * a, c).astype(dtype)
    with mpmath.workdps(400):
        # A covariance that rounding put above its bound stands for the bound.
        mp = [(mpmath.mpf(float(p)), mpmath.mpf(float(q))) for p, q in zip(a, b, strict=True)]
        bound = [mpmath.sqrt(p * q) for p, q in mp]
        inside = np.array([abs(float(k)) <= m for k, m in zip(c, bound, strict=True)])
        a, b, c, r = a[inside], b[inside], c[inside], r[inside]
        right = [_mp(phi, float(x), float(y), float(z)) for x, y, z in zip(a, c, b, strict=True)]
        right = np.array(right, object).T
    dual, slope = duals(phi, a, c, b)
    assert dual.dtype == slope.dtype == dtype
    value, derivative, size, steep = (np.array(k, float) for k in right)
    np.testing.assert_array_less(np.abs(np.asarray(dual, float) - value), 30 * eps * size + 1e-300)
    # An angle near 0 is known to the square root of what counts as 0.
    loose = (
        np.sqrt((2048 if dtype == "float64" else 8) * eps) / (2 * np.pi) + 30 * eps
        if isinstance(phi, Relu)
        else 30 * eps
    )
    np.testing.assert_array_less(np.abs(np.asarray(slope, float) - derivative), loose * steep)
    plain = (a > 1e-9) & (a < 1e9) & (b < 1e9)
    k = jnp.array([a, c, b])[:, plain]
    grads = jax.jit(jax.grad(lambda k: phi.dual(k[0], k[1], k[2]).sum()))(k)
    assert np.isfinite(grads).all()


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1.0, 1e3, 1e6])
def test_relu_near_the_ends(scale):
    """Correlations 1 - 2^-k for all k, against mpmath."""
    k = np.arange(1, 54)
    r = np.concatenate([1 - 2.0**-k, 2.0**-k - 1])
    a, b = np.full(r.size, scale), np.full(r.size, scale * 4)
    c = r * 2 * scale
    dual, slope = duals(Relu(), a, c, b)
    import mpmath

    with mpmath.workdps(60):
        right = [_mp(Relu(), *each)[:2] for each in zip(a, c, b, strict=True)]
    value, derivative = np.array(right, float).T
    eps = np.finfo(float).eps
    np.testing.assert_allclose(dual, value, rtol=0, atol=10 * eps * 2 * scale)
    sin2 = (1 - r) * (1 + r)
    # An angle from a rounded cosine, and 0 where that is all rounding.
    tolerance = np.where(
        sin2 > 2048 * eps, 4 * eps / np.sqrt(sin2 + eps), np.sqrt(sin2 + 8 * eps) / 6
    )
    assert np.all(np.abs(np.asarray(slope) - derivative) <= tolerance + 10 * eps)


def test_cos_at_small_scales():
    """b1^2 E[sin sin] is b1^4 k12 there."""
    k = np.array([1e-30, 1e-12, 1e-9], "float32")
    for sign in (1, -1):
        got = Cos(1.5).dual_derivative(k, sign * k, k)
        np.testing.assert_allclose(got, sign * 1.5**4 * k, rtol=1e-6)
        slope = jax.vmap(jax.grad(Cos(1.5).dual_derivative, 1))(k, sign * k, k)
        np.testing.assert_allclose(slope, 1.5**4, rtol=1e-6)


@pytest.mark.parametrize("phi", [*ALL, Quadrature(jnp.tanh)], ids=lambda a: type(a).__name__)
def test_nan_stays(phi):
    """Of any of the three, in both functions, but for the slope of what is linear."""
    nan = np.array([np.nan, 1, 1]), np.array([1, np.nan, 1]), np.array([1, 1, np.nan])
    for values in duals(phi, *nan):
        assert np.isnan(values).all() or (phi == Identity() and np.all(np.asarray(values) == 1))


def test_names_and_objects():
    class Square:
        def dual(self, k11, k12, k22):
            return k11 * k22 + 2 * k12**2

        def dual_derivative(self, k11, k12, k22):
            return 4 * k12

    assert activations.activation("gelu") == Gelu()
    own = Square()
    assert activations.activation(own) is own
    quadrature = duals(Quadrature(jnp.square, points=48), K11, K12, K22)
    np.testing.assert_allclose(duals(own, K11, K12, K22), quadrature, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("bad", ["tanh", jnp.tanh, Relu, None])
def test_what_is_no_activation(bad):
    names = r"activation.*('relu', 'erf', 'gelu', 'cos', 'identity'|is a class: write Relu\(\))"
    with pytest.raises(ValueError, match=names):
        activations.activation(bad)

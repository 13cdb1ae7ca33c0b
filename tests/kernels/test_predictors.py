"""Predictors against numpy, and the systems that they refuse to solve."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from theorykit.kernels import gp_posterior, gradient_flow, ridge

from .tiers import tiers

RNG = np.random.default_rng(0)
ROOT = RNG.normal(size=(8, 9))
GRAM = ROOT @ ROOT.T / 9
K, K_TEST, K_TEST_TEST = GRAM[:5, :5], GRAM[5:, :5], GRAM[5:, 5:]
Y = RNG.normal(size=(5, 2))
pytestmark = pytest.mark.usefixtures("x64")


@pytest.mark.parametrize("y", [Y, Y[:, 0]], ids=["outputs", "one output"])
def test_ridge(y):
    got = ridge(K, y, K_TEST, ridge=0.1, jitter=0.01)
    shifted = K + 0.11 * np.eye(5)
    np.testing.assert_allclose(got.alpha, np.linalg.solve(shifted, y), rtol=1e-10)
    np.testing.assert_allclose(got.mean, K_TEST @ np.linalg.solve(shifted, y), rtol=1e-10)
    np.testing.assert_allclose(got.condition, np.linalg.cond(shifted), rtol=1e-10)
    assert got.jitter == 0.01
    assert got.covariance is None


def test_nothing_is_added_unasked():
    got = ridge(K, Y, K_TEST, ridge=0.0)
    np.testing.assert_allclose(K @ got.alpha, Y, rtol=1e-9)
    np.testing.assert_allclose(got.condition, np.linalg.cond(K), rtol=1e-9)
    assert got.jitter == 0


def test_gp_posterior():
    got = gp_posterior(K, Y, K_TEST, K_TEST_TEST, noise=0.2)
    solved = np.linalg.solve(K + 0.2 * np.eye(5), np.hstack([Y, K_TEST.T]))
    np.testing.assert_allclose(got.mean, K_TEST @ solved[:, :2], rtol=1e-10)
    expected = K_TEST_TEST - K_TEST @ solved[:, 2:]
    np.testing.assert_allclose(got.covariance, expected, rtol=1e-9)
    assert np.array_equal(got.covariance, got.covariance.T)
    assert np.linalg.eigvalsh(got.covariance)[0] > 0


def test_ridge_under_jit_and_grad():
    mean = jax.jit(lambda r: ridge(K, Y, K_TEST, ridge=r).mean.sum())
    np.testing.assert_allclose(mean(0.1), ridge(K, Y, K_TEST, ridge=0.1).mean.sum())
    slope = (mean(0.1 + 1e-6) - mean(0.1 - 1e-6)) / 2e-6
    np.testing.assert_allclose(jax.jit(jax.grad(mean))(0.1), slope, rtol=1e-6)


@pytest.mark.parametrize("y", [Y, Y[:, 0]], ids=["outputs", "one output"])
def test_gradient_flow(y):
    """Mode by mode: each is learned at the rate of its eigenvalue over the number of targets."""
    values, vectors = np.linalg.eigh(K)
    for time, rate in ((3.0, 1.0), (3.0, 0.5)):
        learned = -np.expm1(-values * time * rate / y.size) / values
        modes = vectors @ np.diag(learned) @ vectors.T @ y
        got = gradient_flow(K, y, K_TEST, time=time, learning_rate=rate)
        assert got.shape == (3, *y.shape[1:])
        np.testing.assert_allclose(got, K_TEST @ modes, rtol=1e-6)
    np.testing.assert_allclose(gradient_flow(K, y, K, time=None), y, rtol=1e-6)


@pytest.mark.parametrize(
    ("time", "dtype"),
    tiers(
        list(itertools.product((0.0, 0.3, 40.0, 1e9, None), (np.float32, np.float64))),
        [(0.3, np.float64), (40.0, np.float32), (None, np.float64)],
    ),
)
def test_gradient_flow_is_that_of_neural_tangents(time, dtype):
    from theorykit.kernels.tangents import nt

    k, y, k_test = (np.asarray(a, dtype) for a in (K, Y, K_TEST))
    predict = nt.predict.gradient_descent_mse(jnp.asarray(k), jnp.asarray(y), 0.7)
    zero = jnp.zeros((3, 2), dtype)
    _, expected = predict(time, jnp.zeros_like(y), zero, jnp.asarray(k_test))
    got = gradient_flow(k, y, k_test, time=time, learning_rate=0.7)
    assert got.dtype == dtype
    tolerance = 200 * np.finfo(dtype).eps * np.linalg.cond(K)
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


def test_gradient_flow_under_jit_and_grad():
    mean = jax.jit(lambda time: gradient_flow(K, Y, K_TEST, time=time).sum())
    np.testing.assert_allclose(mean(3.0), gradient_flow(K, Y, K_TEST, time=3.0).sum())
    slope = (mean(3.0 + 1e-5) - mean(3.0 - 1e-5)) / 2e-5
    np.testing.assert_allclose(jax.grad(mean)(3.0), slope, rtol=1e-5)


def test_gradient_flow_of_a_singular_kernel():
    """Equal inputs learn the mean of their targets, at the rate of the one eigenvalue."""
    got = gradient_flow(SINGULAR, Y, SINGULAR[:1], time=4.0)
    np.testing.assert_allclose(got[0], -np.expm1(-5 * 4.0 / 10) * Y.mean(0), rtol=1e-9)


SINGULAR = np.ones((5, 5))
INDEFINITE = np.diag([1.0, 1.0, 1.0, 1.0, -0.1])


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({"k_train": K[:, :4]}, r"square matrix, got shape \(5, 4\)"),
        ({"y": Y[:4]}, r"one target per input: 5 inputs, targets of shape \(4, 2\)"),
        ({"k_test": K_TEST.T}, r"\(test inputs, 5 training inputs\), got \(5, 3\)"),
        ({"ridge": -1.0}, "ridge is a number of at least 0, got -1.0"),
        ({"ridge": np.nan}, "ridge is a number of at least 0, got nan"),
        ({"jitter": -1e-9}, "jitter is a number of at least 0, got -1e-09"),
        ({"k_train": SINGULAR, "ridge": 0.0}, "singular to rounding .* give a ridge or a jitter"),
        ({"k_train": INDEFINITE, "ridge": 0.01}, "not positive semidefinite.* -0.1 .*more draws"),
        ({"k_train": K * np.nan}, "training kernel must be finite"),
        ({"y": Y * np.inf}, "targets must be finite"),
        ({"k_test": K_TEST * np.nan}, "test kernel must be finite"),
    ],
)
def test_bad_input(changes, wrong):
    with pytest.raises(ValueError, match=wrong):
        ridge(**{"k_train": K, "y": Y, "k_test": K_TEST, "ridge": 0.1, **changes})


def test_bad_posterior():
    with pytest.raises(ValueError, match=r"test inputs has shape \(3, 3\), got \(5, 5\)"):
        gp_posterior(K, Y, K_TEST, K, noise=0.1)
    with pytest.raises(ValueError, match=r"noise is a number of at least 0, got -0.1"):
        gp_posterior(K, Y, K_TEST, K_TEST_TEST, noise=-0.1)


def test_singular_kernels_need_a_ridge_or_a_jitter():
    for options in ({"ridge": 0.5}, {"ridge": 0.0, "jitter": 0.5}):
        got = ridge(SINGULAR, Y, SINGULAR[:1], **options)
        np.testing.assert_allclose(got.mean[0], Y.sum(0) / 5.5, rtol=1e-9)
        np.testing.assert_allclose(got.condition, 11, rtol=1e-9)


SLOPES = {
    "identity": np.eye(5),
    "rank 2": ROOT[:5, :2] @ ROOT[:5, :2].T,
    "constant": SINGULAR,
    "distinct": K,
}


def _difference(f, a, direction, step=1e-5):
    """The derivative by central differences of fourth order."""
    at = lambda s: np.asarray(f(a + s * step * direction))
    return (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * step)


def _series_flow(k, y, k_test, time):
    """The flow by doubling S(2 t) = S(t) (2 - K S(t)) from its power series: no eigenvectors."""
    h = time / y.size / 2**10
    s = h * (np.eye(len(k)) - h * k / 2 + h**2 * k @ k / 6 - h**3 * k @ k @ k / 24)
    for _ in range(10):
        s = s @ (2 * np.eye(len(k)) - k @ s)
    return k_test @ s @ y


@pytest.mark.parametrize("name", tiers(SLOPES, ["rank 2", "constant"]))
def test_derivatives_in_the_kernel_where_eigenvalues_are_equal(name):
    """Against differences of `np.linalg.solve` and of a power series."""
    k, along = SLOPES[name], ROOT[:5] @ ROOT[:5].T
    exact = lambda k: K_TEST @ np.linalg.solve(k + 0.1 * np.eye(5), Y)
    own = {
        "ridge": (lambda k: ridge(k, Y, K_TEST, ridge=0.1).mean, exact),
        "posterior": (
            lambda k: gp_posterior(k, Y, K_TEST, K_TEST_TEST, noise=0.1).covariance,
            lambda k: -K_TEST @ np.linalg.solve(k + 0.1 * np.eye(5), K_TEST.T),
        ),
        "flow": (
            lambda k: gradient_flow(k, Y, K_TEST, time=4.0),
            lambda k: _series_flow(k, Y, K_TEST, 4.0),
        ),
    }
    for ours, reference in own.values():
        expected = _difference(reference, k, along)
        _, slope = jax.jit(lambda k, f=ours: jax.jvp(f, (k,), (along,)))(k)
        np.testing.assert_allclose(slope, expected, rtol=1e-7, atol=1e-9)
        back = jax.vmap(jax.grad(lambda k, f=ours: f(k).sum()))(jnp.stack([k, 2 * k]))
        np.testing.assert_allclose((back[0] * along).sum(), expected.sum(), rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(back[0], back[0].T, atol=1e-9)


def test_flow_of_equal_inputs_that_move_apart():
    """Along the eigenvalue 0 the test kernel moves at first order, and the kernel does not."""
    x = lambda s: jnp.array([[1.0, s], [1.0, -s], [0.5, 0.0]])
    t, y = np.array([[2.0, 3.0]]), np.array([1.0, -1.0, 0.3])
    f = lambda s: gradient_flow(x(s) @ x(s).T, y, t @ x(s).T, time=6.0)
    reference = lambda s: _series_flow(np.asarray(x(s) @ x(s).T), y, t @ np.asarray(x(s)).T, 6.0)
    np.testing.assert_allclose(jax.jacfwd(f)(0.0), _difference(reference, 0.0, 1.0), rtol=1e-7)


def test_divided_differences_of_the_flow():
    import mpmath

    from theorykit.kernels.flow import _learned_difference

    z = np.array([0, 0, 1e-12, 1e-3, 1e-3 + 1e-9, 0.3, 0.499, 0.5, 0.501, 2, 2, 2 + 1e-8, 40, 1e8])
    got = jax.jit(_learned_difference)(z, 1.0)
    f = lambda z: (1 - mpmath.exp(-z)) / z if z else mpmath.mpf(1)
    with mpmath.workdps(120):
        for i, a in enumerate(map(mpmath.mpf, z)):
            for j, b in enumerate(map(mpmath.mpf, z)):
                b = b + mpmath.mpf(10) ** -25 if a == b else b
                np.testing.assert_allclose(float((f(a) - f(b)) / (a - b)), got[i, j], rtol=1e-13)


def test_derivative_of_the_condition_number():
    got = jax.jacfwd(lambda s: ridge(s * K, Y, K_TEST, ridge=0.1).condition)(1.0)
    cond = lambda s: np.linalg.cond(s * K + 0.1 * np.eye(5))
    np.testing.assert_allclose(got, _difference(cond, 1.0, 1.0), rtol=1e-8)


def test_derivative_in_a_scale_of_a_network_on_one_hot_inputs():
    """Their Gram matrix has equal eigenvalues."""
    from theorykit.kernels import InfiniteTransformer

    x = np.eye(4)[[0, 1, 2, 3]][:, None]
    y = np.arange(3.0)

    def kernel(sigma):
        net = InfiniteTransformer(sigma_w=sigma, attention="identity")
        return net(x, get="ntk").ntk

    for predict, solve in (
        (
            lambda k: ridge(k[:3, :3], y, k[3:, :3], ridge=0.1).mean[0],
            lambda k: (k[3:, :3] @ np.linalg.solve(k[:3, :3] + 0.1 * np.eye(3), y))[0],
        ),
        (
            lambda k: gradient_flow(k[:3, :3], y, k[3:, :3], time=2.0)[0],
            lambda k: _series_flow(k[:3, :3], y, k[3:, :3], 2.0)[0],
        ),
    ):
        got = jax.grad(lambda s, p=predict: p(kernel(s)))(1.0)
        expected = _difference(lambda s, f=solve: f(np.asarray(kernel(s))), 1.0, 1.0)
        np.testing.assert_allclose(got, expected, rtol=1e-7)


def test_a_ridge_too_small_for_the_spectrum():
    k = np.diag([1.0, 1.0, 1.0, 1.0, -1e-5]).astype("float32")
    k[-1, -1] = -3e-5
    with pytest.raises(ValueError, match=r"above 3e-05, got 1e-05 in all"):
        ridge(k, Y.astype("f4"), K_TEST.astype("f4"), ridge=1e-5)


def test_a_kernel_object_is_no_array():
    from theorykit.kernels import systems
    from theorykit.kernels.result import Kernel

    for kernel, wrong in ((Kernel(nngp=K), "give the field nngp or ntk"), (None, "got None")):
        with pytest.raises(ValueError, match=wrong):
            systems.system(kernel, Y, K_TEST)


def test_posteriors_of_one_gram_matrix_have_variances():
    from theorykit.kernels import InfiniteTransformer, joint

    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(20, 4, 5)).astype("f4"), np.ones(20, "f4")
    net = InfiniteTransformer(depth=2, layer_norm=True, residual=True)
    options = {"get": "nngp", "draws": 64, "replicates": 2}
    for seed in range(3):
        key = jax.random.key(seed)
        k = joint(net, x, x[:5], key=key, **options)
        got = gp_posterior(k.train.nngp, y, k.cross.nngp, k.test.nngp, noise=1e-4)
        variance = np.diagonal(got.covariance)
        assert np.all((variance >= 0) & (variance <= 1e-4 + 2e-5))  # of what was seen with noise
        whole = net(np.concatenate([x, x[:5]]), key=key, draw="joint", **options)
        for block, at in (
            (k.train, np.s_[:20, :20]),
            (k.cross, np.s_[20:, :20]),
            (k.test, np.s_[20:, 20:]),
        ):
            assert np.array_equal(block.nngp, whole.nngp[at])
            assert block.ntk is None
    keys = jax.random.split(jax.random.key(0), 3)
    parts = [
        net(*pair, key=key, **options).nngp
        for pair, key in zip(((x,), (x[:5], x), (x[:5],)), keys, strict=True)
    ]
    with pytest.raises(
        ValueError, match=r"posterior variance is -.*take all three from kernels.joint"
    ):
        gp_posterior(parts[0], y, *parts[1:], noise=1e-4)


def test_joint_of_different_lengths():
    from theorykit.kernels import InfiniteTransformer, joint

    x = np.random.default_rng(0).normal(size=(3, 4, 2))
    k = joint(InfiniteTransformer(), x, x[:2, :2], key=jax.random.key(0), draws=8, replicates=2)
    assert (k.train.ntk.shape, k.cross.ntk.shape, k.test.ntk_stderr.shape) == (
        (3, 3),
        (2, 3),
        (2, 2),
    )
    with pytest.raises(ValueError, match="readout"):
        joint(InfiniteTransformer(readout="tokens"), x, x, key=jax.random.key(0))


def test_the_dtype_of_a_prediction():
    for dtype in ("float16", "bfloat16", "float32", "float64"):
        k, y, t, own = (jnp.asarray(a, dtype) for a in (K, Y, K_TEST, K_TEST_TEST))
        got = gp_posterior(k, y, t, own, noise=0.1)
        assert got.mean.dtype == got.covariance.dtype == got.alpha.dtype == dtype
        assert ridge(k, np.arange(5), t, ridge=0.1).mean.dtype == dtype
        assert gradient_flow(k, y, t, time=1.0).dtype == dtype
    with pytest.raises(ValueError, match="array of real numbers"):
        ridge(K + 0j, Y, K_TEST, ridge=0.1)

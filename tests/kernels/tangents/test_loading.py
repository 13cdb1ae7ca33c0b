"""neural-tangents on the installed JAX: closed forms, finite networks, and JAX left alone."""

import functools
import subprocess
import sys
import textwrap
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from theorykit.kernels import tangents
from theorykit.kernels.tangents import loading, nt, stax

pytestmark = [
    pytest.mark.filterwarnings("ignore:`FanIn` layers assume independent inputs"),
    pytest.mark.filterwarnings("ignore:Batch size is reduced"),
]
CHECKOUT = Path(__file__).parents[3]
IMPLEMENTATIONS = ["JACOBIAN_CONTRACTION", "NTK_VECTOR_PRODUCTS", "STRUCTURED_DERIVATIVES"]
close = lambda a, b, rtol=2e-5, atol=2e-6: np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)


def normal(*shape, seed=0):
    return jax.random.normal(jax.random.PRNGKey(seed), shape)


def run(code):
    """Run `code` in a fresh interpreter; its standard error comes back with its exit status."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=120,
    )


# --- JAX, and whoever else is there, are left alone


def test_jax_is_left_as_it_was():
    done = run(
        """
        import sys, types, warnings
        import jax, jax.core, jax.random, jax.numpy, jax.interpreters.ad, scipy.linalg
        import theorykit.kernels

        watched = [m for n, m in sorted(sys.modules.items())
                   if n in ("jax", "scipy", "builtins", "warnings")
                   or n.startswith(("jax.", "scipy.")) and not n.startswith("jax._src")]

        def now():
            return (
                {m.__name__: {k: id(v) for k, v in vars(m).items()} for m in watched},
                dict(jax.config.values), list(warnings.filters), list(sys.meta_path),
                list(sys.path), "jax.util" in sys.modules,
            )

        def compare(before, after):
            assert before[1:] == after[1:]
            for name, old in before[0].items():
                new = after[0][name]
                assert {k: new.get(k) for k in old} == old, name
                # What Python itself adds when a submodule is imported for the first time.
                for k in set(new) - set(old):
                    assert id(sys.modules[f"{name}.{k}"]) == new[k], (name, k)

        before = now()
        assert not hasattr(jax.core, "lattice_join")
        from theorykit.kernels.tangents import nt, stax
        compare(before, now())
        assert set(before[0]["jax.core"]) == set(vars(jax.core))
        assert set(before[0]["jax.random"]) == set(vars(jax.random))

        init, apply, kernel = stax.serial(stax.Dense(4), stax.Relu(), stax.Dense(1))
        x = jax.numpy.ones((2, 3))
        kernel(x, x)
        ntk = nt.empirical_ntk_fn(apply, implementation=nt.NtkImplementation.STRUCTURED_DERIVATIVES)
        ntk(x, None, init(jax.random.PRNGKey(0), x.shape)[1])
        compare(before, now())
        assert "tensorflow" not in sys.modules and "tf2jax" not in sys.modules
        """
    )
    assert done.returncode == 0, done.stderr


def test_after_a_failed_import_of_neural_tangents():
    done = run(
        """
        import sys
        try:
            import neural_tangents
        except Exception:
            pass
        else:
            raise SystemExit("it can be imported by itself: tangents is no longer needed")
        from theorykit.kernels import tangents
        import importlib, neural_tangents, neural_tangents.stax
        assert neural_tangents is tangents.nt and neural_tangents.stax is tangents.stax
        assert importlib.reload(tangents).nt is neural_tangents
        try:
            import neural_tangents.experimental.empirical_tf
        except ModuleNotFoundError:
            pass
        """
    )
    assert done.returncode == 0, done.stderr


def test_a_copy_imported_by_somebody_else_stays():
    done = run(
        """
        import sys, types
        theirs = sys.modules["neural_tangents"] = types.ModuleType("neural_tangents")
        part = sys.modules["neural_tangents.stax"] = types.ModuleType("neural_tangents.stax")
        from theorykit.kernels import tangents
        assert sys.modules["neural_tangents"] is theirs
        assert sys.modules["neural_tangents.stax"] is part
        assert not [n for n in sys.modules if n.startswith("neural_tangents._src")]
        assert tangents.nt is not theirs and tangents.stax.Dense
        """
    )
    assert done.returncode == 0, done.stderr


def test_unsupported_jax_is_one_sentence():
    done = run(
        """
        import jax
        jax.__version__ = "0.4.38"
        import theorykit.kernels.tangents
        """
    )
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.endswith(
        "UnsupportedVersion: theorykit.kernels.tangents supports jax "
        f"{tangents.SUPPORTED}, but jax 0.4.38 is installed; install a supported one."
    )
    assert "neural_tangents" not in done.stderr


def test_which_versions_are_supported():
    low, beyond = (v.lstrip("<>=") for v in tangents.SUPPORTED.split(","))
    for version in (low, f"{low}.0", f"{low}.3", "0.10.2", "0.10.3.dev20260101"):
        loading._check_versions(version, "0.6.5")
    for version in ("0.7.2", beyond, f"{beyond}.0", "1.0.0"):
        with pytest.raises(tangents.UnsupportedVersion, match=f"but jax {version} is installed"):
            loading._check_versions(version, "0.6.5")
    with pytest.raises(ImportError, match=r"neural-tangents 0\.6\.5, but 0\.6\.4 is"):
        loading._check_versions(low, "0.6.4")
    with pytest.raises(ImportError, match="but none is installed"):
        loading._check_versions(low, None)


# --- Kernels with closed forms


def relu_dual(a, b, k):
    """E relu(u) relu(v) and E relu'(u) relu'(v), Cho and Saul's arc-cosine kernels."""
    theta = np.arccos(np.clip(k / np.sqrt(a * b), -1, 1))
    value = np.sqrt(a * b) * (np.sin(theta) + (np.pi - theta) * np.cos(theta)) / (2 * np.pi)
    return value, (np.pi - theta) / (2 * np.pi)


def erf_dual(a, b, k):
    """E erf(u) erf(v) and E erf'(u) erf'(v), Williams' formula."""
    norm = (1 + 2 * a) * (1 + 2 * b)
    return 2 / np.pi * np.arcsin(2 * k / np.sqrt(norm)), 4 / np.pi / np.sqrt(norm - 4 * k**2)


def gelu_dual(a, b, k):
    """The same for gelu, with the error function, by Gauss-Hermite quadrature in two dimensions."""
    from scipy.special import erf

    nodes, weights = np.polynomial.hermite_e.hermegauss(64)
    weights = weights / weights.sum()
    z, w = np.meshgrid(nodes, nodes, indexing="ij")
    a, b, k = (np.asarray(v)[..., None, None] for v in (a, b, k))
    u, v = np.sqrt(a) * z, k / np.sqrt(a) * z + np.sqrt(np.maximum(b - k**2 / a, 0)) * w
    cdf = lambda t: (1 + erf(t / np.sqrt(2))) / 2
    phi = lambda t: t * cdf(t)
    dphi = lambda t: cdf(t) + t * np.exp(-(t**2) / 2) / np.sqrt(2 * np.pi)
    mean = lambda f: np.einsum("...ij,i,j->...", f(u) * f(v), weights, weights)
    return mean(phi), mean(dphi)


def inputs():
    """Two batches as numpy float64, and their covariances `a`, `b`, `k` under NTK scaling."""
    x1, x2 = np.float64(normal(4, 6)), np.float64(normal(3, 6, seed=1))
    return x1, x2, (x1**2).mean(1)[:, None], (x2**2).mean(1)[None, :], x1 @ x2.T / 6


@pytest.mark.parametrize(
    ("layer", "dual"),
    [(stax.Relu(), relu_dual), (stax.Erf(), erf_dual), (stax.Gelu(), gelu_dual)],
    ids=["relu", "erf", "gelu"],
)
def test_dense_and_activation(layer, dual):
    _, _, kernel = stax.serial(stax.Dense(1), layer, stax.Dense(1, W_std=1.5, b_std=0.5))
    x1, x2, a, b, k = inputs()
    value, slope = dual(a, b, k)
    got = jax.jit(lambda x, y: tuple(kernel(x, y, ("nngp", "ntk"))))(x1, x2)
    nngp = 1.5**2 * value + 0.5**2
    close(got[0], nngp)
    close(got[1], nngp + 1.5**2 * slope * k)


def test_layer_norm():
    _, _, kernel = stax.serial(stax.Dense(1), stax.LayerNorm(), stax.Relu(), stax.Dense(1))
    x1, x2, a, b, k = inputs()
    rho = k / np.sqrt(a * b)
    value, slope = relu_dual(1.0, 1.0, rho)
    nngp, ntk = kernel(x1, x2, ("nngp", "ntk"))
    close(nngp, value)
    close(ntk, value + slope * rho)


def test_pooling():
    kernel = stax.serial(stax.Dense(1), stax.Relu(), stax.GlobalAvgPool(), stax.Dense(1))[2]
    x1, x2 = np.float64(normal(3, 4, 5)), np.float64(normal(2, 4, 5, seed=1))
    a, b = (x1**2).mean(-1)[:, :, None, None], (x2**2).mean(-1)
    value, slope = relu_dual(a, b, k := np.einsum("itd,jsd->itjs", x1, x2) / 5)
    nngp, ntk = kernel(x1, x2, ("nngp", "ntk"))
    close(nngp, value.mean((1, 3)))
    close(ntk, (value + slope * k).mean((1, 3)))


def test_branches_add():
    deep = stax.serial(stax.Dense(1), stax.Relu(), stax.Dense(1))
    block = stax.serial(stax.FanOut(2), stax.parallel(deep, stax.Dense(1)), stax.FanInSum())
    x1, x2, a, b, k = inputs()
    value, slope = relu_dual(a, b, k)
    nngp, ntk = block[2](x1, x2, ("nngp", "ntk"))
    close(nngp, value + k)
    close(ntk, value + slope * k + k)


# --- Finite networks


def attention(*, out=4, key=4, value=4, heads=2):
    return stax.GlobalSelfAttention(
        n_chan_out=out,
        n_chan_key=key,
        n_chan_val=value,
        n_heads=heads,
        linear_scaling=False,
        attention_mechanism=stax.AttentionMechanism.IDENTITY.name,
    )


def test_identity_attention_agrees_with_finite_networks():
    layer = attention(out=32, key=8, value=8, heads=32)
    init, apply, kernel = stax.serial(layer, stax.GlobalAvgPool(), stax.Dense(1))
    x = normal(2, 3, 4) / 2
    draws, replicates = 40, 8
    means = nt.monte_carlo_kernel_fn(
        init, apply, jax.random.PRNGKey(3), range(draws, draws * replicates + 1, draws), vmap_axes=0
    )(x, None, ("nngp", "ntk"))
    means = [np.stack(m) for m in means]
    sums = [n * m for n, m in enumerate(means, 1)]
    values = np.diff(sums, axis=0, prepend=np.zeros_like(sums[:1]))
    stderr = values.std(0, ddof=1) / np.sqrt(replicates)
    exact = np.stack(kernel(x, None, ("nngp", "ntk")))
    # Eight replicates leave the standard error itself uncertain: 5 here are 4 with many.
    assert np.all(np.abs(means[-1] - exact) < 5 * stderr)
    assert np.all(stderr < 0.1 * np.abs(exact).max())


def mixed_network():
    init, apply, _ = stax.serial(
        stax.Dense(6, b_std=0.1),
        stax.LayerNorm(),
        stax.FanOut(2),
        stax.parallel(stax.Dense(4), attention()),
        stax.FanInSum(),
        stax.Relu(),
        stax.GlobalAvgPool(),
        stax.Dense(3, b_std=0.2),
    )
    x1, x2 = normal(3, 4, 5), normal(2, 4, 5, seed=1)
    return apply, init(jax.random.PRNGKey(2), x1.shape)[1], x1, x2


def jacobian_contraction(apply, params, x1, x2):
    """The empirical NTK by its definition, (P1, P2, outputs, outputs)."""

    def rows(x):
        leaves = jax.tree.leaves(jax.jacrev(apply)(params, x))
        return jnp.concatenate([j.reshape(*j.shape[:2], -1) for j in leaves], -1)

    return jnp.einsum("iap,jbp->ijab", rows(x1), rows(x2))


@pytest.fixture(scope="module")
def expected_ntk():
    apply, *args = mixed_network()
    return jax.jit(lambda *args: jacobian_contraction(apply, *args))(*args)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_empirical_ntk(implementation, expected_ntk):
    apply, params, x1, x2 = mixed_network()
    how = {"vmap_axes": 0, "implementation": nt.NtkImplementation[implementation]}
    ntk = nt.empirical_ntk_fn(apply, trace_axes=(), **how)
    close(jax.jit(ntk)(x1, x2, params), expected_ntk, atol=1e-4)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_axes_of_the_empirical_ntk(implementation):
    init, apply, _ = stax.serial(stax.Dense(4), stax.Gelu(), stax.Dense(3))
    x1, x2 = normal(3, 5), normal(2, 5, seed=1)
    params = init(jax.random.PRNGKey(2), x1.shape)[1]

    def ntk(*args, **axes):
        how = nt.NtkImplementation[implementation]
        return nt.empirical_ntk_fn(apply, **axes, implementation=how)(*args)

    @jax.jit
    def all_ways(x1, x2, params):
        return (
            ntk(x1, x2, params),
            ntk(x1, x2, params, trace_axes=(), diagonal_axes=(-1,)),
            ntk(x1, None, params, trace_axes=(-1,), diagonal_axes=(0,)),
        )

    full = jacobian_contraction(apply, params, x1, x2)
    itself = jacobian_contraction(apply, params, x1, x1)
    trace, diagonal, variance = all_ways(x1, x2, params)
    close(trace, jnp.einsum("ijaa->ij", full) / 3, atol=1e-5)
    close(diagonal, jnp.einsum("ijaa->ija", full), atol=1e-5)
    close(variance, jnp.einsum("iiaa->i", itself) / 3, atol=1e-5)


def test_the_cheapest_implementation_is_found():
    """By the FLOPs that the compiler counts."""
    init, apply, _ = stax.serial(stax.Dense(3), stax.Relu(), stax.Dense(1))
    x = normal(3, 4)
    params = init(jax.random.PRNGKey(2), x.shape)[1]
    fastest = nt.empirical_ntk_fn(apply, implementation=nt.NtkImplementation.AUTO)
    close(fastest(x, None, params), jacobian_contraction(apply, params, x, x)[..., 0, 0])


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_empirical_ntk_of_pytrees(implementation):
    """Parameters used twice, outputs in a dictionary, an inner jit, no batch axis to map over."""
    inner = jax.jit(lambda h: jnp.where(h > 0, h, 0.1 * h))

    def apply(params, x):
        h = inner(x @ params["w"])
        y = (h @ params["w"].T).reshape(-1, 4)[:, ::-1]
        return {"y": jax.nn.relu(y * params["scale"]) - params["scale"] / 2, "h": h.sum(1)}

    params = {"w": normal(4, 5), "scale": normal(4, seed=1)}
    x = normal(3, 4, seed=2)
    how = nt.NtkImplementation[implementation]
    ntk = nt.empirical_ntk_fn(apply, trace_axes=(), implementation=how)
    got = jax.jit(lambda x, params: ntk(x, None, params))(x, params)

    def rows(name):
        jac = jax.tree.leaves(jax.jacfwd(lambda p: apply(p, x)[name])(params))
        return jnp.concatenate([j.reshape(*apply(params, x)[name].shape, -1) for j in jac], -1)

    for name, sum_ in (("y", "iap,jbp->ijab"), ("h", "ip,jp->ij")):
        close(got[name], jnp.einsum(sum_, rows(name), rows(name)), atol=1e-4)


def test_empirical_nngp():
    apply, params, x1, x2 = mixed_network()
    f1, f2 = apply(params, x1), apply(params, x2)
    close(nt.empirical_nngp_fn(apply)(x1, x2, params), f1 @ f2.T / 3)


def test_linearize_and_taylor_expand():
    init, apply, _ = stax.serial(stax.Dense(4), stax.Gelu(), stax.Dense(2))
    x = normal(3, 5)
    params = init(jax.random.PRNGKey(2), x.shape)[1]
    step = jax.tree.map(lambda p: 0.02 * jnp.cos(jnp.arange(p.size)).reshape(p.shape), params)
    moved = jax.tree.map(jnp.add, params, step)
    along = lambda t: apply(jax.tree.map(lambda p, d: p + t * d, params, step), x)

    @jax.jit
    def expansions(params, moved):
        first, second = nt.linearize(apply, params), nt.taylor_expand(apply, params, 2)
        terms = along(0.0), jax.jacfwd(along)(0.0), jax.jacfwd(jax.jacfwd(along))(0.0)
        return first(moved, x), second(moved, x), terms

    first, second, (value, slope, curve) = expansions(params, moved)
    close(first, value + slope, atol=1e-5)
    close(second, value + slope + curve / 2, atol=1e-5)
    exact = apply(moved, x)
    assert jnp.abs(second - exact).max() < jnp.abs(first - exact).max() / 2


def test_batched_kernels_equal_unbatched():
    x1, x2 = normal(2, 4, 5), normal(4, 4, 5, seed=4)
    layers = stax.serial(stax.Dense(3), stax.Relu(), stax.GlobalAvgPool(), stax.Dense(1))
    init, apply, kernel = layers
    params = init(jax.random.PRNGKey(0), x1.shape)[1]
    for size in (1, 2):
        batched = nt.batch(kernel, batch_size=size, device_count=0)
        close(batched(x1, x2, "ntk"), kernel(x1, x2, "ntk"))
        close(batched(x2, None, "nngp"), kernel(x2, None, "nngp"))
    empirical = nt.empirical_ntk_fn(apply, vmap_axes=0)
    batched = nt.batch(empirical, batch_size=2, device_count=-1)
    close(batched(x1, x2, params), empirical(x1, x2, params), atol=1e-5)


# --- Predictors


def regression():
    x_train, x_test = normal(6, 5), normal(3, 5, seed=1)
    y_train = normal(6, 1, seed=2)
    kernel = stax.serial(stax.Dense(1), stax.Erf(), stax.Dense(1))[2]
    return kernel, x_train, x_test, y_train


def flow(k_train, k_test, y, t, f0_train=0.0, f0_test=0.0):
    """Gradient flow of half the mean squared error, mode by mode."""
    lam, v = np.linalg.eigh(np.float64(k_train))
    grown = -np.expm1(-lam * t / y.size)
    gap = v.T @ (np.float64(y) - f0_train)
    train = f0_train + v @ (grown[:, None] * gap)
    return train, f0_test + np.float64(k_test) @ v @ ((grown / lam)[:, None] * gap)


def test_gradient_descent_mse():
    kernel, x_train, x_test, y = regression()
    k_train, k_test = kernel(x_train, None, "ntk"), kernel(x_test, x_train, "ntk")
    predict = nt.predict.gradient_descent_mse(k_train, y)
    f_train, f_test = normal(6, 1, seed=5), normal(3, 1, seed=6)
    for t in (0.5, 20.0):
        got = jax.jit(lambda t: predict(t, f_train, f_test, k_test))(t)
        want = flow(k_train, k_test, y, t, f_train, f_test)
        close(got[0], want[0], rtol=1e-3, atol=1e-4)
        close(got[1], want[1], rtol=1e-3, atol=1e-4)
    limit = f_test + k_test @ np.linalg.solve(k_train, y - f_train)
    close(predict(None, f_train, f_test, k_test)[1], limit, rtol=1e-3, atol=1e-3)


def test_gradient_descent_mse_of_traced_kernels():
    kernel, x_train, x_test, y = regression()
    k_train, k_test = kernel(x_train, None, "ntk"), kernel(x_test, x_train, "ntk")

    def predicted(t, scale, ridge=0.0):
        predict = nt.predict.gradient_descent_mse(scale * k_train, y, diag_reg=ridge)
        return predict(t, jnp.zeros((6, 1)), jnp.zeros((3, 1)), scale * k_test)[1]

    for t in (4.0, None):
        scales = jnp.array([0.5, 2.0])
        got = jax.vmap(functools.partial(predicted, t))(scales)
        for scale, value in zip(scales, got, strict=True):
            close(value, predicted(t, scale), rtol=1e-3, atol=1e-4)
    slope = jax.jit(jax.grad(lambda ridge: predicted(None, 1.0, ridge).sum()))(0.5)
    step = 0.01
    difference = predicted(None, 1.0, 0.5 + step).sum() - predicted(None, 1.0, 0.5 - step).sum()
    close(slope, difference / (2 * step), rtol=1e-2, atol=1e-3)


def test_gradient_descent_for_any_loss():
    kernel, x_train, x_test, y = regression()
    k_train, k_test = kernel(x_train, None, "ntk"), kernel(x_test, x_train, "ntk")
    loss = lambda f, y: 0.5 * jnp.mean((f - y) ** 2)
    predict = nt.predict.gradient_descent(loss, k_train, y)
    zeros = jnp.zeros((6, 1)), jnp.zeros((3, 1))
    got = predict(3.0, *zeros, k_test)
    for value, want in zip(got, flow(k_train, k_test, y, 3.0), strict=True):
        close(value, want, rtol=1e-3, atol=1e-4)


def test_ensemble():
    kernel, x_train, x_test, y = regression()
    predict = nt.predict.gradient_descent_mse_ensemble(kernel, x_train, y, diag_reg=0.0)
    ntk = lambda a, b: np.float64(kernel(a, b, "ntk"))
    nngp = lambda a, b: np.float64(kernel(a, b, "nngp"))
    mean, cov = predict(t=2.0, x_test=x_test, get="ntk", compute_cov=True)
    close(mean, flow(ntk(x_train, None), ntk(x_test, x_train), y, 2.0)[1], rtol=1e-3, atol=1e-4)
    # The output at time t is linear in the Gaussian process at initialisation: f_test - M f_train.
    lam, v = np.linalg.eigh(ntk(x_train, None))
    M = ntk(x_test, x_train) @ (v * (-np.expm1(-lam * 2.0 / y.size) / lam)) @ v.T
    cross = M @ nngp(x_train, x_test)
    want = nngp(x_test, None) - cross - cross.T + M @ nngp(x_train, None) @ M.T
    close(cov, want, rtol=1e-3, atol=1e-4)

    bayes = predict(x_test=x_test, get="nngp", compute_cov=True)
    weights = np.linalg.solve(nngp(x_train, None), nngp(x_train, x_test))
    close(bayes.mean, weights.T @ y, rtol=1e-2, atol=1e-3)
    close(bayes.covariance, nngp(x_test, None) - nngp(x_test, x_train) @ weights, 1e-2, 1e-3)


def test_gp_inference_and_learning_rate():
    kernel, x_train, x_test, y = regression()
    k = kernel(x_train, None, "nngp")
    predict = nt.predict.gp_inference(k, y, diag_reg=0.1, diag_reg_absolute_scale=True)
    mean = predict(get="nngp", k_test_train=kernel(x_test, x_train, "nngp"))
    solved = np.linalg.solve(np.float64(k) + 0.1 * np.eye(6), np.float64(y))
    close(mean, np.float64(kernel(x_test, x_train, "nngp")) @ solved, atol=1e-5)
    lr = nt.predict.max_learning_rate(k, y_train_size=6)
    close(lr, 12 / np.linalg.eigvalsh(np.float64(k))[-1], rtol=1e-4)


@pytest.mark.parametrize("alone", [True, False])
def test_batching_changes_no_number_and_makes_one_flag_an_array(alone):
    nt, stax = tangents.nt, tangents.stax
    _, _, kernel = stax.serial(stax.Dense(16), stax.Relu(), stax.Dense(1))
    _, _, above = stax.serial(stax.Relu(), stax.Dense(1))
    x = np.random.default_rng(0).standard_normal((8, 3))
    y = None if alone else x[:4] + 1
    composed = lambda x1, x2=None: above(kernel(x1, x2))
    plain, batched = composed(x, y), nt.batch(composed, batch_size=2, device_count=0)(x, y)
    np.testing.assert_allclose(batched.ntk, plain.ntk, rtol=1e-3)
    np.testing.assert_allclose(batched.nngp, plain.nngp, rtol=1e-3)
    assert isinstance(plain.x1_is_x2, bool)
    assert bool(batched.x1_is_x2) == plain.x1_is_x2 == alone

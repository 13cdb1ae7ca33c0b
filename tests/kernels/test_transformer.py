"""Kernels of the whole network: against the oracle, neural-tangents, and themselves."""

import functools
import itertools
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from theorykit.kernels import InfiniteTransformer, engine, oracle
from theorykit.kernels.tangents import stax

from .tiers import tiers

X = np.random.default_rng(0).normal(size=(2, 3, 3))
MASK = np.array([[True, True, True], [True, True, False]])
MANY = np.random.default_rng(2).normal(size=(8, 2, 1)) / 2
SHORT = np.random.default_rng(1).normal(size=(1, 2, 3))

# Between them: both depths, all forms of draws, readouts and options.
CASES = {
    "features": ({"depth": 1, "sigma_b": 0.3}, {"draw": "joint"}),
    "features on a block": (
        {"depth": 2, "activation": "gelu", "causal": True},
        {"draw": "joint", "get": "nngp", "sampler": "sobol"},
    ),
    "joint": (
        {"depth": 2, "activation": "erf", "causal": True, "sigma_b": 0.3},
        {"draw": "joint"},
    ),
    "pairwise": (
        {
            "depth": 1,
            "activation": "gelu",
            "readout": "tokens",
            "residual": True,
            "layer_norm": True,
            "positions": 0.5,
        },
        {"draw": "pairwise", "x2": SHORT},
    ),
    "conditional": (
        {"depth": 2, "activation": "cos", "readout": "mean", "score_scale": 1.0},
        {"draw": "conditional"},
    ),
    "joint, pairwise": (
        {"depth": 2, "readout": "mean", "residual": True, "score_scale": 0.7},
        {"x1": MANY, "mask1": None},
    ),
}
pytestmark = pytest.mark.usefixtures("x64")


def network(name):
    return InfiniteTransformer(**{"score_scale": 1.5, **CASES[name][0]})


def compute(name, seed=0, **options):
    """The case's kernel; every call of a case reuses its compiled program."""
    options = {"x1": X, "mask1": MASK, "draws": 1024, "replicates": 16, **CASES[name][1], **options}
    return network(name)(options.pop("x1"), key=jax.random.key(seed), **options)


kernel = functools.cache(compute)


def same(a, b):
    return all(np.array_equal(u, v) for u, v in zip(a[:4], b[:4], strict=True) if u is not None)


# --- Against the oracle


@pytest.mark.parametrize("name", tiers(CASES, CASES.keys() - {"joint", "joint, pairwise"}))
def test_agrees_with_the_oracle(name):
    k = kernel(name)
    inputs = {"x1": X, "mask1": MASK, **CASES[name][1]}
    x1, x2, mask1 = inputs["x1"], inputs.get("x2"), inputs["mask1"]
    # Two tokens a row are an integral over one score difference, three over two of them.
    order = 24 if x1.shape[1] == 2 else 12
    exact = oracle.kernel(network(name), x1, x2, mask1=mask1, order=order)
    for field in ("nngp", "ntk"):
        value, stderr, expected = (
            getattr(source, of)
            for source, of in ((k, field), (k, f"{field}_stderr"), (exact, field))
        )
        if value is None:
            assert inputs["get"] == "nngp"
            continue
        assert np.all(np.abs(value - expected) <= 4 * stderr + 1e-12)
        assert np.max(stderr) < 0.02 * np.max(np.abs(expected))
    assert (k.draws, k.replicates) == (1024, 16)
    assert k.draw == name.removesuffix(" on a block").replace("features", "joint")


# --- Against neural-tangents


def attention(score_scale):
    """Identity attention. neural-tangents' layer has an output matrix besides, of weights that
    are trained too: the reference network's NTK lacks their share, which is the NNGP."""
    layer = stax.GlobalSelfAttention(
        n_chan_out=1,
        n_chan_key=1,
        n_chan_val=1,
        n_heads=1,
        linear_scaling=False,
        W_query_std=score_scale,
        attention_mechanism=stax.AttentionMechanism.IDENTITY.name,
    )[2]

    def kernel_fn(k):
        k = layer(k)
        return k.replace(ntk=k.ntk - k.nngp)

    return kernel_fn


@pytest.mark.parametrize("readout", tiers(["last", "mean"], ["mean"]))
def test_identity_attention_equals_neural_tangents(readout):
    x2 = np.random.default_rng(3).normal(size=(1, 3, 3))
    options = {"attention": "identity", "score_scale": 1.3, "sigma_w": 1.2, "sigma_b": 0.3}
    k = stax.Dense(1)[2](X, x2)
    for _ in range(2):
        k = attention(1.3)(k)
        k = stax.serial(stax.Relu(), stax.Dense(1, W_std=1.2, b_std=0.3))[2](k)
    every = (slice(None), slice(None))
    layer, at = {
        "last": (stax.Identity(), (*every, -1, -1)),
        "mean": (stax.GlobalAvgPool(), every),
    }[readout]
    expected = stax.serial(layer, stax.Dense(1))[2](k)
    ours = InfiniteTransformer(depth=2, readout=readout, **options)(X, x2)
    np.testing.assert_allclose(ours.nngp, expected.nngp[at], rtol=1e-9)
    np.testing.assert_allclose(ours.ntk, expected.ntk[at], rtol=1e-9)
    assert (ours.draw, ours.draws) == ("exact", 0)
    assert not np.any(ours.ntk_stderr)


def branch(*layers):
    return stax.serial(
        stax.FanOut(2), stax.parallel(stax.serial(*layers), stax.Identity()), stax.FanInSum()
    )


@pytest.mark.parametrize(
    ("activation", "layer", "residual", "layer_norm"),
    [
        ("relu", stax.Relu(), True, True),
        ("erf", stax.Erf(), False, False),
        pytest.param("gelu", stax.Gelu(), False, True, marks=pytest.mark.slow),
    ],
)
def test_one_token_is_a_multilayer_perceptron(activation, layer, residual, layer_norm):
    """The softmax of one score is 1: attention is its value matrix."""
    options = {"residual": residual, "layer_norm": layer_norm}
    net = InfiniteTransformer(activation=activation, sigma_w=1.2, sigma_b=0.3, **options)
    norm = [stax.LayerNorm()] if layer_norm else []
    join = branch if residual else stax.serial
    block = [
        join(*norm, stax.Dense(1)),
        join(*norm, layer, stax.Dense(1, W_std=1.2, b_std=0.3)),
    ]
    reference = stax.serial(stax.Dense(1), *block, stax.Dense(1))[2](X[0], X[1], ("nngp", "ntk"))
    x1, x2 = X[0][:, None], X[1][:, None]
    k = net(x1, x2, key=jax.random.key(0), draws=1, replicates=2)
    np.testing.assert_allclose(k.nngp, reference.nngp, rtol=1e-9)
    np.testing.assert_allclose(k.ntk, reference.ntk, rtol=1e-9)
    assert np.max(k.ntk_stderr) < 1e-12


# --- Gram matrices


@pytest.mark.parametrize("name", tiers(["features", "joint", "conditional"], ["conditional"]))
def test_gram_matrices_are_exactly_symmetric(name):
    k = kernel(name)
    assert np.array_equal(k.nngp, k.nngp.T)
    assert np.array_equal(k.ntk, k.ntk.T)


@pytest.mark.parametrize(
    ("depth", "bits", "settings"),
    tiers([(1, 32, 200), (2, 32, 60), (2, 64, 200)], [(2, 32, 60)]),
)
def test_joint_draws_give_positive_semidefinite_matrices(depth, bits, settings):
    """With repeated, opposite and scaled inputs, few draws, and any scales."""
    rng = np.random.default_rng(depth)
    worst = 0.0
    for setting in range(settings):
        x = rng.normal(size=(7, 3, 3))
        x[3], x[4], x[5] = x[0], -x[1], 2 * x[2]
        mask = rng.random((7, 3)) < 0.8
        mask[6] = mask[:, 0] = True
        net = InfiniteTransformer(
            depth=depth,
            score_scale=2 * rng.random(),
            sigma_w=0.2 + 1.5 * rng.random(),
            sigma_b=rng.integers(2) * rng.random(),
        )
        with jax.enable_x64(bits == 64):
            k = net(
                x.astype(f"float{bits}"),
                mask1=mask,
                key=jax.random.key(setting),
                draws=4,
                replicates=1,
                draw="joint",
            )
        for gram in (k.nngp, k.ntk):
            assert gram.dtype == f"float{bits}"
            values = np.linalg.eigvalsh(np.asarray(gram, float))
            worst = min(worst, values[0] / values[-1])
    assert worst >= (-1e-12 if bits == 64 else -1e-6)


def test_pairwise_draws_report_the_smallest_eigenvalue():
    k = kernel("conditional")
    values = [np.linalg.eigvalsh(gram) for gram in (k.nngp, k.ntk)]
    np.testing.assert_allclose(k.smallest_eigenvalue, min(v[0] / v[-1] for v in values), rtol=1e-6)
    joint = kernel("features")
    values = [np.linalg.eigvalsh(gram) for gram in (joint.nngp, joint.ntk)]
    smallest = min(v[0] / v[-1] for v in values)
    np.testing.assert_allclose(joint.smallest_eigenvalue, smallest, rtol=1e-6)
    assert kernel("pairwise").smallest_eigenvalue is None  # rows are not columns


# --- Padding


@pytest.mark.parametrize("name", ["features", "pairwise", "conditional"])
def test_padding_changes_nothing(name):
    """Neither its content, NaN included, nor how much of it there is."""
    x = np.full((2, 5, 3), np.nan)
    x[:, :3] = np.where(MASK[..., None], X, np.nan)
    mask = np.pad(MASK, ((0, 0), (0, 2)))
    k, padded = kernel(name), compute(name, x1=x, mask1=mask)
    if name == "pairwise":  # readout "tokens": as many as came in, zero at padded ones
        assert padded.ntk.shape == (2, 5, 1, 2)
        assert not np.any(np.asarray(padded.ntk)[~mask])
        padded = padded._replace(**{f: padded._asdict()[f][:, :3] for f in padded._fields[:4]})
    assert same(k, padded)


# --- Random numbers


def test_one_key_decides_everything():
    for name in ("features", "features on a block"):
        assert same(kernel(name), compute(name))
        assert not same(kernel(name), compute(name, seed=1))


def test_what_was_not_asked_for_is_absent():
    k = kernel("features on a block")
    assert k.ntk is None
    assert k.ntk_stderr is None
    single = compute("features", replicates=1)
    assert single.nngp_stderr is None
    assert single.ntk_stderr is None
    only = compute("features", get="ntk")
    assert only.nngp is None
    assert np.array_equal(only.ntk, kernel("features").ntk)


@pytest.fixture(scope="module")
def spreads():
    """Of 100 keys, by `vmap`, and both samplers: NNGP estimates and their reported errors."""
    net = InfiniteTransformer(score_scale=1.5)

    def both(key):
        options = {"draws": 64, "replicates": 8, "get": "nngp", "draw": "joint"}
        runs = [net(X, key=key, sampler=s, **options) for s in ("independent", "sobol")]
        return [(k.nngp, k.nngp_stderr) for k in runs]

    with jax.enable_x64(True):
        keys = jax.random.split(jax.random.key(0), 100)
        return jax.jit(jax.vmap(both))(keys)


def test_standard_errors_are_those_seen_over_keys(spreads):
    for values, errors in spreads:
        ratio = np.std(values, axis=0, ddof=1) / np.sqrt(np.mean(np.square(errors), 0))
        assert np.all((ratio > 0.75) & (ratio < 1.33))


def test_sobol_points_beat_independent_draws(spreads):
    (independent, _), (sobol, _) = spreads
    assert np.all(np.std(sobol, axis=0) < 0.8 * np.std(independent, axis=0))
    assert np.linalg.norm(np.std(sobol, axis=0)) < 0.5 * np.linalg.norm(np.std(independent, axis=0))
    gap = np.mean(sobol, 0) - np.mean(independent, 0)
    assert np.all(np.abs(gap) < 4 * np.std(independent, axis=0) / 10)


def test_rank_reports_what_it_leaves_out():
    net = InfiniteTransformer(depth=2, positions=0.0)

    def leftover(x, rank=2):
        options = {"draws": 8, "replicates": 2, "draw": "joint", "get": "nngp", "rank": rank}
        return net(x, key=jax.random.key(0), **options).leftover

    assert 0.01 < leftover(X) < 1
    assert leftover(np.ones_like(X)) < 1e-12  # one token, over and over: rank 1
    assert kernel("features").leftover is None


# --- Ways to run


PIECES = ["features", "features on a block", "joint", "conditional"]


@pytest.mark.parametrize("name", tiers(PIECES, ["features on a block"]))
def test_large_problems_run_in_pieces_to_the_same_numbers(name, monkeypatch):
    monkeypatch.setattr(engine, "AT_ONCE", 0.0)
    pieces = compute(name, replicates=2, progress=True)
    monkeypatch.undo()
    whole = compute(name, replicates=2)
    for a, b in zip(
        *(filter(lambda v: v is not None, k[:4]) for k in (pieces, whole)), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10)


PARAMETERS = {"score_scale": 1.5, "sigma_w": 1.2, "sigma_b": 0.3, "positions": 0.7}


@pytest.mark.parametrize(
    ("depth", "readout"), [(1, "last"), pytest.param(2, "mean", marks=pytest.mark.slow)]
)
def test_jit_and_grad(depth, readout):
    """Derivatives at a fixed key are those of finite differences, equal inputs included."""
    x = np.random.default_rng(5).normal(size=(3, 2, 5))
    x[2] = x[0]
    options = {"draws": 16, "replicates": 2, "draw": "joint"}
    weights = np.random.default_rng(6).normal(size=(3, 3))

    def total(parameters, key):
        net = InfiniteTransformer(depth=depth, readout=readout, **parameters)
        k = net(x, key=key, **options)
        return jnp.sum(weights * (k.nngp + k.ntk)), k[:4]

    key = jax.random.key(0)
    f = jax.jit(jax.value_and_grad(total, has_aux=True))
    (_, k), slopes = f(PARAMETERS, key)
    net = InfiniteTransformer(depth=depth, readout=readout, **PARAMETERS)
    direct = net(x, key=key, **options)
    for traced, eager in zip(k, direct[:4], strict=True):
        np.testing.assert_allclose(traced, eager, rtol=1e-9, atol=1e-12)
    for name, value in PARAMETERS.items():
        h = 1e-5
        up, down = (f({**PARAMETERS, name: value + d}, key)[0][0] for d in (h, -h))
        np.testing.assert_allclose(slopes[name], (up - down) / (2 * h), rtol=1e-5)


@pytest.mark.parametrize("activation", tiers(["relu", "erf", "gelu"], ["gelu"]))
def test_large_inputs(activation):
    """In float32 as in float64."""
    x = np.array([[[1000.0, 1000.0]]])
    net = InfiniteTransformer(activation=activation, attention="identity", residual=True)
    traced = jax.jit(lambda x: net(x).ntk)
    for scale in (1e-3, 1.0, 10.0):
        wide = net(scale * x).ntk
        assert np.isfinite(wide).all()
        np.testing.assert_allclose(traced((scale * x).astype("f4")), wide, rtol=2e-5)


def one(net):
    """One entry of a kernel without draws."""
    return net(np.array([[[0.5, 1.0], [1.0, -0.3]]]), get="nngp").nngp[0, 0]


@pytest.mark.parametrize("jacobian", tiers([jax.jacfwd, jax.jacrev], [jax.jacrev]))
def test_derivatives_of_networks(jacobian):
    """A tree of derivatives is a network too, until it is called."""
    net = InfiniteTransformer(attention="identity", sigma_w=1.5, sigma_b=0.5, positions=0.4)
    got = jax.jit(jacobian(lambda n: one(n)[None]))(net)
    step = 1e-5
    for name in ("score_scale", "sigma_w", "sigma_b"):
        at = lambda s, name=name: one(replace(net, **{name: getattr(net, name) + s}))
        slope = (at(step) - at(-step)) / (2 * step)
        np.testing.assert_allclose(getattr(got, name), [slope], rtol=1e-6)


def test_batches_of_networks():
    """So is a tree of several values."""
    net = InfiniteTransformer(attention="identity", sigma_w=1.5, sigma_b=0.5, positions=0.4)
    stacked = jax.tree.map(lambda *v: jnp.stack(v), net, replace(net, sigma_w=2.0))
    got = jax.vmap(one)(stacked)
    np.testing.assert_allclose(got, [one(net), one(replace(net, sigma_w=2.0))], rtol=1e-12)
    with pytest.raises(ValueError, match=r"score_scale is .*finite.* number, got Array"):
        one(stacked)


# --- Collinear inputs


def test_collinear_inputs_in_float64():
    """Relu NTKs of one direction are four times their NNGPs, and rank 1."""
    x = np.array([[[29.0, -29.0]] * 2, [[31.3, -31.3]] * 2])
    k = InfiniteTransformer(readout="mean")(
        x, key=jax.random.PRNGKey(3), draws=64, replicates=2, draw="joint"
    )
    np.testing.assert_allclose(k.ntk, 4 * np.asarray(k.nngp), rtol=1e-13)
    np.testing.assert_allclose(k.ntk[1, 1], 1959.38, rtol=1e-13)
    assert k.smallest_eigenvalue >= -1e-12


@pytest.mark.slow
def test_collinear_inputs_through_layers():
    rng = np.random.default_rng(7)
    for depth, (n, t, draws) in ((1, (6, 8, 256)), (3, (2, 2, 64)), (2, (4, 5, 64))):
        x = rng.uniform(0.3, 3, size=(n, 1, 1)) * np.ones((n, t, 1)) * rng.normal(size=3)
        net = InfiniteTransformer(depth=depth, readout="mean", score_scale=0.3)
        k = net(x, key=jax.random.key(depth), draws=draws, replicates=2, draw="joint")
        values = np.linalg.eigvalsh(k.ntk)
        assert values[0] >= -1e-12 * values[-1]
        assert values[-2] <= 1e-12 * values[-1]


# --- Sharp attention


def sharp(score_scale):
    """NNGP and NTK of two orthogonal tokens by a one-dimensional integral of scipy's."""
    from scipy.integrate import quad

    s = np.sqrt(2) * score_scale
    edges = [c / s for c in (0.1, 1, 3, 10, 30) if c / s < 12]

    def mean(f):
        g = lambda z: f(1 / (1 + np.exp(-min(s * z, 700)))) * np.exp(-z * z / 2)
        value, _ = quad(g, 0, 12, points=edges, limit=500, epsabs=0, epsrel=1e-11)
        return value * np.sqrt(2 / np.pi)

    nngp = mean(lambda a: a * a + (1 - a) ** 2)
    # 2 S + W is 3, S is 1, and both meet Q(S) = E tr (diag a - a a')^2.
    ntk = 2 * nngp + 4 * score_scale**2 * mean(lambda a: 4 * (a * (1 - a)) ** 2)
    return nngp, 2 * nngp + ntk  # the MLP's and the readout's weights


TIES = np.sqrt(2) * np.eye(2)[None]


def test_the_reference_of_sharp_attention():
    for score_scale, right in ((10, 11.2746), (100, 79.20), (1e5, 75229)):
        np.testing.assert_allclose(sharp(score_scale)[1], right, rtol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("score_scale", [1.0, 3.0, 10.0, 30.0, 100.0, 1e3, 1e5])
def test_errors_of_sharp_attention_cover(score_scale, dtype):
    """Attention of few ties says that its NTK has no error, and where; the NNGP has one."""
    nngp, ntk = sharp(score_scale)
    net = InfiniteTransformer(score_scale=score_scale, activation="identity")
    rare = score_scale >= 1e3
    for seed in range(4):
        call = lambda seed=seed: net(TIES.astype(dtype), key=jax.random.key(seed))
        if rare:
            with pytest.warns(UserWarning, match=r"no error \(inf\) in 1 of its"):
                k = call()
            assert np.isinf(k.ntk_stderr).all()
        else:
            k = call()
            assert np.isfinite(k.ntk_stderr).all()
        assert abs(k.ntk[0, 0] - ntk) <= 4 * k.ntk_stderr[0, 0]
        # Ties that none of 8,192 draws had change a bounded mean by a few in 8,192.
        assert abs(k.nngp[0, 0] - nngp) <= 4 * k.nngp_stderr[0, 0] + 8 / 8192


TIED = InfiniteTransformer(score_scale=1e5, activation="identity")
DEEP = replace(TIED, readout="tokens", depth=2)


@pytest.mark.parametrize("net", [TIED, pytest.param(DEEP, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "draw", tiers(["joint", "pairwise", "conditional"], ["joint", "conditional"])
)
def test_traced_kernels_have_infinite_errors_too(net, draw):
    f = lambda x: net(x, key=jax.random.key(0), draws=64, draw=draw)[:4]
    *_, nngp, ntk = jax.jit(f)(TIES)
    assert np.isinf(ntk).all()
    assert np.isfinite(nngp).all()


def test_tokens_that_are_all_the_same_have_errors():
    one = TIED(np.ones((2, 3, 2)), key=jax.random.key(0), draws=64)  # tokens that are all the same
    assert np.isfinite(one.ntk_stderr).all()


def test_sharp_joint_grams_in_float32():
    """An error that covers and the eigenvalue, or a sentence where numbers overflow."""
    x = np.random.default_rng(0).normal(size=(4, 6, 8)).astype("f4")
    options = {"key": jax.random.key(0), "draws": 256, "replicates": 4, "draw": "joint"}
    with pytest.warns(UserWarning, match="carried by draws whose largest scores are nearly tied"):
        k = InfiniteTransformer(depth=2, score_scale=1e5)(x, **options)
    values = np.linalg.eigvalsh(np.asarray(k.ntk, float))
    np.testing.assert_allclose(k.smallest_eigenvalue, values[0] / values[-1], atol=1e-6)
    assert np.isinf(k.ntk_stderr).all()
    with pytest.raises(ValueError, match=r"ntk is beyond the range of float32.*score_scale is 1e"):
        InfiniteTransformer(depth=2, score_scale=1e20)(x, **options)


# --- NaN, kinds of numbers, devices


EVERY = list(
    itertools.product(("last", "mean", "tokens"), (True, False), ("softmax", "identity"), (1, 2))
)
FEW = [
    ("mean", True, "softmax", 2),
    ("tokens", False, "identity", 1),
    ("last", True, "identity", 2),
]


@pytest.mark.parametrize(("readout", "layer_norm", "attention", "kinds"), tiers(EVERY, FEW))
def test_nan_stays_nan_and_padding_hides_it(readout, layer_norm, attention, kinds):
    x = jnp.ones((2, 2, 2)).at[0, 0, 0].set(jnp.nan)
    net = InfiniteTransformer(
        layer_norm=layer_norm, readout=readout, attention=attention, residual=attention == "softmax"
    )
    options = dict(key=jax.random.key(0), draws=4, replicates=2, get=("nngp", "ntk")[:kinds])
    f = jax.jit(lambda x, mask1: net(x, mask1=mask1, **options)[:kinds])
    for k in f(x, np.ones((2, 2), bool)):
        assert np.isnan(k[0]).all()
    for k in f(x, np.array([[False, True], [True, True]])):
        assert np.isfinite(k).all()


@pytest.mark.parametrize(
    "options",
    [
        {},
        pytest.param({"readout": "mean"}, marks=pytest.mark.slow),
        pytest.param({"depth": 2}, marks=pytest.mark.slow),
        pytest.param({"attention": "identity"}, marks=pytest.mark.slow),
    ],
)
def test_the_dtype_of_the_inputs_is_that_of_the_kernels(options):
    x = np.random.default_rng(0).normal(size=(2, 2, 3))
    net = InfiniteTransformer(score_scale=np.float64(0.7), **options)
    call = lambda *x: net(*x, key=jax.random.key(0), draws=16, replicates=2)
    for dtype in ("float16", "bfloat16", "float32", "float64"):
        k = call(jnp.asarray(x, dtype))
        assert all(v.dtype == dtype for v in k[:4])
        if dtype != "float64":
            f4 = call(np.asarray(jnp.asarray(x, dtype), "f4"))
            for a, b in zip(k[:4], f4[:4], strict=True):
                assert np.array_equal(a, np.asarray(b).astype(a.dtype))
    assert call(x.astype(int)).ntk.dtype == "float64"
    with pytest.raises(ValueError, match="x1 is an array of real numbers"):
        call(x + 1j)


def test_dtypes_of_two_inputs_meet():
    x = np.random.default_rng(0).normal(size=(2, 2, 3))
    net = InfiniteTransformer(attention="identity")
    f2, b2 = (jnp.asarray(x, dtype) for dtype in ("float16", "bfloat16"))
    for x1, x2, dtype in (
        (x.astype("f4"), x, "float64"),
        (f2, b2, "float32"),
        (x.astype("f4"), x.astype(int), "float32"),
    ):
        assert net(x1, x2).ntk.dtype == dtype
    with pytest.raises(ValueError, match="nngp is beyond the range of float16"):
        net(300 * np.ones((1, 1, 1), "float16"))


@pytest.mark.slow
def test_devices():
    """The result is where the input is, and kernels go into `shard_map`."""
    import subprocess
    import sys

    subprocess.run([sys.executable, "-c", DEVICES], check=True)


DEVICES = """
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax, numpy as np
from jax.sharding import NamedSharding, PartitionSpec as P
from theorykit.kernels import InfiniteTransformer
x = np.random.default_rng(0).normal(size=(4, 2, 3)).astype("f4")
mesh = jax.make_mesh((2,), ("i",), devices=jax.devices()[:2])
there = jax.device_put(x, NamedSharding(mesh, P("i")))
for options, draw in (({}, "joint"), ({"depth": 2}, "joint"), ({"readout": "mean"}, "pairwise")):
    net = InfiniteTransformer(**options)
    f = lambda x: net(x, key=jax.random.key(0), draws=8, replicates=2, draw=draw)
    own = lambda x: f(x).ntk
    got = jax.shard_map(own, mesh=mesh, in_specs=P("i"), out_specs=P("i"))(there)
    np.testing.assert_allclose(got, np.concatenate([own(x[:2]), own(x[2:])]), rtol=1e-5)
    k = f(jax.device_put(x, jax.devices()[2]))
    assert k.ntk.devices() == k.ntk_stderr.devices() == {jax.devices()[2]}
    assert np.array_equal(k.ntk, own(x))
"""

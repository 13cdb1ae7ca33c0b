"""Softmax attention inside neural-tangents' networks."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from theorykit.kernels import InfiniteTransformer, draws, monte_carlo
from theorykit.kernels.attention import Elementwise, Linear, Sigmoid
from theorykit.kernels.tangents import SoftmaxAttention, nt, stax

pytestmark = [
    pytest.mark.filterwarnings("ignore:`FanIn` layers assume independent inputs"),
    pytest.mark.filterwarnings("ignore:Batch size is reduced"),
]
BOTH = ("nngp", "ntk")
STDS = dict(W_key_std=1.2, W_query_std=0.8, W_value_std=1.5, W_out_std=0.9, b_std=0.3)
close = lambda a, b, rtol=2e-5, atol=2e-6: np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)
tokens = lambda n, seed=0, t=3, d=4: np.float32(np.random.default_rng(seed).normal(size=(n, t, d)))


def ours(key=0, **options):
    return SoftmaxAttention(4, 4, 4, 2, key=key, **options)


def theirs(mechanism="IDENTITY", **options):
    return stax.GlobalSelfAttention(
        4, 4, 4, 2, linear_scaling=False, attention_mechanism=mechanism, **options
    )


# --- What neural-tangents can compute too


ARCHITECTURES = {
    "on inputs": lambda a: [a, stax.GlobalAvgPool()],
    "two layers": lambda a: [stax.Dense(1), stax.Relu(), stax.Dense(1), a, stax.Relu(), a,
                             stax.Flatten(), stax.Dense(1)],
    "branches": lambda a: [
        stax.Dense(4), stax.FanOut(2), stax.parallel(stax.Identity(), a), stax.FanInSum(),
        stax.LayerNorm(), stax.Erf(), stax.Dense(1), stax.GlobalAvgPool(), stax.Dense(1),
    ],
    "images": lambda a: [stax.Conv(1, (2, 1), padding="SAME"), stax.Relu(), a, stax.Relu(),
                         stax.Conv(1, (1, 2)), stax.GlobalAvgPool()],
}  # fmt: skip


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    "name", ["images", *(pytest.param(n, marks=SLOW) for n in ARCHITECTURES if n != "images")]
)
def test_identity_attention_is_that_of_neural_tangents(name):
    x1, x2 = tokens(2), tokens(3, seed=1)
    if name == "images":
        x1, x2 = (np.random.default_rng(i).normal(size=(2, 2, 3, 4)) for i in range(2))
    networks = (
        stax.serial(*ARCHITECTURES[name](attention))
        for attention in (ours(attention="identity", **STDS), theirs(**STDS))
    )
    one, other = (network[2] for network in networks)
    for x in (x2, None):
        found, right = one(x1, x), other(x1, x)
        # A relu sees the angle of a token with itself, which is rounding to the power of a half.
        close(found.nngp, right.nngp, 2e-4)
        close(found.ntk, right.ntk, 2e-4)
        close(found.cov1, right.cov1, 2e-4)
        assert (found.cov2 is None) == (right.cov2 is None)
        assert found.shape1 == right.shape1
    assert one(x1, None, "nngp").shape == other(x1, None, "nngp").shape


def test_masked_tokens_are_those_of_neural_tangents():
    x1, x2 = tokens(2), tokens(3, seed=1)
    x1[0, 2], x2[1, :2] = 9.0, 9.0
    for pool in (stax.GlobalAvgPool(), stax.Identity()):
        layers = [ours(attention="identity", **STDS), theirs(**STDS)]
        kernels = [stax.serial(stax.Dense(1), a, stax.Relu(), pool)[2] for a in layers]
        found, right = (kernel(x1, x2, mask_constant=9.0) for kernel in kernels)
        close(found.nngp, right.nngp)
        close(found.ntk, right.ntk)


def test_networks_are_those_of_neural_tangents():
    x = tokens(2)
    (init, apply, _), (_, other, _) = ours(**STDS), theirs("SOFTMAX", **STDS)
    shape, (query, key, value, output, bias) = init(jax.random.key(0), x.shape)
    same = (query, key, value, output.transpose(1, 0, 2).reshape(-1, 4), bias, None)
    assert shape == (2, 3, 4)
    close(apply((query, key, value, output, bias), x), other(same, x))
    x[0, 1] = 9.0
    found, right = (
        f(p, x, mask_constant=9.0)
        for f, p in ((apply, (query, key, value, output, bias)), (other, same))
    )
    shown = ~np.broadcast_to(right.mask, right.masked_value.shape)
    np.testing.assert_array_equal(found.mask, right.mask)
    close(found.masked_value[shown], right.masked_value[shown])


# --- What theorykit computes elsewhere


@pytest.mark.parametrize(
    ("attention", "causal"),
    [
        ("softmax", True),
        pytest.param("softmax", False, marks=SLOW),
        pytest.param(Sigmoid(-1.0), False, marks=SLOW),
        pytest.param(Sigmoid(-1.0), True, marks=SLOW),
    ],
)
def test_draws_are_those_of_an_infinite_transformer(attention, causal):
    """Of each pair as a set of two. With a linear map for its MLP, that of the output weights."""
    x1, x2, key = tokens(2, d=9), tokens(2, seed=1, d=9), jax.random.key(3)
    net = InfiniteTransformer(
        activation="identity", attention=attention, causal=causal, readout="mean", score_scale=1.5
    )
    own = jax.random.fold_in(jax.random.fold_in(key, 0), 0)
    layer = ours(
        own, attention=attention, mask="causal" if causal else None, draws=64, W_key_std=1.5
    )
    kernel = stax.serial(stax.Dense(1), layer, stax.GlobalAvgPool(), stax.Dense(1))[2]
    for x in (x2, None):
        found = kernel(x1, x, BOTH)
        for i, j in np.ndindex(2, 2):
            both = np.stack([x1[i], (x1 if x is None else x)[j]])
            right = net(both, key=key, draws=64, replicates=1, draw="joint")
            close(found.nngp[i, j], right.nngp[0, 1], 1e-4)
            close(found.ntk[i, j], right.ntk[0, 1], 1e-4)


def test_mechanisms_that_settle_need_no_key():
    x = tokens(2)
    kernel = stax.serial(
        stax.Dense(1), SoftmaxAttention(4, 4, 4, 2, attention=Linear()), stax.GlobalAvgPool()
    )[2]
    net = InfiniteTransformer(activation="identity", attention=Linear(), readout="mean")
    right, found = net(x), kernel(x, None, BOTH)
    close(found.nngp, right.nngp)
    close(found.ntk, right.ntk - right.nngp)  # which has a readout


# --- Finite networks, and each summand of the NTK


X = tokens(1, seed=2) + 0.3 * tokens(2, seed=3)
WIDE = STDS | dict(b_std=1.0)
BELOW = lambda width: [stax.Dense(width), stax.Erf(), stax.Dense(width, 2.0)]


def summands(draw_key, count):
    """Return the NTK of the first input with the second, summand by summand, from its definition.

    The pair's draws are those of the layer; derivatives of the weights are matrices here.
    """
    kernel = stax.serial(*BELOW(1))[2](X, None, diagonal_spatial=False)
    s11, s22, s, w = (np.float64(k) for k in (*kernel.cov1, kernel.nngp[0, 1], kernel.ntk[0, 1]))
    f = draws.factor(np.float32(np.block([[s11, s], [s.T, s22]])))[0]
    u = draws.blocks(draw_key, 1, (count, 6, 6), jnp.float32)(0)
    scale = WIDE["W_key_std"] * WIDE["W_query_std"]
    a1, a2 = (jax.nn.softmax(scale * g @ u @ g.T, -1) for g in (f[:3], f[3:]))
    slope = lambda a: np.eye(3) * a[..., None] - a[..., None] * a[..., None, :]
    mean = lambda v: np.einsum("nac,ce,nbe->ab", a1, v, a2) / count
    q = lambda v: scale**2 * np.einsum(
        "nack,kl,nbel,ce->ab", slope(a1), v, slope(a2), s, optimize=True
    ) / count  # fmt: skip
    values = (WIDE["W_value_std"] * WIDE["W_out_std"]) ** 2
    return dict(
        output=values * mean(s), value=values * mean(s), below=values * mean(w),
        query=values * s * q(s), key=values * s * q(s), query_below=values * w * q(s),
        key_below=values * s * q(w), bias=WIDE["b_std"] ** 2 * np.ones((3, 3)),
    )  # fmt: skip


TERMS = ("output", "value", "below", "query", "key", "query_below", "key_below", "bias")


@pytest.fixture(scope="module")
def finite():
    """The mean of networks, and its standard error."""
    layer = SoftmaxAttention(1, 32, 2, 32, key=0, **WIDE)
    init, apply, _ = stax.serial(*BELOW(64), layer, stax.Flatten())
    return monte_carlo((init, apply), X, key=jax.random.key(5), draws=16, replicates=16)


@pytest.fixture(scope="module")
def terms():
    return summands(jax.random.key(1), 2048)


def test_summands_make_the_layer(terms):
    layer = SoftmaxAttention(2, 32, 8, 32, key=1, draws=2048, **WIDE)
    found = stax.serial(*BELOW(1), layer)[2](X, None, diagonal_spatial=False)
    assert set(terms) == set(TERMS)
    close(found.ntk[0, 1], sum(terms.values()), 1e-3)
    close(found.nngp[0, 1], terms["value"] + terms["bias"], 1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("term", [None, *TERMS])
def test_networks_have_all_summands(finite, terms, term):
    apart = lambda name, k: (
        abs(getattr(finite, name)[0, 1] - k.trace() / 3) / getattr(finite, f"{name}_stderr")[0, 1]
    )
    gap = apart("ntk", sum(v for name, v in terms.items() if name != term))
    assert gap < 4 if term is None else gap > 6, gap
    assert apart("nngp", terms["value"] + terms["bias"]) < 4


# --- How it is called


def network(size=32, **options):
    return stax.serial(
        stax.Dense(1), ours(1, draws=size, **options), stax.Relu(), stax.Dense(1),
        stax.GlobalAvgPool(), stax.Dense(1),
    )  # fmt: skip


def test_kernels_are_those_of_each_pair():
    x1, x2 = tokens(4), tokens(2, seed=1)
    kernel = network()[2]
    whole, gram = kernel(x1, x2), kernel(x1, None, BOTH)
    batched = nt.batch(kernel, batch_size=2, device_count=0)
    close(batched(x1, x2, "ntk"), whole.ntk, 1e-4)
    close(batched(x1, x1, "ntk").diagonal(), gram.ntk.diagonal(), 1e-3)
    close(gram.ntk, gram.ntk.T)
    assert whole.cov1.shape == (4,)


def test_a_key_in_the_call_is_mixed_with_those_of_the_layers():
    x, kernel = tokens(2), network()[2]
    one, same, other = (kernel(x, None, "ntk", key=k) for k in (0, 0, 1))
    np.testing.assert_array_equal(one, same)
    assert not np.allclose(one, other, rtol=1e-3)
    runs = np.stack([kernel(x, None, "ntk", key=k) for k in range(8)])
    gap = np.abs(runs.mean(0) - network(4096)[2](x, None, "ntk"))
    assert np.all(gap < 5 * runs.std(0, ddof=1) / 8**0.5), gap


def test_padding_does_not_matter():
    x1, x2 = tokens(2), tokens(2, seed=1)
    x1[0, 2] = x2[1, 1] = 7.0
    kernel = network()[2]
    found = kernel(x1, x2, BOTH, mask_constant=7.0)
    x1[0, 2] = x2[1, 1] = -8.0
    other = kernel(x1, x2, BOTH, mask_constant=-8.0)
    close(found.ntk, other.ntk)
    short = SoftmaxAttention(4, 4, 4, 2, key=1, draws=8192, sampler="sobol")
    kernel = stax.serial(stax.Dense(1), short, stax.GlobalAvgPool())[2]
    whole = kernel(x1[:1], None, "ntk", mask_constant=-8.0)
    close(whole, kernel(x1[:1, :2], None, "ntk"), 0.02)


def test_gradients_in_scales():
    x = tokens(2)

    def entry(scales):
        q, v, b = scales
        layer = ours(1, draws=32, W_query_std=q, W_value_std=v, b_std=b)
        return stax.serial(stax.Dense(1), layer, stax.GlobalAvgPool())[2](x, None, "ntk")[0, 1]

    with jax.enable_x64(True):
        at = np.array([1.2, 0.7, 0.4])
        found = jax.jit(jax.grad(entry))(at)
        step = 1e-5
        for i in range(3):
            e = step * np.eye(3)[i]
            close(found[i], (entry(at + e) - entry(at - e)) / (2 * step), 1e-6)


class Bumps(Elementwise):
    """A mechanism of one's own."""

    def function(self, score):
        return jnp.exp(-(score**2) / 2)


def test_a_mechanism_of_ones_own():
    x = tokens(2)
    init, apply, kernel = stax.serial(stax.Dense(8), ours(attention=Bumps()), stax.Flatten())
    assert np.isfinite(kernel(x, None, "ntk")).all()
    assert apply(init(jax.random.key(0), x.shape)[1], x).shape == (2, 12)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (dict(key=None), "give key=jax.random.key"),
        (dict(key="a"), "key is one"),
        (dict(draws=0), "draws"),
        (dict(sampler="latin"), "sampler is one of"),
        (dict(attention="softmaxx"), "attention is one of"),
        (dict(mask="casual"), "mask is None"),
    ],
)
def test_wrong_arguments_are_one_sentence(options, said):
    with pytest.raises(ValueError, match=said):
        ours(**options)


def test_a_covariance_between_inputs_is_refused():
    with pytest.raises(ValueError, match="without diagonal_batch=False"):
        ours()[2](tokens(2), None, "ntk", diagonal_batch=False)

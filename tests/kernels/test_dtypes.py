"""The dtype of what is given is that of what comes back, and complex numbers are refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from theorykit import kernels
from theorykit.kernels import InfiniteTransformer, activations, draws, empirical, oracle, recursion
from theorykit.kernels.activations import Quadrature
from theorykit.kernels.tangents import stax
from theorykit.networks.nets import MLP

DTYPES = ["float16", "bfloat16", "float32", "float64"]
KEY = jax.random.key(0)
X = np.random.default_rng(0).normal(size=(3, 2, 2))
GRAM = X.reshape(6, 2) @ X.reshape(6, 2).T
TOKENS = GRAM.reshape(3, 2, 3, 2)
NORMALS = np.random.default_rng(1).normal(size=(8, 6, 6))
STRINGS = np.array([[0, 1, 9], [1, 1, 9]])
FEW = {"key": KEY, "draws": 8, "replicates": 2}
PHIS = {**activations.NAMES, "quadrature": Quadrature(jnp.tanh)}
pytestmark = pytest.mark.usefixtures("x64")


def both(phi):
    return lambda k: (phi.dual(k, k / 2, k), phi.dual_derivative(k, k / 2, k))


# Functions of one array, which becomes one of the dtype, and that array.
CALLS = {
    "joint": (lambda x: kernels.joint(InfiniteTransformer(), x, x[:2], **FEW), X),
    "factor": (draws.factor, GRAM),
    "conditional": (lambda k: draws.conditional(k, k, k, NORMALS[:2].astype(k.dtype)), GRAM),
    "attend": (
        lambda k: recursion.attend("softmax", k, k, jnp.asarray(NORMALS, k.dtype)),
        TOKENS,
    ),
    "attend without a tangent": (
        lambda k: recursion.attend("softmax", k, None, NORMALS.astype(k.dtype), tangent=False),
        TOKENS,
    ),
    "strings": (lambda b: kernels.template_attention(STRINGS, None, b, b, **FEW), 0.7),
    "transformer of strings": (
        lambda b: kernels.template_transformer(STRINGS, None, b, 0.5, activation="relu", **FEW),
        0.7,
    ),
    "mlp of strings": (lambda s: kernels.template_mlp(STRINGS, sigma_w=s, sigma_b=0.1), 0.7),
    "monte_carlo": (
        lambda x: kernels.monte_carlo(
            stax.serial(stax.Dense(4), stax.Relu(), stax.Dense(1)), x, **FEW
        ),
        X[:, 0],
    ),
    **{name: (both(phi), np.array([0.3, 2.0])) for name, phi in PHIS.items()},
}


def values(found):
    return [a for a in jax.tree.leaves(found) if isinstance(a, jax.Array) and a.ndim]


@pytest.mark.parametrize("name", CALLS)
def test_the_dtype_stays(name):
    """And half precision is float32, rounded at the end."""
    call, given = CALLS[name]
    for dtype in DTYPES:
        found = call(jnp.asarray(given, dtype))
        of = [a for a in found if a is not None] if name in PHIS else values(found)
        assert of
        assert all(a.dtype == dtype for a in of)
        if dtype in ("float16", "bfloat16"):
            again = call(jnp.asarray(given, dtype).astype("float32"))
            again = [a for a in again if a is not None] if name in PHIS else values(again)
            for half, single in zip(of, again, strict=True):
                # Where normals are drawn in the dtype itself they are others.
                if not ("attend" in name or name == "conditional"):
                    assert np.array_equal(half, single.astype(dtype), equal_nan=True)


@pytest.mark.parametrize("name", CALLS)
def test_complex_numbers_are_refused(name):
    call, given = CALLS[name]
    with pytest.raises(ValueError, match=r"real number|finite number"):
        call(jnp.asarray(given, complex))


@pytest.mark.parametrize("sampler", draws.SAMPLERS)
def test_normals(sampler):
    for dtype in DTYPES:
        drawn = draws.normals(KEY, (16, 2), dtype, sampler)
        assert drawn.dtype == dtype
        assert np.isfinite(np.asarray(drawn, float)).all()
    with pytest.raises(ValueError, match="dtype is a floating dtype"):
        draws.normals(KEY, (16, 2), "complex64", sampler)


def test_the_oracle_is_float64_of_real_numbers():
    for dtype in DTYPES:
        k = oracle.kernel(InfiniteTransformer(attention="identity"), jnp.asarray(X, dtype))
        assert k.nngp.dtype == k.ntk.dtype == "float64"
    for wrong in (
        lambda: oracle.kernel(InfiniteTransformer(), X + 0j),
        lambda: oracle.kernel(InfiniteTransformer(), X, X + 0j),
        lambda: oracle.attention_step(TOKENS + 0j, TOKENS),
        lambda: oracle.attention_step(TOKENS, TOKENS + 0j),
    ):
        with pytest.raises(ValueError, match="is an array of real numbers"):
            wrong()


def test_numbers_without_a_dtype_take_the_others():
    one = jnp.ones(2, "float32")
    assert activations.Relu().dual(one, 0.5, 1.0).dtype == "float32"
    assert activations.Relu().dual(1, 0.5, 1.0).dtype == "float64"
    assert activations.Erf().dual(1, 0, 1).dtype == "float64"
    found = kernels.template_attention(STRINGS, None, jnp.float32(0.7), 1.0, **FEW)
    assert found.nngp.dtype == found.nngp_stderr.dtype == "float32"
    assert kernels.template_attention(STRINGS, **FEW).nngp.dtype == "float64"
    assert kernels.template_mlp(STRINGS).ntk.dtype == "float64"


def test_what_overflows_on_the_way_only():
    """300^2 is beyond float16, and so are the sums of which these are means."""
    k = jnp.asarray(300.0, "float16")
    for phi in PHIS.values():
        for f in (phi.dual, phi.dual_derivative):
            wide = f(*[jnp.float32(300.0)] * 3)
            np.testing.assert_allclose(f(k, k, k), wide.astype("float16"), rtol=1e-3)
    network = MLP(width=8, features=2, outputs=5, rngs=0)
    graph, weights = nnx.split(network)
    half = nnx.merge(graph, jax.tree.map(lambda w: w.astype("float16"), weights))
    wide = nnx.merge(graph, jax.tree.map(lambda w: w.astype("float16").astype("f4"), weights))
    x = np.array([[170.0, -85.0], [136.0, 153.0]])
    got, expected = empirical(half, x.astype("float16")), empirical(wide, x.astype("f4"))
    for a, b in ((got.nngp, expected.nngp), (got.ntk, expected.ntk)):
        assert a.dtype == "float16"
        assert 5 * b.max() > 65504 > b.max()  # the sum over outputs, and their mean
        np.testing.assert_allclose(a, b, rtol=2e-2)

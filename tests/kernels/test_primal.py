"""Ridge regression on features, read in chunks, against that with their Gram matrix."""

import jax
import numpy as np
import pytest
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st

from theorykit.kernels import InfiniteTransformer, primal_ridge, ridge
from theorykit.kernels import layers as k

pytestmark = pytest.mark.usefixtures("x64")

RNG = np.random.default_rng(0)
X, X_TEST = RNG.normal(size=(30, 4, 3)), RNG.normal(size=(7, 4, 3))
Y = RNG.normal(size=(30, 2))
MASK = np.ones((30, 4), bool)
MASK[::3, 2:] = False
NET = k.serial(k.Embed(features=3), k.Positions(0.5), k.Attention(), k.Dense(1.0, 0.3), k.Readout())
KEY = jax.random.key(0)


@pytest.mark.parametrize(
    ("draws", "y", "get"),
    [(2, Y, "nngp"), (12, Y[:, 0], "nngp"), (1, Y, "ntk")],
    ids=["more inputs", "more features", "tangents"],
)
def test_the_dense_predictor(draws, y, get):
    """With several outputs, and with one."""
    drawn = dict(key=KEY, draws=draws, get=get)
    whole = NET.kernel(
        np.concatenate([X, X_TEST]),
        mask1=np.concatenate([MASK, np.ones((7, 4), bool)]),
        replicates=1,
        **drawn,
    )
    gram = getattr(whole, get)
    dense = ridge(gram[:30, :30], y, gram[30:, :30], ridge=0.1)
    fit = primal_ridge(NET, X, y, ridge=0.1, mask=MASK, chunk=8, **drawn)
    assert (len(fit.weights) > 30) == (draws != 2)
    np.testing.assert_allclose(fit.predict(X_TEST), dense.mean, rtol=1e-7, atol=1e-9)
    phi = np.asarray(NET.features(X, mask=MASK, **drawn))
    np.testing.assert_allclose(fit.weights, phi.T @ dense.alpha, rtol=1e-6, atol=1e-9)
    matrix = phi.T @ phi + 0.1 * np.eye(phi.shape[1])
    left = phi.T @ y - matrix @ fit.weights
    assert np.abs(left).max() < 1e-9
    assert fit.residual < 1e-12
    assert 0.1 < fit.condition / np.linalg.cond(matrix, 1) < 10
    assert fit.inputs == 30


@given(chunk=st.sampled_from([1, 7, 29, 40]))
@settings(max_examples=4, deadline=None)
def test_any_chunks_give_the_same(chunk):
    found = (
        primal_ridge(NET, X, Y, ridge=0.1, key=KEY, draws=3, chunk=c).predict(X_TEST)
        for c in (chunk, 30)
    )
    np.testing.assert_allclose(*found, rtol=1e-7)


def test_hidden_units_and_the_preset():
    """The same units for the fit, for predictions, and for the matrix of `features`."""
    drawn = dict(key=KEY, draws=4, units=50)
    preset = InfiniteTransformer(readout="mean")
    fit = primal_ridge(preset, X, Y, ridge=0.01, chunk=9, **drawn)
    phi, other = (np.asarray(preset.features(x, **drawn)) for x in (X, X_TEST))
    dense = ridge(phi @ phi.T, Y, other @ phi.T, ridge=0.01)
    np.testing.assert_allclose(fit.predict(X_TEST), dense.mean, rtol=1e-6, atol=1e-8)


def test_single_precision():
    """Sums are float64, and so is the solution: errors are those of the features."""
    x, other, y = X.astype("f4"), X_TEST.astype("f4"), Y.astype("f4")
    found = primal_ridge(NET, x, y, ridge=0.1, key=KEY, draws=4, chunk=7).predict(other)
    phi, cross = (np.asarray(NET.features(a, key=KEY, draws=4), float) for a in (x, other))
    dense = ridge(phi @ phi.T, Y, cross @ phi.T, ridge=0.1)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, dense.mean, atol=1e-4)


class Counted:
    """An array that notes how much of it is read at a time."""

    def __init__(self, x):
        self.x, self.most = x, 0
        self.shape, self.dtype, self.ndim = x.shape, x.dtype, x.ndim

    def __getitem__(self, at):
        self.most = max(self.most, len(self.x[at]))
        return self.x[at]


def test_inputs_on_disk(tmp_path):
    drawn = dict(ridge=0.1, key=KEY, draws=3, chunk=8)
    expected = primal_ridge(NET, X, Y, **drawn).predict(X_TEST)
    np.save(tmp_path / "x.npy", X)
    lazy = np.load(tmp_path / "x.npy", mmap_mode="r")
    array = zarr.create_array(str(tmp_path / "test"), data=X_TEST)
    assert np.array_equal(primal_ridge(NET, lazy, Y, **drawn).predict(array), expected)
    counted = Counted(X)
    primal_ridge(NET, counted, Y, **drawn)
    assert counted.most == 8


def test_token_ids_of_any_length():
    """Shorter inputs are padded; longer ones have to be announced."""
    net = k.serial(k.Embed(vocabulary=3), k.Positions(0.5), k.Attention(), k.Readout())
    ids, longer = RNG.integers(0, 3, (12, 4)), RNG.integers(0, 3, (3, 5))
    drawn = dict(ridge=0.1, key=KEY, draws=3, chunk=5)
    fit = primal_ridge(net, ids, Y[:12], tokens=5, **drawn)
    padded, mask = np.pad(ids, ((0, 0), (0, 1))), np.tile(np.arange(5) < 4, (12, 1))
    other = primal_ridge(net, padded, Y[:12], mask=mask, **drawn)
    np.testing.assert_allclose(fit.predict(longer), other.predict(longer), rtol=1e-9)
    same = fit.predict(ids[:2]), fit.predict(padded[:2], mask=mask[:2])
    np.testing.assert_allclose(*same, rtol=1e-9)
    short = primal_ridge(net, ids, Y[:12], **drawn)
    with pytest.raises(ValueError, match=r"inputs of 5 tokens.*give primal_ridge tokens=5"):
        short.predict(longer)
    with pytest.raises(ValueError, match="ids of x lie between 0 and 2, got 1 to 3"):
        fit.predict(ids[:1] * 0 + [1, 2, 3, 1])


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: primal_ridge("net", X, Y, ridge=1.0), "InfiniteTransformer or a description"),
        (lambda: primal_ridge(NET, X, Y[1:], ridge=1.0), "one target per input: 30 inputs"),
        (lambda: primal_ridge(NET, X, Y * np.nan, ridge=1.0), "targets must be finite"),
        (lambda: primal_ridge(NET, X, Y, ridge=-1.0), "ridge is a number of at least 0"),
        (lambda: primal_ridge(NET, X, Y, ridge=1.0), "give key=jax.random.key"),
        (lambda: primal_ridge(NET, X, Y, ridge=1.0, key=KEY, chunk=0), "chunk is a whole number"),
        (lambda: primal_ridge(NET, X, Y, ridge=0.0, key=KEY, draws=20), "give a ridge of .* got 0"),
        (lambda: primal_ridge(NET, X * np.inf, Y, ridge=1.0, key=KEY), "token 0 of input 0 is not"),
        (lambda: primal_ridge(NET, X[..., :2], Y, ridge=1.0, key=KEY), "features=3, but x has 2"),
        (
            lambda: primal_ridge(InfiniteTransformer(), X, Y, ridge=1.0, key=KEY),
            "such as units=1024",
        ),
        (
            lambda: primal_ridge(NET, 1e30 * X.astype("f4"), Y, ridge=1.0, key=KEY),
            "beyond the range of their dtype",
        ),
    ],
)
def test_wrong_regressions(call, said):
    with pytest.raises(ValueError, match=said):
        call()

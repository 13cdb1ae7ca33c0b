"""Traces against a Hessian written out, Hutchinson, perturbations."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from theorykit.subjects import sharpness


class Small(nnx.Module):
    """tanh(x w) v, two outputs."""

    def __init__(self, seed=0):
        rng = np.random.default_rng(seed)
        self.w = nnx.Param(jnp.asarray(rng.standard_normal((2, 3))))
        self.v = nnx.Param(jnp.asarray(rng.standard_normal((3, 2))))

    def __call__(self, x):
        return jnp.tanh(x @ self.w[...]) @ self.v[...]


@pytest.fixture(autouse=True)
def float64():
    with jax.enable_x64(True):
        yield


@pytest.fixture
def data():
    rng = np.random.default_rng(1)
    return rng.standard_normal((5, 2)), rng.standard_normal((5, 2))


def written_out(network, x, y):
    """Return the trace of each block of the whole Hessian."""
    loss = lambda w, v: jnp.mean(jnp.sum((jnp.tanh(x @ w) @ v - y) ** 2, -1))
    H = jax.hessian(loss, (0, 1))(network.w[...], network.v[...])
    return dict(w=np.trace(H[0][0].reshape(6, 6)), v=np.trace(H[1][1].reshape(6, 6)))


def test_the_exact_trace_is_that_of_the_hessian(data):
    x, y = data
    found = sharpness.trace(Small(), x, y)
    expected = written_out(Small(), x, y)
    assert {k: float(v) for k, v in found.groups.items()} == pytest.approx(expected, rel=1e-12)
    assert float(found.value) == pytest.approx(sum(expected.values()), rel=1e-12)
    assert found.draws is None


def test_at_zero_loss_it_is_twice_the_squared_gradients(data):
    x, _ = data
    g = sharpness.gradient_norms(Small(), x)
    assert {k: 2 * float(v.mean()) for k, v in g.items()} == pytest.approx(
        {k: float(v) for k, v in sharpness.trace(Small(), x).groups.items()}, rel=1e-12
    )
    assert float(sharpness.loss(Small(), x, jax.vmap(Small())(x))) == 0


def test_hutchinson_is_within_its_errors(data):
    x, y = data
    exact = sharpness.trace(Small(), x, y)
    found = sharpness.hutchinson(Small(), x, y, key=jax.random.key(0), draws=400)
    assert abs(found.value - exact.value) < 4 * found.stderr
    assert found.stderr < 0.2 * exact.value
    for name, value in exact.groups.items():
        assert abs(found.groups[name] - value) < 4 * found.group_stderr[name]


def test_perturbed_traces(data):
    x, y = data
    found = sharpness.perturbed(
        [Small(0), Small(1)], x, y, sigmas=[1e-6, 0.5], key=jax.random.key(0), draws=3
    )
    assert found.traces.shape == found.losses.shape == (2, 2, 3)
    np.testing.assert_allclose(found.traces[:, 0].mean(-1), found.unperturbed, rtol=1e-4)
    assert found.excess().shape == (2,)
    assert (found.excess(100) >= found.excess(0)).all()
    assert abs(found.excess()[0]) < abs(found.excess()[1])


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda x, y: sharpness.trace(lambda x: x, x, y), "nnx.Module"),
        (lambda x, y: sharpness.trace(Small(), x[:0], y), "inputs along its first axis"),
        (lambda x, y: sharpness.trace(Small(), x, y[:, 0]), "targets of shape (5, 2)"),
        (lambda x, y: sharpness.trace(Small(), x / np.nan, y), "must be finite"),
        (
            lambda x, y: sharpness.perturbed(Small(), x, sigmas=[0.0], key=jax.random.key(0)),
            "positive numbers",
        ),
        (lambda x, y: sharpness.hutchinson(Small(), x, key=jax.random.key(0), draws=1), "draws"),
    ],
)
def test_bad_input(call, says, data):
    with pytest.raises(ValueError, match=r"\.$") as error:
        call(*data)
    assert says in str(error.value)


def test_seeds_are_keys(data):
    x, _ = data
    found = [sharpness.hutchinson(Small(), x, key=key, draws=4) for key in (3, jax.random.key(3))]
    assert found[0].value == found[1].value
    moved = [sharpness.perturbed(Small(), x, sigmas=[0.1], key=key, draws=1).traces
             for key in (3, jax.random.PRNGKey(3), jax.random.key(3))]  # fmt: skip
    assert moved[0] == moved[1] == moved[2]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (
            lambda x: sharpness.perturbed([], x, sigmas=[0.1], key=0),
            "network or more, got none",
        ),
        (lambda x: sharpness.perturbed(Small(), x, sigmas="a", key=0), "real numbers, got 'a'"),
        (lambda x: sharpness.perturbed(Small(), x, sigmas=[np.nan], key=0), "positive numbers"),
        (lambda x: sharpness.hutchinson(Small(), x, key=-1), "a number from 0 to"),
        (lambda x: sharpness.hutchinson(Small(), x, key="a"), "a number from 0 to"),
    ],
)
def test_what_cannot_be_drawn(data, call, says):
    with pytest.raises(ValueError, match=r"\.$") as error:
        call(data[0])
    assert says in str(error.value)


# Closed forms of a linear network, y = w x with a loss of mean (w x)^2 ---------------------------


class Linear(nnx.Module):
    """w x, of one output; at w = 0 without a loss where y is 0."""

    def __init__(self, *w):
        self.w = nnx.Param(jnp.asarray(w, float))

    def __call__(self, x):
        return (x @ self.w[...])[None]


X = np.array([[1.0], [2.0], [-3.0]])  # mean square 14 / 3


def test_the_loss_of_a_line_its_trace_and_its_gradients():
    """No factor 1/2, a mean over inputs, a sum over outputs."""
    line, y = Linear(2.0), np.array([1.0, 0.0, 0.0])
    assert float(sharpness.loss(line, X, y)) == pytest.approx((1 + 16 + 36) / 3, rel=1e-12)
    assert float(sharpness.trace(line, X, y).value) == pytest.approx(2 * 14 / 3, rel=1e-12)
    np.testing.assert_allclose(sharpness.gradient_norms(line, X)["w"], [1, 4, 9], rtol=1e-12)


def test_noise_moves_weights_by_sigma():
    """The loss at w + sigma z is (sigma z)^2 times the mean square; z^2 has mean 1."""
    sigmas = [0.5, 2.0]
    found = sharpness.perturbed(
        [Linear(1.0), Linear(1.0)], X, sigmas=sigmas, key=jax.random.key(0), draws=200
    )
    squares = found.losses / (14 / 3) / np.square(sigmas)[:, None]
    np.testing.assert_allclose(squares[:, 0], squares[:, 1], rtol=1e-9)  # one draw for all sigmas
    assert not np.allclose(squares[0], squares[1])  # and another for each function
    assert abs(squares[:, 0].mean() - 1) < 4 * np.sqrt(2 / 400)
    np.testing.assert_allclose(found.traces, 2 * 14 / 3, rtol=1e-12)
    np.testing.assert_allclose(found.unperturbed, 2 * 14 / 3, rtol=1e-12)


def test_the_excess_is_a_percentile_over_functions_of_means_over_draws():
    traces = np.array([[[1.0, 3.0]], [[10.0, 20.0]], [[4.0, 4.0]]])
    found = sharpness.Perturbed(np.ones(1), traces, np.array([1.0, 5.0, 7.0]), traces)
    assert [found.excess(p).tolist() for p in (0, 50, 75, 100)] == [[-3], [1], [5.5], [10]]
    assert found.excess().tolist() == [10]


def test_hutchinsons_error_in_closed_form():
    """H = 2 (1, 1; 1, 1) on x = (1, 1): z'Hz is 0 or 8, so that the mean says how many are which.

    Each has the share m / 8 of eights, and the variance m (8 - m) n / (n - 1) of n draws.
    """
    one = np.ones((1, 2))
    found = sharpness.hutchinson(Linear(0.0, 0.0), one, key=jax.random.key(1), draws=25)
    m = float(found.value)
    assert 0 < m < 8
    assert float(found.stderr) == pytest.approx(np.sqrt(m * (8 - m) / 24), rel=1e-12)
    assert found.groups["w"] == found.value
    assert found.group_stderr["w"] == found.stderr
    diagonal = sharpness.hutchinson(Linear(0.3), X, key=jax.random.key(1), draws=3)
    assert float(diagonal.value) == pytest.approx(2 * 14 / 3, rel=1e-12)
    assert float(diagonal.stderr) < 1e-12

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

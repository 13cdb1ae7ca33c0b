"""Stop rules at their boundary, and what a loss is a mean of."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx

from theorykit.networks import training


@pytest.mark.parametrize(("below", "beyond"), [(False, -1e-3), (True, 1e-3)])
def test_a_metric_reaches_a_value_that_it_equals(below, beyond):
    rule = training.reaches("loss", 0.5, below=below)
    jitted = jax.jit(rule)
    at = lambda v: bool(jitted({"loss": jnp.asarray(v), "other": jnp.asarray(-9.0)}))
    assert at(0.5)
    assert at(0.5 - beyond)
    assert not at(0.5 + beyond)
    assert not at(jnp.nan)


class Line(nnx.Module):
    def __init__(self, rngs):
        self.w = nnx.Param(jnp.zeros((1, 2)))

    def __call__(self, x):
        return x @ self.w[...]


X, Y = np.ones((4, 1), "float32"), np.tile(np.array([[2.0, -1.0]], "float32"), (4, 1))


def test_training_stops_at_the_chunk_whose_loss_is_the_value():
    """Errors halve in each step of w = 0, y = (2, -1): L after step t is 5 / 2 / 4^t, exactly.

    Loss and step are of 4 equal examples, so that a sum over them would be seen."""
    run = lambda value: training.fit(
        Line, training.OnData(X, Y), optax.sgd(0.5), steps=6, every=1, seeds=1, progress=False,
        stop=training.reaches("loss", value, below=True),
    )  # fmt: skip
    fit = run(2.5 / 4**3)
    losses = fit.history["loss"][:3, 0]
    np.testing.assert_allclose(losses, [2.5 / 4, 2.5 / 16, 2.5 / 64], rtol=1e-6)
    np.testing.assert_allclose(fit.network(0).w[...], np.array([[2.0, -1.0]]) * (1 - 1 / 8))
    np.testing.assert_allclose(run(2.5 / 4**3 - 1e-6).network(0).w[...], [[1.875, -0.9375]])


def test_weight_decay_is_of_the_weights_before_the_step():
    """optax.add_decayed_weights(1/5) and rate 1/2: w <- w - (w - y) / 2 - w / 10, twice."""
    decayed = optax.chain(optax.add_decayed_weights(0.2), optax.sgd(0.5))
    fit = training.fit(
        Line, training.OnData(X, Y), decayed, steps=2, seeds=1, progress=False
    )  # fmt: skip
    y = np.array([[2.0, -1.0]])
    w = 0 * y
    for _ in range(2):
        w = w - (w - y) / 2 - w / 10
    np.testing.assert_allclose(fit.network(0).w[...], w, rtol=1e-6)


def test_a_step_returns_the_loss_before_it():
    loss = lambda w: (w["a"] ** 2).sum()
    sgd = optax.sgd(0.25)
    start = {"a": jnp.array([2.0, -4.0])}
    value, weights, _ = training.gradient_step(loss, sgd, start, sgd.init(start))
    assert float(value) == 20
    np.testing.assert_allclose(weights["a"], [1.0, -2.0])


def test_a_tasks_loss_is_the_mean_of_its_batch():
    """Not their sum: each of 5 samples has the loss 3 and the metric 6."""

    class Sample(NamedTuple):
        x: jax.Array

    class Task:
        def sample(self, key, length):
            return Sample(jax.random.normal(key, (length, 1)))

        def loss(self, out, sample):
            return out.sum() * 0 + 3.0

        def metrics(self, out, sample):
            return {"twice": jnp.asarray(6.0)}

    fit = training.fit(
        Line, training.OnTask(Task(), length=2, batch=5, evaluate={"on": {}}), optax.sgd(0.1),
        steps=2, seeds=1, progress=False,
    )  # fmt: skip
    assert {name: fit.history[name].tolist() for name in ("loss", "on/loss", "on/twice")} == {
        "loss": [[3.0]], "on/loss": [[3.0]], "on/twice": [[6.0]],
    }  # fmt: skip

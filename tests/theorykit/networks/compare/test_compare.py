"""Networks of one hidden layer against their exact kernels, over widths and seeds."""

import jax
import numpy as np
import pytest
from flax import nnx

from theorykit import kernels
from theorykit.kernels.tangents import stax
from theorykit.networks import compare
from theorykit.networks.compare import _linear
from theorykit.networks.compare._gaps import curves, squares
from theorykit.networks.nets import MLP

dense = lambda: stax.Dense(1, b_std=None)
EXACT = stax.serial(dense(), stax.Erf(), dense())[2]
X = np.array([[2.0, 1.0], [-1.0, 2.0], [0.6, -2.0]])
Y = np.array([1.0, -1.0, 0.5])
TEST = np.array([[1.4, 2.2], [-2.0, -0.8]])
NETWORKS = {"widths": (8, 24, 72), "seeds": 200, "key": jax.random.key(0), "batch": 200}


def make(width, rngs):
    return MLP(features=2, width=width, depth=1, activation="erf", rngs=rngs)


def kernel(x1, x2=None):
    exact = EXACT(x1, x2, ("nngp", "ntk"))
    return kernels.Kernel(nngp=exact.nngp, ntk=exact.ntk)


def around(exponent, value):
    return exponent.low < value < exponent.high < 0


def test_kernels():
    gap = compare.kernels(make, kernel, X, TEST, **NETWORKS)
    assert gap.ntk_means.shape == (3, 3, 2)
    np.testing.assert_allclose(gap.ntk, EXACT(X, TEST, "ntk"))
    # With one hidden layer the mean is exact at any width.
    for bias in (gap.nngp_bias, gap.ntk_bias):
        assert np.all(bias.values < 4 * bias.stderr)
    assert around(gap.nngp_spread.exponent, -0.5)
    assert around(gap.ntk_spread.exponent, -0.5)
    wrong = lambda *x: kernel(*x)._replace(nngp=-kernel(*x).nngp)
    gap = compare.kernels(make, wrong, X, TEST, **NETWORKS | {"widths": (8, 24)})
    np.testing.assert_allclose(gap.nngp_bias.values, 2, rtol=0.2)


def test_a_kernel_with_noise_is_not_taken_for_a_bias():
    noise = 0.1 * np.random.default_rng(0).normal(size=(3, 2))

    def noisy(*x):
        k = kernel(*x)
        stderr = np.full((3, 2), 0.1)
        return k._replace(ntk=k.ntk + noise, nngp_stderr=0 * stderr, ntk_stderr=stderr)

    gap = compare.kernels(make, noisy, X, TEST, **NETWORKS | {"widths": (24, 72)})
    assert not gap.ntk_bias.resolved.any()


def test_the_noise_of_a_reference_is_in_the_error():
    """Networks at 1, next to each other; a reference at 0.5, give or take its error of 0.1."""
    networks = 1 + 1e-6 * np.random.default_rng(0).normal(size=(4, 1))
    for reference in (0.4, 0.6):
        found = curves([8], [networks], np.array([reference]), noise=0.01, scale=1.0)
        assert abs(found["bias"].values[0] - 0.5) < 2 * found["bias"].stderr[0] < 0.5


def test_squared_lengths_and_their_errors():
    rng = np.random.default_rng(0)
    draw = lambda n: rng.normal(size=(n, 3)) * 0.5 + np.array([0.3, 0.0, -0.4])
    true = {"bias": 0.25, "spread": 0.75, "single": 1.0}
    many = [squares(draw(20)) for _ in range(2000)]
    for name, expected in true.items():
        values, errors = np.array([m[name] for m in many]).T
        assert abs(values.mean() - expected) < 4 * values.std() / np.sqrt(2000)
        np.testing.assert_allclose(np.sqrt((errors**2).mean()), values.std(), rtol=0.15)
    samples = draw(6)  # the jackknife, one sample left out after the other
    without = [squares(np.delete(samples, i, 0))["bias"][0] for i in range(6)]
    np.testing.assert_allclose(squares(samples)["bias"][1], np.std(without) * np.sqrt(5))


@pytest.mark.parametrize("subtract", [True, False])
def test_gradient_descent(subtract):
    gap = compare.gradient_descent(
        make, kernel, X, Y, TEST, steps=(3, 20), subtract=subtract, **NETWORKS
    )
    assert gap.means.shape == (3, 2, 2, 1)
    for single in gap.single:
        assert single.values[-1] < 0.3
        assert around(single.exponent, -0.45)
    # Discrete time: the errors are multiplied by 1 - eta Theta / P in each step.
    theta, rate = kernel(X).ntk, gap.learning_rates[0]
    left = np.linalg.matrix_power(np.eye(3) - rate * theta / 3, 20) @ Y
    expected = kernel(TEST, X).ntk @ np.linalg.solve(theta, Y - left)
    np.testing.assert_allclose(gap.predicted[1, :, 0], expected, rtol=1e-9)
    flow = kernels.gradient_flow(theta, Y, kernel(TEST, X).ntk, time=20, learning_rate=rate)
    np.testing.assert_allclose(gap.flow[1, :, 0], flow, rtol=1e-6)


@pytest.mark.parametrize("subtract", [True, False])
def test_a_wrong_sign_is_seen(subtract, monkeypatch):
    after = _linear.after
    monkeypatch.setattr(_linear, "after", lambda *a, **how: -after(*a, **how))
    few = NETWORKS | {"widths": (24, 72)}
    gap = compare.gradient_descent(make, kernel, X, Y, TEST, steps=[20], subtract=subtract, **few)
    assert np.all(gap.bias[0].values > 0.5)
    assert gap.single[0].exponent.high > -0.2


def test_linear_training_step_by_step():
    """The predictor of two stages from any start is gradient descent on a linear model."""
    rng = np.random.default_rng(0)
    features = [rng.normal(size=(n, 6)) for n in (3, 4, 2)]
    targets, first = [rng.normal(size=(n, 2)) for n in (3, 4)], rng.normal(size=(6, 2))
    grams = lambda i, j: features[i] @ features[j].T
    stages = [
        _linear.Stage(features[0], targets[0], 0.3, (2, 5)),
        _linear.Stage(features[1], targets[1], 0.2, (7,)),
    ]
    start, *starts = (features[i] @ first for i in (-1, 0, 1))
    predicted = _linear.predict(grams, stages, start, starts)
    w = first
    for i, steps in ((0, 5), (1, 7)):
        for _ in range(steps):
            errors = features[i] @ w - targets[i]
            w = w - stages[i].rate / len(errors) * features[i].T @ errors
        np.testing.assert_allclose(predicted[i][-1], features[-1] @ w, rtol=1e-10)


def test_a_singular_kernel_is_learned_where_it_can_be():
    k = np.ones((2, 2))
    alpha = _linear.after(k, np.array([[1.0], [1.0]]), rate=0.5, steps=100)
    np.testing.assert_allclose(k @ alpha, 1)


def test_two_stages():
    second = (TEST, np.array([1.0, 2.0]))
    few = NETWORKS | {"widths": (24, 72)}
    gap = compare.two_stage(make, kernel, (X, Y), second, X * 1.5, steps=(10, (4, 12)), **few)
    assert all(single.values[-1] < 0.4 for single in gap.single)
    assert all(single.values[0] > single.values[-1] for single in gap.single)
    assert gap.means.shape == (2, 2, 3, 1)
    assert len(gap.learning_rates) == 2
    # The second stage alone is further away than networks are.
    alone = compare.gradient_descent(make, kernel, *second, X * 1.5, steps=(4, 12), **few)
    apart = np.linalg.norm(alone.predicted - gap.predicted) / np.linalg.norm(gap.predicted)
    assert apart > 0.5


def test_last_layer():
    gap = compare.last_layer(make, kernel, X, Y, TEST, ridge=0.2, **NETWORKS)
    assert np.all(gap.unfinished < 1e-6)
    assert around(gap.single.exponent, -0.5)
    assert gap.bias.values[-1] < 0.05
    expected = kernels.ridge(kernel(X).nngp, Y, kernel(TEST, X).nngp, ridge=0.2).mean
    np.testing.assert_allclose(gap.posterior, expected)


def test_a_seed_is_the_same_whatever_trains_beside_it():
    options = NETWORKS | {"widths": (8, 24)}
    run = lambda **how: compare.kernels(make, kernel, X, **options | how).ntk_means
    both = run(seeds=[5, 3, 7, 9], batch=4)
    np.testing.assert_allclose(run(seeds=[9, 7, 3, 5], batch=3), both, rtol=1e-6)
    assert not np.allclose(run(seeds=[1, 2, 3, 4], batch=4), both, rtol=1e-2)


def test_plots(tmp_path):
    pytest.importorskip("matplotlib")
    options = NETWORKS | {"widths": (8,), "seeds": 8}
    gaps = [
        compare.kernels(make, kernel, X, **options),
        compare.gradient_descent(make, kernel, X, Y, TEST, steps=(1, 2), **options),
        compare.last_layer(make, kernel, X, Y, TEST, ridge=0.2, **options),
    ]
    for i, gap in enumerate(gaps):
        gap.plot(tmp_path / f"{i}.png")
        assert (tmp_path / f"{i}.png").stat().st_size > 1000


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (dict(seeds=2), "at least 3 seeds, got 2"),
        (dict(steps=(3, 3)), "steps are whole numbers from 1 on that increase"),
        (dict(y=Y[:2]), "got 3 inputs and targets of shape \\(2,\\)"),
        (dict(learning_rate=1e4), "converges with a learning_rate between 0 and .*, got 10000"),
    ],
)
def test_bad_input(bad, message):
    options = {**NETWORKS, "widths": (8, 24), "seeds": 3, "steps": (1,), "y": Y, **bad}
    with pytest.raises(ValueError, match=message):
        compare.gradient_descent(make, kernel, X, options.pop("y"), TEST, **options)


def test_a_network_without_a_last_layer():
    class Plain(nnx.Module):
        def __init__(self, rngs):
            self.w = nnx.Param(jax.random.normal(rngs.params(), (2,)))

        def __call__(self, x):
            return x @ self.w[...]

    with pytest.raises(ValueError, match="needs a network with a head"):
        compare.kernels(lambda width, rngs: Plain(rngs), kernel, X, **NETWORKS)
    with pytest.raises(ValueError, match="the ridge is above 0"):
        compare.last_layer(make, kernel, X, Y, TEST, ridge=0, **NETWORKS)

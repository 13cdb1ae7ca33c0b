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
        (dict(steps=(3, 3)), "steps are increasing whole numbers"),
        (dict(y=Y[:2]), "got 3 inputs and targets of shape \\(2,\\)"),
        (dict(learning_rate=1e4), "converges with a learning_rate between 0 and .*, got 10000"),
    ],
)
def test_bad_input(bad, message):
    options = {**NETWORKS, "widths": (8, 24), "seeds": 3, "steps": (1,), "y": Y, **bad}
    with pytest.raises(ValueError, match=message):
        compare.gradient_descent(make, kernel, X, options.pop("y"), TEST, **options)


@pytest.mark.parametrize("stage", [(X, Y, Y), (X,), X, 3])
def test_a_stage_that_is_no_pair_is_refused(stage):
    options = {**NETWORKS, "widths": (8, 24), "seeds": 3}
    with pytest.raises(ValueError, match="a pair of inputs and targets, got"):
        compare.two_stage(make, kernel, (X, Y), stage, TEST, steps=(1, (1,)), **options)


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


# Closed forms ------------------------------------------------------------------------------------


def test_squared_lengths_by_pairs_of_samples():
    """And all three errors, leaving one sample out after the other."""
    x = np.random.default_rng(3).normal(size=(5, 2))

    def by_pairs(x):
        n, middle = len(x), x.mean(0)
        pairs = [x[i] @ x[j] for i in range(n) for j in range(n) if i != j]
        spread = ((x - middle) ** 2).sum() / (n - 1)
        return np.array([np.mean(pairs), spread, (x**2).sum() / n])

    found = squares(x)
    without = np.array([by_pairs(np.delete(x, i, 0)) for i in range(5)])
    error = np.sqrt(4 / 5 * ((without - without.mean(0)) ** 2).sum(0))
    for k, name in enumerate(("bias", "spread", "single")):
        np.testing.assert_allclose(found[name], [by_pairs(x)[k], error[k]], rtol=1e-12)


@pytest.mark.parametrize("wrong", ["samples", "reference"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_curves_of_what_is_not_finite_are_refused(wrong, value):
    given = {"samples": [np.ones((4, 2))], "reference": [np.ones((4, 2))]}
    given[wrong][0][1, 1] = value
    with pytest.raises(ValueError, match="networks or kernel are not finite at width 8"):
        curves([8], **given)


def test_curves_take_off_noise_and_divide_by_the_size_of_the_reference():
    """Four samples around (3, 4) + (0.3, 0.4): distances are relative to 5."""
    away = np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]]) / 10
    found = curves([8], [np.array([3.3, 4.4]) + away], np.array([3.0, 4.0]), noise=0.1)
    plain = squares((np.array([0.3, 0.4]) + away) / 5)
    for name, curve in found.items():
        square, error = plain[name]
        if name != "spread":
            square -= 0.1 / 25
            error = np.hypot(error, 2 * np.sqrt(max(square, 0) * 0.1 / 25) + 0.1 / 25)
        assert curve.values[0] == pytest.approx(np.sqrt(max(square, 0)), rel=1e-9)
        assert curve.resolved[0] == (square > 2 * error)
        stderr = error / (2 * np.sqrt(square)) if square > 2 * error else (
            np.sqrt(max(square, 0) + error) - np.sqrt(max(square, 0)))  # fmt: skip
        assert curve.stderr[0] == pytest.approx(stderr, rel=1e-9)
    assert found["spread"].values[0] == pytest.approx(np.sqrt(0.04 / 3) / 5, rel=1e-9)
    some = np.array([[1.0, 0], [3, 1], [0, 2], [2, 2]])  # each sample has its reference, of size 5
    own = curves([8], [some], [np.array([[3.0, 4], [5, 0], [0, 5], [4, 3]])])
    assert own["single"].values[0] == pytest.approx(np.sqrt((20 + 5 + 9 + 5) / 4) / 5, rel=1e-9)


def test_a_distance_is_resolved_from_two_errors_on():
    from theorykit.networks.compare._gaps import curve

    found = curve([8, 16], np.array([0.21, 0.19]), np.array([0.1, 0.1]))
    assert found.resolved.tolist() == [True, False]
    errors = [0.1 / (2 * np.sqrt(0.21)), np.sqrt(0.29) - np.sqrt(0.19)]
    np.testing.assert_allclose(found.stderr, errors, rtol=1e-12)


@pytest.mark.parametrize("flow", [True, False])
def test_what_descent_adds_to_singular_and_small_kernels(flow):
    """1 - (1 - rate k / P)^n of k = 3, over k; and rate n / P where k is 0."""
    k, errors = np.diag([3.0, 0.0]), np.array([[2.0], [5.0]])
    found = _linear.after(k, errors, rate=0.4, steps=7, flow=flow)
    left = np.exp(-0.4 * 3 / 2 * 7) if flow else (1 - 0.4 * 3 / 2) ** 7
    np.testing.assert_allclose(found, [[2 * (1 - left) / 3], [5 * 0.4 * 7 / 2]], rtol=1e-12)
    assert _linear.fastest_rate(np.diag([3.0, 8.0])) == pytest.approx(2 / 8)


def test_the_rate_that_is_taken_is_a_quarter_of_the_fastest():
    """And rates lie strictly below 2 P over the largest eigenvalue."""
    options = NETWORKS | {"widths": (8, 16), "seeds": 3, "batch": 3}
    run = lambda rate: compare.gradient_descent(
        make, kernel, X, Y, TEST, steps=(1,), learning_rate=rate, **options
    )
    fastest = 3 / np.linalg.eigvalsh(kernel(X).ntk)[-1]
    assert run(None).learning_rates == pytest.approx((fastest / 4,), rel=1e-6)
    assert run(1.99 * fastest).learning_rates == pytest.approx((1.99 * fastest,), rel=1e-12)
    for rate in (2.01 * fastest, 0.0, -fastest):
        with pytest.raises(ValueError, match="converges with a learning_rate"):
            run(rate)


def test_one_network_descends_by_the_mean_of_half_the_squared_error():
    """A linear network's steps written out, of f - f_0 with two outputs."""

    class Linear(nnx.Module):
        def __init__(self):
            self.w = nnx.Param(np.array([[1.0, -2.0], [0.5, 0.3]]))

        def __call__(self, x):
            return x @ self.w[...]

    y = np.array([[1.0, 0.0], [0.0, 2.0], [-1.0, 1.0]])
    found = compare.trained(Linear(), X, y, TEST, steps=4, learning_rate=0.3)
    w = np.zeros((2, 2))
    for _ in range(4):
        w = w - 0.3 / 3 * X.T @ (X @ w - y)
    np.testing.assert_allclose(found, TEST @ w, rtol=1e-5)

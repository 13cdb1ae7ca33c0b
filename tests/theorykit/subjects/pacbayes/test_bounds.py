"""The PAC-Bayes bound, its optima, constants of losses, the covering bound, what is refused."""

import math

import jax
import mpmath
import numpy as np
import pytest
from flax import nnx
from hypothesis import given, settings
from hypothesis import strategies as st

from theorykit.subjects import pacbayes as pb

sizes = st.floats(0.01, 1e4)


@settings(deadline=None)
@given(kl=sizes, n=st.integers(1, 10**7), constant=st.floats(0.01, 10), factor=st.floats(0.1, 10))
def test_no_weight_is_better_than_the_best(kl, n, constant, factor):
    best = pb.bound(0.1, kl, n, constant)
    other = pb.bound(0.1, kl, n, constant, weights=[factor * best.weight])
    assert best.value <= other.value * (1 + 1e-12)
    assert best.complexity == pytest.approx(constant * math.sqrt(2 * (kl + math.log(20)) / n))


def test_choices_share_the_confidence():
    one = pb.bound(0.0, 3.0, 100, 1.0, delta=0.05 / 40, weights=[20.0])
    many = pb.bound(0.0, 3.0, 100, 1.0, delta=0.05, weights=[20.0, 1e9, 1e-9, 1e12], choices=10)
    assert many.value == pytest.approx(one.value)
    shared = pb.bound(0.0, 3.0, 100, 1.0, delta=0.05, choices=10)
    assert shared.value == pytest.approx(pb.bound(0.0, 3.0, 100, 1.0, delta=0.005).value)


@settings(deadline=None, max_examples=50)
@given(norm=sizes, trace=sizes, n=st.integers(10, 10**8), constant=st.floats(0.01, 1))
def test_the_best_sigma_is_found_without_a_mesh(norm, trace, n, constant):
    found = pb.semi_analytic(norm, trace, n, constant)
    near = found.sigma * np.array([0.9, 0.999, 1.001, 1.1])
    assert found.value <= pb.semi_analytic(norm, trace, n, constant, sigmas=near).value
    # log 1/delta makes it smaller than E.2's closed form, by little where the norm dominates.
    assert found.sigma <= pb.best_sigma(norm, trace, n, constant) * (1 + 1e-6)


def test_a_perturbation_raises_the_bound_and_lowers_sigma():
    sigmas = np.geomspace(1e-3, 1, 200)
    plain = pb.semi_analytic(100.0, 10.0, 10**5, 0.1, sigmas=sigmas)
    more = pb.semi_analytic(
        100.0, 10.0, 10**5, 0.1, sigmas=sigmas, perturbation=100 * sigmas
    )  # fmt: skip
    assert more.value > plain.value
    assert more.sigma < plain.sigma


def test_the_bound_falls_as_the_cube_root_and_says_something_from_a_sample_size_on():
    value = lambda n: pb.semi_analytic(1e3, 200.0, n, 0.1).value
    assert value(10**9) / value(10**12) == pytest.approx(10, rel=1e-3)
    n = pb.sample_size(value, 1.0)
    assert value(n) < 1.0 <= value(n - 1)
    # 3/2 (H (C |theta|)^2 / n)^(1/3) = 1.
    assert n == pytest.approx(1.5**3 * 200 * 0.01 * 1e3, rel=1e-2)
    fixed = lambda n: pb.semi_analytic(1e3, 200.0, n, 0.1, sigmas=[0.5]).value
    assert pb.sample_size(fixed, 1.0) == math.inf


def test_a_sample_size_up_to_the_most_that_is_no_power_of_two():
    assert pb.sample_size(lambda n: 1 / n, 1 / 89.5, most=100) == 90
    assert pb.sample_size(lambda n: 1 / n, 1 / 99.5, most=100) == 100
    assert pb.sample_size(lambda n: 1 / n, 1 / 100.5, most=100) == math.inf


def test_no_sigma_is_none():
    assert pb.bound(0.0, 1.0, 9, 1.0).sigma is None


def test_confidence_is_where_the_bound_meets_a_level():
    delta = pb.confidence(0.25, 0.05, 2.0, 100, 0.1)
    assert pb.bound(0.05, 2.0, 100, 0.1, delta=delta).value == pytest.approx(0.25)
    assert pb.confidence(0.25, 0.3, 2.0, 1000, 0.1) == 1.0


# The constant ------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=20)
@given(st.lists(st.floats(0, 10), min_size=2, max_size=30), st.floats(-20, 20))
def test_the_gaussian_dominates_the_sample(losses, t):
    losses = np.array(losses)
    C = pb.sub_gaussian(losses).value
    z = losses - losses.mean()
    assert np.log(np.exp(t * z).mean()) <= t**2 * C**2 / 2 * (1 + 1e-5) + 1e-9
    lower = pb.sub_gaussian(losses, "lower").value
    assert lower <= C * (1 + 1e-9)
    assert lower <= math.sqrt((losses**2).mean()) * (1 + 1e-6) + 1e-9


def test_the_constant_scales_with_the_losses():
    losses = np.random.default_rng(0).exponential(size=200)
    one, ten = pb.sub_gaussian(losses), pb.sub_gaussian(10 * losses + 3)
    assert ten.value == pytest.approx(10 * one.value, rel=1e-4)


@pytest.mark.parametrize("tail", ["both", "lower"])
def test_one_rare_loss_has_the_constant_of_kearns_and_saul(tail):
    losses = np.zeros(10**6) if tail == "both" else np.ones(10**6)
    losses[0] = 1 - losses[0]
    expected = math.sqrt((1 - 2e-6) / (2 * math.log(1e6 - 1)))
    assert pb.sub_gaussian(losses, tail, points=40).value == pytest.approx(expected, rel=1e-5)


def test_the_standard_error_is_that_of_repetition():
    draw = lambda seed: np.random.default_rng(seed).random(400) ** 2
    found = [pb.sub_gaussian(draw(seed)) for seed in range(60)]
    spread = np.std([f.value for f in found], ddof=1)
    assert 0.7 < np.mean([f.stderr for f in found]) / spread < 1.4


# The covering bound ------------------------------------------------------------------------------


def test_a_linear_layer_has_its_constant():
    """Without attention scores and output map what is left is |w| and |W_V|_(2,1)."""
    w, V = np.array([3.0, 4.0]), np.diag([1.0, 2.0])
    found = pb.covering_constant([pb.Layer(np.zeros((2, 2)), V)], w)
    assert found == pytest.approx((5 ** (2 / 3) + (5 * 3) ** (2 / 3)) ** 3)


def test_the_covering_bound_grows_with_norms_and_falls_with_samples():
    layer = lambda a: pb.Layer(a * np.eye(3), np.eye(3), np.eye(3))
    small, large = (pb.covering_constant([layer(a), layer(a)], np.ones(3)) for a in (1.0, 2.0))
    assert large > small
    at = lambda n: pb.covering(small, n, 3, 4)
    assert at(10**10) < at(10**8) < at(10**6)


# Measured ----------------------------------------------------------------------------------------


class Line(nnx.Module):
    def __init__(self, w):
        self.w = nnx.Param(np.float32(w))

    def __call__(self, x):
        return (self.w[...] * x)[None]


def test_perturbed_losses_have_their_mean():
    """E (eps x)^2 = sigma^2 x^2 where w is right; the mirror image cancels the first order."""
    x = np.array([1.0, 2.0], np.float32)
    losses = pb.perturbed_losses(Line(3.0), x, 3 * x, 0.1, jax.random.key(0), 4000)
    assert losses.shape == (4000, 2)
    assert np.allclose(losses.mean(0), 0.01 * x**2, rtol=0.1)
    off = pb.perturbed_losses(Line(3.0), x, 0 * x, 0.1, jax.random.key(0), 2)
    assert np.allclose(off.mean(0) - 9 * x**2, losses[:2].mean(0), atol=1e-4)
    assert pb.distance(Line(3.0)) == 9.0
    assert pb.distance(Line(3.0), Line(1.0)) == 4.0


# Refusals ----------------------------------------------------------------------------------------

x = np.ones(2, np.float32)
LAYER = pb.Layer(np.eye(1), np.eye(1))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pb.gaussian_kl(1.0, 0.0), r"sigma is a positive number, got \[0.0\]"),
        (lambda: pb.semi_analytic(1.0, 1.0, 9, 1.0, sigmas=[0.1, -1.0]), r"sigma .* got \[-1.0\]"),
        (lambda: pb.semi_analytic(1.0, -2.0, 9, 1.0), r"the trace is a positive number, got -2"),
        (lambda: pb.semi_analytic(1.0, 1.0, 9, 1.0, perturbation=[1.0]), "give its sigmas"),
        (
            lambda: pb.semi_analytic(1.0, 1.0, 9, 1.0, sigmas=[1.0], perturbation=[1.0, 2.0]),
            r"one number per sigma, \(1,\), not \(2,\)",
        ),
        (lambda: pb.bound(0.0, -1.0, 9, 1.0), "the KL divergence is a finite number of at least 0"),
        (lambda: pb.bound(math.nan, 1.0, 9, 1.0), "the loss is a finite number"),
        (lambda: pb.bound(0.0, 1.0, 0, 1.0), "n is a whole number of at least 1, got 0"),
        (lambda: pb.bound(0.0, 1.0, 9, 0.0), "the sub-Gaussian constant is a positive number"),
        (lambda: pb.bound(0.0, 1.0, 9, 1.0, delta=1.0), "delta, a probability, .* got 1.0"),
        (lambda: pb.semi_analytic(1e300, 1e-300, 1, 1e3), r"the best sigma is exp\(3.*other units"),
        (lambda: pb.best_sigma(1.0, -1.0, 9, 1.0), "the trace is a positive number"),
        (lambda: pb.best_weight(1.0, 9, 1.0, delta=2.0), "delta, a probability, .* got 2.0"),
        (lambda: pb.best_weight(-1.0, 9, 1.0), "the KL divergence is a finite number"),
        (lambda: pb.confidence(1.0, 0.0, -1.0, 9, 1.0), "the KL divergence is a finite number"),
        (lambda: pb.confidence(1.0, math.nan, 1.0, 9, 1.0), "the loss is a finite number"),
        (lambda: pb.sample_size(lambda n: 1 / n, math.nan), "the level is a number, got nan"),
        (lambda: pb.covering_constant([LAYER], [math.nan]), "readout must be finite; 1 of 1"),
        (lambda: pb.covering_constant([LAYER], [1.0], 0.0), "inputs, .* got 0.0"),
        (lambda: pb.sub_gaussian([1.0, math.nan]), "a sample of losses must be finite; 1 of 2"),
        (lambda: pb.sub_gaussian([1.0]), "two numbers or more, got 1"),
        (lambda: pb.sub_gaussian([1.0, 2.0], "upper"), "tail is"),
        (lambda: pb.covering_constant([], [1.0]), "a nonempty list"),
        (lambda: pb.covering(0.0, 9, 1, 1), "the constant is a positive number, got 0"),
        (
            lambda: pb.perturbed_losses(Line(1.0), x, x, 0.0, jax.random.key(0)),
            "sigma is a positive number, got 0",
        ),
        (
            lambda: pb.perturbed_losses(Line(1.0), x, x, 1.0, jax.random.key(0), 3),
            "draws come in pairs",
        ),
        (
            lambda: pb.perturbed_losses(Line(1.0), x, x, 1.0, jax.random.key(0), 2**31),
            "that many draws takes about",
        ),
        (
            lambda: pb.perturbed_losses(Line(1.0), x, x[:1], 1.0, jax.random.key(0)),
            "2 inputs and 1 targets",
        ),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_bounds_that_are_no_number_have_no_sample_size():
    with pytest.raises(ValueError, match=r"the bound at n = 1 is a number, got nan\.$"):
        pb.sample_size(lambda n: float("nan"), 0.1)
    late = lambda n: 1 / n if n < 100 else float("nan")
    with pytest.raises(ValueError, match=r"the bound at n = 128 is a number, got nan"):
        pb.sample_size(late, 1e-3)
    assert pb.sample_size(lambda n: np.inf if n < 10 else 1 / n, 0.05) == 21


def exactly(distance, sigma):
    with mpmath.workdps(30):
        return float(mpmath.mpf(distance) / (2 * mpmath.mpf(sigma) ** 2))


@pytest.mark.parametrize(
    ("distance", "sigma"),
    [(0.0, 1e-200), (1e-300, 1e-200), (1e300, 1e200), (3.0, 0.7), (1e-320, 1e-160)],
)
def test_divergences_of_any_size(distance, sigma):
    rough = 1e-3 if 0 < distance < 1e-307 else 1e-14  # a subnormal number has few digits
    right = exactly(distance, sigma)
    assert pb.gaussian_kl(distance, sigma) == pytest.approx(right, rel=rough)


@pytest.mark.parametrize(
    ("gap", "n", "C"), [(1e200, 3, 2e200), (1e-180, 5, 1e-180), (0.3, 50, 2.0), (1e200, 3, 1.0)]
)
def test_confidences_of_any_size(gap, n, C):
    with mpmath.workdps(30):
        right = float(mpmath.exp(-n * mpmath.mpf(gap) ** 2 / (2 * mpmath.mpf(C) ** 2)))
    assert pb.confidence(gap, 0.0, 0.0, n, C) == pytest.approx(right, rel=1e-12)


def test_small_probabilities_and_large_numbers():
    delta = 1e-310
    right = np.sqrt(2 * (1.0 - np.log(delta)) / 100)
    assert pb.bound(0.0, 1.0, 100, 1.0, delta).complexity == pytest.approx(right, rel=1e-12)
    many = pb.bound(0.0, 1.0, 100, 1.0, 1e-300, choices=10**20)
    right = np.sqrt(2 * (1.0 + 320 * np.log(10)) / 100)
    assert many.complexity == pytest.approx(right, rel=1e-12)
    large = pb.bound(0.0, 1.0, 8, 1e200, np.exp(-1))
    assert large.complexity == pytest.approx(1e200 * np.sqrt(0.5), rel=1e-12)
    assert pb.best_sigma(1e300, 1e-300, 1, 1e300) == pytest.approx(1e250, rel=1e-10)
    assert pb.best_sigma(1e300, 1e-300, 10**6, 1e300) == pytest.approx(1e249, rel=1e-10)


def test_constants_of_any_unit():
    losses = np.array([0.0, 1.0, 1.0, 3.0])
    right = pb.sub_gaussian(losses)
    for unit in (1e-100, 1e200, 5e307):
        found = pb.sub_gaussian(losses * unit)
        assert found.value == pytest.approx(right.value * unit, rel=1e-6)
    close = pb.sub_gaussian([1.0, 1.0 + 2**-52])
    assert close.value == pytest.approx(2**-53, rel=0.01)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: pb.sample_size(3, 0.1), "the bound is a function of n, got 3"),
        (lambda: pb.sample_size(lambda n: 1.0, "a"), "the level is a number, got 'a'"),
        (lambda: pb.bound(0.0, 1.0, 10**400, 1.0), "n is at most 1e300, got 1.0e400"),
        (lambda: pb.bound(0.0, "a", 1, 1.0), "of at least 0, got 'a'"),
        (lambda: pb.bound(0.0, 1.0, 1, None), "constant is a positive number, got None"),
        (lambda: pb.best_sigma([1.0], 1.0, 1, 1.0), "squared norm is a positive number"),
        (lambda: pb.sub_gaussian([1.0, 2.0], points=0), "points is a whole number"),
        (lambda: pb.sub_gaussian([1.0, 2.0], tail=3), "is one of 'both', 'lower', got 3"),
        (lambda: pb.covering_constant([pb.Layer(np.ones(3), np.ones((3, 3)))],
                                            np.ones(3)), "matrices, not arrays of shape (3,)"),
        (lambda: pb.covering(1.0, 10**400, 1, 1), "n is at most 1e300"),
        (lambda: pb.gaussian_kl(np.nan, 1.0), "a number of at least 0, got [nan]"),
        (lambda: pb.distance(3), "network is an nnx.Module, got 3"),
    ],
)  # fmt: skip
def test_arguments_out_of_range(call, says):
    with pytest.raises(ValueError, match=r"\.$") as error:
        call()
    assert says in str(error.value)


def test_networks_and_their_data_fit():
    network = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
    x, y = np.ones((3, 2)), np.zeros(3)
    one = pb.perturbed_losses(network, x, y, 0.1, 5, draws=2)
    assert (one == pb.perturbed_losses(network, x, y, 0.1, jax.random.key(5), draws=2)).all()
    assert pb.squared_losses(network, x, y[:, None]).shape == (3,)
    calls = [
        lambda: pb.squared_losses(network, x[:0], y[:0]),
        lambda: pb.squared_losses(network, x, y[:2]),
        lambda: pb.squared_losses(network, x, np.zeros((3, 2))),
        lambda: pb.distance(network, nnx.Linear(2, 2, rngs=nnx.Rngs(0))),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"shape.*\.$"):
            call()


@pytest.mark.parametrize("rare", [0.5, 0.2])
def test_the_constants_standard_error_is_the_jackknifes(rare):
    """Leave one loss out at a time: half of the losses, or a few, are large."""
    rng = np.random.default_rng(0)
    losses = (rng.uniform(size=150) < rare) + 0.1 * rng.uniform(size=150)
    found = pb.sub_gaussian(losses, points=60)
    left = [pb.sub_gaussian(np.delete(losses, i), points=60).value for i in range(150)]
    np.testing.assert_allclose(found.stderr, np.sqrt(149) * np.std(left), rtol=0.15)

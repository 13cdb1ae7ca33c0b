"""Every constant of the bounds, at fixed numbers worked out by hand."""

import math

import numpy as np
import pytest

from theorykit.subjects import pacbayes as pb

DELTA = math.exp(-2.0)  # log 1/delta is 2


def close(value):
    return pytest.approx(value, rel=1e-12)


def test_the_divergence_of_gaussians_has_a_half():
    assert pb.gaussian_kl(4.0, 0.5) == 4 / (2 * 0.25)
    many = pb.gaussian_kl(np.array([4.0, 9.0]), np.array([0.5, 3.0]))
    np.testing.assert_allclose(many, [8, 0.5], rtol=1e-15)


def test_the_bound_at_its_best_weight():
    """KL + log 1/delta = 5, n = 200, C = 1/2: C sqrt(2 5 / 200), lambda = sqrt(2 200 5) / C."""
    found = pb.bound(0.1, 3.0, 200, 0.5, delta=DELTA)
    assert found.weight == close(math.sqrt(2 * 200 * 5) / 0.5)
    assert found.weight == close(pb.best_weight(3.0, 200, 0.5, delta=DELTA))
    assert found.complexity == close(0.5 * math.sqrt(0.05))
    assert (found.loss, found.value) == (0.1, close(0.1 + 0.5 * math.sqrt(0.05)))


def test_the_bound_at_a_weight():
    """5 / 10 + 10 (1/4) / (2 200), and log of 2 weights times 3 choices on top."""
    assert pb.bound(0.1, 3.0, 200, 0.5, DELTA, [10.0]).value == close(0.1 + 0.5 + 10 / 4 / 400)
    shared = pb.bound(0.1, 3.0, 200, 0.5, DELTA, [10.0, 1e9], choices=3)
    assert shared.weight == 10
    assert shared.complexity == close((5 + math.log(6)) / 10 + 10 / 4 / 400)


@pytest.mark.parametrize("scale", [0.3, 1.0, 2.5])
def test_of_several_weights_the_one_with_the_least_bound(scale):
    best = math.sqrt(2 * 200 * (5 + math.log(3))) / 0.5
    weights = scale * best * np.array([0.55, 1.6, 3.0])
    each = [(5 + math.log(3)) / w + w / 4 / 400 for w in weights]
    found = pb.bound(0.0, 3.0, 200, 0.5, DELTA, weights)
    assert found.value == close(min(each))


def test_the_confidence_of_a_level():
    """exp(KL - n (level - loss)^2 / (2 C^2)) = exp(2 - 100 (4/10)^2 / (2 (4/10)^2)) at n = 100."""
    assert pb.confidence(0.5, 0.1, 2.0, 100, 0.4) == pytest.approx(math.exp(2 - 50), rel=1e-9)
    assert pb.confidence(0.5, 0.1, 60.0, 100, 0.4) == 1.0


def test_the_best_sigma_is_a_cube_root():
    assert pb.best_sigma(4.0, 3.0, 100, 0.5) == close((0.5 * 2 / 10 / 3) ** (1 / 3))


def test_the_bound_of_theorem_2_at_a_sigma():
    """sigma^2 / 2 (trace + more) + C sqrt((|theta|^2 / sigma^2 + 2 log 1/delta) / n)."""
    options = dict(delta=DELTA, sigmas=[0.2])
    found = pb.semi_analytic(4.0, 3.0, 100, 0.5, perturbation=[2.0], **options)
    assert found.loss == close(0.02 * 5)
    assert found.complexity == close(0.5 * math.sqrt((4 / 0.04 + 4) / 100))
    assert (found.sigma, found.value) == (0.2, close(found.loss + found.complexity))
    assert pb.semi_analytic(4.0, 3.0, 100, 0.5, **options).loss == close(0.02 * 3)
    assert pb.semi_analytic(4.0, 3.0, 100, 0.5, perturbation=[-9.0], **options).loss == 0


def test_the_sigma_without_a_mesh_is_where_the_derivative_vanishes():
    """sigma^4 trace sqrt(n (|theta|^2 / sigma^2 + 2 log 1/delta)) = C |theta|^2 there."""
    s = pb.semi_analytic(4.0, 3.0, 100, 0.5, delta=DELTA).sigma
    assert s**4 * 3 * math.sqrt(100 * (4 / s**2 + 4)) == pytest.approx(0.5 * 4, rel=1e-9)


# Sub-Gaussian constants of laws on two points, by Kearns and Saul (1998) ------------------------


@pytest.mark.parametrize("ones", [1, 2, 3])
def test_two_values_have_the_constant_of_kearns_and_saul(ones):
    p, losses = ones / 7, np.repeat([0.0, 1.0], [7 - ones, ones])
    found = pb.sub_gaussian(losses)
    assert found.value**2 == pytest.approx((1 - 2 * p) / (2 * math.log((1 - p) / p)), rel=1e-7)
    assert found.losses == 7
    # The tail that is not the heavier one: the variance.
    assert pb.sub_gaussian(losses, "lower").value ** 2 == close(p * (1 - p))
    assert pb.sub_gaussian(losses, "lower").at == 0
    assert found.at == pytest.approx(2 * math.log((1 - p) / p), rel=1e-3)


def test_a_constant_does_not_move_with_the_losses():
    """Nor with what is rounded off their mean, which is about 1e-8 here."""
    losses = np.repeat([-0.3, 0.3], [500, 499])
    here, there = pb.sub_gaussian(losses), pb.sub_gaussian(losses + 1e8)
    assert there.value == pytest.approx(here.value, rel=1e-7)
    assert there.stderr == pytest.approx(here.stderr, rel=1e-3)


def test_the_error_of_a_constant_that_the_variance_decides():
    """Of 0, 0, 0, 1: deviations of z^2 have variance 1/16 (ddof 1), and C^2 = 3/16."""
    found = pb.sub_gaussian([0.0, 0.0, 0.0, 1.0], "lower")
    assert found.value == close(math.sqrt(3) / 4)
    assert found.stderr == close(1 / (4 * math.sqrt(3)))
    assert pb.sub_gaussian([-1.0, 1.0]) == (1, 0, 2, 0)


def test_the_error_of_a_constant_that_a_tail_decides():
    """By the derivative of C in the weight of each loss, at the t that decides."""
    losses = np.array([0.0, 0.1, 0.2, 0.3, 0.1, 0.0, 3.0])
    found, n = pb.sub_gaussian(losses), len(losses)
    assert found.at > 0

    def constant(w):
        w = w / w.sum()
        z = losses - w @ losses
        return math.sqrt(2 * math.log(w @ np.exp(found.at * z)) / found.at**2)

    assert found.value == pytest.approx(constant(np.ones(n)), rel=1e-7)
    h = 1e-6
    slopes = [(constant(np.ones(n) + h * e) - constant(np.ones(n) - h * e)) / (2 * h)
              for e in np.eye(n)]  # fmt: skip
    error = np.std(n * np.array(slopes), ddof=1) / math.sqrt(n)
    assert found.stderr == pytest.approx(error, rel=1e-6)


# The covering bound ------------------------------------------------------------------------------


def test_the_covering_constant_of_two_layers():
    """By hand: a diagonal matrix has its largest entry as spectral norm, its sum as (2, 1) norm."""
    first = pb.Layer(np.diag([0.5, 0.25]), np.diag([2.0, 1.0]), np.diag([3.0, 1.0]))
    last = pb.Layer(np.diag([0.1, 0.1]), np.diag([1.5, 0.5]), np.diag([0.5, 0.25]))
    w, B = 5.0, 2.0
    a_last, a_first = 1.0, 0.5 * 1.5 * (1 + 4 * 0.1 * B**2)
    root = lambda v: v ** (2 / 3)
    inside = (
        root(w)
        + root(a_first * w) * (root(4) + root(2 * 3 * 2 * 0.75 * B) + root(3 * 3))
        + root(a_last * w) * (root(0.75) + root(2 * 0.5 * 1.5 * 0.2 * B) + root(0.5 * 2))
    )
    found = pb.covering_constant([first, last], np.array([3.0, 4.0]), inputs=B)
    assert found == close(inside**3 * B**2)


def test_the_covering_bound_at_fixed_numbers():
    """E = C log(d n T + 1) = 2 log 301 of d = 3, n = 50, T = 2; the logarithm is not negative."""
    E, n = 2 * math.log(301), 50
    for bounded, lipschitz in ((9.0, 0.5), (0.01, 2.0)):
        log = max(0.0, math.log(bounded * math.sqrt(n / E)))
        chance = 2 * bounded * math.sqrt(2 / (2 * n))
        found = pb.covering(2.0, n, 3, 2, bounded, lipschitz, DELTA)
        assert found == close(4 * lipschitz * math.sqrt(E / n) * (1 + log) + chance)

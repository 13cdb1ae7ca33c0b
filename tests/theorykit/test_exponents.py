"""Fitted exponents and how often their intervals cover."""

import numpy as np

from theorykit import exponents

SIZES = np.array([8.0, 16.0, 32.0, 64.0])


def test_exact_powers():
    values = 3 * SIZES**-1.5
    for fitted in (
        exponents.exact(SIZES, values),
        exponents.weighted(SIZES, values, 0.1 * values),
        exponents.replicated(SIZES, [values, 2 * values]),
    ):
        np.testing.assert_allclose(fitted.value, -1.5)
        assert fitted.low <= fitted.value <= fitted.high
    assert str(exponents.Exponent(-1, -2, 0)) == "-1.000 [-2.000, 0.000]"


def test_weighted_intervals_cover_at_their_confidence():
    rng = np.random.default_rng(0)
    stderr = SIZES**-0.5 * np.array([0.02, 0.05, 0.1, 0.1])
    missed = 0
    for _ in range(400):
        fitted = exponents.weighted(SIZES, SIZES**-0.5 + stderr * rng.normal(size=4), stderr)
        missed += not fitted.low <= -0.5 <= fitted.high
    assert missed <= 12  # 1% expected, less where the interval is widened


def test_a_line_that_does_not_fit_has_a_wider_interval():
    curved = 1 / SIZES + 8 / SIZES**2
    narrow = exponents.weighted(SIZES, 1 / SIZES, 1e-4 / SIZES)
    wide = exponents.weighted(SIZES, curved, 1e-4 / SIZES)
    assert wide.high - wide.low > 100 * (narrow.high - narrow.low)


def test_one_size_says_nothing():
    fitted = exponents.weighted(SIZES[:1], [1.0], [0.1])
    assert (fitted.low, fitted.high) == (-np.inf, np.inf)

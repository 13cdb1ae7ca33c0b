"""Fitted exponents and how often their intervals cover."""

import numpy as np

from theorykit.common import exponents

SIZES = np.array([8.0, 16.0, 32.0, 64.0])


def test_exact_powers():
    values = 3 * SIZES**-1.5
    for fitted in (
        exponents.exact(SIZES, values),
        exponents.of_squares(SIZES, values**2, 0.01 * values**2),
        exponents.replicated(SIZES, [values, 2 * values]),
    ):
        np.testing.assert_allclose(fitted.value, -1.5, atol=1e-3)
        assert fitted.low <= fitted.value <= fitted.high
    assert str(exponents.Exponent(-1, -2, 0)) == "-1.000 [-2.000, 0.000]"


def test_an_interval_without_noise_spans_the_slopes_between_neighbours():
    fitted = exponents.exact(SIZES, [8, 8, 4, 1])
    np.testing.assert_allclose([fitted.low, fitted.high], [-2, 0], atol=1e-12)


def test_intervals_cover_at_their_confidence():
    """Also where half of the squares are lost in noise."""
    rng = np.random.default_rng(0)
    for noise in (0.1, 0.5):
        stderr = noise * np.array([0.02, 0.05, 0.04, 0.02])
        missed = 0
        for _ in range(300):
            fitted = exponents.of_squares(SIZES, 1 / SIZES + stderr * rng.normal(size=4), stderr)
            missed += not fitted.low <= -0.5 <= fitted.high
        assert missed <= 9  # 1% expected, less where the interval is widened


def test_a_line_that_does_not_fit_has_a_wider_interval():
    curved = 1 / SIZES + 8 / SIZES**2
    narrow = exponents.of_squares(SIZES, 1 / SIZES**2, 1e-2 / SIZES**2)
    wide = exponents.of_squares(SIZES, curved**2, 1e-2 / SIZES**2)
    assert wide.high - wide.low > 10 * (narrow.high - narrow.low)


def test_what_says_nothing():
    for sizes, squares in ((SIZES[:1], [1.0]), (SIZES, -np.ones(4)), (SIZES, np.full(4, np.nan))):
        fitted = exponents.of_squares(sizes, squares, np.ones(len(sizes)))
        assert (fitted.low, fitted.high) == (-np.inf, np.inf)
    assert exponents.of_squares(SIZES, np.ones(4), np.full(4, 10.0)).high == np.inf

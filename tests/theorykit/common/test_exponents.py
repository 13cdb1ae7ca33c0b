"""Fitted exponents and how often their intervals cover."""

import numpy as np
import pytest

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


@pytest.mark.parametrize("unit", [1e-3, 1e3])
def test_the_unit_of_the_sizes_does_not_matter(unit):
    values = 3 * SIZES**-1.5
    fitted, same = (exponents.exact(sizes, values) for sizes in (SIZES, unit * SIZES))
    np.testing.assert_allclose([same.value, same.low, same.high],
                               [fitted.value, fitted.low, fitted.high], rtol=1e-12)  # fmt: skip


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
        assert np.isnan(fitted.value)
    assert exponents.of_squares(SIZES, np.ones(4), np.full(4, 10.0)).high == np.inf


# Against closed forms: the t distribution with 1 and 2 degrees of freedom, and chi-square as it is
# written down. -----------------------------------------------------------------------------------


def t_quantile(confidence, freedom):
    """Return where |t| stays with this probability: Cauchy's at 1, algebraic at 2."""
    if freedom == 1:
        return np.tan(np.pi * confidence / 2)
    return confidence * np.sqrt(2 / (1 - confidence**2))


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("values", [[1.0, 4.0], [1.0, 2.0, 6.0]])
def test_the_interval_of_a_mean_is_students(values, confidence):
    middle, low, high = exponents.mean(np.array(values), confidence)
    n, m = len(values), sum(values) / len(values)
    spread = np.sqrt(sum((v - m) ** 2 for v in values) / (n - 1) / n)
    reach = t_quantile(confidence, n - 1) * spread
    np.testing.assert_allclose([middle, low, high], [m, m - reach, m + reach], rtol=1e-12)


def test_the_interval_of_replicated_slopes_is_students_at_99_percent():
    rows = [SIZES**-1.0, SIZES**-1.5, 3 * SIZES**-2.5]
    fitted = exponents.replicated(SIZES, rows)
    m = -5 / 3
    spread = np.sqrt(sum((s - m) ** 2 for s in (-1, -1.5, -2.5)) / 2 / 3)
    reach = t_quantile(0.99, 2) * spread
    np.testing.assert_allclose(fitted, [m, m - reach, m + reach], rtol=1e-12)


def chi_square(p, squares, stderr):
    """Return the least chi-square at an exponent, over c >= 0."""
    power, w = SIZES[: len(squares)] ** (2 * p), 1 / stderr**2
    c = max(0.0, (w * squares * power).sum() / (w * power**2).sum())
    return (w * (squares - c * power) ** 2).sum()


@pytest.mark.parametrize("bend", [0.0, 1.5])
@pytest.mark.parametrize("count", [2, 3, 4])
def test_the_interval_of_squares_is_where_chi_square_rises_by_its_quantile(count, bend):
    """By 6.63, times the misfit per degree of freedom (sizes less 2, at least 1) if above 1."""
    sizes = SIZES[:count]
    stderr = np.array([0.002, 0.003, 0.001, 0.002])[:count]
    squares = 1 / sizes + bend / sizes**2
    grid = np.linspace(-2, 1, 30001)
    misfit = np.array([chi_square(p, squares, stderr) for p in grid])
    times = max(1.0, misfit.min() / max(1, count - 2))
    inside = grid[misfit <= misfit.min() + 6.6348966010212145 * times]
    fitted = exponents.of_squares(sizes, squares, stderr)
    np.testing.assert_allclose(fitted.value, grid[misfit.argmin()], atol=1e-3)
    np.testing.assert_allclose([fitted.low, fitted.high], [inside[0], inside[-1]], atol=1.1e-3)


def test_squares_of_one_sign_have_no_exponent():
    assert np.isnan(exponents.of_squares(SIZES, -np.ones(4), np.ones(4)).value)


def test_neighbours_are_those_in_size_whatever_the_order():
    """Slopes -1 from 8 to 16, -2 to 32 and 0 to 64."""
    values = np.array([8.0, 4.0, 1.0, 1.0])
    for order in ([0, 1, 2, 3], [2, 0, 3, 1], [3, 2, 1, 0]):
        fitted = exponents.exact(SIZES[order], values[order])
        # The weights of centred log sizes are (-3, -1, 1, 3) / 10 a doubling.
        slope = (-3 * 3 - 1 * 2 + 1 * 0 + 3 * 0) / 10
        np.testing.assert_allclose(fitted, [slope, -2, 0], atol=1e-12)


@pytest.mark.parametrize(("count", "degrees"), [(3, 1), (4, 2)])
def test_the_misfit_is_shared_among_the_sizes_less_two(count, degrees):
    """Squares that fit no power: the interval is wider by their chi-square over its degrees."""
    stderr = np.array([0.004, 0.002, 0.003, 0.001])[:count]
    squares = 1 / SIZES[:count] + np.array([0.02, -0.01, 0.01, 0.0])[:count]
    grid = np.linspace(-2, 1, 30001)
    misfit = np.array([chi_square(p, squares, stderr) for p in grid])
    assert misfit.min() > 2 * degrees
    inside = grid[misfit <= misfit.min() * (1 + 6.6348966010212145 / degrees)]
    fitted = exponents.of_squares(SIZES[:count], squares, stderr)
    np.testing.assert_allclose([fitted.low, fitted.high], [inside[0], inside[-1]], atol=1.1e-3)


def test_an_end_that_the_data_do_not_bound_is_infinite():
    """1 at the smallest size and nothing beyond it is any steep fall; the other way, any rise."""
    error = np.full(4, 0.01)
    fall = exponents.of_squares(SIZES, [1, 0, 0, 0], error)
    rise = exponents.of_squares(SIZES, [0, 0, 0, 1], error)
    assert fall.low == -np.inf
    assert -6 < fall.high < -1
    assert rise.high == np.inf
    assert 1 < rise.low < 3


@pytest.mark.parametrize(
    "make",
    [
        lambda: exponents.slopes([8, -16], [[1, 2]]),
        lambda: exponents.slopes([8, 8], [[1, 2]]),
        lambda: exponents.slopes(SIZES, [[1, 2]]),
        lambda: exponents.exact(SIZES, [1, 2, 3, 4j]),
        lambda: exponents.mean(np.ones(1)),
        lambda: exponents.mean(np.ones((2, 2))),
        lambda: exponents.mean(np.ones(2), 1.0),
        lambda: exponents.of_squares(SIZES, np.ones(4), [1, 1, 1, -1]),
        lambda: exponents.of_squares(SIZES, np.ones(4), 1.0),
    ],
)
def test_what_has_no_exponent_is_refused(make):
    with pytest.raises(ValueError, match=r"got|are one row|between 0 and 1"):
        make()


def test_nan_stays_nan():
    assert np.isnan(exponents.slopes(SIZES, [[1, np.nan, 2, 3], [8, 16, 32, 64]])).tolist() == [
        True,
        False,
    ]

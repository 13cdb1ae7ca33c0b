"""The intervals that fitted and sampled evidence rests on, against closed forms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from theorykit.checks import Trial, expectation, rate
from theorykit.results import Verdict


def students(error):
    """Return where t with 2 degrees of freedom is left on one side with this probability."""
    inside = 1 - 2 * error
    return inside * np.sqrt(2 / (1 - inside**2))


VALUES = np.array([1.0, 2.0, 6.0])
MEAN, STDERR = 3.0, np.sqrt(14 / 2 / 3)


def three(scale=1.0):
    """Return a statistic that gives three known numbers, one after the other."""
    given = iter([*VALUES, *VALUES])
    return lambda key: np.asarray(scale) * next(given)


def judged(trial, **options):
    check = expectation(statistic=three(), replicates=3, vectorize=False, **options)
    return check.test(trial)


@pytest.mark.parametrize("error", [0.2, 0.01, 1e-6])
@pytest.mark.parametrize(
    ("kind", "sides", "away"),
    [("value", 2, -1), ("value", 2, 1), ("at_most", 1, -1), ("at_least", 1, 1)],
)
def test_an_expectation_falls_where_students_interval_ends(trial, error, kind, sides, away):
    reach = students(error / sides) * STDERR
    for share, verdict in ((1 - 1e-6, Verdict.holds), (1 + 1e-6, Verdict.refuted)):
        found = judged(trial, error=error, **{kind: MEAN + away * share * reach})
        assert found.verdict == verdict
        np.testing.assert_allclose(found.measured.interval, [MEAN - reach, MEAN + reach], rtol=1e-9)


def test_an_allowed_bias_widens_the_interval(trial):
    reach = students(0.005) * STDERR
    for extra, verdict in ((-1e-6, Verdict.holds), (1e-6, Verdict.refuted)):
        found = judged(trial, error=0.01, value=MEAN + reach + 0.5 + extra, within=0.5)
        assert found.verdict == verdict
    assert found.measured.predicted == pytest.approx(
        (MEAN + reach + extra, MEAN + reach + 1 + extra)
    )


def test_the_error_is_shared_among_components(trial):
    reach = students(0.01 / 2 / 4) * STDERR
    for share, verdict in ((1 - 1e-6, Verdict.holds), (1 + 1e-6, Verdict.refuted)):
        check = expectation(
            statistic=three(np.ones(4)), replicates=3, vectorize=False, error=0.01,
            value=np.array([MEAN, MEAN, MEAN + share * reach, MEAN]),
        )  # fmt: skip
        found = check.test(trial)
        assert found.verdict == verdict
        assert "entry 3, counted from 1" in found.note


def test_a_true_claim_falls_as_often_as_its_error_says():
    """Six Gaussian replicates at 10%: 100 of 1000, within six standard deviations."""
    fell = 0
    for column in np.random.default_rng(0).normal(size=(1000, 6)):
        given = iter(column)
        check = expectation(
            statistic=lambda key, given=given: next(given),
            value=0.0, replicates=6, error=0.1, vectorize=False,
        )  # fmt: skip
        fell += check.test(Trial(jax.random.key(0))).verdict == Verdict.refuted
    assert 43 <= fell <= 157


def slopes(*given):
    """Return a measure whose replicates are exact powers with these exponents."""
    turn = {}

    def measure(key, n):
        k = turn[n] = turn.get(n, -1) + 1
        return float(n) ** given[k % len(given)]

    return measure


def test_a_rate_holds_falls_or_is_undecided_by_students_interval(trial):
    reach = students(0.005) * np.sqrt(0.02 / 2 / 3)
    low, high = -1 - reach, -1 + reach
    options = dict(replicates=3, vectorize=False, tolerance=0.0, at=(8, 16, 32))
    for between, verdict in [
        ((low - 1e-6, high + 1e-6), Verdict.holds),
        ((low + 1e-6, high + 1e-6), Verdict.inconclusive),
        ((low - 1e-6, high - 1e-6), Verdict.inconclusive),
        ((high + 1e-6, 9.0), Verdict.refuted),
        ((-9.0, low - 1e-6), Verdict.refuted),
    ]:
        found = rate(measure=slopes(-1.1, -1.0, -0.9), between=between, **options).test(trial)
        assert found.verdict == verdict, between
        np.testing.assert_allclose(found.measured.interval, [low, high], rtol=1e-9)


@pytest.mark.parametrize(
    ("kind", "edge", "inside"), [("at_most", 2.0, -1), ("at_least", 2.0, 1), ("exponent", 2.0, 1),
                                 ("exponent", 2.0, -1)]
)  # fmt: skip
def test_the_tolerance_of_a_rate_lies_on_the_side_of_its_bound(trial, kind, edge, inside):
    """The slope is exact, so that only the band decides."""
    for away, verdict in ((0.1 - 1e-6, Verdict.holds), (0.1 + 1e-6, Verdict.refuted)):
        slope = edge + (away if kind == "exponent" else -away) * inside
        found = rate(measure=lambda n, s=slope: float(n) ** s, **{kind: edge}, tolerance=0.1).test(
            trial
        )
        assert found.verdict == verdict


def test_a_limit_is_taken_off_before_the_fit(trial):
    found = rate(measure=lambda n: 3 - 2 / float(n), exponent=-1.0, limit=3.0, tolerance=1e-6).test(
        trial
    )
    assert found.verdict == Verdict.holds
    assert jnp.isfinite(found.measured.exponent)


def test_the_points_of_a_rate_have_the_errors_of_means(trial):
    """Means over replicates, with sqrt(sum (v - m)^2 / (n - 1) / n)."""
    found = rate(
        measure=slopes(-1.0, -1.0, -2.0), exponent=-1.0, at=(2, 4, 8), replicates=3, vectorize=False
    ).test(trial)
    for n, (size, mean, stderr) in zip((2, 4, 8), found.measured.points, strict=True):
        some = np.array([1 / n, 1 / n, 1 / n**2])
        middle = some.sum() / 3
        assert (size, mean) == (n, pytest.approx(middle, rel=1e-12))
        assert stderr == pytest.approx(np.sqrt(((some - middle) ** 2).sum() / 2 / 3), rel=1e-12)


def test_the_component_shown_is_the_farthest_in_standard_errors(trial):
    """Component 1 is farther off, component 0 by more of its errors; neither falls."""
    check = expectation(
        statistic=three(np.array([1.0, 100.0])), replicates=3, vectorize=False, error=1e-6,
        value=np.array([MEAN + STDERR, 100 * MEAN + 10 * STDERR]),
    )  # fmt: skip
    found = check.test(trial)
    assert found.verdict == Verdict.holds
    assert "entry 1, counted from 1" in found.note
    assert found.measured.estimate == pytest.approx(MEAN)


def test_a_component_that_falls_is_shown_before_one_that_does_not(trial):
    """An allowed bias and rounding do not hide which component refutes."""
    check = expectation(
        statistic=three(np.array([1.0, 1.0, 1.0])), replicates=3, vectorize=False, error=0.2,
        value=np.array([MEAN, MEAN - 9 * STDERR, MEAN + 3 * STDERR]),
    )  # fmt: skip
    found = check.test(trial)
    assert found.verdict == Verdict.refuted
    assert "entry 2, counted from 1" in found.note
    assert found.witness.lhs == pytest.approx(MEAN)
    assert found.witness.rhs == pytest.approx(MEAN - 9 * STDERR)

"""Rates that are proved by their degree."""

from fractions import Fraction

import jax
import pytest

from theorykit.checks import rate
from theorykit.results import Evidence, Scope, Verdict

AT = dict(at=(1000, 2000, 4000))
NEARLY_LINEAR = dict(measure=lambda n: n + 5 + 1 / n)


@pytest.mark.parametrize(
    "predicted",
    [dict(exponent=1), dict(at_most=1), dict(at_least=1), dict(at_most=2), dict(between=(0.5, 1))],
)
def test_a_rational_function_is_proved(trial, predicted):
    check = rate(**NEARLY_LINEAR, **AT, **predicted)
    found = check.test(trial)
    assert (found.verdict, found.evidence) == (Verdict.holds, Evidence.certified)
    assert found.certificate.scope is Scope.whole
    assert found.certificate.where.startswith("3/5 c n^1 <= measure <= 5/3 c n^1 for n >= ")
    assert check.proof_alone(trial).certificate == found.certificate


@pytest.mark.parametrize("predicted", [dict(exponent=1.05), dict(at_most=0.95)])
def test_what_the_tolerance_lets_through_is_not_proved(trial, predicted):
    check = rate(**NEARLY_LINEAR, **AT, **predicted)
    found = check.test(trial)
    assert (found.verdict, found.evidence) == (Verdict.holds, Evidence.fitted)
    assert "grows like 1 n^1, which is predicted only with the tolerance" in found.unproved
    assert check.proof_alone(trial) is None


def test_another_exponent_far_out_is_not_proved(trial):
    late = lambda n: n if n < 10**6 else n**2
    found = rate(measure=late, exponent=1, **AT).test(trial)
    assert (found.verdict, found.evidence) == (Verdict.holds, Evidence.fitted)
    assert "another function than at n = 1000" in found.unproved


def test_a_limit_is_subtracted(trial):
    measure = lambda n: Fraction(1, 3) - 2 / (n + 1)
    found = rate(measure=measure, limit=Fraction(1, 3), exponent=-1, **AT).test(trial)
    assert found.evidence is Evidence.certified
    found = rate(measure=measure, limit=1 / 3, exponent=-1, **AT).test(trial)
    assert found.evidence is Evidence.fitted  # 1/3 in floats is no third


def test_others_say_why_they_are_fitted(trial):
    found = rate(measure=lambda n: n**0.5, exponent=0.5, **AT).test(trial)
    assert found.evidence is Evidence.fitted
    assert "a power of n that is not whole" in found.unproved
    noisy = lambda key, n: n * (1 + 0.01 * jax.random.normal(key))
    found = rate(measure=noisy, exponent=1, **AT).test(trial)
    assert found.unproved == "Not certified: the measure is random."

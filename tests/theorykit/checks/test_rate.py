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
    assert "not the function that it is at n = 1000" in found.unproved


def test_a_limit_is_subtracted(trial):
    measure = lambda n: Fraction(1, 3) - 2 / (n + 1)
    found = rate(measure=measure, limit=Fraction(1, 3), exponent=-1, **AT).test(trial)
    assert found.evidence is Evidence.certified
    found = rate(measure=measure, limit=1 / 3, exponent=-1, **AT).test(trial)
    assert found.evidence is Evidence.fitted  # 1/3 in floats is no third


def test_others_say_why_they_are_fitted(trial):
    found = rate(measure=lambda n: n**0.5, exponent=0.5, **AT).test(trial)
    assert found.evidence is Evidence.fitted
    assert "n has a power that is not whole" in found.unproved
    noisy = lambda key, n: n * (1 + 0.01 * jax.random.normal(key))
    found = rate(measure=noisy, exponent=1, **AT).test(trial)
    assert found.unproved == "Not certified: the measure is random."


def test_the_degree_decides_whatever_the_sizes_show(trial):
    small = rate(measure=lambda n: n + 1000, exponent=1, at=(10, 100, 1000)).test(trial)
    assert (small.verdict, small.evidence) == (Verdict.holds, Evidence.certified)
    assert small.note.startswith("It grows like 1 n^1, which the sizes tested do not show. ")
    late = rate(measure=lambda n: n + Fraction(1, 10**9) * n**2, exponent=1, **AT).test(trial)
    assert (late.verdict, late.evidence) == (Verdict.refuted, Evidence.certified)
    assert late.certificate.scope is Scope.whole
    assert (late.witness.lhs, late.witness.rhs) == (2, 1.1)
    below = rate(measure=lambda n: n**2, at_least=3, **AT).test(trial)
    assert (below.witness.lhs, below.witness.rhs) == (2, 2.9)
    assert "outside the predicted band" in below.certificate.how
    assert "sizes tested" not in below.note

"""How strong the evidence of a construction is: certified where all was built, and exactly."""

from fractions import Fraction

import numpy as np
import pytest

from theorykit.checks import construction
from theorykit.results import Evidence, Scope, Verdict


def halves(n):
    """Return n fractions that sum to one."""
    return [Fraction(1, 2**k) for k in range(1, n)] + [Fraction(1, 2 ** (n - 1))]


def adds_up(parts):
    return sum(parts) == 1


CASES = dict(cases=range(1, 6), complete=True)


def test_exact_and_complete_is_certified(trial):
    check = construction(build=halves, has=adds_up, **CASES)
    found = check.test(trial)
    assert (found.verdict, found.evidence) == (Verdict.holds, Evidence.certified)
    assert (found.certificate.scope, found.certificate.where) == (Scope.sizes, "5 cases")
    assert not found.unproved
    assert check.proof_alone(trial) == found


def test_one_object_is_complete(trial):
    found = construction(build=lambda: halves(4), has=adds_up).test(trial)
    assert (found.evidence, found.certificate.where) == (Evidence.certified, "1 case")


def test_a_sample_is_not_certified_and_says_so(trial):
    found = construction(build=halves, has=adds_up, cases=[3, 5]).test(trial)
    assert (found.evidence, found.certificate) == (Evidence.sampled, None)
    assert found.unproved == (
        "Not certified: what is built is a sample of what the statement is about."
    )


def rounded(n):
    return [float(x) for x in halves(n)]


def built_by_numpy(n):
    return np.ones(n, dtype=int) * 0 + (np.arange(n) == 0)


def nearly(parts):
    return abs(sum(parts) - 1) < 1e-9


@pytest.mark.parametrize(
    ("build", "has", "said"),
    [
        (rounded, adds_up, "float"),
        (built_by_numpy, adds_up, "arrays round"),
        (halves, nearly, "1e-09, which is a float"),
        (lambda n: halves(n) if n / 2 else [1], adds_up, "divides 1 by 2"),
        (halves, {"all": adds_up, "near": nearly}, "1e-09, which is a float"),
    ],
)
def test_a_float_anywhere_costs_the_grade(trial, build, has, said):
    found = construction(build=build, has=has, **CASES).test(trial)
    assert (found.verdict, found.evidence) == (Verdict.holds, Evidence.exhaustive)
    assert found.unproved.startswith("Not certified: ")
    assert said in found.unproved


def test_a_case_that_is_a_float_costs_the_grade(trial):
    check = construction(build=lambda x: [x, 1 - x], has=adds_up, cases=[0.5], complete=True)
    found = check.test(trial)
    assert found.evidence is Evidence.exhaustive
    assert "case number 1 is 0.5" in found.unproved


def test_what_fails_exactly_is_refuted_for_certain(trial):
    for cases in (dict(cases=[1, 2, 3]), CASES):
        found = construction(build=halves, has=lambda p: len(p) < 3, **cases).test(trial)
        assert (found.verdict, found.evidence) == (Verdict.refuted, Evidence.certified)
        assert (found.certificate.scope, found.cases) == (Scope.point, 3)
        assert "case = 3" in found.witness.code

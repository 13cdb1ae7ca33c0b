"""Expectations over named draws: sampled, and computed."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from theorykit.checks import ClaimError, expectation, normal, uniform
from theorykit.results import Evidence, Scope, Verdict

SQUARE = dict(statistic=lambda x: jnp.sum(x**2), draws=dict(x=normal("3", Fraction(1, 3))), each=64)


def test_a_polynomial_has_an_exact_mean(trial):
    found = expectation(**SQUARE, value=1).test(trial)
    assert (found.verdict, found.evidence) == (Verdict.holds, Evidence.certified)
    assert found.certificate.scope is Scope.sizes
    assert found.certificate.words() == (
        "proved at the tested sizes: the mean over x in N(0, 1/3)^3"
    )
    assert found.certificate.steps == ("the mean is 1",)
    assert found.measured.interval[0] < 1 < found.measured.interval[1]  # and it was sampled


def test_a_false_neighbour_that_sampling_cannot_see_is_refuted(trial):
    near = 1 + Fraction(1, 10**9)
    found = expectation(**SQUARE, value=near).test(trial)
    assert (found.verdict, found.evidence) == (Verdict.refuted, Evidence.certified)
    assert found.certificate.scope is Scope.point
    assert found.note.startswith("The mean is 1, exactly.")
    assert expectation(**SQUARE, value=near, within=2e-9).test(trial).verdict is Verdict.holds


@pytest.mark.parametrize(
    ("bound", "holds"),
    [
        (dict(at_most=1), True),
        (dict(at_least=1), True),
        (dict(at_most=1 - Fraction(1, 10**9)), False),
        (dict(at_least=1 + Fraction(1, 10**9)), False),
    ],
)
def test_bounds(trial, bound, holds):
    found = expectation(**SQUARE, **bound).test(trial)
    assert found.verdict is (Verdict.holds if holds else Verdict.refuted)
    assert found.evidence is Evidence.certified


@pytest.mark.parametrize(
    ("bound", "nearest"),
    [
        (dict(value=2), 2),
        (dict(value=Fraction(1, 2)), 0.5),
        (dict(value=2, within=0.25), 1.75),
        (dict(value=0, within=0.25), 0.25),
        (dict(at_least=2), 2),
        (dict(at_most=0.5), 0.5),
        (dict(at_most=0.5, within=0.25), 0.75),
    ],
)
def test_the_witness_has_the_nearest_mean_that_the_claim_allows(trial, bound, nearest):
    found = expectation(**SQUARE, **bound).test(trial)
    assert (found.witness.lhs, found.witness.rhs) == (1, nearest)


@pytest.mark.parametrize(
    ("bound", "shift"),
    [(dict(value=1), 0), (dict(value=1.25, within=0.5), 0.25), (dict(at_most=1.5), 0.5)],
)
def test_an_exact_mean_is_as_fine_as_it_gets(trial, bound, shift):
    """With few draws sampling alone could hardly tell the value from 0."""
    found = expectation(**SQUARE | dict(each=1), **bound, replicates=4).test(trial)
    assert found.resolution.value == pytest.approx(shift)
    assert not found.resolution.poor


def test_components_and_uniform_draws(trial):
    check = expectation(
        statistic=lambda s, x: jnp.stack([s[0] * s[1], s[0] ** 2 * x**2, s.sum() * x]),
        draws=dict(s=uniform(0, 1, 3, shape="2"), x=normal(variance=2)),
        value=[Fraction(16, 9), Fraction(20, 3), 0],
        each=32,
    )
    found = check.test(trial)
    assert (found.verdict, found.evidence) == (Verdict.holds, Evidence.certified)
    assert check.proof_alone(trial).certificate == found.certificate
    assert "s in {0, 1, 3}^2, x in N(0, 2)" in found.certificate.where


def test_what_is_no_polynomial_stays_sampled_and_says_why(trial):
    check = expectation(
        statistic=lambda x: jnp.abs(x), draws=dict(x=normal()), value=(2 / np.pi) ** 0.5, each=64
    )
    found = check.test(trial)
    assert (found.verdict, found.evidence) == (Verdict.holds, Evidence.sampled)
    assert "Not proved: it is no polynomial" in found.unproved
    assert check.proof_alone(trial) is None


def test_a_statistic_that_draws_for_itself_says_why_it_is_not_certified(trial):
    mean = lambda key: jax.random.normal(key, (99,)).mean()
    found = expectation(statistic=mean, value=0).test(trial)
    assert found.evidence is Evidence.sampled
    assert found.unproved.startswith("Not certified: the statistic makes its own draws")


def test_draws_have_their_law():
    key = jax.random.key(0)
    x = normal("1000 4", Fraction(1, 4)).draw(key)
    assert abs(float((x**2).mean()) - 1 / 4) < 0.03
    s = np.asarray(uniform(2, 5, 5, shape="3000").draw(key))
    assert set(s.tolist()) == {2, 5}
    assert abs((s == 5).mean() - 2 / 3) < 0.05
    assert [m.tolist() for m in uniform(0, 1, shape="2").members()] == [
        [0, 0], [0, 1], [1, 0], [1, 1],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: normal("n"), "n"),
        (lambda: normal("3", -1), "variance"),
        (lambda: uniform(1), "two numbers or more, not from"),
        (lambda: expectation(**SQUARE | dict(draws=[normal()]), value=1), "draws are a law"),
        (lambda: expectation(**SQUARE | dict(draws={}), value=1), "draws are a law"),
        (lambda: expectation(**SQUARE | dict(draws=None), value=1), "counts draws in a replicate"),
        (lambda: expectation(**SQUARE | dict(each=0), value=1), "each"),
        (lambda: expectation(**SQUARE, value="1"), "value"),
    ],
)
def test_what_is_no_law_is_refused(make, said):
    with pytest.raises((ClaimError, ValueError), match=said):
        make()

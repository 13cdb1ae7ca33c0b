import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.nn import softmax

from theorykit.checks import ClaimError, identity, inequality
from theorykit.checks.domains import inputs, integers, interval, psd, reals
from theorykit.results import Evidence, Verdict


def test_the_attack_finds_a_tight_constant(trial):
    """Sum of the first derivatives of a softmax weight: 2 A (1 - A), so 1/2 is tight."""
    weight = lambda S: softmax(S)[0]
    found = inequality(
        lhs=lambda S: jnp.abs(jax.grad(weight)(S)).sum(),
        rhs=lambda: 0.5,
        over=inputs(S=reals("T"), T=(5,)),
        cases=8,
    ).test(trial)
    assert found.verdict == Verdict.holds
    assert found.evidence == Evidence.certified  # the search has been made before the proof
    assert found.measured.ratio == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("cases", [1, 3, 5])
def test_sides_of_other_ranks_broadcast_entry_by_entry_whatever_the_batch(trial, cases):
    rows = lambda x: (x - jnp.abs(x).max())[None]  # (1, 3)
    matrix = lambda x: jnp.stack([jnp.zeros(3), jnp.arange(3.0)])  # (2, 3)
    options = dict(over=inputs(x=reals(3)), cases=cases, starts=0, batch=cases)
    assert inequality(lhs=rows, rhs=matrix, **options).test(trial).verdict == Verdict.holds
    lower = lambda x: matrix(x) - 10 * jnp.array([[0.0], [1.0]]) * jnp.array([0.0, 0.0, 1.0])
    found = inequality(lhs=lambda x: -rows(x) * 0 - 1, rhs=lower, **options).test(trial)
    assert found.verdict == Verdict.refuted
    assert (found.witness.lhs, found.witness.rhs) == (-1.0, -8.0)


@pytest.mark.parametrize("traceable", [True, False])
@pytest.mark.parametrize("check", [inequality, identity])
def test_axes_are_not_lined_up_by_a_rule(trial, check, traceable):
    """A row beside a column, and a vector beside a matrix, whose rows or columns it could be."""
    options = dict(over=inputs(x=reals(3)), traceable=traceable, cases=3)
    column = check(lhs=lambda x: x[None], rhs=lambda x: x[:, None], **options)
    with pytest.raises(ClaimError, match=r"and rhs \(3, 1\), which broadcast to \(3, 3\)"):
        column.test(trial)
    each = check(lhs=lambda x: x + 0 * x[:, None], rhs=lambda x: x, **options)
    with pytest.raises(ClaimError, match=r"\(3, 3\) and rhs \(3,\).*any.*reshape\(..., \(1, 3\)\)"):
        each.test(trial)
    meant = check(lhs=lambda x: x + 0 * x[:, None], rhs=lambda x: x[None], **options)
    assert meant.test(trial).verdict == Verdict.holds
    number = check(lhs=lambda x: 1 + 0 * x * x[:, None], rhs=lambda: jnp.ones(1), **options)
    assert number.test(trial).verdict == Verdict.holds


def test_the_attack_finds_what_samples_do_not(trial):
    """A spike of width 1e-2 at a place that no structured case has."""
    spike = inequality(
        lhs=lambda x: 1 / (1 + 1e4 * ((x - jnp.array([0.7193, -1.3137])) ** 2).sum()),
        rhs=lambda: 0.99,
        over=inputs(x=reals(2)),
        cases=16,
    )
    assert dataclasses.replace(spike, starts=0).test(trial).verdict == Verdict.holds
    assert dataclasses.replace(spike, starts=0).test(trial).evidence == Evidence.sampled
    assert spike.test(trial).verdict == Verdict.refuted


def test_a_false_bound_falls_at_the_smallest_size_that_fails(trial):
    found = inequality(
        lhs=lambda x: x.sum(),
        rhs=lambda: 2.5,
        over=inputs(x=interval(-1, 1, "T"), T=(3, 2)),
    ).test(trial)
    assert found.verdict == Verdict.refuted
    assert found.witness.code.startswith("T = 3\nx = np.array([1.")
    scope = {"np": np}
    exec(found.witness.code, scope)
    assert scope["x"].sum() > 2.5


def test_the_witness_is_simple(trial):
    found = inequality(
        lhs=lambda x: jnp.abs(x).max(), rhs=lambda: 3.0, over=inputs(x=reals("T"), T=(4,))
    ).test(trial)
    scope = {"np": np}
    exec(found.witness.code, scope)
    assert sorted(scope["x"].tolist()) == [0, 0, 0, 4]
    assert (found.witness.lhs, found.witness.rhs) == (4.0, 3.0)


@pytest.mark.parametrize(("rhs", "verdict"), [(0.0, "holds"), (-0.1, "refuted"), (-2.0, "refuted")])
def test_sides_that_are_not_positive(trial, rhs, verdict):
    """-(x - 0.777)^2 <= 0, with equality at one point: the ratio has no meaning there."""
    found = inequality(
        lhs=lambda x: -((x - 0.777) ** 2), rhs=lambda: rhs, over=inputs(x=reals())
    ).test(trial)
    assert found.verdict == verdict


def test_equality_up_to_rounding_is_no_violation(trial):
    found = inequality(
        lhs=lambda x, y: (x + y) ** 2,
        rhs=lambda x, y: x**2 + 2 * x * y + y**2,
        over=inputs(x=reals(scale=100), y=reals()),
    ).test(trial)
    assert found.verdict == Verdict.holds


def test_entries_and_trees_are_compared_one_by_one(trial):
    check = inequality(
        lhs=lambda S: {"a": S, "b": jnp.diag(S)},
        rhs=lambda S: {"a": jnp.ones_like(S), "b": jnp.full(2, 0.5)},
        over=inputs(S=psd(2, bound=1.0)),
    )
    found = check.test(trial)
    assert found.verdict == Verdict.refuted
    assert "of 6 on both sides, counted from 1" in found.witness.code
    assert found.measured.ratio == pytest.approx(2, rel=1e-3)


def test_a_violation_that_is_tiny_has_a_ratio(trial):
    """The search leaves ratios of tiny sides out; that of the witness is counted."""
    found = inequality(
        lhs=lambda x: 1e-5 * jnp.exp(-(((x - 2.7182) * 1e6) ** 2)) * jnp.array([0.5, 1.0]),
        rhs=lambda x: 5e-6,
        over=inputs(x=reals()),
    ).test(trial)
    assert found.verdict == Verdict.refuted
    assert found.measured.ratio == pytest.approx(2)


def test_sides_that_print_alike_are_told_apart(trial):
    found = inequality(
        lhs=lambda x: 1 + 1e-7 * x, rhs=lambda x: 1.0, over=inputs(x=interval(0, 1))
    ).test(trial)
    assert found.note.startswith("lhs = 1.0000001 > rhs = 1.")


def test_an_infinite_slope_leads_nowhere_outside_the_domain(trial):
    found = inequality(
        lhs=lambda x: jnp.sqrt(jnp.maximum(x, 0)).sum(), rhs=lambda: 100.0, over=inputs(x=reals(2))
    ).test(trial)
    assert found.verdict == Verdict.holds


def test_nan_names_the_point(trial):
    check = inequality(lhs=lambda x: jnp.sqrt(x), rhs=lambda: 1e9, over=inputs(x=reals()))
    with pytest.raises(ClaimError, match=r"lhs is NaN at a point of the domain: x = -"):
        check.test(trial)


def test_overflow_of_both_sides_is_no_evidence(trial):
    big = lambda x: jnp.exp(1e4 + x**2)
    found = inequality(lhs=big, rhs=big, over=inputs(x=reals())).test(trial)
    assert found.verdict == Verdict.inconclusive
    assert "overflow" in found.note
    found = inequality(lhs=big, rhs=lambda: 1.0, over=inputs(x=reals())).test(trial)
    assert found.verdict == Verdict.refuted


def test_integers_stay_integers_while_reals_are_attacked(trial):
    found = inequality(
        lhs=lambda n, x: jnp.where(n == 3, jnp.cos(x - 1.234), -1.0),
        rhs=lambda: 0.999999,
        over=inputs(n=integers(0, 5), x=reals()),
        cases=16,
    ).test(trial)
    assert found.verdict == Verdict.refuted
    assert "n = 3" in found.witness.code


def test_a_reparametrised_witness_shows_its_origin(trial):
    found = inequality(
        lhs=lambda S: S[0, 1],
        rhs=lambda: 1.0,
        over=inputs(F=reals("n 2"), n=(2,)).map(lambda F: {"S": F @ F.T}),
    ).test(trial)
    assert found.verdict == Verdict.refuted
    assert "S = np.array(" in found.witness.code
    assert "# F = np.array(" in found.witness.code


def test_functions_that_cannot_be_traced(trial):
    sampled = inequality(
        lhs=lambda x: float(np.linalg.norm(x)), rhs=lambda: 50.0,
        over=inputs(x=interval(-1, 1, "T"), T=(3,)), traceable=False,
    )  # fmt: skip
    found = sampled.test(trial)
    assert (found.verdict, found.evidence) == (Verdict.holds, Evidence.sampled)


def test_shapes_that_do_not_match_are_named(trial):
    check = inequality(lhs=lambda x: x, rhs=lambda: jnp.ones(2), over=inputs(x=reals(3)))
    with pytest.raises(ClaimError, match=r"\(3,\) and rhs \(2,\)"):
        check.test(trial)


THIN = {
    "one number": lambda x: jnp.where(x == 0.125, 1.0, 0.0).max(),
    "near a number": lambda x: jnp.where(jnp.abs(x - 3) < 1e-6, 1.0, 0.0).max(),
    "a negative one": lambda x: jnp.where(x + 2.75 == 0, 1.0, 0.0).max(),
    "one coordinate only": lambda x: jnp.where((x[1] == 0.375) & (x[0] != 0.375), 1.0, 0.0),
    "within a loop": lambda x: jax.lax.fori_loop(0, 2, lambda _, s: s + (x[0] == 0.7), 0.0),
}


@pytest.mark.parametrize("name", THIN)
def test_what_fails_at_a_number_of_the_statement_only_is_found(trial, name):
    over = inputs(x=reals("n"), n=(2,))
    options = dict(rhs=lambda: 0.5, over=over, cases=8, starts=4, steps=10)
    found = inequality(lhs=THIN[name], **options).test(trial)
    assert found.verdict == Verdict.refuted
    assert found.witness.lhs > 0.5
    true = inequality(lhs=lambda x: THIN[name](x) / 2, **options).test(trial)
    assert name == "within a loop" or true.verdict == Verdict.holds


def test_numbers_outside_the_domain_are_not_tried(trial):
    over = inputs(x=interval(0, 1))
    spike = lambda c: inequality(
        lhs=lambda x: jnp.where(x == c, 1.0, 0.0), rhs=lambda: 0.5, over=over, cases=8, starts=2
    )
    assert spike(0.125).test(trial).verdict == Verdict.refuted
    assert spike(1.125).test(trial).verdict == Verdict.holds
    low = dataclasses.replace(spike(0.125), over=over.given(lambda x: x > 0.25))
    assert low.test(trial).verdict == Verdict.holds


def test_numbers_of_the_statement_change_nothing_else(trial, monkeypatch):
    """What is tried at random is the same, and what holds has the same count and ratio."""
    named = inequality(
        lhs=lambda x: jnp.cos(x - 0.3712), rhs=lambda: 1.5, over=inputs(x=reals()), cases=8,
        starts=4, steps=5,
    )  # fmt: skip
    found = named.test(trial)
    monkeypatch.setattr("theorykit.checks._inequality.at_literals", lambda *_: [])
    plain = named.test(trial)
    assert found.verdict == plain.verdict == Verdict.holds
    assert (found.cases, found.measured) == (plain.cases, plain.measured)


def test_an_identity_that_fails_at_one_number_is_refuted(trial):
    over = inputs(x=reals("n"), n=(2,))
    bump = lambda at: identity(
        lhs=lambda x: x + jnp.where(x == at, 1.0, 0.0), rhs=lambda x: x, over=over, cases=8
    )
    assert bump(0.375).test(trial).verdict == Verdict.refuted
    assert bump(jnp.inf).test(trial).verdict == Verdict.holds


@pytest.mark.parametrize("beyond", [1e6, -1e6])
def test_what_fails_only_beyond_a_number_is_refuted(trial, beyond):
    """Random points never are so far out."""
    over = inputs(x=reals("n"), n=(1, 2))
    far = lambda x: jax.nn.relu(jnp.sign(beyond) * (x - beyond))
    same = identity(lhs=far, rhs=lambda x: 0 * x, over=over, cases=8)
    assert same.test(trial).verdict == Verdict.refuted
    below = inequality(lhs=far, rhs=lambda x: 1.0, over=over, cases=8, starts=4, steps=5)
    assert below.test(trial).verdict == Verdict.refuted

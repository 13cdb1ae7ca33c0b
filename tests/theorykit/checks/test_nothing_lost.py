"""What a search has found outlives whatever fails after it, and is what is printed and replayed."""

import dataclasses
import itertools
import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from theorykit import replay
from theorykit.checks import (
    ClaimError,
    Trial,
    construction,
    exhaustive,
    expectation,
    identity,
    inequality,
    on_box,
    rate,
)
from theorykit.checks.domains import inputs, integers, interval, reals
from theorykit.claims import claim
from theorykit.results import Evidence, Verdict

KEY = jax.random.key(0)
REALS = inputs(x=reals())


def ran(check, registry, id="p.a"):
    registry.clear()
    return claim(id)(lambda: check).run()


# A failed certificate, proof, attack or control ------------------------------------------------


@pytest.mark.parametrize("key", [KEY, jax.random.PRNGKey(0)], ids=["typed", "raw"])
def test_a_captured_key_hides_no_refutation(trial, key):
    check = identity(lhs=lambda x: x * jax.random.normal(key, ()), rhs=lambda x: x + 1, over=REALS)
    found = check.test(trial)
    assert (found.verdict, found.evidence) == (Verdict.refuted, Evidence.sampled)
    assert (found.witness.lhs, found.witness.rhs) == (0.0, 1.0)  # x = 0: 0 against 0 + 1
    assert "Not certified" in found.note
    assert "random" in found.note


def test_a_call_back_to_python_hides_no_refutation(trial):
    kind = jax.ShapeDtypeStruct((), jnp.float64)
    twice = lambda x: jax.pure_callback(
        lambda v: 2 * np.asarray(v), kind, x, vmap_method="sequential"
    )
    found = inequality(lhs=twice, rhs=lambda x: x, over=REALS).test(trial)
    assert found.verdict == Verdict.refuted  # 2x > x where x > 0
    assert found.evidence == Evidence.sampled  # there was no attack: it has no derivative
    assert "Not certified: pure_callback" in found.note
    held = inequality(lhs=twice, rhs=lambda x: 2 * x, over=REALS, starts=4, steps=5).test(trial)
    assert (held.verdict, held.evidence) == (Verdict.holds, Evidence.sampled)
    assert "without a gradient attack" in held.note


def spectral(J):
    """The spectral norm, and a singular vector times 0, which ball arithmetic does not know."""
    return jnp.linalg.norm(J, 2) + 0 * jnp.linalg.svd(jax.lax.stop_gradient(J))[0][0, 0]


NORMS = dict(
    lhs=spectral,
    over=inputs(J=reals("2 2")),
    proof=on_box(J=(-1, 1)),
)


def test_a_proof_that_fails_keeps_what_was_searched(trial):
    found = inequality(rhs=lambda J: jnp.linalg.norm(J), **NORMS).test(trial)
    assert (found.verdict, found.evidence) == (Verdict.holds, Evidence.searched)
    assert abs(found.measured.ratio - 1) < 1e-9  # spectral = Frobenius norm at rank 1
    assert "svd of float64[2,2]" in found.unproved
    found = inequality(rhs=lambda J: jnp.linalg.norm(J) / 2, **NORMS).test(trial)
    assert found.verdict == Verdict.refuted
    assert "Not certified: svd" in found.note


def test_a_proof_for_all_values_that_fails_keeps_what_was_sampled(trial):
    found = identity(
        lhs=lambda J: jnp.linalg.norm(J, 2) ** 2 + jnp.linalg.svd(J, compute_uv=False)[1] ** 2,
        rhs=lambda J: (J**2).sum(),
        over=inputs(J=reals("2 2")),
    ).test(trial)
    assert (found.verdict, found.evidence) == (Verdict.holds, Evidence.sampled)
    assert "Not proved: the sides differ by" in found.unproved


@pytest.mark.parametrize(
    ("control", "words"),
    [
        (lambda y: y, "rhs asks for y"),
        (lambda x: jnp.ones(3) @ jnp.ones(2), "TypeError: dot_general"),
    ],
)
def test_a_control_that_fails_is_named_and_keeps_what_was_found(registry, control, words):
    check = inequality(
        lhs=lambda x: x, rhs=lambda x: x + 1, over=REALS, starts=4, steps=5,
        control=dict(rhs=control),
    )  # fmt: skip
    result = ran(check, registry)
    assert (result.verdict, result.control) == (Verdict.error, Verdict.error)
    assert result.note.startswith("The control could not be tried: ")
    assert words in result.note
    assert result.outcome.verdict == Verdict.holds
    assert result.outcome.measured is not None
    false = ran(dataclasses.replace(check, rhs=lambda x: x - 1), registry)
    assert (false.verdict, false.control) == (Verdict.refuted, Verdict.error)


def test_a_side_that_fails_at_a_simpler_point_costs_nothing(trial):
    def lhs(x):
        if x[0] == 0:
            raise ZeroDivisionError("nothing at zero")
        return x[0] / x[0]

    domain = inputs(x=integers(1, 9, "2"))
    found = identity(lhs=lhs, rhs=lambda x: 2.0, over=domain, traceable=False).test(trial)
    assert found.verdict == Verdict.refuted
    assert (found.witness.lhs, found.witness.rhs) == (1, 2)


# One entry of one point ------------------------------------------------------------------------


def sums(S):
    """Row and column sums after one step of Sinkhorn's iteration, which ends with the columns."""
    A = jax.nn.softmax(S, 1)
    A = A / A.sum(0)
    return A.sum(1), A.sum(0)


def test_witness_certificate_and_replay_are_of_one_entry(registry):
    check = identity(
        lhs=sums, rhs=lambda S: (jnp.ones(2), jnp.ones(2)), over=inputs(S=reals("2 2"))
    )
    made = claim("p.sinkhorn")(lambda: check)
    found = made.run().outcome
    assert found.evidence == Evidence.certified
    S = eval(found.certificate.call.split(", bits")[0])["S"]  # dict(S=...)
    e = np.exp(np.asarray(S))
    A = e / e.sum(1, keepdims=True)
    A = A / A.sum(0)
    entries = np.concatenate([A.sum(1), A.sum(0)])  # by numpy
    number = int(found.witness.code.split("# entry ")[1].split(" ")[0])
    assert np.isclose(found.witness.lhs, entries[number - 1], rtol=1e-12)
    assert np.isclose(entries.sum(), 4)  # two row sums that are off by the same, and two ones
    assert found.certificate.call.endswith(f"entry={number}")
    enclosed = float(found.certificate.lhs.strip("[").split()[0])
    assert np.isclose(enclosed, found.witness.lhs, rtol=1e-12)
    again = replay(made, dict(S=S), bits=64, entry=number)
    assert found.certificate.lhs in str(again)
    assert f"(entry {number} of 4)" in str(again)
    with pytest.raises(ValueError, match="the sides have entries 1 to 4, not 0"):
        replay(made, dict(S=S), entry=0)


def test_two_row_sums_are_off_by_the_same():
    over = inputs(S=reals("2 2"))
    check = identity(lhs=sums, rhs=lambda S: (jnp.ones(2), jnp.ones(2)), over=over)
    left, _ = check.enclosed_at(dict(S=[[1.0, 0.0], [0.0, 0.0]]), 64)
    assert np.allclose([float(left[i]) for i in range(4)], [0.94360089, 1.05639911, 1, 1])


def test_a_printed_point_has_no_sign_of_zero_that_the_tried_one_has(trial):
    check = inequality(
        lhs=lambda x: -jnp.sign(1 / x), rhs=lambda x: 2.0, over=inputs(x=interval(-1, 1)), starts=0
    )
    found = check.test(trial)
    assert found.verdict == Verdict.holds


# Sides that are no functions -------------------------------------------------------------------

SAMPLE, ODD, EVEN = random.Random(0), itertools.count(), itertools.count()


@pytest.mark.parametrize(
    "check",
    [
        inequality(
            lhs=lambda x: 0 * x + SAMPLE.random(), rhs=lambda x: SAMPLE.random() + 0 * x,
            over=REALS, traceable=False,
        ),
        inequality(lhs=lambda x: 0 * x + SAMPLE.random(), rhs=lambda x: 1 + 0 * x, over=REALS),
        identity(lhs=lambda x: x, rhs=lambda x: x + np.float64(SAMPLE.random()), over=REALS),
        identity(
            lhs=lambda x: x, rhs=lambda x: x + jnp.asarray([SAMPLE.random()] * 3), over=REALS
        ),
        identity(lhs=SAMPLE.random, rhs=lambda: 0.1),
        identity(lhs=SAMPLE.random, rhs=lambda: 7.0, traceable=False),
        expectation(statistic=lambda key: jnp.asarray(SAMPLE.random()), value=0),
        rate(measure=lambda n: n + SAMPLE.random(), exponent=1),
        exhaustive(predicate=lambda n: (next(ODD) + 2 * n) % 2, universe=range(9)),
        construction(build=lambda: next(EVEN), has=lambda n: n % 2 == 1),
    ],
)  # fmt: skip
def test_what_is_no_function_is_said_to_be_none(check, trial):
    if check.functions == ("lhs", "rhs") and not check.traceable and not check.over.arguments:
        assert check.test(trial).verdict == Verdict.refuted  # 7 is never drawn: it repeats
        return
    with pytest.raises(ClaimError, match="is not a function of its arguments: "):
        check.test(trial)


def test_a_witness_that_does_not_repeat_is_none(trial):
    once = itertools.count()
    check = identity(lhs=lambda: 1.0 if next(once) else 2.0, rhs=lambda: 1.0, traceable=False)
    with pytest.raises(ClaimError, match="but not when that point was evaluated again"):
        check.test(trial)


def test_state_that_changes_no_number_is_no_matter(trial):
    seen, large = [], np.arange(5.0)

    @jax.custom_jvp
    def f(x):
        seen.append(x)
        return jax.lax.cond(x > 0, jnp.sin, jnp.cos, x) + large @ large

    f.defjvp(lambda x, dx: (f(*x), dx[0]))
    side = lambda x: jax.lax.scan(lambda c, _: (f(c), c), x, None, length=2)[0]
    check = identity(lhs=side, rhs=side, over=REALS, cases=4)
    assert check.test(trial).verdict == Verdict.holds
    assert seen


# Truth values ----------------------------------------------------------------------------------


def test_truth_values_are_compared_with_truth_values(trial):
    same = lambda rhs: identity(lhs=lambda x: x * x >= 0, rhs=rhs, over=REALS).test(trial)
    assert same(lambda x: True).verdict == Verdict.holds
    assert same(lambda x: x > 0).verdict == Verdict.refuted
    with pytest.raises(ClaimError, match="lhs is a truth value and rhs a number"):
        same(lambda x: 1)
    with pytest.raises(ClaimError, match="lhs is a number and rhs a truth value"):
        identity(lhs=lambda: 1, rhs=lambda: np.bool_(True), traceable=False).test(trial)


@pytest.mark.parametrize("traceable", [True, False])
def test_an_inequality_compares_numbers(trial, traceable):
    check = inequality(lhs=lambda x: x * x >= 0, rhs=lambda x: 1.0, over=REALS, traceable=traceable)
    with pytest.raises(ClaimError, match="lhs is a truth value, and an inequality compares numb"):
        check.test(trial)
    check = inequality(lhs=lambda x: x, rhs=lambda x: x > 0, over=REALS, traceable=traceable)
    with pytest.raises(ClaimError, match="rhs is a truth value"):
        check.test(trial)


# Words -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: identity(lhs=lambda x: "word", rhs=lambda x: x, over=REALS),
            "lhs returns str, not a number, an array or a tree of arrays: 'word' (test_nothing",
        ),
        (
            lambda: identity(lhs=lambda x: x, rhs=lambda x: None, over=REALS),
            "rhs returns None; it should return numbers or arrays",
        ),
        (
            lambda: identity(lhs=lambda x: x[:0], rhs=lambda x: x[:0], over=inputs(x=reals("3"))),
            "lhs returns no entries, in shape (0,): nothing is compared",
        ),
        (
            lambda: identity(lhs=lambda x: x, rhs=lambda x: KEY, over=REALS),
            "rhs returns key<fry>, not a number",
        ),
        (
            lambda: inequality(
                lhs=lambda x: x.sum(), rhs=lambda x: 9.0, over=inputs(x=reals("3")),
                proof=on_box(x=([0, 0], [1, 1])),
            ),
            "on_box gives x an end of the shape (2,), but x has the shape (3,)",
        ),
        (
            lambda: inequality(
                lhs=lambda x: x, rhs=lambda x: 9.0, over=REALS, proof=on_box(x=3)
            ),
            "on_box needs a lower and an upper end for x, as in x=(-1, 1), not 3",
        ),
        (
            lambda: inputs(x=reals),
            "x is the function reals itself; a domain is what it returns, as in x=reals(...)",
        ),
        (
            lambda: inequality(
                lhs=lambda x: x.max(), rhs=jax.nn.logsumexp, over=inputs(x=reals("T"), T=(2,))
            ),
            "rhs=logsumexp asks for a, but its domain has x, T, and arguments are given by "
            "name, as in "
            "rhs=lambda x, T: f(x, T) (test_nothing_lost.py:",
        ),
        (
            lambda: inequality(
                lhs=lambda x, y: jnp.sqrt(x[0]), rhs=lambda x: 9.0,
                over=inputs(x=reals("T"), y=reals("T T"), T=(2,)),
            ),
            "T = 2; x = np.array([-3., 0.]); y = np.array([[-3., 0.], [0., 0.]])",
        ),
        (
            lambda: rate(
                measure=lambda key, n: 1 + float(jax.random.uniform(key)), exponent=1
            ),
            "or give the check vectorize=False",
        ),
        (
            lambda: identity(lhs=lambda x: float(x), rhs=lambda x: x, over=REALS),
            "or give the check traceable=False",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_a_sentence(registry, make, words):
    registry.clear()
    result = claim("p.a")(make).run()
    assert result.verdict == Verdict.error
    assert words in result.note
    assert "\n" not in result.note


def test_nothing_is_suggested_that_the_check_lacks(registry):
    check = exhaustive(predicate=lambda n: jax.jit(bool)(jnp.asarray(n)), universe=range(3))
    assert "JAX cannot trace this" in ran(check, registry).note
    assert "give the check" not in ran(check, registry).note


def test_all_of_a_box_is_undecided(trial):
    check = inequality(
        lhs=lambda x: x - x * x, rhs=lambda x: 0.25 + 0 * jnp.floor(x),
        over=inputs(x=interval(0, 1)),
        proof=on_box(budget=1), starts=4, steps=5,
    )  # fmt: skip
    found = check.test(Trial(jax.random.key(0)))
    assert "undecided on all of the box after 1 piece;" in found.unproved


def test_a_grade_is_said_by_its_name():
    assert str(Evidence.sampled) == f"{Evidence.sampled}" == "sampled"
    assert f"{Evidence.certified:>10}" == " certified"
    assert Evidence.sampled < Evidence.certified

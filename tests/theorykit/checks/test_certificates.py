"""What the engine certifies: witnesses, proofs, exhaustive checks; and how it is repeated."""

import dataclasses
import functools
import itertools
import math
import operator
import subprocess
import sys
from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pytest

from theorykit import replay
from theorykit.certify import exact, permutation, scale, shift
from theorykit.checks import ClaimError, everywhere, exhaustive, identity, inequality, on_box
from theorykit.checks.domains import choices, inputs, interval, psd, reals, simplex
from theorykit.claims import claim
from theorykit.results import Certificate, Evidence, Result, Verdict

LIGHT = dict(starts=4, steps=20, cases=8)

hidden = lambda x: 0 * jnp.floor(x)
"""Zero, which only balls see: what holds it is proved on boxes, and not for all values."""


# Witnesses ----------------------------------------------------------------------------------


def test_a_refuted_inequality_is_certified_at_its_witness(trial):
    found = inequality(
        lhs=lambda x: jnp.sin(x), rhs=lambda x: 0.5, over=inputs(x=reals()), **LIGHT
    ).test(trial)
    assert (found.verdict, found.evidence) == (Verdict.refuted, Evidence.certified)
    assert found.certificate.bits == 64
    assert found.certificate.rhs.startswith("0.5")


def test_a_violation_that_is_only_rounding_is_none(trial):
    """sin^2 + cos^2 = 1 is exact, and float64 says otherwise in its last digit."""
    found = inequality(
        lhs=lambda x: jnp.abs(jnp.sin(x) ** 2 + jnp.cos(x) ** 2 - 1),
        rhs=lambda x: 0 * x,
        over=inputs(x=interval(0.1, 0.9)),
        floor=0.0,
        tol=0.0,
        **LIGHT,
    ).test(trial)
    assert found.verdict == Verdict.inconclusive
    assert found.witness is None
    assert "cancellation in float64" in found.note


def commuted(extra=0.0, see=lambda x: 0 * x):
    """tr(AB - BA) = 0, where floats cancel to less than the floor allows."""
    return identity(
        lhs=lambda A, B: jnp.trace(A @ B - B @ A) + extra * A[0, 0] + see(A[0, 0]),
        rhs=lambda A: 0 * A[0, 0],
        over=inputs(A=reals("3 3"), B=reals("3 3")),
    )


def test_a_true_identity_is_not_refuted_by_cancellation(trial):
    found = commuted(see=hidden).test(trial)
    assert found.verdict == Verdict.inconclusive
    assert "cancellation in float64" in found.note
    found = commuted().test(trial)
    assert (found.verdict, found.evidence) == (Verdict.holds, Evidence.certified)


def test_a_control_does_not_fall_by_cancellation(trial):
    control = dataclasses.replace(trial, is_control=True)
    assert commuted().test(control).verdict == Verdict.inconclusive
    assert commuted(extra=1e-12).test(control).verdict == Verdict.refuted


def test_a_small_violation_is_told_from_cancellation(trial):
    found = commuted(extra=1e-12).test(trial)
    assert (found.verdict, found.evidence) == (Verdict.refuted, Evidence.certified)


def test_a_refuted_identity_names_the_worst_entry(trial):
    found = identity(
        lhs=lambda A: A @ A.T, rhs=lambda A: A.T @ A, over=inputs(A=reals("2 2"))
    ).test(trial)
    assert found.evidence == Evidence.certified
    assert found.certificate.lhs != found.certificate.rhs


def test_sides_that_jax_cannot_trace_say_so(trial):
    found = identity(
        lhs=lambda x: np.sin(x), rhs=lambda x: 0 * x, over=inputs(x=reals()), traceable=False
    ).test(trial)
    assert found.evidence == Evidence.sampled
    assert "not JAX functions" in found.note


# Proofs -------------------------------------------------------------------------------------


def cauchy(**options):
    return inequality(
        lhs=lambda x, y: 2 * x * y + 1 - x**2 / 2,
        rhs=lambda x, y: x**2 + y**2 + jnp.cos(x) + 0.01,  # 1 - x^2 / 2 <= cos x is not known
        over=inputs(x=reals(), y=reals()),
        control=dict(rhs=lambda x, y: x**2 + y**2 + jnp.cos(x) - 0.1),
        **LIGHT,
        **options,
    )


def test_a_box_that_is_proved(trial):
    found = cauchy(proof=on_box(x=(-1, 1), y=(-1, 1))).test(trial)
    assert (found.verdict, found.evidence) == (Verdict.holds, Evidence.certified)
    assert found.certificate.where == "x in [-1, 1], y in [-1, 1]"


def test_a_budget_that_is_too_small_leaves_the_search_as_it_is(trial):
    found = cauchy(proof=on_box(budget=3, x=(-1, 1), y=(-1, 1))).test(trial)
    assert (found.verdict, found.evidence) == (Verdict.holds, Evidence.searched)
    assert found.unproved.startswith("Not proved for x in [-1, 1], y in [-1, 1]: ")
    assert found.certificate is None


def test_a_proof_says_which_box_it_is_for():
    over = inputs(S=reals("T"), T=(2, 3))
    assert on_box(T=2, S=(-1, 1)).text(over) == "T = 2, S in [-1, 1]^2"
    assert on_box(T=2, S=([1, -1], [2, 0])).text(over) == "T = 2, S in [1, 2] x [-1, 0]"


def test_a_proof_finds_what_the_search_missed(trial):
    # A spike of width 1e-3 that eight cases and no attack miss.
    found = inequality(
        lhs=lambda x: jnp.exp(-(((x - 0.7310585) / 1e-3) ** 2)),
        rhs=lambda x: 0.5,
        over=inputs(x=interval(0, 1)),
        starts=0,
        cases=8,
        proof=on_box(),
    ).test(trial)
    assert (found.verdict, found.evidence) == (Verdict.refuted, Evidence.certified)
    assert found.witness is not None


def test_what_fails_by_less_than_the_tolerance_is_no_refutation(trial):
    found = inequality(
        lhs=lambda x: 0.1 * x + 0.2 * x, rhs=lambda x: 0.3 * x,
        over=inputs(x=interval(0.5, 1)), proof=on_box(), **LIGHT,
    ).test(trial)  # fmt: skip
    assert found.verdict == Verdict.holds
    assert "less than the tolerance" in found.unproved


def test_a_refutation_on_a_box_names_its_entry(trial):
    found = inequality(
        lhs=lambda x: jnp.stack([0 * x, jnp.exp(-(((x - 0.7310585) / 1e-3) ** 2))]),
        rhs=lambda x: jnp.stack([5 + 0 * x, 0.5 + 0 * x]),
        over=inputs(x=interval(0, 1)), starts=0, cases=8, proof=on_box(),
    ).test(trial)  # fmt: skip
    assert found.verdict == Verdict.refuted
    assert found.witness.rhs == 0.5


def test_a_proof_of_the_wrong_kind_is_refused_before_the_search(trial):
    with pytest.raises(ValueError, match="not a size of the domain"):
        cauchy(proof=everywhere(n=2)).test(trial)
    with pytest.raises(ValueError, match="upper end first"):
        cauchy(proof=on_box(x=(1, -1), y=(0, 1))).test(trial)
    with pytest.raises(ValueError, match="everywhere"):
        identity(lhs=lambda: 1.0, rhs=lambda: 1.0, proof=on_box()).test(trial)


def test_a_proof_over_a_factor(trial):
    found = inequality(
        lhs=lambda K: K[0, 1], rhs=lambda K: (K[0, 0] + K[1, 1]) / 2 + 0.1,
        over=inputs(K=psd(2, rank=1)), proof=on_box(K=(-1, 1)), **LIGHT,
    ).test(trial)  # fmt: skip
    assert found.evidence == Evidence.certified


@pytest.mark.parametrize("where", [dict(x=(-1, 1)), dict(x=(-1, 1), y=(0, 1), z=3)])
def test_a_box_that_does_not_fit_is_refused(trial, where):
    with pytest.raises(ValueError, match="on_box"):
        cauchy(proof=on_box(**where)).test(trial)


def test_an_identity_of_polynomials(trial):
    check = identity(
        lhs=lambda A: jnp.trace(A @ A.T), rhs=lambda A: (A**2).sum(),
        over=inputs(A=reals("n n"), n=(2, 3)), proof=everywhere(n=2),
    )  # fmt: skip
    found = check.test(trial)
    assert (found.evidence, found.certificate.where) == (Evidence.certified, "all real A, n = 2")


def test_an_identity_that_only_rounds_to_equality_is_not_proved(trial):
    found = identity(
        lhs=lambda x: 0.1 * x, rhs=lambda x: exact("0.1") * x,
        over=inputs(x=reals()), proof=everywhere(),
    ).test(trial)  # fmt: skip
    assert (found.verdict, found.evidence) == (Verdict.holds, Evidence.sampled)
    assert "differ" in found.unproved


def test_fractions_among_choices_stay_exact(trial):
    third = choices(Fraction(1, 3), Fraction(2, 3))
    found = identity(lhs=lambda x: 3 * x, rhs=lambda x: 1.0, over=inputs(x=third), tol=1e-12).test(
        trial
    )
    assert found.verdict == Verdict.refuted  # at 2/3
    assert "2.0000" in found.certificate.lhs


# Exhaustive checks --------------------------------------------------------------------------

HALF = 0.5
double = lambda n: 2 * n


@pytest.mark.parametrize(
    ("predicate", "certified"),
    [
        (lambda n: n * n >= n, True),
        (lambda n: Fraction(n, 2) <= n, True),
        (lambda n: math.gcd(n, 6) <= 6 and double(n) >= n, True),
        (lambda n: sum(itertools.repeat(1, n)) == n, True),
        (lambda n: n / 2 <= n, False),
        (lambda n: HALF * n <= n, False),
        (lambda n: math.sqrt(n) <= n + 1, False),
        (lambda n: float(n) >= 0, False),
        (lambda n: np.add(n, 1) > n, False),
        (lambda n: n**-1 <= 1 if n else True, False),
        (functools.partial(lambda tol, n: n * tol >= 0, 0.1), False),
        (functools.partial(lambda least, n: n >= least, 0), True),
        (lambda n: int.__truediv__(n, 2) >= 0, False),
        (operator.methodcaller("__ge__", 0), False),
    ],
)
def test_exhaustive_is_certified_only_without_floats(trial, predicate, certified):
    found = exhaustive(predicate=predicate, universe=range(5)).test(trial)
    assert found.verdict == Verdict.holds
    assert (found.evidence == Evidence.certified) == certified, found.unproved


def test_float_members_are_not_exact(trial):
    found = exhaustive(predicate=lambda x: x >= 0, universe=[1, 0.5]).test(trial)
    assert found.evidence == Evidence.exhaustive


def test_an_exact_refutation(trial):
    found = exhaustive(predicate=lambda n: n < 3, universe=range(5)).test(trial)
    assert (found.verdict, found.evidence) == (Verdict.refuted, Evidence.certified)


# Certificates in results, and their repetition ----------------------------------------------


def test_a_certificate_survives_json(registry):
    made = claim("t.sine")(
        lambda: inequality(lhs=lambda x: jnp.sin(x), rhs=lambda x: 0.5, over=inputs(x=reals()),
                           control=dict(rhs=lambda x: 0.4), **LIGHT)
    )  # fmt: skip
    result = made.run()
    again = Result.from_json(result.json())
    assert isinstance(again.outcome.certificate, Certificate)
    assert again.outcome.certificate == result.outcome.certificate
    assert result.outcome.certificate.program.count("\n") == 1


FILE = '''
import jax.numpy as jnp
from theorykit import claim
from theorykit.checks import inequality, on_box
from theorykit.checks.domains import inputs, reals

@claim("mine.false")
def false():
    """False."""
    return inequality(lhs=lambda x: jnp.sin(x), rhs=lambda x: 0.5, over=inputs(x=reals()),
                      control=dict(rhs=lambda x: 0.4), starts=4, steps=20, cases=8)

@claim("mine.true")
def true():
    """True."""
    return inequality(lhs=lambda x: jnp.sin(x), rhs=lambda x: 1.01, over=inputs(x=reals()),
                      control=dict(rhs=lambda x: 0.4), starts=4, steps=20, cases=8,
                      proof=on_box(x=(-1, 1)))
'''


@pytest.mark.parametrize("named", ["mine.py", "drafts/mine.py", "../drafts/mine.py"])
def test_the_two_lines_repeat_a_certificate_where_the_claim_was_run(
    tmp_path, registry, monkeypatch, named
):
    from theorykit.claims import load

    here = tmp_path / "here"
    file = here / named
    for folder in (here, file.parent):
        folder.mkdir(exist_ok=True)
    monkeypatch.chdir(here)
    file.write_text(FILE)
    false, true = (made.run().outcome.certificate for made in load(file))
    assert f"file={named!r}" in false.program
    programs = f"{false.program}\nprint('---')\n{true.program}"
    done = subprocess.run(
        [sys.executable, "-c", programs], capture_output=True, text=True, cwd=here
    )
    refuted, proved = done.stdout.split("---")
    assert f"lhs = {false.lhs}" in refuted
    assert "lhs > rhs" in refuted
    assert "certified" in proved


@pytest.mark.parametrize(
    ("domain", "said"),
    [
        (psd("n"), "G by its factor F (G = F F^T)"),
        (psd("n", bound=1.0), "with rows of F cut to the square root of the bound"),
        (simplex("n"), "G by weights that are divided by their sum"),
        (choices(np.eye(2), 2 * np.eye(2)), "G by the index of its option, from 0"),
        (reals("n n"), ""),
    ],
    ids=["psd", "bounded", "simplex", "choices", "reals"],
)
def test_a_certificate_says_where_its_point_is_not_the_witness(domain, said, trial):
    check = inequality(lhs=lambda G: jnp.sum(G), rhs=lambda G: -1.0, over=inputs(G=domain, n=(2,)),
                       control=dict(rhs=lambda G: -9.0), **LIGHT)  # fmt: skip
    certificate = check.test(trial).certificate
    assert ("The point of the replay" in certificate.how) == bool(said)
    assert said in certificate.how


def test_replay_says_what_is_wrong():
    id = "capture.eq11.rkhs_bound"
    with pytest.raises(ValueError, match="no claim has the id"):
        replay("capture.no_such")
    with pytest.raises(ValueError, match="no proof to repeat"):
        replay(id)
    with pytest.raises(ValueError, match="the point needs P, G, y, kappa"):
        replay(id, dict(P=1))
    with pytest.raises(ValueError, match=r"y needs the shape \(1,\)"):
        replay(id, dict(P=1, G=[[0.0, 1.0], [0.0, 1.0]], y=[1.0, 2.0], kappa=1.0))


def test_replay_of_a_shipped_witness():
    point = dict(P=1, G=[[0.0, 1.0], [0.0, 1.0]], y=[1.0], kappa=1.0)
    found = replay("capture.eq11.rkhs_bound", point, bits=64)
    assert (found.lhs.lower[0], found.rhs.upper[0]) == (0.5, 0.25)
    assert "lhs > rhs at 64 bits" in str(found)


# Symmetries ---------------------------------------------------------------------------------


def deviation(**options):
    """A standard deviation is at most half the range, which has no polynomial form on all reals."""
    return inequality(
        lhs=lambda x: jnp.sqrt(x.var()),
        rhs=lambda x, c=0.5: c * (x.max() - x.min()),
        over=inputs(x=reals(5)),
        **LIGHT,
        **options,
    )


def test_a_claim_is_proved_for_all_reals_by_its_symmetries(trial):
    some = [shift("x"), scale("x"), permutation("x")]
    found = deviation(proof=on_box(symmetries=some)).test(trial)
    assert (found.verdict, found.evidence) == (Verdict.holds, Evidence.certified)
    assert found.certificate.where == "all x"
    assert found.certificate.scope.name == "whole"
    assert "permutation('x')" in found.certificate.how


def test_a_proof_by_symmetry_is_checked_against_the_domain(trial):
    for domain, some, said in [
        (interval(0, 1, 2), [scale("x")], "any real number"),
        (reals(2), [shift("y"), scale("x")], "names y, which the domain does not have"),
    ]:
        check = inequality(
            lhs=lambda x: x.sum(), rhs=lambda x: 9.0 + x.sum() ** 2, over=inputs(x=domain),
            proof=on_box(symmetries=some), **LIGHT,
        )  # fmt: skip
        with pytest.raises(ClaimError, match=said):
            check.test(trial)
    with pytest.raises(ClaimError, match="symmetries is a list"):
        on_box(symmetries=["x"])

"""Rates that no degree decides: what is certain of them at the sizes tested."""

import dataclasses
import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from theorykit.certify import NotCertifiable, exact
from theorykit.checks import alternative, rate
from theorykit.checks._slopes import enclosed_slopes
from theorykit.claims import Claim
from theorykit.report import Entry
from theorykit.results import Evidence, Scope, Verdict
from theorykit.runs import replay

AT = (100, 1000, 10_000)


def root(n):
    return jnp.sqrt(n + 1.0)


def roots(n):
    """Return the sum of the first n roots; n is a shape."""
    return jnp.sum(jnp.sqrt(jnp.arange(1.0, n + 1.0)))


def difference(n):
    """Return 1 / (2 n), nearly, of which float64 loses all but a digit where n is large."""
    return jnp.sqrt(n * n + 1.0) - n


def oracle(values, sizes=AT):
    """Return the least and the largest slope, from values in fifty decimals."""
    with localcontext(prec=50):
        logs = [(Decimal(n).ln(), v.ln()) for n, v in zip(sizes, values, strict=True)]
        slopes = [(d - b) / (c - a) for (a, b), (c, d) in itertools.pairwise(logs)]
        return min(slopes), max(slopes)


def decimals(f, sizes=AT):
    with localcontext(prec=50):
        return [f(Decimal(n)) for n in sizes]


def of_integers(n):
    return math.isqrt(n) ** 3 + n


def of_fractions(n):
    return sum(Fraction(1, k) for k in range(1, n + 1))


ENCLOSED = {
    "a real number": (root, None, lambda n: (n + 1).sqrt()),
    "a shape": (roots, None, lambda n: sum(Decimal(k).sqrt() for k in range(1, int(n) + 1))),
    "integers": (of_integers, None, lambda n: Decimal(of_integers(int(n)))),
    "fractions": (of_fractions, None, lambda n: sum(1 / Decimal(k) for k in range(1, int(n) + 1))),
    "a constant in a shape": (lambda n: jnp.sum(jnp.full(n, 0.3)), None, lambda n: n),
    "a logarithm": (lambda n: jnp.log(n) ** 2, None, lambda n: n.ln() ** 2),
    "a limit": (lambda n: exact("1/3") - n**-0.5, Fraction(1, 3), lambda n: 1 / n.sqrt()),
    "a limit from above": (lambda n: 2 + n**-0.5, 2, lambda n: 1 / n.sqrt()),
    "what cancels": (difference, None, lambda n: (n * n + 1).sqrt() - n),
}


@pytest.mark.parametrize("name", ENCLOSED)
def test_the_slopes_are_enclosed(name):
    measure, limit, truth = ENCLOSED[name]
    found = enclosed_slopes(measure, AT, limit)
    low, high = oracle(decimals(truth))
    assert Decimal(found.low) <= low <= high <= Decimal(found.high)
    assert Decimal(found.high) - high < Decimal("1e-9")
    assert low - Decimal(found.low) < Decimal("1e-9")
    assert found.low <= found.slope <= found.high


MIXED = (1, 0, 2)


def test_the_order_of_the_sizes_does_not_matter():
    forth = enclosed_slopes(root, AT, None)
    mixed = enclosed_slopes(root, [AT[i] for i in MIXED], None)
    assert (forth.low, forth.high) == (mixed.low, mixed.high)
    assert [forth.digits()[i] for i in MIXED] == mixed.digits()


@pytest.mark.parametrize("sizes", [(0.125, 0.3, 7.5), (100.0, 1e3, 1e4)])
def test_sizes_may_be_floats(sizes):
    found = enclosed_slopes(root, sizes, None)
    low, high = oracle(decimals(lambda n: (n + 1).sqrt(), sizes), sizes)
    assert Decimal(found.low) <= low <= high <= Decimal(found.high)


def test_a_rate_that_holds_says_what_is_certain(trial):
    found = rate(measure=root, at=AT, exponent=0.5).test(trial)
    assert (found.verdict, found.evidence) == (Verdict.holds, Evidence.fitted)
    assert found.certificate is None
    assert found.unproved.startswith("Not proved for all n: ")
    assert found.unproved.endswith(
        "At the sizes tested the slopes lie in [0.498, 0.4999], in ball arithmetic."
    )


def test_a_refutation_is_certified_at_its_sizes(trial):
    check = rate(measure=root, at=AT, at_most=0.2)
    found = check.test(trial)
    assert (found.verdict, found.evidence) == (Verdict.refuted, Evidence.certified)
    certificate = found.certificate
    assert certificate.scope is Scope.sizes
    assert "larger sizes could have others" in certificate.how
    assert certificate.where == (
        "the slopes lie in [0.498, 0.4999] at n = 100, 1000, 10000, predicted in [-inf, 0.3]"
    )
    assert certificate.steps[0].startswith("the measure is [10.0498756211")
    assert check.proof_alone(trial) == found
    assert found.witness is not None


LOW, HIGH = map(float, oracle(decimals(lambda n: (n + 1).sqrt())))
A_LITTLE = 1e-9


@pytest.mark.parametrize(
    ("predicted", "verdict"),
    [
        (dict(at_most=HIGH + A_LITTLE), Verdict.holds),
        (dict(at_most=HIGH - A_LITTLE), Verdict.inconclusive),
        (dict(at_most=LOW + A_LITTLE), Verdict.inconclusive),
        (dict(at_most=LOW - A_LITTLE), Verdict.refuted),
        (dict(at_least=LOW - A_LITTLE), Verdict.holds),
        (dict(at_least=LOW + A_LITTLE), Verdict.inconclusive),
        (dict(at_least=HIGH - A_LITTLE), Verdict.inconclusive),
        (dict(at_least=HIGH + A_LITTLE), Verdict.refuted),
        (dict(between=(LOW - A_LITTLE, HIGH + A_LITTLE)), Verdict.holds),
        (dict(between=(LOW + A_LITTLE, HIGH + A_LITTLE)), Verdict.inconclusive),
        (dict(between=(0.0, LOW - A_LITTLE)), Verdict.refuted),
        (dict(between=(HIGH + A_LITTLE, 1.0)), Verdict.refuted),
        (dict(exponent=LOW), Verdict.inconclusive),
    ],
)
def test_only_what_is_outside_the_band_is_certified(trial, predicted, verdict):
    found = rate(measure=root, at=AT, tolerance=0.0, **predicted).test(trial)
    assert found.verdict is verdict
    assert (found.certificate is not None) == (verdict is Verdict.refuted)


def test_a_kink_at_the_edge_of_the_band_is_inconclusive(trial):
    edge = 1.0 + 0.125
    kink = lambda n: jnp.where(n <= 64, n, 64 * (n / 64) ** edge)
    check = lambda **predicted: rate(measure=kink, at=(16, 64, 256), tolerance=0.125, **predicted)
    found = check(exponent=1.0).test(trial)
    assert (found.verdict, found.certificate) == (Verdict.inconclusive, None)
    assert check(exponent=1.0 + A_LITTLE).test(trial).verdict is Verdict.holds
    found = rate(measure=lambda n: n**edge, at=AT, at_most=1.0, tolerance=0.125).test(trial)
    assert found.verdict is Verdict.inconclusive  # in floats it was what rounding made of it


FAR = (10**6, 10**7, 5 * 10**7)


def test_the_enclosed_slopes_decide_where_floats_cancel(trial):
    check = rate(measure=difference, at=FAR, exponent=-1.0)
    found = check.test(trial)
    assert found.verdict is Verdict.holds
    assert "In floats the slopes came out in [-1.1" in found.note
    assert found.measured.interval[0] == pytest.approx(-1, abs=1e-9)
    points = {n: v for n, v, _ in found.measured.points}
    assert points[FAR[2]] == pytest.approx(1e-8, rel=1e-9)
    false = dataclasses.replace(check, exponent=-1.25)  # which holds nowhere; floats cannot tell
    assert false.test(dataclasses.replace(trial, is_control=True)).verdict is Verdict.inconclusive
    assert false.test(trial).verdict is Verdict.refuted


def test_the_enclosed_slopes_decide_where_float32_rounds(trial):
    measure = lambda n: jnp.sqrt(jnp.float32(n) * n + 1) - jnp.float32(n)
    found = rate(measure=measure, at=(64, 256, 1024), exponent=-1.0, tolerance=0.01).test(trial)
    assert found.verdict is Verdict.holds
    assert "by rounding; the enclosed ones decide" in found.note


def test_near_floats_need_no_word(trial):
    assert "floats" not in rate(measure=root, at=AT, exponent=0.5).test(trial).note


def looped(n):
    return jax.lax.fori_loop(0, 100_000, lambda i, x: x + n / (1 + i), 1.0)


def drawn(n):
    return n + jax.random.uniform(jax.random.key(0))


def called(n):
    shape = jax.ShapeDtypeStruct((), float)
    return jax.pure_callback(lambda x: np.sqrt(x), shape, jnp.asarray(n, float))


NOT_ENCLOSED = {
    "numpy": (lambda n: np.sqrt(np.arange(n)).sum(), "Python or numpy computes the measure"),
    "math": (lambda n: math.sqrt(n), "Python or numpy computes the measure"),
    "an integer by way of a float": (
        lambda n: n + int(n / 3),
        "Python or numpy computes the measure",
    ),
    "a float at the end": (lambda n: float(roots(n)), "leaves JAX"),
    "a long loop": (looped, "the enclosure exceeds its budget"),
    "a draw": (drawn, "random numbers cannot be enclosed"),
    "a call back": (called, "a call back to Python cannot be enclosed"),
    "rounded before": (
        lambda n: jnp.sum(jnp.full(n, (1 / n) ** 0.5)),
        "at n = 100 it uses 0.1, which Python or numpy computed from n",
    ),
    "rounded to what looks whole": (
        lambda n: jnp.log(jnp.ones(n).sum() * math.exp(n)),
        "which Python or numpy computed from n",
    ),
    "rounded in an array": (
        lambda n: jnp.sum(jnp.asarray(np.linspace(0.1, 1, n))),
        "which Python or numpy computed from n",
    ),
    "rounded in a branch": (
        lambda n: jax.lax.cond(jnp.ones(n).sum() > 0, lambda: 1.0 * math.sqrt(n), lambda: 0.0),
        "which Python or numpy computed from n",
    ),
}


@pytest.mark.parametrize("name", NOT_ENCLOSED)
def test_what_is_not_enclosed_says_why(trial, name):
    measure, why = NOT_ENCLOSED[name]
    check = rate(measure=measure, at=(100, 200, 300), between=(0.0, 2.0))
    found = check.test(trial)
    assert (found.verdict, found.evidence) == (Verdict.holds, Evidence.fitted)
    assert "The slopes are not enclosed: " in found.unproved
    assert why in found.unproved
    found = dataclasses.replace(check, between=(5.0, 6.0)).test(trial)
    assert (found.verdict, found.evidence) == (Verdict.refuted, Evidence.fitted)
    assert found.unproved.startswith("Not certified. ")
    assert check.proof_alone(trial) is None


def test_what_may_be_zero_is_not_enclosed():
    with pytest.raises(NotCertifiable, match="at n = 1 it lies in 0, so it is not certain"):
        enclosed_slopes(lambda n: jnp.log(n), (1, 2, 4), None)


def test_the_limit_is_subtracted(trial):
    measure = lambda n: 2 - 1 / jnp.sqrt(n)
    found = rate(measure=measure, at=AT, exponent=-0.5, limit=2).test(trial)
    assert found.verdict is Verdict.holds
    assert "the slopes lie in [-0.5001, -0.4999]" in found.unproved
    found = rate(measure=measure, at=AT, exponent=0.5, limit=2).test(trial)
    assert found.evidence is Evidence.certified
    assert found.certificate.steps[0].startswith("|measure - 2| is [0.1000")


def test_a_control_is_not_enclosed(trial):
    false = rate(measure=root, at=AT, at_most=0.2)
    found = false.test(dataclasses.replace(trial, is_control=True))
    assert (found.verdict, found.evidence) == (Verdict.refuted, Evidence.fitted)


def refuted():
    """The root grows at most like n^0.2."""
    return rate(measure=root, at=AT, at_most=0.2, control=alternative(0.4))


def test_a_certified_refutation_is_a_result_and_is_repeated():
    made = Claim(
        id="mine.root", paper="mine", ref="", statement="", assumptions=(),
        expect=Verdict.refuted, tier="fast", words="", repairs=None, falls=None, consequence="",
        unrepaired="", mathematics=True, build=refuted,
    )  # fmt: skip
    result = made.run()
    assert (result.verdict, result.outcome.evidence) == (Verdict.refuted, Evidence.certified)
    assert not result.proved
    assert Entry(result).graded == "certified, at the tested sizes"
    again = result.from_json(result.json())
    assert again.outcome == result.outcome
    assert replay(made).startswith("mine.root: refuted, certified. Exponent 0.499 in [0.498, ")

"""A resolution is what it says: a little more would have been noticed, a little less not."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from theorykit.checks import (
    ClaimError,
    Trial,
    alternative,
    construction,
    exhaustive,
    expectation,
    experiment,
    identity,
    inequality,
    on_box,
    rate,
)
from theorykit.checks.domains import inputs, interval, positive, reals
from theorykit.claims import claim
from theorykit.claims._attempt import float64
from theorykit.results import Fineness, Scope, Unit, Verdict, of_bound

KEY = jax.random.key(7, impl="threefry2x32")


def tried(check):
    with float64():
        return check.test(Trial(KEY))


def weighed(check):
    return claim("p.a")(lambda: check).run()


@pytest.mark.parametrize("factor", [1.0, 1.5, 40.0])
def test_a_bound_may_shrink_by_its_resolution(factor):
    over = inputs(x=interval(0.1, 1.0, "3"))
    make = lambda part: inequality(
        lhs=lambda x: x.sum(), rhs=lambda x: factor * part * x.sum(), over=over, steps=20
    )
    found = tried(make(1.0)).resolution
    assert found.unit is Unit.factor
    assert found.value == pytest.approx(factor, rel=1e-6)
    assert tried(make(1.001 / found.value)).verdict is Verdict.holds
    assert tried(make(0.999 / found.value)).verdict is Verdict.refuted


@pytest.mark.parametrize("floor", [1e-6, 1e3])
def test_an_identity_may_change_by_its_resolution(floor):
    over = inputs(x=interval(1e-4, 1e-3, "3"))
    make = lambda off: identity(
        lhs=lambda x: x**2, rhs=lambda x: x * x * (1 + off), over=over, floor=floor
    )
    found = tried(make(0.0)).resolution
    assert found.unit is Unit.relative
    assert tried(make(0.9 * found.value)).verdict is Verdict.holds
    assert tried(make(1.1 * found.value)).verdict is Verdict.refuted
    assert found.grade is (Fineness.fine if floor < 1 else Fineness.poor)


def test_an_identity_whose_sides_vanish_has_an_absolute_resolution():
    found = tried(identity(lhs=lambda x: x - x, rhs=lambda: 0.0, over=inputs(x=reals())))
    assert found.resolution.unit is Unit.absolute
    assert found.resolution.value == pytest.approx(1e-15)


@pytest.mark.parametrize("kind", ["value", "at_most", "at_least"])
def test_a_mean_may_move_by_its_resolution(kind):
    predicted, sign = 2.0, {"value": 0, "at_most": 1, "at_least": -1}[kind]
    draw = lambda key: 2.0 + 0.1 * jax.random.normal(key)
    make = lambda off: expectation(
        statistic=draw, **{kind: predicted + 0.05 * sign + off}, replicates=64, error=1e-3
    )
    found = tried(make(0.0)).resolution
    assert found.unit is Unit.absolute
    inward = [-sign] if sign else [1, -1]
    falls = lambda part: any(
        tried(make(s * part * found.value)).verdict is Verdict.refuted for s in inward
    )
    assert not falls(0.98)
    assert falls(1.02)


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("kind", ["exponent", "at_most", "at_least"])
def test_an_exponent_may_move_by_its_resolution(keyed, kind):
    noisy = lambda key, n: n**2.0 * jnp.exp(0.05 * jax.random.normal(key))
    exact = lambda n: n**2 + n
    sign = {"exponent": 0, "at_most": 1, "at_least": -1}[kind]
    make = lambda off: rate(
        measure=noisy if keyed else exact, at=(64, 128, 256, 512), **{kind: 2.0 + 0.05 * sign + off}
    )
    found = tried(make(0.0)).resolution
    assert found.unit is Unit.exponent
    inward = [-sign] if sign else [1, -1]
    falls = lambda part: any(
        tried(make(s * part * found.value)).verdict is Verdict.refuted for s in inward
    )
    assert not falls(0.98)
    assert falls(1.02)


def test_a_trained_mean_may_move_by_its_resolution():
    values = np.array([1.0, 1.1, 0.9, 1.2])
    make = lambda bound: experiment(measure=lambda key, progress: values, at_most=bound)
    found = tried(make(1.5)).resolution
    assert tried(make(1.5 - 0.99 * found.value)).verdict is not Verdict.refuted
    assert tried(make(1.5 - 1.01 * found.value)).verdict is Verdict.refuted


def test_an_exhaustive_check_counts_where_its_neighbour_falls():
    check = exhaustive(
        predicate=lambda n: n * n >= n,
        universe=range(10),
        telling=lambda n: n > 1,
        control=dict(predicate=lambda n: n * n > 2 * n),
    )
    found = weighed(check)
    resolution = found.outcome.resolution
    assert (found.verdict, resolution.value, resolution.of, resolution.telling) == (
        Verdict.holds,
        3,
        10,
        8,
    )
    assert resolution.words() == "3 of 10, 8 telling"
    long = dataclasses.replace(check, universe=range(5_000), telling=None)
    assert weighed(long).outcome.resolution.words() == "3 of 1,000"


def test_members_that_cannot_tell_make_it_inconclusive():
    check = exhaustive(
        predicate=lambda n: n >= 0,
        universe=range(1_000),
        telling=lambda n: n == 7,
        control=dict(predicate=lambda n: n != 7),
    )
    found = weighed(check)
    assert found.verdict is Verdict.inconclusive
    assert "Only 1 of 1,000 members" in found.note


def test_a_construction_counts_cases():
    check = construction(
        build=lambda n: list(range(n)),
        has=lambda built: sorted(built) == built,
        cases=range(6),
        telling=lambda built: len(built) > 1,
        control=dict(has=lambda built: built[::-1] == built),
    )
    assert weighed(check).outcome.resolution.words() == "4 of 6, 4 telling"


def test_a_bound_that_is_never_near_is_inconclusive():
    check = inequality(
        lhs=lambda x: jnp.abs(x) + 0 * jnp.floor(x),  # so that it is not proved
        rhs=lambda x: 2_000 * jnp.abs(x),
        over=inputs(x=reals()),
        control=dict(rhs=lambda x: 0.9 * jnp.abs(x)),
    )
    found = weighed(check)
    assert (found.verdict, found.control) == (Verdict.inconclusive, Verdict.refuted)
    assert "never nearer to rhs than a factor 2e+03" in found.note
    assert found.outcome.resolution.grade is Fineness.poor


def test_a_bound_that_is_never_near_holds_where_all_of_it_is_proved():
    check = inequality(
        lhs=lambda x: x,
        rhs=lambda x: 2_000 + x * x,
        over=inputs(x=interval(0, 1)),
        control=dict(rhs=lambda x: 0.9 * x),
        proof=on_box(),
    )
    found = weighed(check)
    assert (found.verdict, found.proved) == (Verdict.holds, True)


@pytest.mark.parametrize("bound", [1.0, 1.5])
def test_a_frequency_below_one_asserts_nothing(bound):
    check = expectation(
        statistic=lambda key: (jax.random.uniform(key) < 0.3).astype(float),
        at_most=bound,
        replicates=400,
        control=dict(at_most=0.01),
    )
    found = weighed(check)
    assert found.verdict is Verdict.inconclusive
    assert "0 or 1" in found.note


def test_nothing_above_zero_resolves_nothing():
    assert of_bound(None).poor
    assert of_bound(-1.0).words() == "anything"


# Controls ------------------------------------------------------------------------------------


def test_a_disjoint_target_of_the_same_measure_is_refused():
    square = lambda n: n**2
    check = rate(measure=square, exponent=2.0, control=dict(exponent=1.0))
    with pytest.raises(ClaimError, match=r"no rate could satisfy both"):
        check.controlled()
    seeds = lambda key, progress: np.ones(3)
    check = experiment(measure=seeds, at_most=1.5, control=dict(at_least=2.0))
    with pytest.raises(ClaimError, match=r"no experiment could satisfy both"):
        check.controlled()
    overlapping = experiment(measure=seeds, at_most=1.5, control=dict(at_most=0.5))
    assert weighed(overlapping).verdict == Verdict.holds
    other = rate(measure=square, exponent=2.0, control=dict(measure=lambda n: n, exponent=3.0))
    assert weighed(other).verdict == Verdict.holds


@pytest.mark.parametrize(("value", "verdict"), [(1.7, "holds"), (1.95, "inconclusive")])
def test_an_alternative_must_be_told_from_the_claim(value, verdict):
    check = rate(measure=lambda n: n**2, exponent=2.0, control=alternative(value))
    assert weighed(check).verdict == verdict


def test_an_alternative_falls_only_if_the_interval_is_narrow():
    wide = np.array([0.2, 0.8, 0.5])
    made = lambda values: experiment(
        measure=lambda key, progress: values, at_most=2.0, control=alternative(2.5)
    )
    assert weighed(made(wide)).verdict == Verdict.inconclusive
    assert weighed(made(0.1 * wide)).verdict == Verdict.holds
    assert "alternative 2.5" in made(wide).tried()


def test_controls_that_are_the_claim_or_do_not_look_are_refused():
    side = lambda x: x
    same = identity(lhs=side, rhs=side, over=inputs(x=reals()), control=dict(lhs=side))
    with pytest.raises(ClaimError, match="replaces lhs by itself"):
        same.controlled()
    blind = exhaustive(
        predicate=lambda n: n > 0, universe=[1, 2], control=dict(predicate=lambda n: False)
    )
    with pytest.raises(ClaimError, match="does not look at its member"):
        blind.controlled()
    seen = dataclasses.replace(
        blind, control=dict(predicate=lambda n: any(n > k for k in range(2, 3)))
    )
    assert weighed(seen).verdict == Verdict.holds


# Premises and scope ------------------------------------------------------------------------


def test_no_witness_lies_outside_a_premise():
    over = inputs(x=reals("2")).given(lambda x: x[0] >= 1)
    check = inequality(lhs=lambda x: -x[0], rhs=lambda x: 0.0 * x[0], over=over)
    assert tried(check).verdict is Verdict.holds
    found = tried(dataclasses.replace(check, rhs=lambda x: -2.0 + 0.0 * x[0]))
    assert found.verdict is Verdict.refuted
    assert -2 < found.witness.lhs <= -1
    with pytest.raises(ClaimError, match="within the premise"):
        tried(dataclasses.replace(check, over=over.given(lambda x: x[0] < 1)))
    assert "within 1 premise" in check.describe()


def test_the_scope_of_a_box():
    # With a floor it is not proved for all values at once.
    side = dict(lhs=lambda x: x.sum(), rhs=lambda x: 3.0 + x.sum() + 0 * jnp.floor(x[0]))
    over = inputs(x=interval(0, 2, "n"), n=(1, 2))
    scope = lambda proof, over: tried(inequality(**side, over=over, proof=proof)).certificate
    assert scope(on_box(), over).scope is Scope.sizes
    found = scope(on_box(n=1), over)
    assert (found.scope, found.share) == (Scope.part, 0.5)
    found = scope(on_box(x=(0, 1)), over)
    assert (found.scope, found.share) == (Scope.part, (0.5 + 0.25) / 2)
    assert scope(on_box(), inputs(x=interval(0, 2, 2))).scope is Scope.whole
    found = scope(on_box(x=(0.5, 1)), inputs(x=positive("2")))
    assert (found.scope, found.share) == (Scope.part, None)
    with pytest.raises(ClaimError, match="no width"):
        scope(on_box(x=(1, 1)), over)


def test_a_universe_is_the_whole_statement_only_if_the_claim_says_so():
    check = exhaustive(predicate=lambda n: n * n >= n, universe=range(9))
    assert tried(check).certificate.scope is Scope.sizes
    whole = dataclasses.replace(check, whole=True)
    assert tried(whole).certificate.scope is Scope.whole

"""A resolution is what it says: a little more would have been noticed, a little less not."""

import contextlib
import dataclasses
import functools
import math

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


@pytest.mark.parametrize("factor", [1.0, 1.5, 40.0])
def test_a_negative_bound_may_grow_by_its_resolution(factor):
    over = inputs(x=interval(0.1, 1.0, "3"))
    make = lambda part: inequality(
        lhs=lambda x: -factor * x.sum(), rhs=lambda x: -part * x.sum(), over=over, steps=20
    )
    found = tried(make(1.0)).resolution
    assert found.unit is Unit.factor
    assert found.value == pytest.approx(factor, rel=1e-6)
    assert tried(make(0.999 * found.value)).verdict is Verdict.holds
    assert tried(make(1.001 * found.value)).verdict is Verdict.refuted


def test_a_bound_that_changes_its_sign_is_as_near_as_on_its_nearer_side():
    over = inputs(x=interval(-1, 1))
    rhs = lambda x: jnp.where(x > 0, 2.0, -1.0) * jnp.abs(x)  # 2 |x|, or x, which is tight
    check = inequality(lhs=lambda x: x, rhs=rhs, over=over, steps=20)
    assert tried(check).resolution.value == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize("slack", [0.0, 0.25])
@pytest.mark.parametrize("turned", [False, True])
def test_a_sign_may_move_by_its_resolution(slack, turned):
    size = lambda x: slack + (x - 0.5) ** 2
    sides = [lambda x: 0.0 * x, size] if turned else [lambda x: -size(x), lambda x: 0.0 * x]
    check = inequality(lhs=sides[0], rhs=sides[1], over=inputs(x=interval(0, 1)))
    found = tried(check).resolution
    assert (found.unit, found.poor) == (Unit.absolute, "")
    assert found.value == pytest.approx(slack, abs=1e-6)


def test_a_bound_far_away_is_no_better_as_a_difference():
    far = inequality(lhs=lambda x: x - 1e9, rhs=lambda x: 0.0, over=inputs(x=interval(0, 1)))
    found = tried(far).resolution
    assert "hardly varies" in found.poor
    assert found.value == pytest.approx(1e9)


def test_where_both_sides_are_infinite_nothing_is_compared():
    check = identity(lhs=lambda x: x + jnp.inf, rhs=lambda x: jnp.inf, over=inputs(x=reals()))
    found = tried(check)
    assert (found.verdict, found.resolution) == (Verdict.inconclusive, None)
    assert "nothing was compared" in found.note
    bound = inequality(lhs=lambda x: x, rhs=lambda x: jnp.inf, over=inputs(x=reals()))
    assert "any share of rhs" in tried(bound).resolution.poor


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


@pytest.mark.parametrize("shape", [(), (2,), (2, 3)])
@pytest.mark.parametrize("bad", [jnp.nan, jnp.inf])
def test_a_mean_of_what_is_not_finite_is_refused(shape, bad):
    statistic = lambda key: jnp.where(jax.random.uniform(key, shape) < 0.5, bad, 1.0)
    with pytest.raises(ClaimError, match=r"is not finite in .* of 64 replicates"):
        tried(expectation(statistic=statistic, value=1.0))


@pytest.mark.parametrize("value", [1.0, 2.0])
def test_what_no_key_changes_says_nothing_of_chance(value):
    rare = lambda key: 1.0 + 1e-9 + jnp.where(jax.random.uniform(key) < 1e-6, 1e6, 0.0)
    found = tried(expectation(statistic=rare, value=value))
    assert found.verdict is Verdict.inconclusive
    assert "a value that 20% of the keys give could have been missed" in found.note


def test_an_event_that_never_happened_may_be_rare():
    rare = lambda key: (jax.random.uniform(key) < 1e-4).astype(float)
    make = lambda value, **more: tried(
        expectation(statistic=rare, value=value, replicates=100, error=1e-3, **more)
    )
    found = make(1e-4)
    assert found.verdict is Verdict.holds
    # None of a hundred: so it is by chance of at least 1e-3 / 2 up to this frequency.
    most = 1 - (1e-3 / 2) ** (1 / 100)
    assert found.measured.interval[1] == pytest.approx(most)
    assert make(0.99 * most).verdict is Verdict.holds
    assert make(1.01 * most).verdict is Verdict.refuted
    certain = lambda key: (jax.random.uniform(key) >= 1e-4).astype(float)
    check = expectation(statistic=certain, value=1 - 1e-4, replicates=100)
    assert tried(check).verdict is Verdict.holds


def test_a_mean_is_known_no_better_than_to_rounding():
    check = expectation(statistic=lambda key: jax.random.uniform(key) * 1e-11 + 1, value=1.0)
    found = tried(check).resolution
    assert found.value == pytest.approx(1e-9, rel=0.1)


@pytest.mark.parametrize(
    ("claim", "holds"),
    [
        (dict(at_least=1.0), False),  # 2000 is measured
        (dict(at_least=999.0), True),
        (dict(at_most=1e7), False),
        (dict(at_least=-1e7), False),
        (dict(at_least=-1.0), True),
    ],
)
def test_a_limit_that_is_far_away_is_poor(claim, holds):
    statistic = lambda key: 2000 + jax.random.normal(key)
    control = {name: 5e8 if name == "at_least" else 0.0 for name in claim}
    found = weighed(expectation(statistic=statistic, **claim, control=control))
    assert found.verdict is (Verdict.holds if holds else Verdict.inconclusive)


def test_sizes_of_a_rate_are_apart():
    with pytest.raises(ValueError, match=r"at least 0.1% apart"):
        rate(measure=lambda n: n, at=(8.0, 8.004, 16.0), exponent=1)
    assert rate(measure=lambda n: n, at=(16.0, 8.0, 8.01), exponent=1)


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
    with pytest.raises(ClaimError, match="the control leaves lhs as it is"):
        same.controlled()
    blind = exhaustive(
        predicate=lambda n: n > 0, universe=[1, 2], control=dict(predicate=lambda n: False)
    )
    with pytest.raises(ClaimError, match="ignores its argument"):
        blind.controlled()
    seen = dataclasses.replace(
        blind, control=dict(predicate=lambda n: any(n > k for k in range(2, 3)))
    )
    assert weighed(seen).verdict == Verdict.holds


def deleted(n):
    del n
    return False


class Never:
    def __call__(self, n):
        return False

    def method(self, n):
        return False


class Above:
    def __call__(self, n):
        return n > 1


@pytest.mark.parametrize(
    ("predicate", "blind"),
    [
        (lambda *n: False, True),
        (lambda n, known=False: known, True),
        (lambda n, *, known=False: known, True),
        (functools.partial(lambda k, n: k, False), True),
        (functools.partial(lambda k, n: n > k, 1), False),
        (functools.cache(lambda n: False), True),
        (deleted, True),
        (Never(), True),
        (Never().method, True),
        (Above(), False),
        (lambda *n: n[0] > 1, False),
        (lambda n: [k for k in range(2) if n > k][:1] == [1], False),
        (lambda n: (lambda: n > 1)(), False),
        (lambda n: locals()["n"] > 1, False),
        (int, False),
    ],
)
def test_what_does_not_look_at_its_member_is_refused_wherever_it_stands(predicate, blind):
    says = pytest.raises(ClaimError, match="ignores its argument")
    refused = says if blind else contextlib.nullcontext()
    with refused:
        exhaustive(predicate=predicate, universe=[1, 2])
    with refused:
        exhaustive(predicate=lambda n: n > 0, telling=predicate, universe=[1, 2])
    with refused:
        construction(build=lambda: 1, has={"small": predicate})
    check = construction(build=lambda n: n, has=lambda n: n > 0, cases=[1, 2])
    if blind:
        with pytest.raises(ClaimError, match="in the control, has ignores its argument"):
            dataclasses.replace(check, control=dict(has=predicate)).controlled()


def test_a_control_measures_no_other_target_of_the_same_thing_written_anew():
    check = rate(
        measure=lambda n: 2.0 * n,
        at=(8, 16, 32),
        exponent=1,
        control=dict(measure=lambda n: 2.0 * n, exponent=3),
    )
    found = weighed(check)
    assert found.verdict is Verdict.error
    assert "falls only because it predicts [2.9, 3.1]" in found.note
    other = dataclasses.replace(check, control=dict(measure=lambda n: 2.0 * n**2, exponent=4))
    assert weighed(other).verdict is Verdict.holds
    trained = lambda key, progress: np.array([1.0, 1.1, 0.9])
    again = lambda key, progress: trained(key, progress)
    check = experiment(measure=trained, at_most=2.0, control=dict(measure=again, at_least=3.0))
    assert "falls only because" in weighed(check).note


# Premises and scope ------------------------------------------------------------------------


def test_no_witness_lies_outside_a_premise():
    over = inputs(x=reals("2")).given(lambda x: x[0] >= 1)
    check = inequality(lhs=lambda x: -x[0], rhs=lambda x: 0.0 * x[0], over=over)
    assert tried(check).verdict is Verdict.holds
    found = tried(dataclasses.replace(check, rhs=lambda x: -2.0 + 0.0 * x[0]))
    assert found.verdict is Verdict.refuted
    assert -2 < found.witness.lhs <= -1
    with pytest.raises(ClaimError, match="meets the premise"):
        tried(dataclasses.replace(check, over=over.given(lambda x: x[0] < 1)))
    assert "under 1 premise" in check.describe()


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
    for ends in [(1, 1), ("1/3", "1/3"), (np.array([0.5, 1.0]), np.array([1.5, 1.0]))]:
        with pytest.raises(ClaimError, match="no width"):
            scope(on_box(n=2, x=ends), over)
    with pytest.raises(ClaimError, match="x is 1 at both ends"):
        scope(on_box(n=2, x=ends), over)
    for ends in [(3, 4), (2, 3), (-1, 0)]:
        with pytest.raises(ClaimError, match="outside the domain"):
            scope(on_box(x=ends), over)


SHOWN_BY_BALLS = inequality(
    lhs=lambda x: x + 0 * jnp.floor(x), rhs=lambda x: x + 1, over=inputs(x=interval(0, 1))
)
"""Not proved for all values."""


@pytest.mark.parametrize("ends", [(1e-300, 1), (0, 1 - 1e-16), (-1, 1 - 1e-16), (0.25, 2)])
def test_a_box_that_leaves_out_a_sliver_is_a_part(ends):
    over = inputs(x=interval(0, 1))
    check = dataclasses.replace(SHOWN_BY_BALLS, over=over, proof=on_box(x=ends))
    certificate = tried(check).certificate
    assert certificate.scope is Scope.part
    assert certificate.share < 1
    assert "only searched" in tried(check).note
    whole = dataclasses.replace(check, proof=on_box(x=(-1, 2)))
    assert tried(whole).certificate.scope is Scope.whole
    assert "only searched" not in tried(whole).note


def test_a_box_is_written_with_the_digits_that_it_needs():
    narrow = dataclasses.replace(SHOWN_BY_BALLS, proof=on_box(x=(0.5, 0.5 + 2**-40)))
    assert tried(narrow).certificate.where == "x in [0.5, 0.5000000000009095]"


@pytest.mark.parametrize("found", [None, math.nan, "yes", [True, None]])
def test_a_premise_is_a_truth_value(found):
    over = inputs(x=reals("2")).given(lambda x: found)
    with pytest.raises(ValueError, match="a premise returns a truth value, not"):
        tried(inequality(lhs=lambda x: x, rhs=lambda x: x + 1, over=over))


def test_a_universe_is_the_whole_statement_only_if_the_claim_says_so():
    check = exhaustive(predicate=lambda n: n * n >= n, universe=range(9))
    assert tried(check).certificate.scope is Scope.sizes
    whole = dataclasses.replace(check, whole=True)
    assert tried(whole).certificate.scope is Scope.whole

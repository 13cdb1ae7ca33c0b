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
    identity,
    inequality,
    on_box,
    rate,
)
from theorykit.checks.domains import inputs, psd, reals
from theorykit.results import Evidence, Verdict

# identity -----------------------------------------------------------------------------------


def test_identity_that_holds(trial):
    found = identity(
        lhs=lambda x: jnp.cos(2 * x), rhs=lambda x: 2 * jnp.cos(x) ** 2 - 1,
        over=inputs(x=reals("T"), T=(1, 3)),
    ).test(trial)  # fmt: skip
    assert (found.verdict, found.evidence) == (Verdict.holds, Evidence.certified)
    assert found.measured.error < 1e-12


def test_identity_that_fails_has_a_simple_witness(trial):
    found = identity(
        lhs=lambda x, y: (x + y) ** 2, rhs=lambda x, y: x**2 + y**2,
        over=inputs(x=reals(), y=reals()),
    ).test(trial)  # fmt: skip
    assert found.verdict == Verdict.refuted
    assert found.witness.code == "x = 1.0\ny = 1.0"
    assert (found.witness.lhs, found.witness.rhs) == (4.0, 2.0)


def test_identity_compares_zero_entries_at_the_scale_of_the_others(trial):
    over = inputs(S=psd(3))
    inverse = lambda S: jnp.linalg.inv(S + jnp.eye(3)) @ (S + jnp.eye(3))
    found = identity(lhs=inverse, rhs=lambda: jnp.eye(3), over=over, tol=1e-8, cases=32)
    assert found.test(trial).verdict == Verdict.holds


def test_identity_without_arguments_has_one_case(trial):
    found = identity(lhs=lambda: jnp.sin(jnp.pi / 6), rhs=lambda: 0.5).test(trial)
    assert (found.verdict, found.cases) == (Verdict.holds, 1)
    assert found.evidence == Evidence.exhaustive


def test_identity_refuses_nan(trial):
    check = identity(lhs=lambda x: jnp.log(x), rhs=lambda x: x, over=inputs(x=reals()))
    with pytest.raises(ClaimError, match="lhs is NaN"):
        check.test(trial)


# exhaustive ---------------------------------------------------------------------------------


def test_exhaustive_walks_every_member(trial):
    shares = []
    walked = dataclasses.replace(trial, progress=shares.append)
    found = exhaustive(predicate=lambda n: n**2 >= n, universe=range(100)).test(walked)
    assert (found.verdict, found.cases) == (Verdict.holds, 100)
    assert found.evidence == Evidence.certified
    assert shares[-1] == 1.0


def test_exhaustive_stops_at_the_first_that_fails(trial):
    prime = lambda n: all((n * n + n + 41) % d for d in range(2, n * n + n + 41))
    found = exhaustive(predicate=prime, universe=lambda: iter(range(60))).test(trial)
    assert found.witness.code == "member = 40"


@pytest.mark.parametrize(
    ("predicate", "universe", "why"),
    [
        (bool, [], "empty"),
        (lambda n: None if n else n, [1], "None"),
        (bool, iter([1, 2]), "only once"),
    ],
)
def test_exhaustive_says_why_it_cannot_tell(trial, predicate, universe, why):
    with pytest.raises(ClaimError, match=why):
        exhaustive(predicate=predicate, universe=universe).test(trial)


# expectation --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def memory():
    """What was compiled, for tests that measure the same thing."""
    return {}


@pytest.fixture
def remembering(memory):
    return Trial(jax.random.key(0), memory=memory)


def normal(key):
    return 1.0 + jax.random.normal(key, (3,))


@pytest.mark.parametrize(
    ("target", "verdict"),
    [
        ({"value": 1.0}, "holds"),
        ({"value": [1.0, 1.0, 2.0]}, "refuted"),
        ({"value": 1.6, "within": 0.5}, "holds"),
        ({"at_most": 1.0}, "holds"),
        ({"at_most": 0.0}, "refuted"),
        ({"at_least": 1.0}, "holds"),
        ({"at_least": 2.0}, "refuted"),
    ],
)
def test_expectation(remembering, target, verdict):
    found = expectation(statistic=normal, replicates=100, **target).test(remembering)
    assert found.verdict == verdict
    low, high = found.measured.interval
    assert low < found.measured.estimate < high


def test_expectation_batches_and_loops_alike(trial):
    whole = expectation(statistic=normal, value=1.0, replicates=10).test(trial)
    batched = expectation(statistic=normal, value=1.0, replicates=10, batch=3).test(trial)
    looped = expectation(statistic=normal, value=1.0, replicates=10, vectorize=False).test(trial)
    assert whole.measured.estimate == pytest.approx(batched.measured.estimate, rel=1e-12)
    assert whole.measured.estimate == pytest.approx(looped.measured.estimate, rel=1e-12)


def test_expectation_raises_false_alarms_at_the_stated_rate():
    """At error 0.2 over 3 components and 300 seeds: within 4 sigma of at most 60 alarms."""
    check = expectation(statistic=normal, value=1.0, replicates=8, error=0.2)
    memory: dict = {}
    keys = [jax.random.fold_in(jax.random.key(1), i) for i in range(300)]
    alarms = sum(check.test(Trial(k, memory=memory)).verdict == "refuted" for k in keys)
    assert 30 < alarms < 60 + 4 * np.sqrt(300 * 0.2 * 0.8)


@pytest.mark.parametrize(
    "wrong", [{}, {"value": 0, "at_most": 1}, {"value": 0, "replicates": 1}]
)  # fmt: skip
def test_expectation_refuses_what_makes_no_sense(wrong):
    with pytest.raises(ValueError, match=r"needs|of at least 2, got 1"):
        expectation(statistic=normal, **wrong)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.zeros(3), "axis could be any"),
        (np.zeros((1, 2, 3)), "axis could be any"),
        (np.zeros((1, 4)), "do not broadcast"),
    ],
)
def test_the_value_of_an_expectation_has_the_axes_of_its_statistic(trial, value, message):
    of = lambda value: expectation(statistic=matrix, value=value, replicates=50).test(trial)
    assert (
        of(0.0).verdict == of(np.zeros((2, 1))).verdict == of(np.zeros((1, 3))).verdict == "holds"
    )
    with pytest.raises(ClaimError, match=message):
        of(value)
    with pytest.raises(ClaimError, match="a number, or an array of the statistic's shape"):
        expectation(statistic=lambda key: matrix(key)[0, 0], value=np.zeros(3)).test(trial)


def matrix(key):
    return jax.random.normal(key, (2, 3))


# rate ---------------------------------------------------------------------------------------


def mean_size(key, n):
    return jnp.abs(jax.random.normal(key, (64, n)).mean(axis=1)).mean()


@pytest.mark.parametrize(
    ("prediction", "verdict"),
    [
        ({"exponent": -0.5}, "holds"),
        ({"exponent": -1.0}, "refuted"),
        ({"at_most": -0.4}, "holds"),
        ({"at_least": 0.0}, "refuted"),
        ({"between": (-0.6, -0.4)}, "holds"),
        ({"exponent": -0.5, "tolerance": 0.001}, "inconclusive"),
    ],
)
def test_rate(remembering, prediction, verdict):
    found = rate(measure=mean_size, at=(4, 16, 64), **prediction).test(remembering)
    assert found.verdict == verdict
    assert found.evidence == Evidence.fitted
    assert found.measured.exponent == pytest.approx(-0.5, abs=0.1)
    assert [n for n, _, _ in found.measured.points] == [4, 16, 64]


def test_rate_of_a_deterministic_measure(trial):
    found = rate(measure=lambda n: 3 * n**2 + n, at=(16, 64, 256), exponent=2).test(trial)
    assert found.verdict == Verdict.holds
    assert found.cases == 3


def test_rate_towards_a_limit(trial):
    found = rate(measure=lambda n: 2 - 1 / n, at=(8, 16, 32), exponent=-1, limit=2).test(trial)
    assert found.verdict == Verdict.holds


def test_rate_needs_positive_numbers(trial):
    with pytest.raises(ClaimError, match=r"0.0 at n = 8"):
        rate(measure=lambda n: n - 8.0, at=(8, 16, 32), exponent=1).test(trial)


def test_rate_interval_covers_at_its_rate():
    """The 99% interval misses the true exponent in at most 6% of 200 seeds (4 sigma)."""
    measure = lambda key, n: n**0.7 * jnp.exp(0.3 * jax.random.normal(key))
    check = rate(measure=measure, at=(4, 16, 64), exponent=0.7, replicates=5)
    memory: dict = {}
    missed = 0
    for i in range(200):
        found = check.test(Trial(jax.random.fold_in(jax.random.key(2), i), memory=memory))
        missed += not found.measured.interval[0] <= 0.7 <= found.measured.interval[1]
    assert missed <= 12


@pytest.mark.parametrize(
    "wrong", [{}, {"exponent": 1, "at_most": 2}, {"exponent": 1, "at": (4, 8)}]
)
def test_rate_refuses_what_makes_no_sense(wrong):
    with pytest.raises(ValueError, match="needs"):
        rate(measure=lambda n: n, **wrong)


# construction -------------------------------------------------------------------------------


def test_construction(trial):
    symmetric = {"symmetric": lambda A: (A == A.T).all(), "positive": lambda A: (A > 0).all()}
    ones = construction(build=lambda n: np.ones((n, n)), has=symmetric, cases=(1, 2, 3))
    assert ones.test(trial).verdict == Verdict.holds
    assert ones.test(trial).evidence == Evidence.sampled
    assert dataclasses.replace(ones, complete=True).test(trial).evidence == Evidence.exhaustive
    found = dataclasses.replace(ones, build=np.eye).test(trial)
    assert found.verdict == Verdict.refuted
    assert "'positive'" in found.note
    assert found.witness.code.startswith("case = 2")


def test_construction_of_one_object(trial):
    found = construction(build=lambda: np.eye(2), has=lambda A: A[0, 0] == 1).test(trial)
    assert (found.verdict, found.evidence) == (Verdict.holds, Evidence.exhaustive)


# controls -----------------------------------------------------------------------------------


def test_a_control_replaces_fields():
    check = identity(lhs=lambda: 1.0, rhs=lambda: 1.0, control={"rhs": lambda: 2.0})
    false = check.controlled()
    assert false.rhs() == 2.0
    assert false.control is None
    assert identity(lhs=lambda: 1.0, rhs=lambda: 1.0).controlled() is None


def test_a_control_may_name_another_target():
    check = rate(measure=lambda n: n, exponent=1, control={"at_most": 0, "measure": lambda n: n})
    assert check.controlled().exponent is None
    check = expectation(statistic=normal, value=1, control={"at_most": 0})
    assert check.controlled().value is None


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (dict(lhs=0), "lhs is a function, not 0"),
        (dict(over=reals("T")), "over is a domain for each argument by name, .* not Reals"),
        (dict(control=lambda x: x), r"a control is a dict .* control=dict\(rhs=...\), not <"),
    ],
)
def test_fields_of_the_wrong_kind_are_refused(wrong, words):
    fine = dict(lhs=lambda x: x, rhs=lambda x: x, over=inputs(x=reals()))
    with pytest.raises(ClaimError, match=words):
        identity(**(fine | wrong))


@pytest.mark.parametrize(
    "make",
    [
        lambda: inequality(lhs=abs, rhs=None, over=inputs(x=reals())),
        lambda: inequality(lhs=abs, rhs=abs, over=inputs(x=reals()), tol="1"),
        lambda: inequality(lhs=abs, rhs=abs, over=inputs(x=reals()), starts=0.5),
        lambda: inequality(lhs=abs, rhs=abs, over=inputs(x=reals()), proof="everywhere"),
        lambda: identity(lhs=abs, rhs=abs, over=inputs(x=reals()), traceable=None),
        lambda: on_box(budget="many"),
        lambda: on_box(bits=8),
        lambda: expectation(statistic=normal, value=0, batch=0),
        lambda: expectation(statistic=normal, value=1j),
        lambda: expectation(statistic=normal, value=0, within=np.nan),
        lambda: rate(measure=lambda n: n, between=1.0),
        lambda: rate(measure=lambda n: n, exponent="1"),
        lambda: rate(measure=lambda n: n, exponent=1, at=(8, None, 32)),
        lambda: rate(measure=int, exponent=1),
        lambda: construction(build=list, has={}),
        lambda: construction(build=list, has=len, cases=7),
        lambda: construction(build=list, has=len, complete=1),
        lambda: exhaustive(predicate=bool, universe=7),
        lambda: alternative("1"),
    ],
)
def test_options_of_the_wrong_kind_are_refused_when_a_check_is_made(make):
    with pytest.raises(ValueError, match=r", (got|not) "):
        make()


def test_sizes_may_be_a_list():
    assert inputs(x=reals("T"), T=[2, 4]).settings() == [dict(T=2), dict(T=4)]


def test_a_control_of_unknown_fields_is_refused():
    check = identity(lhs=lambda: 1.0, rhs=lambda: 1.0, control={"bound": 2})
    with pytest.raises(ValueError, match="cannot replace bound"):
        check.controlled()


def test_a_control_recompiles_only_what_it_replaces(trial):
    traced = []

    def lhs(x):
        traced.append(1)
        return x**2

    check = identity(
        lhs=lhs, rhs=lambda x: x**2, over=inputs(x=reals()), control={"rhs": lambda x: x}
    )
    assert check.test(trial).verdict == Verdict.holds
    control = dataclasses.replace(trial, is_control=True)
    assert check.controlled().test(control).verdict == Verdict.refuted
    assert len(traced) == 3  # to see that it gives the same program, and to prove it

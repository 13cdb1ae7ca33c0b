import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

from theorykit.checks import ClaimError, experiment
from theorykit.claims import float64
from theorykit.results import Evidence, Verdict


def values(*numbers):
    return lambda key, progress: np.array(numbers)


@pytest.mark.parametrize(
    ("target", "verdict"),
    [
        (dict(at_most=1.0), Verdict.holds),
        (dict(at_most=0.1), Verdict.refuted),
        (dict(at_most=0.5), Verdict.inconclusive),
        (dict(at_least=0.2), Verdict.holds),
        (dict(between=(0.4, 0.6)), Verdict.holds),
        (dict(between=(0.6, 0.9)), Verdict.refuted),
    ],
)
def test_the_interval_decides(trial, target, verdict):
    found = experiment(measure=values(0.49, 0.5, 0.52), **target).test(trial)
    assert (found.verdict, found.evidence) == (verdict, Evidence.trained)
    low, high = found.measured.interval
    assert low < found.measured.estimate < high


def test_networks_train_in_their_own_precision(trial):
    seen = []

    def measure(key, progress):
        seen.append(jnp.zeros(()).dtype)
        return np.array([0.5, 0.51])

    with float64():
        experiment(measure=measure, at_most=1.0).test(trial)
    assert seen == [jnp.float32]


def test_the_control_does_not_train_again(trial):
    runs = []

    def measure(key, progress):
        runs.append(1)
        return np.array([0.5, 0.51])

    check = experiment(measure=measure, at_most=1.0, control=dict(at_least=0.9))
    assert check.test(trial).verdict == Verdict.holds
    assert check.controlled().test(dataclasses.replace(trial)).verdict == Verdict.refuted
    assert len(runs) == 1


def test_seeds_without_a_result_do_not_decide(trial):
    found = experiment(measure=values(0.5, np.nan), at_most=1.0).test(trial)
    assert found.verdict == Verdict.inconclusive
    assert "1 of 2 seeds" in found.note


def test_what_is_wrong_is_said(trial):
    with pytest.raises(ValueError, match="exactly one of"):
        experiment(measure=values(1, 2))
    with pytest.raises(ValueError, match="confidence"):
        experiment(measure=values(1, 2), at_most=1, confidence=1)
    with pytest.raises(ClaimError, match="one number per seed"):
        experiment(measure=values(1), at_most=1).test(trial)


def test_predictions_and_values_that_are_none(trial):
    for wrong in (dict(between=(2, 0)), dict(at_most=np.nan)):
        with pytest.raises(ValueError, match="a prediction is a number or"):
            experiment(measure=values(1.0, 1.1), **wrong)
    with pytest.raises(ClaimError, match="real numbers, not complex128"):
        experiment(measure=values(1.0, 1j), at_most=3).test(trial)


@pytest.mark.parametrize("confidence", [None, 0.5, 0.99])
def test_the_interval_is_students_at_its_confidence(trial, confidence):
    """With two seeds t is Cauchy's: the interval ends at tan(pi confidence / 2) errors; 95% if not
    said."""
    given = {} if confidence is None else dict(confidence=confidence)
    reach = np.tan(np.pi * (confidence or 0.95) / 2) * 0.5  # 1 and 2: error sqrt(1 / 2 / 2)
    low, high = 1.5 - reach, 1.5 + reach
    for target, verdict in [
        (dict(between=(low - 1e-6, high + 1e-6)), Verdict.holds),
        (dict(between=(low + 1e-6, high + 1e-6)), Verdict.inconclusive),
        (dict(between=(low - 1e-6, high - 1e-6)), Verdict.inconclusive),
        (dict(at_most=high + 1e-6), Verdict.holds),
        (dict(at_least=low - 1e-6), Verdict.holds),
        (dict(at_most=low - 1e-6), Verdict.refuted),
        (dict(at_least=high + 1e-6), Verdict.refuted),
    ]:
        found = experiment(measure=values(1.0, 2.0), **target, **given).test(trial)
        assert found.verdict == verdict, target
        np.testing.assert_allclose(found.measured.interval, [low, high], rtol=1e-9)

"""What an interval can tell apart, by hand."""

import pytest

from theorykit.checks import alternative, experiment
from theorykit.checks._base import ClaimError
from theorykit.checks._targets import nearest_that_falls, refuse_disjoint
from theorykit.results import Verdict


@pytest.mark.parametrize(
    ("band", "verdict"),
    [
        ((4.5, 9.0), Verdict.holds),  # the interval would be [2, 5]
        ((5.0, 9.0), Verdict.holds),  # they meet
        ((5.1, 9.0), Verdict.refuted),
        ((-9.0, 2.5), Verdict.holds),
        ((-9.0, 2.0), Verdict.holds),
        ((-9.0, 1.9), Verdict.refuted),
    ],
)
def test_an_alternative_has_the_width_of_the_interval(band, verdict):
    """Estimate 1 in [0, 3]: 1 below and 2 above."""
    found = alternative(3.0).judged(1.0, (0.0, 3.0), band)
    assert found.verdict == verdict
    assert found.note == "At 3 the interval would be [2, 5]."


@pytest.mark.parametrize(
    ("band", "distance"),
    [((0.0, 1.0), 3.0), ((0.0, 9.0), 5.0), ((1.0, 2.5), 4.0), ((6.0, 9.0), 0.0), ((0, 1.5), 3.5)],
)
def test_how_far_a_band_has_to_move(band, distance):
    """From the interval [-2, 5], to either side."""
    assert nearest_that_falls((-2.0, 5.0), band) == distance


def measure(key, progress):
    return [1.0, 2.0]


@pytest.mark.parametrize(
    ("own", "other", "refused"),
    [
        ((0.0, 1.0), (2.0, 3.0), True),
        ((0.0, 1.0), (1.0, 3.0), True),
        ((0.0, 1.0), (0.9, 3.0), False),
        ((2.0, 3.0), (0.0, 1.0), True),
        ((2.0, 3.0), (0.0, 2.0), True),
        ((2.0, 3.0), (0.0, 2.1), False),
        ((2.0, 2.0), (2.0, 2.0), False),  # the same
    ],
)
def test_a_disjoint_target_of_the_same_measure_is_refused(own, other, refused):
    claim = experiment(measure=measure, at_most=3.0, control=alternative(9.0))
    same, another = (
        claim,
        experiment(
            measure=lambda key, progress: measure(key, progress),
            at_most=3.0,
            control=alternative(9.0),
        ),
    )
    refuse_disjoint(claim, another, own, other, ("measure",))
    if refused:
        with pytest.raises(ClaimError, match=r"no .* could satisfy both"):
            refuse_disjoint(claim, same, own, other, ("measure",))
    else:
        refuse_disjoint(claim, same, own, other, ("measure",))

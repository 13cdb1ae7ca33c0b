"""What a claim's verdict is, of its check's outcome, its control's and its resolution."""

import pytest

from theorykit.checks import exhaustive
from theorykit.claims import _claim, claim
from theorykit.claims._attempt import Attempt
from theorykit.results import (
    Certificate,
    Evidence,
    Outcome,
    Resolution,
    Scope,
    Unit,
    Verdict,
)

FINE, POOR = Resolution(Unit.factor, 2.0), Resolution(Unit.factor, 2e3, poor="It is too coarse.")
FALLEN, STANDING = (Outcome(v, Evidence.sampled, 1, "") for v in ("refuted", "holds"))


def outcome(verdict, scope=None):
    certificate = None if scope is None else Certificate("how", scope=scope)
    return Outcome(Verdict(verdict), Evidence.certified, 3, "A note.", certificate=certificate)


@pytest.mark.parametrize(
    ("verdict", "scope", "fallen", "resolution", "found", "says"),
    [
        ("holds", None, FALLEN, FINE, "holds", "A note."),
        ("holds", None, FALLEN, None, "holds", "A note."),
        ("holds", None, FALLEN, POOR, "inconclusive", "It is too coarse. A note."),
        ("holds", Scope.part, FALLEN, POOR, "inconclusive", "It is too coarse. A note."),
        ("holds", Scope.sizes, FALLEN, POOR, "inconclusive", "It is too coarse. A note."),
        ("holds", Scope.whole, FALLEN, POOR, "holds", "A note."),
        ("holds", Scope.whole, STANDING, FINE, "inconclusive", "The control was not refuted"),
        ("holds", None, STANDING, POOR, "inconclusive", "The control was not refuted (holds)"),
        ("holds", None, None, FINE, "inconclusive", "There is no control"),
        ("refuted", None, None, POOR, "refuted", "A note."),
        ("inconclusive", None, FALLEN, FINE, "inconclusive", "A note."),
    ],
)
def test_a_verdict_is_weighed(verdict, scope, fallen, resolution, found, says):
    attempt = Attempt(outcome(verdict, scope), fallen, resolution=resolution)
    weighed, note = attempt.weighed()
    assert weighed == found
    assert note.startswith(says)
    assert note.endswith("A note.")
    assert attempt.resolved().resolution == (resolution if verdict == "holds" else None)


@pytest.mark.parametrize(("verdict", "found"), [("holds", "error"), ("refuted", "refuted")])
def test_a_control_that_cannot_be_tried_is_an_error_of_what_holds(verdict, found):
    attempt = Attempt(outcome(verdict), failed="It is no function")
    says = "The control could not be tried: It is no function. A note."
    assert attempt.weighed() == (found, says)


def test_the_seed_is_0_if_none_is_given(registry, monkeypatch):
    @claim("mine.small", ref="1", statement="n < 3")
    def small():
        """Words."""
        return exhaustive(predicate=lambda n: n < 3, universe=range(3))

    seeds, real = [], _claim.attempt

    def watched(id, build, place, seed, *rest):
        seeds.append(seed)
        return real(id, build, place, seed, *rest)

    monkeypatch.setattr(_claim, "attempt", watched)
    small.run()
    small.run(7)
    assert seeds == [0, 7]

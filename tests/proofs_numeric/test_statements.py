"""Every shipped claim is whole: what a run of the fast tier does not show."""

import pytest

from theorykit.claims import float64, select
from theorykit.results import Verdict

CLAIMS = {c.id: c for c in select()}


@pytest.mark.parametrize("id", [id for id, claim in CLAIMS.items() if claim.tier == "slow"])
def test_a_slow_claim_can_be_built(id):
    with float64():
        check = CLAIMS[id].build()
        check.controlled()  # which refuses a control that is none
        assert check.control is not None


def test_what_is_repaired_is_there():
    repairs = {id: claim.repairs for id, claim in CLAIMS.items() if claim.repairs}
    assert set(repairs.values()) <= set(CLAIMS)
    # A repair that is named after its claim is of one that fails as printed.
    named = [printed for id, printed in repairs.items() if id == f"{printed}.repaired"]
    assert len(named) > 50
    assert [id for id in named if CLAIMS[id].expect != Verdict.refuted] == []


def test_words_say_what_the_control_is():
    silent = [id for id, claim in CLAIMS.items() if "Control:" not in claim.words]
    assert [id for id in silent if CLAIMS[id].paper in ("limit", "quantitative")] == []

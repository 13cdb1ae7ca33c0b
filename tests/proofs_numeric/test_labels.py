"""Every refutation says what falls and what follows, and has a repair or says why not."""

import pytest

from theorykit.claims import select
from theorykit.results import Verdict

CLAIMS = select(tier="all")
REFUTED = [c for c in CLAIMS if c.expect == Verdict.refuted]
IDS = {c.id for c in CLAIMS}
REPAIRED = {c.repairs for c in CLAIMS if c.repairs}


@pytest.mark.parametrize("claim", REFUTED, ids=lambda c: c.id)
def test_a_refutation_says_what_falls_and_what_follows(claim):
    assert claim.falls is not None
    assert claim.consequence.endswith(".")
    assert 20 < len(claim.consequence) < 400


@pytest.mark.parametrize("claim", REFUTED, ids=lambda c: c.id)
def test_a_refutation_has_a_repair_or_says_why_not(claim):
    assert (claim.id in REPAIRED) != bool(claim.unrepaired)


def test_what_is_repaired_is_a_claim_that_falls_or_is_bettered():
    assert REPAIRED <= IDS

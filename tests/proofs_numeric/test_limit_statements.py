"""The limit paper's claims: repairs have their printed claims, and checks can be built."""

import pytest

from theorykit.claims import float64, select
from theorykit.results import Verdict

CLAIMS = {c.id: c for c in select(["limit.*"])}


@pytest.mark.parametrize("id", CLAIMS)
def test_statements_are_whole(id):
    claim = CLAIMS[id]
    with float64():
        assert claim.build().controlled() is not None
    assert "Control:" in claim.words
    if id.endswith(".repaired"):
        assert CLAIMS[id.removesuffix(".repaired")].expect == Verdict.refuted

"""The claims about the construction that are exact, and what breaks them."""

import pytest

from theorykit.claims import select

EXACT = [
    "sharper.fourier*",
    "sharper.9.*",
    "sharper.10.bias*",
    "sharper.construction.log_scale*",
    "sharper.D.rescaling",
    "sharper.16.cot",
    "sharper.16.cot.norm",
    "sharper.H.low_degree.blocks*",
]
ROWS = (
    "fourier construction 9.lookup 10.norm 13.trace 14.gradients 15.softmax 29.jacobian "
    "D.rescaling 16.cot H.low_degree H.sparsity"
)


@pytest.mark.parametrize("pattern", EXACT)
def test_exact_claims_are_certified_as_recorded(pattern):
    for claim in select([pattern]):
        result = claim.run()
        assert result.verdict == claim.expect, result.note
        assert result.control == "refuted"
        assert result.outcome.evidence.name == "certified", claim.id


def test_every_row_of_the_ledger_has_a_claim():
    assert {f"sharper.{row}" for row in ROWS.split()} <= {c.id for c in select(["sharper.*"])}


def test_a_wrong_lookup_is_found(monkeypatch):
    from theorykit.subjects.boolean import _lookup

    right = _lookup.slopes
    monkeypatch.setattr(_lookup, "slopes", lambda d: [-w for w in right(d)])
    assert select(["sharper.9.lookup"])[0].run().verdict == "refuted"
    assert select(["sharper.16.cot"])[0].run().verdict == "refuted"

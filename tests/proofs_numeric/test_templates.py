"""The template paper's claims that are exact, and what breaks the tools that they rest on."""

import pytest

from theorykit.claims import select

EXACT = [
    "templates.counts*",
    "templates.match*",
    "templates.disjoint",
    "templates.E2",
    "templates.F1.table",
    "templates.F2.*",
    "templates.J2.limit*",
    "templates.N",
    "templates.N.mlp",
    "templates.D2.hoeffding.repaired",
    "templates.G1.series",
    "templates.G1.bound",
]


ROWS = (
    "match data disjoint diversity kernel psd 3.1.ridge token_symmetry N E2 E1.invertible "
    "F1.nondegenerate F1.table F2.1 F2.2 F2.4 F3.stages G.types.sum G1.representation G9 D3.block "
    "D5.difference D2.ideal 3.4.generalises D6.condition I7.mlp I2.mlp_fails J.ntk_blocks "
    "J2.copy_fails J3.copy_works counts fig2 fig3 fig5 B.tasks gpt2"
)


@pytest.mark.parametrize("pattern", EXACT)
def test_exact_claims_are_certified_as_recorded(pattern):
    for claim in select([pattern]):
        result = claim.run()
        assert result.verdict == claim.expect, result.note
        assert result.control == "refuted"
        assert result.outcome.evidence.name == "certified", claim.id


def test_every_row_of_the_ledger_has_a_claim():
    known = {c.id for c in select(["templates.*"])}
    assert {f"templates.{row}" for row in ROWS.split()} <= known


def test_a_wrong_coefficient_is_found(monkeypatch):
    from theorykit.proofs_numeric.templates import taylor

    right = taylor.template_expansion

    def wrong(beta, gamma):
        return {
            m: {p: 2 * c for p, c in powers.items()} for m, powers in right(beta, gamma).items()
        }

    monkeypatch.setattr(taylor, "template_expansion", wrong)
    assert taylor.table.run().verdict == "refuted"

"""The template paper's claims that are exact: what breaks the tools that they rest on."""


def test_a_wrong_coefficient_is_found(monkeypatch):
    from theorykit.proofs_numeric.templates import taylor

    right = taylor.template_expansion

    def wrong(beta, gamma):
        return {
            m: {p: 2 * c for p, c in powers.items()} for m, powers in right(beta, gamma).items()
        }

    monkeypatch.setattr(taylor, "template_expansion", wrong)
    assert taylor.table.run().verdict == "refuted"

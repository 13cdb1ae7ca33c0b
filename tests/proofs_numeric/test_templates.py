"""The template paper's claims: what breaks the tools that they rest on is found by them."""


def test_a_wrong_coefficient_is_found(monkeypatch):
    from theorykit.proofs_numeric.templates import taylor

    right = taylor.template_expansion

    def wrong(beta, gamma):
        return {
            m: {p: 2 * c for p, c in powers.items()} for m, powers in right(beta, gamma).items()
        }

    monkeypatch.setattr(taylor, "template_expansion", wrong)
    assert taylor.table.run().verdict == "refuted"


def test_a_derivative_that_tells_nothing_is_found(monkeypatch):
    from theorykit.proofs_numeric.templates import stages

    monkeypatch.setattr(stages, "derivative", lambda number, x, y: 0)
    assert stages.stages.run().verdict == "refuted"


def test_a_wrong_sign_of_b_is_found(monkeypatch):
    from theorykit.proofs_numeric.templates import one_token

    right = one_token.nets.Transformer
    a, b = 0.3, -0.4
    wrong = lambda **options: right(**(options | dict(scalars=(a, b))))
    monkeypatch.setattr(one_token.nets, "Transformer", wrong)
    assert one_token.network_of_one_token.run().verdict == "refuted"


def test_a_wrong_phase_is_found(monkeypatch):
    from theorykit.proofs_numeric.templates import cosine

    right = cosine.Cos
    monkeypatch.setattr(cosine, "Cos", lambda k, c: right(k, c + 0.01))
    assert cosine.determinant_repaired.run().verdict == "refuted"


def test_a_ridge_that_is_counted_twice_is_found(monkeypatch):
    from theorykit.proofs_numeric.templates import kernel

    right = kernel.ridge
    twice = lambda k, y, test, ridge: right(k, y, test, ridge=2 * ridge)
    monkeypatch.setattr(kernel, "ridge", twice)
    assert kernel.ridge_flow.run().verdict == "refuted"


def test_ties_that_count_as_a_majority_are_found(monkeypatch):
    from theorykit.proofs_numeric.templates import definitions

    ties = [(z, 1 if z.count("α") > 1 else -1) for z in ("ααα", "ααβ", "αβα", "αββ")]
    monkeypatch.setattr(definitions, "labelled", lambda: ties)
    assert definitions.majority_labels_repaired.run().verdict == "refuted"

"""What is exported, and what is refused, in text: Rocq is asked in test_rocq.py."""

import pytest

from theorykit.claims import one, select
from theorykit.cli import main
from theorykit.export import NotExportable, check, export, export_all, kind, summary, write


def theorem(script):
    """Return the definitions and the theorem of a script, without what all scripts begin with."""
    text = script.text
    return text[text.rindex("\n\nDefinition lhs") :].strip() if "lhs" in text else text


def test_an_identity_is_stated_for_all_reals(claims):
    assert theorem(export(claims["square"])) == (
        "Definition lhs (x y : R) : R :=\n"
        "  (x + y) ^ 2.\n\n"
        "Definition rhs (x y : R) : R :=\n"
        "  x ^ 2 + 2 * x * y + y ^ 2.\n\n"
        "Theorem claim :\n"
        "  forall x y : R, lhs x y = rhs x y.\n"
        "Proof. intros. unfold lhs, rhs. cbv zeta. by_ring. Qed.\n\n"
        "Print Assumptions claim."
    )


def test_the_control_is_stated_in_the_same_way(claims):
    made, false = export(claims["square"]).text, export(claims["square"], control=True).text
    assert "x ^ 2 + x * y + y ^ 2." in false
    assert (
        false.replace("The control of ", "").replace("x ^ 2 + x * y", "x ^ 2 + 2 * x * y") == made
    )


def test_a_comment_is_neither_ended_nor_turned_into_a_string(claims):
    comment = export(claims["square"]).text.partition("From Coq")[0]
    assert comment.count("(*") == comment.count("*)") == 1
    assert '"' not in comment


def test_sizes_that_are_not_proved_are_named(claims):
    made = export(claims["vector"])
    assert "At n = 2; n = 3; the claim's other sizes (n = 4) are not proved here." in made.about
    assert "Theorem claim_n2 :" in made.text
    assert "Theorem claim_n3 :" in made.text
    assert "claim_n4" not in made.text


def test_a_float_is_the_number_that_it_is_and_r_is_no_variable(claims):
    text = export(claims["vector"]).text
    assert "3602879701896397 / 36028797018963968" in text
    assert "(x_0 x_1 R' : R)" in text


def test_a_box_has_its_ends_and_says_that_there_is_nothing_outside(claims):
    made = export(claims["box"])
    assert "- 1 <= x <= 1 ->\n  - 1 <= y <= 1 ->\n  lhs x y <= rhs x y." in made.text
    assert "Definition rhs (x y : R) : R :=\n  Rmax x y + 1." in made.text
    assert "outside of it nothing is proved" in made.about


def test_an_inequality_for_all_values_has_the_steps_of_its_proof(claims):
    made = export(claims["means"])
    text = theorem(made)
    assert "The theorem: the inequality holds for all values of the variables." in made.about
    assert (
        "Theorem claim :\n  forall x y : R,\n  0 < x ->\n  1 <= y <= 5 ->\n  lhs x y <= rhs x y."
    ) in text
    assert "destruct (named (sqrt (y))) as [s1 S1]." in text
    assert "(s1_square : s1 * s1 = y)" in text
    assert "apply without_root" in text
    assert text.count("Qed.") == 1
    assert "admit" not in text.lower()


def test_a_shift_by_the_maximum_cancels_and_squares_are_handed_over(claims):
    text = export(claims["weights"]).text
    assert "Theorem claim_T2 :" in text
    assert "Theorem claim_T3 :" in text
    assert "destruct (named (exp (S_0))) as [e1 E1]." in text
    motzkin = theorem(export(claims["motzkin"]))
    assert "apply (times (x ^ 2 + y ^ 2 + 1)" in motzkin
    false = theorem(export(claims["motzkin"], control=True))
    assert "4 * x ^ 2 * y ^ 2" in false
    assert "apply (times" not in false  # there is no such proof, and Rocq has to find that out


def test_a_tangent_is_stated_as_it_is_claimed_and_taken_at_one_point(claims):
    text = theorem(export(claims["grows"]))
    assert "Definition lhs (x : R) : R :=\n  1 + x." in text
    assert "Definition rhs (x : R) : R :=\n  exp x." in text
    assert "Theorem claim :\n  forall x : R,\n  lhs x <= rhs x." in text
    assert "0 <= e1 - 1 - (x)).\n  { apply tangent." in text
    assert "apply tangent" not in theorem(export(claims["grows"], control=True))
    log = theorem(export(claims["slowly"]))
    assert "0 <= (1) / ((x)) - 1 - (- (l1)))" in log or "0 <= x - 1 - (l1))" in log
    assert "(l1_exp : exp l1 = x)" in log


def test_a_choice_that_is_not_taken_leaves_no_trace(claims):
    assert "lhs (x_0 x_1 x_2 : R) : R :=\n  let t1 := (x_0 + x_1 + x_2) / 3 in" in theorem(
        export(claims["spread"])
    )


def test_a_finite_check_lists_its_members(claims):
    text = export(claims["pairs"]).text
    assert (
        "Definition predicate '((m_0, m_1) : (Z * Q)) : bool :=\n"
        "  (2 * min_of_Q (inject_Z m_0) m_1 <=? inject_Z m_0 + m_1)%Q.\n\n"
        "Definition universe : list (Z * Q) :=\n  [((-1), 0%Q);\n   ((-1), (1 # 2)%Q);"
    ) in text
    assert "Theorem claim : forall m, In m universe -> predicate m = true." in text
    assert export(claims["pairs"], control=True).text.count("(3 * min_of_Q") == 1


def test_a_refuted_predicate_is_stated_at_its_member(claims):
    text = export(claims["fails"]).text
    assert "Definition predicate (n : Z) : bool :=\n  n * n <=? 8." in text
    assert "Definition member : Z :=\n  3.\n\nTheorem refuted : predicate member = false." in text


def test_a_refuted_inequality_is_stated_at_its_witness(claims):
    made = export(claims["falls"])
    assert "Theorem refuted : ~ lhs (" in made.text
    assert "fails at the witness" in made.about
    assert "Theorem refuted : lhs (" in export(claims["falls"], control=True).text


def test_what_would_be_long_is_enclosed_name_by_name(claims):
    text = theorem(export(claims["orbit"]))
    assert "clearbody t12 t11 " in text or "clearbody t11 t10 " in text
    assert text.count("\nenclose T") == text.count(") by reflexivity.") > 5
    assert "enclose" not in theorem(export(claims["falls"]))


def test_of_several_entries_the_one_that_fails_is_stated(claims):
    made = export(claims["differs"])
    assert (
        "Definition lhs (x : R) : R :=\n  sqrt (x * x)." in made.text or "sqrt (x ^ 2)" in made.text
    )
    assert "it is number 2" in made.about
    assert "<> rhs" in made.text


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "searched",
            "mine.searched cannot be exported: it is not proved; its evidence is searched",
        ),
        ("built", "it is a construction without a proof"),
        ("unproved", "it is not proved; its evidence is searched. Not proved for x in"),
        ("rounds", "it is not proved; its evidence is exhaustive. Not certified:"),
    ],
)
def test_what_is_not_proved_is_refused_in_a_sentence(claims, name, said):
    with pytest.raises(NotExportable) as refused:
        export(claims[name])
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_an_unknown_id_and_what_is_no_claim_are_refused():
    with pytest.raises(ValueError, match="no claim has the id"):
        export("mine.nothing")
    with pytest.raises(ValueError, match="claim is an id"):
        export(3)


@pytest.mark.parametrize("wrong", [None, float("nan"), "", [], 3.5, -1, {}, b"x", object()])
def test_arguments_of_another_kind_are_refused_in_a_sentence(claims, tmp_path, wrong):
    script = tmp_path / "script.v"
    script.write_text("")
    made = export(claims["square"])
    calls = [
        lambda: export(wrong),
        lambda: export(claims["square"], control=wrong),
        lambda: write(wrong, tmp_path),
        lambda: write(made, wrong),
        lambda: check(wrong),
        lambda: check(script, timeout=wrong if wrong != 3.5 else 0),
        lambda: check(script, memory=wrong if wrong != 3.5 else 0),
        lambda: export_all([wrong], tmp_path),
        lambda: export_all([], wrong),
        lambda: export_all([], tmp_path, checked=wrong),
        lambda: summary([wrong]),
        lambda: kind(wrong),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"\w") as refused:
            call()
        assert "\n" not in str(refused.value)


def test_a_folder_that_is_a_file_is_refused(claims, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="is a file; name a folder"):
        write(export(claims["square"]), tmp_path / "file")
    with pytest.raises(ValueError, match="is a file; name a folder"):
        export_all([claims["square"]], tmp_path / "file")


def test_coqc_that_is_not_installed_is_named(claims, tmp_path, monkeypatch):
    file = write(export(claims["square"]), tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ValueError, match="coqc is not installed"):
        check(file)
    with pytest.raises(ValueError, match="no script"):
        check(tmp_path / "none.v")


def test_a_table_counts_by_kind_and_by_reason(claims, tmp_path):
    rows = export_all(claims.values(), tmp_path)
    found = {(r["state"], r["what"]): r["claims"] for r in summary(rows)}
    assert found["written", "an identity, by ring"] == 2
    assert found["not exportable", "not proved: inequality"] == 2
    assert sum(found.values()) == len(claims)
    assert {p.suffix for p in tmp_path.iterdir()} == {".v"}


def run(*arguments):
    """Return the exit code of the command line."""
    import sys
    from unittest import mock

    with (
        mock.patch("sys.argv", ["theorykit", *map(str, arguments)]),
        mock.patch("os._exit") as left,
    ):
        main()
    sys.stdout.flush()
    return left.call_args[0][0]


def test_the_command_writes_one_or_says_why_not(claims_file, tmp_path, capsys):
    out = tmp_path / "scripts"
    assert run("export", claims_file, "mine.square", "--rocq", out) == 0
    assert (out / "mine_square.v").read_text().startswith("(* mine.square. Lemma 1.")
    assert run("export", claims_file, "mine.searched", "--rocq", out) == 2
    assert "mine.searched cannot be exported" in capsys.readouterr().err
    assert run("export", claims_file, "mine.square") == 2
    assert "--rocq DIR" in capsys.readouterr().err


def test_a_control_that_is_true_on_the_box_is_not_exported(claims):
    with pytest.raises(NotExportable, match="true where the claim is proved"):
        export(claims["weak"], control=True)


@pytest.mark.slow
def test_a_shipped_claim_is_found_by_its_id():
    made = export("sharper.29.jacobian")
    assert made.name == "sharper_29_jacobian"
    assert "T = 16) are not proved" in made.about
    assert one("sharper.29.jacobian") in select("sharper.29.*")

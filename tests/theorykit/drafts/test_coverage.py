"""Which statements have claims, and which have changed since."""

import pytest

from theorykit import papers
from theorykit.checks import exhaustive
from theorykit.claims import claim
from theorykit.drafts import Stated, coverage, of_paper
from theorykit.drafts._coverage import refers
from theorykit.papers import Paper

DRAFT = r"""\newtheorem{lemma}{Lemma}
\begin{document}
\begin{lemma}\label{lem:a} x \le %s
\end{lemma}
\begin{lemma} y \end{lemma}
\begin{equation} z \end{equation}
\end{document}
"""


def write(path, bound="1"):
    path.write_text(DRAFT % bound)
    return path


def make(id, ref, statement="s"):
    return claim(id, ref=ref, statement=statement)(
        lambda: exhaustive(predicate=lambda n: n < 3, universe=range(3))
    )


@pytest.fixture
def claims(registry):
    return [make("d.a", "Lemma 1"), make("d.b", "lem:a, eq. (1)"), make("d.c", "Lemma 9")]


def test_claims_stand_beside_what_their_reference_names(tmp_path, claims):
    found = coverage(write(tmp_path / "d.tex"), claims)
    assert [(e.stated.name, [c.id for c in e.claims]) for e in found.entries] == [
        ("Lemma 1", ["d.a", "d.b"]),
        ("Lemma 2", []),
        ("(1)", ["d.b"]),
    ]
    assert found.summary() == (
        "1 of 2 statements and 1 of 1 equations have claims; d.c refers to nothing in the draft."
    )


def test_a_text_that_changed_is_seen_until_the_claim_is_written_anew_or_it_is_accepted(
    tmp_path, claims
):
    record = tmp_path / "record.json"
    moved = lambda bound, claims=claims, **options: [
        c.id
        for e in coverage(write(tmp_path / "d.tex", bound), claims, record, **options).entries
        for c in e.moved
    ]
    assert moved("1") == []
    assert moved("1 % a comment") == []
    assert moved("2") == ["d.a", "d.b"]
    assert moved("2") == ["d.a", "d.b"]  # still
    anew = [make("d.a", "Lemma 1", "another"), *claims[1:]]
    assert moved("2", anew) == ["d.b"]
    assert moved("2", anew, accept=True) == []
    assert moved("2", anew) == []
    assert moved("1", anew) == ["d.a", "d.b"]


def test_a_file_that_is_no_record_stays_as_it_is(tmp_path, claims):
    other = tmp_path / "other.json"
    other.write_text("[1]")
    with pytest.raises(ValueError, match="is not a record of `theorykit coverage`"):
        coverage(write(tmp_path / "d.tex"), claims, other)
    assert other.read_text() == "[1]"


@pytest.mark.parametrize(
    ("ref", "kind", "number", "label", "named"),
    [
        ("Lemma E.1, eq. (26)", "Lemma", "E.1", "", True),
        ("Lemma E.1, eq. (26)", "Equation", "26", "", True),
        ("Lemma E.1, eq. (26)", "Equation", "2", "", False),
        ("Lemma E.1", "Lemma", "E.10", "", False),
        ("Lemma 11", "Lemma", "1", "", False),
        ("Theorem 4.2 (i)", "Theorem", "4.2", "", True),
        ("Theorem 4.2", "Lemma", "4.2", "", False),
        ("Lemmas 3 and 4", "Lemma", "4", "", True),
        ("Corollaries 3, 5", "Corollary", "5", "", True),
        ("eqs. (6)-(8)", "Equation", "7", "", True),
        ("Thm. 2", "Theorem", "2", "", True),
        ("App. A.3", "Lemma", "A.3", "", False),
        ("see lem:a", "Lemma", "1", "lem:a", True),
        ("see lem:ab", "Lemma", "1", "lem:a", False),
        ("", "Lemma", "1", "", False),
    ],
)
def test_references(ref, kind, number, label, named):
    assert refers(ref, Stated(kind, number, label, "", "d.tex", 1)) is named


def test_a_paper_lists_its_own_statements(claims):
    stated = ("Lemma 1", "Definition 2", "Theorem A.3", "Corollary 4 = Lemma 1", "Lemma 9")
    paper = Paper(id="d", title="D", authors=("Noether",), statements=stated)
    found = of_paper(paper, claims)
    assert [(e.stated.name, [c.id for c in e.claims]) for e in found.entries] == [
        ("Lemma 1", ["d.a"]),
        ("Definition 2", []),
        ("Theorem A.3", []),
        ("Corollary 4", ["d.a"]),
        ("Lemma 9", ["d.c"]),
    ]
    assert found.summary() == "3 of 5 statements have claims."


@pytest.mark.parametrize("name", [p.id for p in papers.known() if p.is_shipped])
def test_shipped_papers_list_each_statement_once(name):
    (paper,) = (p for p in papers.known() if p.id == name)
    names = [said.partition(" = ")[0] for said in paper.statements]
    assert names
    assert len(set(names)) == len(names)
    assert {said.partition(" = ")[2] for said in paper.statements} - {""} <= set(names)

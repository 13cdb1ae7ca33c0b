"""The pages of verdicts are the claims, in order, beside what the recorded run found of them."""

import importlib.util
from pathlib import Path

import pytest

from theorykit import papers
from theorykit.claims import in_order, installed

FILE = Path(__file__).parents[2] / "docs" / "_ext" / "verdicts.py"
PAPERS = [paper.id for paper in papers.known() if paper.is_shipped]
AGAIN = "run `theorykit verify --run RUN` and `python docs/_ext/verdicts.py RUN`"


@pytest.fixture(scope="module")
def verdicts():
    spec = importlib.util.spec_from_file_location("verdicts", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_recorded_run_is_of_the_claims_as_they_are(verdicts):
    fast = [c for c in installed() if c.paper in PAPERS and c.tier == "fast"]
    known = [(c, verdicts.read()["claims"].get(c.id)) for c in fast]
    same = [(c, one) for c, one in known if one and one["statement"] == c.statement]
    assert len(same) > 0.95 * len(fast), AGAIN
    assert [c.id for c, one in same if one["verdict"] != c.expect] == [], AGAIN
    assert all(one["evidence"] for _, one in same)


@pytest.mark.parametrize("name", PAPERS)
def test_a_page_has_each_claim_once_in_the_paper_s_order(verdicts, name):
    own = [c for c in installed() if c.paper == name]
    of = verdicts.statements(name)
    assert [one.claim for one in of] == sorted((one.claim for one in of), key=in_order)
    assert sorted([c.id for one in of for c in (one.claim, *(r.claim for r in one.repairs))]) == (
        sorted(c.id for c in own)
    )
    assert sum(len(part) for _, part in verdicts.sections(of)) == len(of)
    titles = [title for title, _ in verdicts.sections(of)]
    assert len(set(titles)) == len(titles)

    (paper,) = (p for p in papers.known() if p.id == name)
    page = verdicts.page(paper)
    for one in of:
        assert page.count(f"\n({one.anchor})=\n") == 1
        assert page.count(f"](#{one.anchor})") == one.fell
        if one.fell:
            assert one.claim.consequence
            assert verdicts.plain(one.claim.consequence) in page
            assert one.repairs or verdicts.plain(one.claim.unrepaired) in page


def test_a_result_of_another_statement_is_not_shown(verdicts, monkeypatch):
    shown = lambda: {one.claim.id: one.grade for one in verdicts.statements("capture")}
    assert shown()["capture.eq11.rkhs_bound"] == "certified"
    claims = verdicts.read()["claims"]
    other = claims["capture.eq11.rkhs_bound"] | {"statement": "1 = 2"}
    monkeypatch.setitem(claims, "capture.eq11.rkhs_bound", other)
    assert shown()["capture.eq11.rkhs_bound"] == "as recorded; fast tier"


def test_the_table_of_evidence_counts_what_holds(verdicts):
    rows = [line.split("|")[1:3] for line in verdicts.evidence().splitlines()[2:]]
    found = [one for one in verdicts.read()["claims"].values() if one["verdict"] == "holds"]
    assert sum(int(count) for _, count in rows) == len(found)
    guide = (FILE.parents[1] / "certify.md").read_text()
    assert len(verdicts.MARK.findall(guide)) == 1


def test_a_file_keeps_its_front_matter_and_gets_its_page(verdicts):
    file = FILE.parents[1] / "referee" / "sharper.md"
    source = [file.read_text()]
    verdicts.fill(None, "referee/sharper", source)
    assert source[0].startswith("---\npaper: sharper\n---\n\n# Verdicts: Lintilhac and Shaikh\n")
    assert "make docs" not in source[0]
    guide = [(FILE.parents[1] / "certify.md").read_text()]
    verdicts.fill(None, "certify", guide)
    assert "<!--" not in guide[0]
    assert verdicts.evidence() in guide[0]

"""Papers: what one says of itself, where they are found, and what a broken one costs."""

import importlib.metadata
import warnings

import pytest

from theorykit import Paper, papers
from theorykit.claims import installed
from theorykit.papers import PaperWarning

MINE = dict(id="mine", title="On a lemma", authors=("Noether",))

DECLARED = """
from theorykit import Paper
PAPER = Paper(id="{id}", title="On a lemma", authors=("Noether",))
"""

LEMMA = """
from theorykit import claim
from theorykit.checks import exhaustive

@claim("{id}.lemma")
def lemma():
    return exhaustive(predicate=lambda n: n < 3, universe=range(3), control=dict(universe=range(4)))
"""


@pytest.fixture
def distribution(tmp_path, monkeypatch):
    """Let papers be installed: call with the value of an entry point, and texts by their paths."""
    entries = []
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: entries)
    papers.known.cache_clear()

    def install(value, files):
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text)
        entries.append(importlib.metadata.EntryPoint("its_entry", value, papers.GROUP))

    yield install
    papers.known.cache_clear()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (dict(id="My.Paper"), "a lower-case name without dots"),
        (dict(title=""), "the paper mine has no title"),
        (dict(authors="Noether"), "a tuple of names"),
        (dict(authors=()), "a tuple of names"),
        (dict(statements="Lemma 1"), "are a tuple"),
        (dict(statements=("Lemma 1", "lemma two")), "a kind and a number"),
    ],
)
def test_a_paper_without_its_facts_is_refused(wrong, words):
    with pytest.raises(ValueError, match=words):
        Paper(**MINE | wrong)


def test_a_paper_is_cited():
    by = lambda *names, **more: Paper(**MINE | dict(authors=names) | more).reference
    assert by("A") == "A"
    assert by("A", "B", published="ICLR 2024") == "A and B, ICLR 2024"
    assert by("A", "B", "C", identifier="arXiv 1") == "A, B and C, arXiv 1"
    assert by("A", "B", "C", "D", published="2025", identifier="doi") == "A et al., 2025, doi"


def test_every_shipped_package_declares_its_paper():
    shipped = [p for p in papers.known() if p.is_shipped]
    assert len(shipped) >= 5
    for paper in shipped:
        assert paper.claims == f"theorykit.proofs_numeric.{paper.id}"
        assert papers.holder(paper.claims + ".some.module") == paper
    assert papers.holder("theorykit.proofs_numeric_of_another") is None
    assert papers.holder("my_claims") is None


def test_an_installed_paper_is_known_by_its_entry_point(distribution):
    distribution("noether_a:PAPER", {"noether_a/__init__.py": DECLARED.format(id="mine")})
    distribution("noether_b.facts:PAPER", {"noether_b/facts.py": DECLARED.format(id="other")})
    distribution("noether_c:PAPER", {"noether_c.py": DECLARED.format(id="third")})
    found = {p.id: p.claims for p in papers.known() if not p.is_shipped}
    assert found == {"mine": "noether_a", "other": "noether_b", "third": "noether_c"}


@pytest.mark.parametrize(
    ("module", "text", "words"),
    [
        ("broken_a", "import nowhere", r"No module named 'nowhere' \(broken_a\.py:1\)"),
        ("broken_b", "1", "AttributeError: module 'broken_b' has no attribute 'PAPER'"),
        ("broken_c", "PAPER = 'x'", "broken_c:PAPER is a str, not a Paper"),
        ("broken_d", DECLARED.format(id="capture"), "the id capture is that of the paper in theor"),
        ("broken_e", "raise SystemExit(3)", "SystemExit: 3"),
    ],
)
def test_a_broken_paper_costs_one_sentence(distribution, module, text, words):
    distribution(f"{module}:PAPER", {f"{module}.py": text})
    distribution("sound:PAPER", {"sound.py": DECLARED.format(id="sound")})
    with pytest.warns(PaperWarning, match=f"^the paper its_entry is left out: .*{words}") as caught:
        known = papers.known()
    assert len(caught) == 1
    assert [p.id for p in known if not p.is_shipped] == ["sound"]


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"a.py": LEMMA.format(id="mine"), "b.py": "1 / 0"}, r"ZeroDivisionError.*\(b\.py:1\)"),
        (
            {"a.py": LEMMA.format(id="yours")},
            r"the id of its claim yours\.lemma does not begin with mine",
        ),
    ],
)
def test_a_paper_that_is_not_whole_is_left_out(distribution, registry, files, words):
    package = f"noether_{len(files)}"
    texts = {"__init__.py": DECLARED.format(id="mine")} | files
    distribution(f"{package}:PAPER", {f"{package}/{name}": text for name, text in texts.items()})
    with pytest.warns(PaperWarning, match=f"the paper mine is left out: .*{words}"):
        claims = installed(["mine.*"])
    assert claims == []
    assert registry


def test_experiments_and_programs_are_not_imported_with_the_claims(distribution, registry):
    files = {
        "__init__.py": DECLARED.format(id="mine")[:-2] + ', experiments="noether_k.runs")',
        "a.py": LEMMA.format(id="mine"),
        "__main__.py": "1 / 0",
        "runs.py": "1 / 0",
    }
    distribution("noether_k:PAPER", {f"noether_k/{name}": text for name, text in files.items()})
    with warnings.catch_warnings():
        warnings.simplefilter("error", PaperWarning)
        assert [c.id for c in installed(["mine.*"])] == ["mine.lemma"]

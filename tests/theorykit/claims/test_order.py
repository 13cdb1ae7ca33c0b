"""The order of a paper, and the ids that a shell completes."""

import pytest

from theorykit.claims import in_order, known_ids
from theorykit.claims._registry import claim

REFS = [
    "Sec. 3.1",
    "Definition 3.2",
    "Theorem 4.1",
    "Sec. 4.4, App. E.3",
    "Fig. 1, Sec. 6",
    "Sec. 10",
    "Lemma 9, eq. (3)",
    "Theorem 27",
    "App. A.2",
    "Lemma A.10, proof",
    "Appendix B, Figs. 18 to 21",
    "Lemma B.1",
    "Eq. (1)",
    "",
]


def test_claims_are_in_the_order_of_their_paper(registry):
    for i, ref in enumerate(reversed(REFS)):
        claim(f"p.c{i}", ref=ref)(lambda: None)
    last = {id: ref for (_, id), ref in ((k, c.ref) for k, c in registry.items())}
    assert [c.ref for c in sorted(registry.values(), key=in_order)][:-2] == REFS[:-2]
    assert set(last.values()) == set(REFS)


def test_papers_stay_together(registry):
    for id, ref in (("b.x", "Sec. 1"), ("a.y", "Sec. 9"), ("a.x", "Sec. 9")):
        claim(id, ref=ref)(lambda: None)
    assert [c.id for c in sorted(registry.values(), key=in_order)] == ["a.x", "a.y", "b.x"]


@pytest.fixture
def asked(monkeypatch):
    """How often all papers are imported."""
    from theorykit.claims import _names

    calls = []

    def installed():
        calls.append(1)
        return []

    monkeypatch.setattr(_names, "installed", installed)
    return calls


def test_ids_are_kept_until_a_file_of_a_paper_changes(asked, monkeypatch):
    from theorykit.claims import _names

    known_ids()
    known_ids()
    assert len(asked) == 1
    monkeypatch.setattr(_names, "_mark", lambda: "another")
    known_ids()
    assert len(asked) == 2
    (_names.cache_home() / "ids.json").write_text("{")
    known_ids()
    assert len(asked) == 3

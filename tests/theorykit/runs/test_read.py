"""Facts about files that are kept between runs."""

import pytest

from theorykit.runs import _read
from theorykit.runs._read import Kept


@pytest.fixture
def code(tmp_path):
    (tmp_path / "finder.py").write_text("one")
    return tmp_path / "finder.py"


def found(kept, content, where="here"):
    """Return whether facts had to be found."""
    asked = []
    facts = kept.of(content, where, lambda: asked.append(content) or {"length": len(content)})
    assert facts == {"length": len(content)}
    return bool(asked)


def test_what_is_known_is_not_found_again(code):
    first = Kept("facts", code)
    assert found(first, b"abc")
    assert not found(first, b"abc")
    assert found(Kept("facts", code), b"abc")  # nothing has been saved
    first.save()
    later = Kept("facts", code)
    assert not found(later, b"abc")
    assert found(later, b"abd")
    assert found(later, b"abc", "elsewhere")


def test_facts_that_other_code_found_are_not_used(code):
    first = Kept("facts", code)
    found(first, b"abc")
    first.save()
    code.write_text("two")
    assert found(Kept("facts", code), b"abc")


@pytest.mark.parametrize("text", ["", "[1]", '{"torn": '])
def test_a_cache_that_cannot_be_read_is_as_none(code, text):
    first = Kept("facts", code)
    found(first, b"abc")
    first.save()
    first._file.write_text(text)
    again = Kept("facts", code)
    assert found(again, b"abc")
    again.save()
    assert not found(Kept("facts", code), b"abc")


def test_the_last_used_are_kept(code, monkeypatch):
    monkeypatch.setattr(_read, "MOST", 2)
    for content in (b"1", b"22", b"333"):
        kept = Kept("facts", code)
        assert found(kept, content)
        kept.save()
    assert [found(Kept("facts", code), c) for c in (b"1", b"22", b"333")] == [True, False, False]


def test_no_cache_is_no_failure(code, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    kept = Kept("facts", code)
    assert found(kept, b"abc")
    kept.save()

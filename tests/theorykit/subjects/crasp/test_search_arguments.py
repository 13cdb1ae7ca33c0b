"""What a search is asked with is looked at before it begins."""

import pytest

from theorykit import crasp


@pytest.mark.parametrize(
    "given",
    [
        dict(constants=b""),
        dict(periodic=b""),
        dict(periodic=(m for m in (2, 3))),
        dict(local=({1: 2},)),
        dict(local=(d for d in (1, 2))),
    ],
)
def test_text_and_what_is_gone_once_it_is_read_are_no_list_of_numbers(given):
    (name,) = given
    with pytest.raises(ValueError, match=f"{name}.* is a list of .*, got"):
        crasp.Fragment(**given)


def test_distances_are_numbers_or_sets_of_them():
    found = crasp.Fragment(local=[1, (1, 2), {2, 1}, range(3)], periodic=range(2, 4))
    assert found.local == (frozenset({1}), frozenset({1, 2}), frozenset({0, 1, 2}))
    assert found.periodic == (2, 3)


@pytest.mark.parametrize("say", [{}, "", 0, int])
def test_what_cannot_be_called_hears_nothing(say):
    with pytest.raises(ValueError, match="say is a function of a line of text, got"):
        crasp.search({"a": True, "b": False}, most=1, say=say)


def test_lines_are_said():
    lines = []
    crasp.search({"a": True, "b": False}, most=1, say=lines.append)
    assert "operations" in lines[0]

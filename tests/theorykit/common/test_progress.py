"""The bar that long work shows, and where it does not."""

import io
import sys
import types

import pytest
from rich.console import Console
from rich.progress import MofNCompleteColumn, TextColumn

from theorykit import claim, verify
from theorykit.checks import exhaustive
from theorykit.common import progress
from theorykit.common.progress import Bar


def shown(shown, terminal=True):
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=80, color_system=None)
    columns = MofNCompleteColumn(), TextColumn("{task.fields[text]}")
    with Bar(8, *columns, shown=shown, done=2, console=console, fields={"text": "first"}) as bar:
        bar.update(4, text="then")
        bar.advance(1)
        bar.say("[a] line that is much longer than the eighty columns of its console, in one piece")
    return out.getvalue()


def test_a_bar_moves_and_lines_stand_above_it():
    text = shown(True)
    assert "2/8 first" in text
    assert "5/8 then" in text
    assert text.index("[a] line") < text.rindex("5/8")


@pytest.mark.parametrize("wanted", [None, False])
def test_without_a_terminal_there_are_only_lines(wanted):
    assert shown(wanted, terminal=False) == (
        "[a] line that is much longer than the eighty columns of its console, in one piece\n"
    )


class Cell:
    """What a notebook keeps of an output that is drawn again."""

    def __init__(self):
        self.texts = []

    def display(self, data, raw):
        assert raw
        self.texts.append(data["text/plain"])

    update = display


@pytest.fixture
def cells(monkeypatch):
    """Return the outputs of a notebook's cell, which this process seems to be in."""
    found = []
    shell = types.SimpleNamespace(kernel=object())
    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: shell
    drawn = types.ModuleType("IPython.display")
    drawn.DisplayHandle = lambda: found.append(Cell()) or found[-1]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", drawn)
    return found


@pytest.mark.parametrize("transient", [True, False])
def test_a_notebook_draws_it_in_one_output_of_the_cell(cells, monkeypatch, capsys, transient):
    monkeypatch.setattr(progress, "FIRST", 0.0)
    monkeypatch.setattr(progress, "BETWEEN", 0.0)
    with Bar(8, MofNCompleteColumn(), transient=transient) as bar:
        bar.advance(3)
        bar.say("a line")
        bar.update(8)
    (cell,) = cells
    assert [text.strip() for text in cell.texts] == ["3/8", "8/8", "" if transient else "8/8"]
    assert capsys.readouterr().err == "a line\n"


def test_in_a_notebook_what_is_over_at_once_leaves_nothing(cells):
    with Bar(8, MofNCompleteColumn()) as bar:
        bar.update(8)
    assert cells == []


def test_a_run_in_a_notebook_says_how_far_it_is_and_hands_it_on(cells, monkeypatch, registry):
    monkeypatch.setattr(progress, "FIRST", 0.0)
    made = [
        claim(f"p.{i}")(
            lambda: exhaustive(
                predicate=lambda n: n < 3, universe=range(3), control={"predicate": lambda n: n < 2}
            )
        )
        for i in range(2)
    ]
    seen = []
    verify(made, on_result=lambda result: seen.append(result.id))
    assert sorted(seen) == ["p.0", "p.1"]
    (cell,) = cells
    assert "/2" in cell.texts[0]
    assert cell.texts[-1] == ""

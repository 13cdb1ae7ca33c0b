"""The bar that long work shows, and where it does not."""

import io

import pytest
from rich.console import Console
from rich.progress import MofNCompleteColumn, TextColumn

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

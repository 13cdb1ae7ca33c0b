"""The command line: `theorykit verify`, `list`, `show`, `report`, `experiment` and so on."""

from theorykit.cli import _claims, _papers, _work
from theorykit.cli._main import main

COMMANDS = _claims, _work, _papers
"""What adds commands to the application."""

__all__ = ["COMMANDS", "main"]

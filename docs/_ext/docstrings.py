"""Docstrings are Markdown: autodoc, which writes reStructuredText, hands them to MyST."""

import sys
from typing import Any

from docutils import nodes
from docutils.utils import new_document
from myst_parser.parsers.sphinx_ import MystParser
from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.docutils import SphinxDirective


class Docstring(SphinxDirective):
    """A directive whose content is Markdown."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the content, parsed."""
        source, _ = self.get_source_info()
        document = new_document(source, self.state.document.settings)
        MystParser().parse("\n".join(self.content), document)
        return document.children


def described(name: str, obj: Any) -> list[str] | None:
    """Return the string below a constant where it is defined, which re-exports do not carry."""
    name = name.rpartition(".")[2]
    for module in [m for m in sys.modules if m.split(".")[0] == "theorykit"]:
        if vars(sys.modules[module]).get(name) is obj:
            found = ModuleAnalyzer.for_module(module).find_attr_docs().get(("", name))
            if found:
                return found
    return None


def hand_over(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Put a docstring into the directive that reads Markdown."""
    if what == "data":
        lines[:] = described(name, obj) or []
    if any(lines):
        lines[:] = [".. docstring::", "", *(f"   {line}" for line in lines), ""]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive and the hook."""
    app.add_directive("docstring", Docstring)
    app.connect("autodoc-process-docstring", hand_over)
    return {"parallel_read_safe": True}

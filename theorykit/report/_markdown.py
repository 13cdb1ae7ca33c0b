"""The report as Markdown."""

import functools
import re
from typing import TYPE_CHECKING

from theorykit.report._content import Content
from theorykit.report._templates import template

if TYPE_CHECKING:
    import jinja2


def markdown(content: Content) -> str:
    """Return Markdown as code hosts show it, mathematics included."""
    return _template().render(content=content)


@functools.cache
def _template() -> "jinja2.Template":
    return template("report.md", {"plain": plain})


def plain(text: str) -> str:
    """Return text that Markdown shows as it is, with what stands between backticks as code."""
    parts = text.replace("\n", " ").split("`")
    if len(parts) % 2 == 0:
        parts = ["`".join(parts)]
    escaped = [p if i % 2 else re.sub(r"([|*_<~])", r"\\\1", p) for i, p in enumerate(parts)]
    return "`".join(escaped)

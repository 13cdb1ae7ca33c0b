"""A page of sentences, each with what it rests on: on a terminal, and as a web page."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from theorykit.common.picture import Code as Code
from theorykit.common.picture import Rows as Rows
from theorykit.report._terminal import rows as table


@dataclasses.dataclass(frozen=True)
class Source:
    """What a sentence can rest on.

    **Fields:** `name`, such as "Theorem 7"; `id`: of the claim that checks it, or ""; `says`, and
    `assumes`: in a sentence or two each.
    """

    name: str
    id: str
    says: str
    assumes: str


@dataclasses.dataclass(frozen=True)
class Statement:
    """A sentence or two.

    **Fields:** `text`; `grade`: of the evidence, or ""; `rests`: on which sources.
    """

    text: str
    grade: str = ""
    rests: tuple[Source, ...] = ()


@dataclasses.dataclass(frozen=True)
class Section:
    """A part of a page."""

    title: str
    parts: tuple[Statement | Code | Rows, ...]


@dataclasses.dataclass(frozen=True)
class Page:
    """A page.

    **Fields:** `title`, a question; `answer`: "yes", "no" or "not known", and after a comma by
    what; `lead`: the answer in a sentence or two; `sections`; `facts`: name -> value, what it
    depends on.
    """

    title: str
    answer: str
    lead: str
    sections: tuple[Section, ...]
    facts: Mapping[str, Any]

    @property
    def sources(self) -> tuple[Source, ...]:
        """What the sentences rest on, each once, in their order."""
        statements = [p for s in self.sections for p in s.parts if isinstance(p, Statement)]
        return tuple(dict.fromkeys(source for s in statements for source in s.rests))


def terminal_page(page: Page) -> RenderableType:
    """Return a page for the terminal."""
    parts: list[RenderableType] = [Text(page.title, "bold")]
    parts.append(Text.assemble((page.answer.capitalize(), "bold"), f". {page.lead}"))
    for section in page.sections:
        parts += [Text(""), Text(section.title, "bold")]
        for part in section.parts:
            match part:
                case Statement(text, grade, rests):
                    line = Text(text)
                    tail = [grade, *(source.name for source in rests)]
                    if any(tail):
                        line.append(f" [{'; '.join(filter(None, tail))}]", "dim")
                    parts.append(line)
                case Code(text):
                    parts.append(Padding(Text(text), (0, 0, 0, 4)))
                case Rows(rows):
                    parts.append(Padding(table(rows), (0, 0, 0, 2)))
    if page.sources:
        parts += [Text(""), Text("What this rests on", "bold")]
    for source in page.sources:
        line = Text.assemble((source.name, "bold"), f": {source.says} Assumes: {source.assumes}")
        if source.id:
            line.append(f" (theorykit show {source.id})", "dim")
        parts.append(line)
    parts += [Text(""), Text("; ".join(f"{k} {v}" for k, v in page.facts.items()), "dim")]
    return Group(*parts)


def html_page(page: Page) -> str:
    """Return one HTML page that needs nothing from elsewhere."""
    from theorykit.report._html import render

    return render("page.html", page=page)

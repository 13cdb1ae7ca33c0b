r"""Read the numbered theorems, lemmas and equations of a LaTeX draft, in order.

The body is parsed by pylatexenc.
"""

import dataclasses
import itertools
import os
import re
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from theorykit.drafts._preamble import EQUATIONS, ROWS, Preamble
from theorykit.drafts._source import read, visible

SECTIONS = ("chapter", "section", "subsection", "subsubsection")


@dataclasses.dataclass(frozen=True)
class Stated:
    """A numbered statement of a draft.

    **Fields:** `kind`, as printed ("Lemma"), or "Equation"; `number`; `label`, or ""; `text`, its
    LaTeX without comments, labels and layout; `file` and `line`, where it starts.
    """

    kind: str
    number: str
    label: str
    text: str
    file: str
    line: int

    @property
    def name(self) -> str:
        """Kind and number as they are cited."""
        return f"({self.number})" if self.kind == "Equation" else f"{self.kind} {self.number}"


class DraftWarning(UserWarning):
    """What may be missing or out of date in the statements of a draft, in one sentence."""


def statements(draft: str | Path) -> list[Stated]:
    """Return the statements of a draft, in order.

    Numbers come from the `.aux` file beside it for statements with a label there, and are counted
    otherwise. Files that it inputs are read too.

    A `DraftWarning` names a file that is input but is not there, and an `.aux` file that is older
    than the draft.

    **Raises:** `ValueError` for a draft that is not a text file, or has no document.
    """
    draft = Path(draft)
    return _Reader(draft, read(draft)).run()


def plain(latex: str) -> str:
    """Return LaTeX without comments, labels and layout, so that equal output gives equal text."""
    latex = re.sub(r"(?<!\\)%.*", "", latex)
    latex = re.sub(r"\\label\s*\{[^{}]*\}", "", latex)
    latex = re.sub(r"\\(?:,|;|!|:|quad|qquad|nonumber|notag|left|right)(?![A-Za-z])", " ", latex)
    return re.sub(r"\s+", " ", latex).strip()


class _Reader:
    """Walks through a draft and counts."""

    def __init__(self, draft: Path, source: str):
        self.draft = draft
        bare = visible(source)
        preamble, begin, _ = bare.partition(r"\begin{document}")
        if not begin:
            raise ValueError(f"{draft} has no \\begin{{document}}; give the draft's main file.")
        self.start = len(preamble) + len(begin)
        self.source = source
        declared = Preamble(preamble, draft.parent)
        self.kinds, self.within, self.declared = declared.kinds, declared.within, declared
        self.counts: dict[str, int] = dict(declared.counts)
        self.appendix = False
        self.parts: list[int] = []  # of the subequations that are open, how many have a number
        self.numbers = _numbers(draft.with_suffix(".aux"))
        self.found: list[Stated] = []
        self.open: list[Path] = []  # files that are being read
        self.files: list[Path] = []  # and all that were

    def run(self) -> list[Stated]:
        """Return the statements."""
        self.walk(self.source, self.start, self.draft)
        aux = self.draft.with_suffix(".aux")
        late = [f for f in self.files if aux.is_file() and f.stat().st_mtime > aux.stat().st_mtime]
        if late:
            self.warn(
                f"{aux} is older than {late[0]}, so numbers may be out of date; run LaTeX again."
            )
        return self.found

    def warn(self, sentence: str) -> None:
        """Warn the caller of `statements`."""
        warnings.warn(sentence, DraftWarning, stacklevel=4)

    def walk(self, source: str, start: int, file: Path) -> None:
        """Walk through a file from a given position, unless it is open: it inputs itself."""
        from pylatexenc.latexwalker import LatexWalker

        if file.resolve() in self.open:
            return
        self.open.append(file.resolve())
        self.files.append(file)
        source = visible(source, self.declared.switches)
        source = re.split(r"\\end\s*\{document\}|\\endinput(?![A-Za-z])", source)[0]
        for name, body in self.declared.macros.items():  # of which none has a line break
            body = body.replace("\\", r"\\")
            source = source[:start] + re.sub(rf"\\{name}(?![A-Za-z@])", body, source[start:])
        nodes, _, _ = LatexWalker(source, tolerant_parsing=True).get_latex_nodes(pos=start)
        self.go(nodes, source, file)
        self.open.pop()

    def go(self, nodes: Iterable[Any], source: str, file: Path) -> None:
        """Walk through nodes in order."""
        from pylatexenc.latexwalker import LatexEnvironmentNode, LatexGroupNode, LatexMacroNode

        for node in nodes or ():
            if isinstance(node, LatexGroupNode):
                self.go(node.nodelist, source, file)
            elif isinstance(node, LatexMacroNode):
                self.macro(node, source, file)
            elif isinstance(node, LatexEnvironmentNode):
                self.environment(node, source, file)

    def macro(self, node: Any, source: str, file: Path) -> None:
        """Count a section, set a counter, start the appendix, or read an input file."""
        name, here = node.macroname, source[node.pos :]
        if name in SECTIONS and not _starred(node):
            self.step(name)
        elif name == "appendix":
            self.begin_appendix()
        elif name in ("setcounter", "addtocounter"):
            said = re.match(r"\\\w+\s*\{(\w+)\}\s*\{(-?\d+)\}", here)
            if said:
                before = self.counts.get(said[1], 0) if name == "addtocounter" else 0
                self.counts[said[1]] = before + int(said[2])
        elif name in ("input", "include", "subfile", "import", "subimport"):
            said = re.match(r"\\\w+\*?\s*(?:\{([^{}]*)\}\s*(?:\{([^{}]*)\})?|([^\s{}\\]+))", here)
            parts = [part.strip() for part in said.groups() if part] if said else []
            if "import" not in name:  # which has a folder before the file
                parts = parts[:1]
            folder = file.parent if name == "subimport" else self.draft.parent
            target = folder.joinpath(*parts)
            if target.suffix != ".tex":
                target = target.with_name(target.name + ".tex")
            if parts and target.is_file():
                self.walk(read(target), 0, target)
            elif parts:
                self.warn(f"{file} inputs {target}, which is not there; nothing of it is listed.")

    def begin_appendix(self) -> None:
        """Count with letters from here on."""
        self.appendix = True
        self.counts["chapter" if "chapter" in self.counts else "section"] = 0

    def environment(self, node: Any, source: str, file: Path) -> None:
        """Record a statement or an equation, or descend into the environment."""
        name = self.declared.wrappers.get(node.environmentname, node.environmentname)
        line = source.count("\n", 0, node.pos) + 1
        inner = source[node.pos : node.pos + node.len]
        if name in self.kinds:
            kind = self.kinds[name]
            number = self.step(kind.counter)
            self.keep(kind.title, number, inner, line, file, before=_before_equations(inner))
            self.go(node.nodelist, source, file)
        elif name in EQUATIONS:
            self.equation(inner, line, file)
        elif name in ROWS:
            for offset, row in _rows(inner):
                if not re.search(r"\\(?:nonumber|notag)(?![A-Za-z])", row):
                    self.equation(row, line + inner.count("\n", 0, offset), file)
        else:
            if name in ("appendix", "appendices"):
                self.begin_appendix()
            if name == "subequations":
                self.step("equation")
                self.parts.append(0)
            self.go(node.nodelist, source, file)
            if name == "subequations":
                self.parts.pop()

    def equation(self, inner: str, line: int, file: Path) -> None:
        """Record an equation; its number is its tag if it has one."""
        tag = re.search(r"\\tag\*?\s*\{([^{}]*)\}", inner)
        self.keep("Equation", tag[1] if tag else self.next_equation(), inner, line, file)

    def next_equation(self) -> str:
        """Return the number of an equation, with a letter if it is one of several parts."""
        if not self.parts:
            return self.step("equation")
        self.parts[-1] += 1
        return self.printed("equation") + chr(ord("a") + self.parts[-1] - 1)

    def keep(
        self, kind: str, number: str, inner: str, line: int, file: Path, before: str | None = None
    ) -> None:
        """Record a statement, with the number from LaTeX if it is known."""
        label = re.search(r"\\label\s*\{([^{}]*)\}", inner if before is None else before)
        name = label[1] if label else ""
        number = self.numbers.get(name, number)
        text = re.sub(r"\\(?:begin|end)\s*\{[^{}]*\}", " ", inner)
        place = os.path.relpath(file, self.draft.parent)
        self.found.append(Stated(kind, number, name, plain(text), place, line))

    def step(self, counter: str) -> str:
        """Step a counter and return its printed value."""
        self.counts[counter] = self.counts.get(counter, 0) + 1
        for other in self.below(counter):
            self.counts[other] = 0
        return self.printed(counter)

    def below(self, counter: str) -> Iterator[str]:
        """Yield the counters that are reset when this one is stepped."""
        known = {b: a for a, b in itertools.pairwise(SECTIONS)} | self.within
        for other, above in known.items():
            if above == counter:
                yield other
                yield from self.below(other)

    def printed(self, counter: str) -> str:
        """Return the printed value of a counter, including its parents."""
        count = self.counts.get(counter, 0)
        top = "chapter" if "chapter" in self.counts else "section"
        own = chr(ord("A") + count - 1) if self.appendix and counter == top and count else count
        above = self.within.get(counter)
        if above is None and counter in SECTIONS and counter != top:
            above = SECTIONS[SECTIONS.index(counter) - 1]
        return f"{self.printed(above)}.{own}" if above else str(own)


def _numbers(aux: Path) -> dict[str, str]:
    """Return the numbers that LaTeX gave to labels, here and in the `.aux` files of parts."""
    if not aux.is_file():
        return {}
    text = aux.read_text(errors="replace")
    for part in re.findall(r"\\@input\{([^{}]*)\}", text):
        file = aux.parent / part
        text += file.read_text(errors="replace") if file.is_file() else ""
    found = re.findall(r"\\newlabel\{([^{}]*)\}\{\{([^{}]*)\}", text)
    return {label: number for label, number in found if number and "@" not in label}


def _starred(node: Any) -> bool:
    arguments = node.nodeargd.argnlist if node.nodeargd else ()
    return any(getattr(a, "chars", "") == "*" for a in arguments or () if a is not None)


def _before_equations(inner: str) -> str:
    """Return the part of a statement in which a label belongs to it and not to an equation."""
    return re.sub(
        r"\\begin\s*\{(equation|multline|align|gather|alignat|flalign|eqnarray)\*?\}.*?"
        r"\\end\s*\{\1\*?\}", " ", inner, flags=re.DOTALL,
    )  # fmt: skip


def _rows(inner: str) -> Iterator[tuple[int, str]]:
    """Yield the rows of a multi-row display and where each starts; nested rows stay together."""
    depth, start = 0, 0
    pieces = re.compile(r"\\begin\s*\{|\\end\s*\{|\\\\(?:\[[^\]]*\])?")
    for found in pieces.finditer(inner):
        if found[0].startswith(r"\begin"):
            depth += 1
        elif found[0].startswith(r"\end"):
            depth -= 1
        elif depth == 1:
            yield start, inner[start : found.start()]
            start = found.end()
    if plain(re.sub(r"\\(?:begin|end)\s*\{[^{}]*\}", " ", inner[start:])):
        yield start, inner[start:]

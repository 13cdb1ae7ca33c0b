r"""Read the numbered theorems, lemmas and equations of a LaTeX draft, in order.

The body is parsed by pylatexenc. Declarations in the preamble (`\newtheorem`, thmtools'
`\declaretheorem`, `\numberwithin`) are found by pattern matching, since preambles are programs.
"""

import dataclasses
import itertools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

EQUATIONS = {"equation", "multline"}
ROWS = {"align", "gather", "alignat", "flalign", "eqnarray"}
"""Displays with one number, and those with one number per row."""

SECTIONS = ("chapter", "section", "subsection", "subsubsection")

_LEFT_OUT = {"comment", "verbatim", "lstlisting", "filecontents"}


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


@dataclasses.dataclass
class _Kind:
    title: str
    counter: str


def statements(draft: str | Path) -> list[Stated]:
    """Return the statements of a draft, in order.

    Numbers come from the `.aux` file beside it for statements with a label there, and are counted
    otherwise. Files that it inputs are read too.

    **Raises:** `ValueError` for a draft that is not a text file, or has no document.
    """
    draft = Path(draft)
    return _Reader(draft, _read(draft)).run()


def _read(file: Path) -> str:
    if not file.is_file():
        raise ValueError(f"there is no file {file}.")
    try:
        return file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{file} cannot be read as LaTeX: {error}.") from error


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
        bare = re.sub(r"(?<!\\)%.*", "", source)
        preamble, begin, _ = bare.partition(r"\begin{document}")
        if not begin:
            raise ValueError(f"{draft} has no \\begin{{document}}; give the draft's main file.")
        self.start = source.index(r"\begin{document}") + len(begin)
        self.source = source
        self.kinds: dict[str, _Kind] = {}
        self.within: dict[str, str] = {}
        self.declare(preamble)
        self.counts: dict[str, int] = {}
        self.appendix = False
        self.numbers = _numbers(draft.with_suffix(".aux"))
        self.found: list[Stated] = []

    def declare(self, preamble: str) -> None:
        """Read from the preamble which environments are statements, and how they are counted."""
        rule = r"\\newtheorem\s*\{(\w+)\}\s*(?:\[(\w+)\])?\s*\{([^{}]*)\}\s*(?:\[(\w+)\])?"
        for name, shared, title, within in re.findall(rule, preamble):
            counter = self.kinds[shared].counter if shared in self.kinds else shared or name
            self.kinds[name] = _Kind(title, counter)
            if within:
                self.within[counter] = within
        for given, name in re.findall(
            r"\\declaretheorem\s*(?:\[([^\]]*)\])?\s*\{(\w+)\}", preamble
        ):
            options = {
                key.strip(): value.strip().strip("{}")
                for key, _, value in (part.partition("=") for part in given.split(","))
            }
            if options.get("numbered") == "no":
                continue
            shared = next((options[k] for k in ("sibling", "numberlike", "sharenumber")
                           if k in options), "")  # fmt: skip
            counter = self.kinds[shared].counter if shared in self.kinds else shared or name
            title = options.get("name", options.get("title", name.capitalize()))
            self.kinds[name] = _Kind(title, counter)
            within = next((options[k] for k in ("numberwithin", "parent", "within")
                           if k in options), "")  # fmt: skip
            if within:
                self.within[counter] = within
        for counter, within in re.findall(
            r"\\(?:numberwithin|counterwithin)\s*\{(\w+)\}\s*\{(\w+)\}", preamble
        ):
            self.within[counter] = within

    def run(self) -> list[Stated]:
        """Return the statements."""
        self.walk(self.source, self.start, self.draft)
        return self.found

    def walk(self, source: str, start: int, file: Path) -> None:
        """Walk through a file from a given position."""
        from pylatexenc.latexwalker import LatexWalker

        walker = LatexWalker(source, tolerant_parsing=True)
        nodes, _, _ = walker.get_latex_nodes(pos=start)
        self.go(nodes, source, file)

    def go(self, nodes: Iterable[Any], source: str, file: Path) -> None:
        """Walk through nodes in order."""
        from pylatexenc.latexwalker import LatexEnvironmentNode, LatexGroupNode, LatexMacroNode

        for node in nodes or ():
            if isinstance(node, LatexGroupNode):
                self.go(node.nodelist, source, file)
            elif isinstance(node, LatexMacroNode):
                self.macro(node, file)
            elif isinstance(node, LatexEnvironmentNode) and node.environmentname not in _LEFT_OUT:
                self.environment(node, source, file)

    def macro(self, node: Any, file: Path) -> None:
        """Count a section, start the appendix, or read an input file."""
        name = node.macroname
        if name in SECTIONS and not _starred(node):
            self.step(name)
        elif name == "appendix":
            self.appendix = True
            top = "chapter" if "chapter" in self.counts else "section"
            self.counts[top] = 0
        elif name in ("input", "include", "subfile"):
            given = _argument(node)
            target = self.draft.parent / (given if given.endswith(".tex") else f"{given}.tex")
            if given and target.is_file():
                self.walk(_read(target), 0, target)

    def environment(self, node: Any, source: str, file: Path) -> None:
        """Record a statement or an equation, or descend into the environment."""
        name = node.environmentname
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
            self.go(node.nodelist, source, file)

    def equation(self, inner: str, line: int, file: Path) -> None:
        """Record an equation; its number is its tag if it has one."""
        tag = re.search(r"\\tag\*?\s*\{([^{}]*)\}", inner)
        self.keep("Equation", tag[1] if tag else self.step("equation"), inner, line, file)

    def keep(
        self, kind: str, number: str, inner: str, line: int, file: Path, before: str | None = None
    ) -> None:
        """Record a statement, with the number from LaTeX if it is known."""
        label = re.search(r"\\label\s*\{([^{}]*)\}", inner if before is None else before)
        name = label[1] if label else ""
        number = self.numbers.get(name, number)
        text = re.sub(r"\\(?:begin|end)\s*\{[^{}]*\}", " ", inner)
        place = str(file.relative_to(self.draft.parent)) if file != self.draft else file.name
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
    """Return the numbers that LaTeX gave to labels."""
    if not aux.is_file():
        return {}
    found = re.findall(r"\\newlabel\{([^{}]*)\}\{\{([^{}]*)\}", aux.read_text(errors="replace"))
    return {label: number for label, number in found if number and "@" not in label}


def _starred(node: Any) -> bool:
    arguments = node.nodeargd.argnlist if node.nodeargd else ()
    return any(getattr(a, "chars", "") == "*" for a in arguments or () if a is not None)


def _argument(node: Any) -> str:
    arguments = [a for a in (node.nodeargd.argnlist if node.nodeargd else ()) if a is not None]
    return arguments[-1].latex_verbatim().strip("{} \n") if arguments else ""


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

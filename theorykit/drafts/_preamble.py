r"""What the preamble of a draft declares, found by pattern matching: preambles are programs.

Read with it are the files that it inputs, and the class and packages that lie beside the draft.
"""

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

from theorykit.drafts._source import read, visible

EQUATIONS = {"equation", "multline"}
ROWS = {"align", "gather", "alignat", "flalign", "eqnarray"}
"""Displays with one number, and those with one number per row."""

_NAME = r"\s*\{([\w*:.-]+)\}\s*"
_GROUP = r"\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}"


@dataclasses.dataclass
class Kind:
    """A kind of statement: its title, as printed, and the counter that numbers it."""

    title: str
    counter: str


class Preamble:
    """The declarations of a preamble.

    **Fields:** `kinds`, by environment; `within`, by counter, the counter that resets it;
    `counts`, where counters start; `wrappers`, by environment, the statement or display that it
    begins; `macros`, by name, the begin or end of one that it stands for; `switches`, the
    conditions that were declared.
    """

    def __init__(self, text: str, folder: Path):
        self.kinds: dict[str, Kind] = {}
        self.within: dict[str, str] = {}
        self.counts: dict[str, int] = {}
        text = "\n".join(_parts(text, folder, set()))
        self.switches = {
            f"if{name}": (re.findall(rf"\\{name}(true|false)(?![A-Za-z@])", text) or ["false"])[-1]
            == "true"
            for name in re.findall(r"\\newif\s*\\if([A-Za-z@]+)", text)
        }
        text = visible(text, self.switches)
        self._theorems(text)
        self._declared(text)
        for counter, within in re.findall(
            rf"\\(?:numberwithin|counterwithin\*?){_NAME}{_NAME}", text
        ):
            self.within[counter] = within
        for counter, count in re.findall(rf"\\setcounter{_NAME}\{{(-?\d+)\}}", text):
            self.counts[counter] = int(count)
        known = {*self.kinds, *EQUATIONS, *ROWS}
        begins = rf"\\(?:re)?newenvironment\*?{_NAME}(?:\[[^\]]*\]\s*)*{_GROUP}"
        self.wrappers = {
            name: found[1]
            for name, body in re.findall(begins, text)
            if (found := re.search(r"\\begin\s*\{([\w*:.-]+)\}", body)) and found[1] in known
        }
        short = rf"\\(?:(?:re)?newcommand\*?\s*\{{?|def\s*)\\([A-Za-z@]+)\}}?\s*{_GROUP}"
        self.macros = {
            name: body.replace("\n", " ")
            for name, body in re.findall(short, text)
            if (found := re.search(r"\\(?:begin|end)\s*\{([\w*:.-]+)\}", body))
            and found[1] in known
        }

    def _counter(self, shared: str, name: str) -> str:
        return self.kinds[shared].counter if shared in self.kinds else shared or name

    def _theorems(self, text: str) -> None:
        rule = (
            rf"\\(?:sp)?newtheorem{_NAME}(?:\[([^\]]*)\]\s*)?{_GROUP}\s*(?:\[([^\]]*)\])?"
            rf"|\\newmdtheoremenv\s*(?:\[[^\]]*\]\s*)?{_NAME}(?:\[([^\]]*)\]\s*)?{_GROUP}"
            r"\s*(?:\[([^\]]*)\])?"
        )
        for found in re.findall(rule, text):
            name, shared, title, within = found[:4] if found[0] else found[4:]
            counter = self._counter(shared, name)
            self.kinds[name] = Kind(_words(title), counter)
            if within:
                self.within[counter] = within

    def _declared(self, text: str) -> None:
        rule = rf"\\declaretheorem\s*(?:\[([^\]]*)\])?{_NAME}"
        for given, name in re.findall(rule, text):
            options = {
                key.strip(): value.strip().strip("{}")
                for key, _, value in (part.partition("=") for part in given.split(","))
            }
            if options.get("numbered") == "no":
                continue
            first = lambda *keys, options=options: next(
                (options[key] for key in keys if key in options), ""
            )
            counter = self._counter(first("sibling", "numberlike", "sharenumber"), name)
            title = options.get("name", options.get("title", name.capitalize()))
            self.kinds[name] = Kind(_words(title), counter)
            within = first("numberwithin", "parent", "within")
            if within:
                self.within[counter] = within


def _parts(text: str, folder: Path, seen: set[Path]) -> Iterator[str]:
    """Yield what a preamble reads from the draft's folder, and then the preamble itself."""
    rule = (
        r"\\(documentclass|usepackage|RequirePackage|LoadClass|input|include)\s*(?:\[[^\]]*\])?\s*"
    )
    for how, names in re.findall(rule + r"\{([^{}]*)\}", text):
        ending = {"documentclass": ".cls", "LoadClass": ".cls", "input": ".tex", "include": ".tex"}
        for name in names.split(","):
            file = folder / name.strip()
            if not file.suffix or not file.is_file():
                file = file.with_name(file.name + ending.get(how, ".sty"))
            if file.is_file() and file not in seen:
                seen.add(file)
                yield from _parts(visible(read(file)), folder, seen)
    yield text


def _words(title: str) -> str:
    r"""Return a title as it is printed: `\bf Lemma~` is Lemma."""
    return " ".join(re.sub(r"\\[A-Za-z]+\s*|[{}~]", " ", title).split())

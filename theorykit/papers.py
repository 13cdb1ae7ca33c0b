"""Papers: their descriptions, and how they are discovered.

The shipped ones are the packages in `theorykit.proofs_numeric`. Any other distribution adds its own
with an entry point in the group `theorykit.papers` that names its `Paper`.
"""

import contextlib
import dataclasses
import functools
import importlib
import importlib.metadata
import pkgutil
import re
import tomllib
import warnings
from collections.abc import Iterator
from pathlib import Path

from theorykit.common.errors import explain
from theorykit.common.spelling import Spelt

GROUP = "theorykit.papers"
"""The entry point group for papers of other distributions."""

SHIPPED = "theorykit.proofs_numeric"
"""The package that contains the shipped papers."""


_CITED = r"[A-Z][a-z]+ [A-Z0-9][A-Z0-9.]*"


class PaperWarning(UserWarning):
    """Says in one sentence why an installed paper cannot be used."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Paper(Spelt):
    """A paper whose statements are checked.

    **Fields:**

    - `id`: the first part of its claims' ids, and its name on the command line.
    - `title`; `authors`, family names as cited.
    - `identifier`: an arXiv id (`"arXiv 2310.09753"`) or a DOI; `published`: where and when
      (`"ICLR 2024"`). Either may be left empty.
    - `claims`: the package or module with its claims, by default the package that declares the
      paper.
    - `statements`: its numbered statements, in its order and as they are cited: "Lemma 3.2", or
      "Theorem 14 = Theorem 7" for one that restates another. The report says which have claims.
    - `experiments`: the dotted name of the module with its experiments, which is imported only when
      experiments are needed; empty if there are none.

    **Raises:** `ValueError` for an id that is not a lower-case name, an empty title, or authors
    that are not a tuple of names.
    """

    id: str
    title: str
    authors: tuple[str, ...]
    identifier: str = ""
    published: str = ""
    claims: str = ""
    experiments: str = ""
    statements: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not re.fullmatch(r"[a-z][a-z0-9_]*", self.id):
            raise ValueError(
                f"a paper's id is a lower-case name without dots, as in 'capture', not {self.id!r}."
            )
        if not self.title:
            raise ValueError(f"the paper {self.id} has no title.")
        if isinstance(self.authors, str) or not self.authors:
            raise ValueError(
                f"the authors of the paper {self.id} are a tuple of names, as in ('Noether',), "
                f"not {self.authors!r}."
            )

        if isinstance(self.statements, str):
            raise ValueError(
                f"the statements of the paper {self.id} are a tuple, as in ('Lemma 1', 'Theorem "
                f"2'), not {self.statements!r}."
            )
        for said in self.statements:
            if not re.fullmatch(rf"{_CITED}( = {_CITED})?", said):
                raise ValueError(
                    f"a statement of the paper {self.id} is a kind and a number, as in 'Lemma 3.2' "
                    f"or 'Theorem 14 = Theorem 7', not {said!r}."
                )

    @property
    def alike(self) -> dict[str, tuple[str, ...]]:
        """By name: each statement, and those that restate it or that it restates."""
        pairs = [said.partition(" = ")[::2] for said in self.statements]
        root = {name: other or name for name, other in pairs}
        return {name: tuple(n for n in root if root[n] == root[name]) for name in root}

    @property
    def by(self) -> str:
        """The authors as cited: one name, two, three, or the first and "et al."."""
        if len(self.authors) > 3:
            return f"{self.authors[0]} et al."
        *others, last = self.authors
        return f"{', '.join(others)} and {last}" if others else last

    @property
    def reference(self) -> str:
        """Authors, venue and identifier on one line."""
        return ", ".join(filter(None, [self.by, self.published, self.identifier]))

    @property
    def is_shipped(self) -> bool:
        """Whether the paper is one of `theorykit.proofs_numeric`."""
        return within(self.claims, SHIPPED)

    def holds(self, module: str) -> bool:
        """Return whether the module with this dotted name is the paper's package or inside it."""
        return bool(self.claims) and within(module, self.claims)


def listed(text: str) -> tuple[str, ...]:
    """Return the statements of a list that is separated by semicolons."""
    return tuple(" ".join(text.split()).split("; "))


@functools.cache
def known() -> tuple[Paper, ...]:
    """Return the shipped papers, ordered by id, then those of other distributions.

    They are searched once per process. A paper of another distribution that cannot be used causes a
    `PaperWarning`, and the rest are returned.
    """
    papers = {paper.id: paper for paper in _shipped()}
    for entry in sorted(importlib.metadata.entry_points(group=GROUP), key=lambda e: e.name):
        try:
            found = entry.load()
        except (Exception, SystemExit) as error:
            _leave_out(entry.name, explain(error))
            continue
        if not isinstance(found, Paper):
            _leave_out(entry.name, f"{entry.value} is a {type(found).__name__}, not a Paper")
        elif found.id in papers:
            other = papers[found.id].claims
            _leave_out(entry.name, f"the id {found.id} is that of the paper in {other}")
        else:
            papers[found.id] = _placed(found, entry.module)
    return tuple(papers.values())


def holder(module: str) -> Paper | None:
    """Return the known paper that holds the module with this dotted name, or None."""
    return next((paper for paper in known() if paper.holds(module)), None)


def uninstalled(id: str) -> str | None:
    """Return the folder, here or one below, of a project with this paper; None if it is known."""
    if any(paper.id == id for paper in known()):
        return None
    for file in sorted([*Path().glob("pyproject.toml"), *Path().glob("*/pyproject.toml")]):
        # One that cannot be read, or has no paper, is none.
        with contextlib.suppress(OSError, ValueError, LookupError, TypeError):
            entries = tomllib.loads(file.read_text())["project"]["entry-points"][GROUP]
            if id in entries:
                return str(file.parent)
    return None


@contextlib.contextmanager
def sparing(paper: Paper) -> Iterator[None]:
    """Return a scope for importing a paper's modules, in which an installed paper may fail.

    **Raises:** `ValueError` for any failure of a shipped paper; for other papers it is a
    `PaperWarning`, and execution continues after the scope.
    """
    try:
        yield
    except (Exception, SystemExit) as error:
        if paper.is_shipped:
            raise ValueError(
                f"the paper {paper.id} cannot be imported: {explain(error)}."
            ) from error
        _leave_out(paper.id, explain(error))


def _shipped() -> Iterator[Paper]:
    root = importlib.import_module(SHIPPED)
    for found in pkgutil.iter_modules(root.__path__, SHIPPED + "."):
        if found.ispkg and not found.name.rpartition(".")[2].startswith("_"):
            yield _placed(importlib.import_module(found.name).PAPER, found.name)


def _placed(paper: Paper, module: str) -> Paper:
    """Return the paper with the package of its claims, by default the one that declares it."""
    if paper.claims:
        return paper
    package = importlib.import_module(module).__package__
    return dataclasses.replace(paper, claims=package or module)


def within(module: str, package: str) -> bool:
    """Return whether a module is this package or inside it, by dotted names."""
    return module == package or module.startswith(package + ".")


def _leave_out(paper: str, why: str) -> None:
    sentence = f"the paper {paper} is left out: {why.removesuffix('.')}."
    warnings.warn(sentence, PaperWarning, stacklevel=3)

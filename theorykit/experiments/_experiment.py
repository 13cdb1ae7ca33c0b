"""Experiments: a paper's figure, trained again at a stated size, with its table and its plot."""

import dataclasses
import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from theorykit import papers
from theorykit.common.errors import nearest
from theorykit.common.folders import Folder, write_atomically
from theorykit.common.version import __version__
from theorykit.experiments._finding import Finding

SIZES = ("cpu", "paper")

_known: dict[tuple[str, str], "Experiment"] = {}


@dataclasses.dataclass(frozen=True)
class Setting:
    """How an experiment is run.

    **Fields:** `size`, "cpu" (minutes on two cores) or "paper" (as printed); `seed`; `folder`, for
    checkpoints and results, so that a killed run goes on; `say`, called with a line of progress.
    """

    size: str = "cpu"
    seed: int = 0
    folder: Path | None = None
    say: Callable[[str], None] = lambda line: None

    def at(self, *names: str) -> Path | None:
        """Return a folder inside the run's, or None if nothing is kept."""
        return None if self.folder is None else self.folder.joinpath(*names)


@dataclasses.dataclass(frozen=True)
class Experiment:
    """An experiment of a paper; its `words` are its function's docstring."""

    paper: str
    name: str
    ref: str
    words: str
    build: Callable[[Setting], Finding]

    def run(self, setting: Setting) -> Finding:
        """Train, and write `finding.json` and `figure.png` into the folder, if there is one."""
        if setting.size not in SIZES:
            raise ValueError(f"the size is cpu or paper, not {setting.size!r}.")
        if setting.folder is None:
            return self.build(setting)
        header = ("experiment.json", self._header(setting))
        with Folder(setting.folder, header, own=["finding.json", "figure.png"]):
            found = self.build(setting)
            text = json.dumps({**self._header(setting), **found.json()}, indent=1, default=str)
            write_atomically(setting.folder / "finding.json", text + "\n")
            if found.plot is not None:
                found.plot(setting.folder / "figure.png")
        return found

    def _header(self, setting: Setting) -> dict[str, Any]:
        return {
            "paper": self.paper,
            "experiment": self.name,
            "size": setting.size,
            "seed": setting.seed,
            "version": __version__,
        }


def reproduces(
    paper: str, name: str, *, ref: str
) -> Callable[[Callable[[Setting], Finding]], Experiment]:
    """Make an experiment of a function of a `Setting` that returns a `Finding`: a decorator.

    **Arguments:** `paper` and `name`, under which it is found and run; `ref`: what it reproduces,
    such as "Fig. 1". The docstring of the function is the experiment's `words`.
    """

    def register(build: Callable[[Setting], Finding]) -> Experiment:
        words = " ".join((build.__doc__ or "").split())
        made = Experiment(paper, name, ref, words, build)
        _known[paper, name] = made
        return made

    return register


def experiments(paper: str | None = None) -> list[Experiment]:
    """Return the experiments of every known paper, or of one.

    **Raises:** `ValueError` for a paper without experiments.
    """
    for known in papers.known():
        if known.experiments:
            with papers.sparing(known):
                importlib.import_module(known.experiments)
    having = sorted({e.paper for e in _known.values()})
    if paper is not None and paper not in having:
        meant = nearest(paper, having)
        raise ValueError(f"there are experiments of {', '.join(having)}, not of {paper!r}.{meant}")
    return [e for e in _known.values() if paper in (None, e.paper)]


def find(paper: str, name: str) -> Experiment:
    """Return one experiment.

    **Raises:** `ValueError` if there is none.
    """
    known = {(e.paper, e.name): e for e in experiments()}
    if (paper, name) not in known:
        names = ", ".join(f"{p} {n}" for p, n in known)
        meant = nearest(f"{paper} {name}", [f"{p} {n}" for p, n in known])
        raise ValueError(f"there is no experiment {paper} {name}; there are {names}.{meant}")
    return known[paper, name]

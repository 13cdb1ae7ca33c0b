"""Experiments: a paper's figure, reproduced at a stated size, with its table and plot."""

import dataclasses
import importlib
import json
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from theorykit import papers
from theorykit.common.arguments import as_path, size
from theorykit.common.folders import Folder, write_atomically, writing
from theorykit.common.spelling import nearest
from theorykit.common.version import __version__
from theorykit.experiments._finding import Finding
from theorykit.places import Calls, opened

SIZES = ("cpu", "paper")

_known: dict[tuple[str, str], "Experiment"] = {}


@dataclasses.dataclass(frozen=True)
class Setting:
    """The settings of a run of an experiment.

    **Fields:** `size`, "cpu" (minutes on two cores) or "paper" (as printed); `seed`; `folder`, for
    checkpoints and results, so that a killed run resumes; `say`, called with lines of progress;
    `together`: the number of seeds of a training that form one task and train in parallel, None for
    all (the last digits depend on it); `away`: the place where functions are called, set by
    `Experiment.run`.
    """

    size: str = "cpu"
    seed: int = 0
    folder: Path | None = None
    say: Callable[[str], None] = lambda line: None
    together: int | None = None
    away: Calls | None = None

    def __post_init__(self) -> None:
        """Take a folder as text, too."""
        if self.folder is not None:
            object.__setattr__(self, "folder", as_path("folder", self.folder))

    def each(self, function: Callable[..., Any], points: Iterable[tuple]) -> list[Any]:
        """Call a function with each tuple of arguments, and return the results in order.

        With one process, the calls run in turn. With more, they run concurrently, and so do their
        trainings and what they `call`.
        """
        if self.away is None:
            return [function(*point) for point in points]
        return self.away.each(function, points)

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call a function of a module, in another process if there is one."""
        return function(*args) if self.away is None else self.away.call(function, *args)

    def at(self, *names: str) -> Path | None:
        """Return a folder inside that of the run, or None if nothing is saved."""
        return None if self.folder is None else self.folder.joinpath(*names)


@dataclasses.dataclass(frozen=True)
class Experiment:
    """An experiment of a paper; `words` is the docstring of its function."""

    paper: str
    name: str
    ref: str
    words: str
    build: Callable[[Setting], Finding]

    def run(
        self, setting: Setting, *, jobs: int | None = None, executor: Executor | None = None
    ) -> Finding:
        """Train, and write `finding.json` and `figure.png` into the folder, if there is one.

        **Arguments:** `jobs`, `executor`: points of a sweep and groups of seeds are trained in this
        many local processes, or wherever the executor runs them; only this process writes to the
        folder. The findings are the same.

        **Raises:** `ValueError` for an unknown size, for both `jobs` and `executor` or invalid
        ones, a folder that does not fit or cannot be written, or processes that are lost or have
        different code.
        """
        if setting.size not in SIZES:
            raise ValueError(f"the size is cpu or paper, not {setting.size!r}.")
        if setting.together is not None:
            size("together", setting.together)
        with opened(jobs, executor, setting.say) as away:
            return self._written(dataclasses.replace(setting, away=away))

    def _written(self, setting: Setting) -> Finding:
        """Train, and write the finding."""
        if setting.folder is None:
            return self.build(setting)
        header = ("experiment.json", self._header(setting))
        with Folder(setting.folder, header, own=["finding.json", "figure.png"]):
            found = self.build(setting)
            text = json.dumps({**self._header(setting), **found.json()}, indent=1, default=str)
            with writing(setting.folder):
                write_atomically(setting.folder / "finding.json", text + "\n")
                if found.plot is not None:
                    found.plot(setting.folder / "figure.png")
        return found

    def _header(self, setting: Setting) -> dict[str, Any]:
        header = {
            "paper": self.paper,
            "experiment": self.name,
            "size": setting.size,
            "seed": setting.seed,
            "version": __version__,
        }
        return header if setting.together is None else header | {"together": setting.together}


def reproduces(
    paper: str, name: str, *, ref: str
) -> Callable[[Callable[[Setting], Finding]], Experiment]:
    """A decorator that makes an experiment from a function from `Setting` to `Finding`.

    **Arguments:** `paper` and `name`, which identify it; `ref`: what it reproduces, such as "Fig.
    1". The docstring of the function is the experiment's `words`.
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
        raise ValueError(
            f"the papers with experiments are {', '.join(having)}, not {paper!r}.{meant}"
        )
    return [e for e in _known.values() if paper in (None, e.paper)]


def find(paper: str, name: str) -> Experiment:
    """Return one experiment.

    **Raises:** `ValueError` if there is none.
    """
    known = {(e.paper, e.name): e for e in experiments()}
    if (paper, name) not in known:
        names = [n for p, n in known if p == paper] or [f"{p} {n}" for p, n in known]
        meant = nearest(f"{paper} {name}", [f"{p} {n}" for p, n in known])
        raise ValueError(
            f"there is no experiment {paper} {name}; there are {', '.join(names)}.{meant}"
        )
    return known[paper, name]

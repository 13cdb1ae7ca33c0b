"""A training run of a plan, in this process or leg by leg in others.

Elsewhere it is a chain of tasks, its legs: each gets the contents of the fit's folder, trains for a
minute, and returns the contents. So only the calling process writes to the run's folder, the files
are the same as for training in this process, and losing a process costs a minute.
"""

import dataclasses
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from theorykit.common.folders import writing
from theorykit.experiments._experiment import Setting

LEG = 60.0
"""Seconds of training in one task, not counting compilation."""

Files = Mapping[str, bytes]
"""The contents of a folder, by path."""


@dataclasses.dataclass(frozen=True)
class Training:
    """Seeds of a plan that train in parallel.

    **Fields:** `plan`, a `Plan`; `seeds`, their numbers; `key`; `start`: the state from which they
    continue, or None; `config`: what the numbers depend on besides the plan.
    """

    plan: Any
    seeds: Sequence[int]
    key: int
    start: Any = None
    config: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def run(self, setting: Setting, where: Sequence[str], progress: bool = False) -> Any:
        """Return the `training.Fit`; a killed run resumes.

        **Arguments:** `where`: its own folder inside that of the run.
        """
        folder = setting.at(*where)
        if setting.away is None:
            return self.here(folder, progress)
        fit, files = None, read_files(folder)
        while fit is None:
            fit, files, step = setting.call(leg, self, files, str(folder), LEG)
            write_files(folder, files)
            if fit is None:
                setting.say(f"{', '.join(where)}: step {step} of {self.plan.steps}")
        return fit

    def here(self, folder: Path | None, progress: bool, seconds: float | None = None) -> Any:
        """Train in this process, for at most `seconds` if given."""
        from theorykit.networks.training import fit

        plan = self.plan
        return fit(
            plan.make, plan.problem, plan.optimizer(plan.steps), steps=plan.steps,
            every=plan.every, seeds=list(self.seeds), stop=plan.stop, key=self.key,
            start=self.start, folder=folder, config=self.config, seconds=seconds, progress=progress,
        )  # fmt: skip


def leg(training: Training, files: Files, called: str, seconds: float) -> tuple[Any, Files, int]:
    """Train for some seconds in a folder of this process.

    **Arguments:** `files`: the contents of the folder; `called`: its name where it is stored.

    **Returns:** the fit, or None if it is unfinished; the contents of the folder; the steps done so
    far.
    """
    from theorykit.networks.training import Diverged, Paused

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "fit"
        write_files(folder, files)
        try:
            fit = training.here(folder, False, seconds)
        except Paused as paused:
            return None, read_files(folder), paused.step
        except Diverged:
            raise
        except ValueError as error:  # the message may name the folder
            raise ValueError(str(error).replace(str(folder), called)) from None
        return fit, read_files(folder), int(fit.history.steps[-1])


def read_files(folder: Path | None) -> Files:
    """Return the files of a fit."""
    if folder is None or not folder.is_dir():
        return {}
    found = {f.relative_to(folder).as_posix(): f for f in folder.rglob("*") if f.is_file()}
    ours = lambda name: name in ("config.json", "history.json") or _step(name) is not None
    return {name: file.read_bytes() for name, file in found.items() if ours(name)}


def write_files(folder: Path | None, files: Files) -> None:
    """Set the contents of a fit's folder; a kill leaves either the old or the new checkpoints."""
    if folder is None or not files:
        return
    new, kept = folder / "checkpoints.new", folder / "checkpoints"
    with writing(folder):
        shutil.rmtree(new, ignore_errors=True)
        there = {child.name for child in kept.glob("*") if child.name.isdecimal()}
        steps = {step for name in files if (step := _step(name)) is not None}
        for name in sorted(files, key=lambda name: name != "config.json"):  # it marks a fit
            step, content = _step(name), files[name]
            target = folder / name if step is None else new / Path(name).relative_to("checkpoints")
            if step not in there:
                target.parent.mkdir(parents=True, exist_ok=True)
                beside = target.with_name(f"{target.name}.new") if step is None else target
                beside.write_bytes(content)
                beside.replace(target)
        kept.mkdir(exist_ok=True)
        for step in sorted(steps - there, key=int):
            (new / step).replace(kept / step)
        for step in there - steps:
            shutil.rmtree(kept / step)
        shutil.rmtree(new, ignore_errors=True)


def _step(name: str) -> str | None:
    """Return the step of the checkpoint to which a file belongs, or None."""
    first, *rest = name.split("/")
    return rest[0] if first == "checkpoints" and len(rest) > 1 and rest[0].isdecimal() else None


def joined(fits: Sequence[Any]) -> Any:
    """Join fits with consecutive seeds into one.

    A fit that ended early, because its seeds had stopped, keeps its last measurements.
    """
    from theorykit.networks.training import Fit, History

    if len(fits) == 1:
        return fits[0]
    longest = max((fit.history for fit in fits), key=len)
    filled = lambda a: np.concatenate([a, np.repeat(a[-1:], len(longest) - len(a), 0)])
    values = {
        name: np.concatenate([filled(fit.history[name]) for fit in fits], 1)
        for name in longest.values
    }
    seeds = [seed for fit in fits for seed in fit.history.seeds]
    state = jax.tree.map(lambda *parts: jnp.concatenate(parts), *(fit.state for fit in fits))
    seconds = type(fits[0].seconds)(*map(sum, zip(*(fit.seconds for fit in fits), strict=True)))
    return Fit(History(longest.steps, values, seeds), state, seconds, fits[0].graph)

"""The repository's benchmarks, run again and compared with the last time on this machine."""

import dataclasses
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from theorykit.common.arguments import function
from theorykit.common.folders import write_atomically
from theorykit.common.spelling import nearest

SPREAD = ("median", "min", "max")
"""What a benchmark says of a number that it measured several times."""

RUN = "run"
"""Where a benchmark says when, where and beside which load it ran."""


@dataclasses.dataclass(frozen=True)
class Row:
    """One number of a benchmark.

    **Fields:** `name` of the benchmark; `measure`, where the number stands in its JSON; `now`, and
    `last`, None where there is none to compare with: each as (median, smallest, largest).
    """

    name: str
    measure: str
    now: tuple[float, float, float]
    last: tuple[float, float, float] | None

    @property
    def apart(self) -> bool:
        """Whether no round of this time lies among those of the last."""
        return self.last is not None and (self.now[1] > self.last[2] or self.now[2] < self.last[1])

    def cells(self) -> dict[str, Any]:
        """Return it as a row of a table."""
        known = self.last is not None and self.last[0] != 0
        return {
            "benchmark": self.name,
            "measure": self.measure,
            "now": _text(self.now),
            "last": "" if self.last is None else _text(self.last),
            "now / last": f"{self.now[0] / self.last[0]:.2f}" if known and self.last else "",
            "": "changed" if self.apart else "",
        }


def benchmarks(folder: str | Path) -> dict[str, str]:
    """Return the benchmarks of a folder that print JSON: name -> what it measures.

    **Raises:** `ValueError` if there is none.
    """
    if not Path(folder).is_dir():
        raise ValueError(
            f"there is no folder {folder}; benchmarks are in the repository's folder `benchmarks`, "
            "which --folder names."
        )
    found = {}
    for file in sorted(Path(folder).glob("*.py")):
        text = file.read_text()
        if not file.name.startswith("_") and "\n    report(" in text:
            found[file.stem] = text.removeprefix('"""').split("\n")[0]
    if not found:
        raise ValueError(
            f"{folder} has no benchmarks; they are in the repository's folder `benchmarks`, which "
            "--folder names."
        )
    return found


def bench(
    names: Sequence[str], folder: str | Path, say: Callable[[str], None], home: Path | None = None
) -> Iterator[Row]:
    """Run benchmarks one after the other, and yield their numbers beside those of the last time.

    Each is kept once it has run, so that it is the last time of the next; what was yielded before
    one fails or is interrupted is not lost.

    **Arguments:** `names`: all of them if there are none; `folder`: where they are; `say`: called
    with a line as each begins; `home`: where results are kept, by default in the user's state.

    **Raises:** `ValueError` for an unknown name before any is run, and for a benchmark that fails
    or prints no JSON.
    """
    known = benchmarks(folder)
    function("say", say, "a function of a line of text")
    for name in names:
        if name not in known:
            raise ValueError(
                f"there is no benchmark {name!r}; there are "
                f"{', '.join(known)}.{nearest(name, known)}"
            )
    kept = state_home() if home is None else home
    return _rows(names or list(known), known, Path(folder), say, kept)


def compared(name: str, now: Mapping[str, Any], last: Mapping[str, Any]) -> list[Row]:
    """Return the numbers of a benchmark's JSON beside those of another, where both have them.

    Whole numbers and text are its settings: where they differ, nothing is compared.
    """
    same = dict(_settings(now)) == dict(_settings(last))
    before = dict(_measures(last)) if same else {}
    return [Row(name, where, value, before.get(where)) for where, value in _measures(now)]


def state_home() -> Path:
    """Return the folder of what theorykit keeps for this user about this machine."""
    base = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(base).expanduser() / "theorykit" / "bench" / (platform.node() or "here")


def _rows(
    names: Sequence[str],
    known: Mapping[str, str],
    folder: Path,
    say: Callable[[str], None],
    home: Path,
) -> Iterator[Row]:
    for name in names:
        say(f"{name}: {known[name]}")
        found, file = _run(folder / f"{name}.py"), home / f"{name}.json"
        rows = compared(name, found, _last(file))
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, json.dumps(found, indent=1) + "\n")
        yield from rows


def _run(file: Path) -> dict[str, Any]:
    done = subprocess.run([sys.executable, str(file)], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise ValueError(f"the benchmark {file.stem} failed with exit code {done.returncode}.")
    try:
        found = json.loads(done.stdout[done.stdout.index("{") :])
    except ValueError:
        raise ValueError(f"the benchmark {file.stem} prints no JSON.") from None
    return found


def _last(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _measures(found: Any, where: str = "") -> Iterator[tuple[str, tuple[float, float, float]]]:
    """Yield what was measured: every float, and what was measured several times as one."""
    match found:
        case {"median": median, "min": least, "max": most}:
            yield where, (float(median), float(least), float(most))
        case Mapping():
            for name, value in found.items():
                if name != RUN:
                    yield from _measures(value, f"{where}.{name}" if where else name)
        case list():
            for i, value in enumerate(found):
                yield from _measures(value, f"{where}[{i}]")
        case float():
            yield where, (found, found, found)


def _settings(found: Any, where: str = "") -> Iterator[tuple[str, Any]]:
    """Yield what was set: whole numbers and text, but for the versions and the circumstances."""
    match found:
        case Mapping():
            for name, value in found.items():
                if name not in ("theorykit", "jax", RUN, *SPREAD):
                    yield from _settings(value, f"{where}.{name}")
        case list():
            for i, value in enumerate(found):
                yield from _settings(value, f"{where}[{i}]")
        case int() | str() | None:
            yield where, found


def _text(value: tuple[float, float, float]) -> str:
    median, least, most = value
    return f"{median:.3g}" if least == most else f"{median:.3g} ({least:.3g} to {most:.3g})"

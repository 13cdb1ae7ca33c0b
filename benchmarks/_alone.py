"""Time and memory against the number of inputs, each number in a process of its own."""

import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from typing import Any

from theorykit.common import exponents


def peak() -> float:
    """Return the peak memory of this process, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def alone(script: str, inputs: list[int], folder: str | None, options: Mapping[str, Any]) -> list:
    """Return the row that `script --alone` prints for each number of inputs.

    Each has a folder of its own inside `folder`, which is deleted after it.
    """
    rows = []
    for n in inputs:
        with tempfile.TemporaryDirectory(dir=folder) as own:
            given = [f"--{name}={value}" for name, value in options.items()]
            command = [
                sys.executable,
                script,
                "--alone",
                *given,
                f"--folder={own}",
                f"--inputs={n}",
            ]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        rows.append(json.loads(done.stdout))
        print(json.dumps(rows[-1]), file=sys.stderr)
    return rows


def fitted(rows: list[dict[str, Any]], *names: str) -> dict[str, str]:
    """Return exponents of columns in the number of inputs, with their spread; none of one row."""
    if len(rows) < 2:
        return {}
    column = lambda name: [row[name] for row in rows]
    return {name: str(exponents.exact(column("inputs"), column(name))) for name in names}

"""The page of what was measured, docs/measured.md, made from what the benchmarks printed.

    python benchmarks/measured.py [--again [NAME ...]]

`docs/data/measured` keeps the JSON of each benchmark's last run that was published:

    python benchmarks/deep.py > docs/data/measured/deep.json

The page is `benchmarks/measured.md.jinja`, which takes every figure from there. `--again` first
runs the commands of all results once more, or of those named: an hour on an idle machine.
"""

import argparse
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2

ROOT = Path(__file__).parents[1]
PUBLISHED, PAGE = ROOT / "docs" / "data" / "measured", ROOT / "docs" / "measured.md"

IDLE = 0.5
"""Something else ran beside or just before a benchmark that began with more load than this."""


def number(value: float) -> str:
    """Return a number with three digits, and thousands apart."""
    rounded = float(f"{value:.3g}")
    if abs(rounded) >= 1000:
        return f"{rounded:,.0f}"
    return f"{rounded:.3g}" if abs(rounded) >= 1e-4 or not rounded else f"{rounded:.0e}"


def spread(found: Mapping[str, float]) -> str:
    """Return the median, with the smallest and the largest in brackets."""
    values = [found[name] for name in ("median", "min", "max")]
    plain = min(values) >= 0.1 and max(values) < 100
    median, least, most = (f"{v:.2f}" if plain else number(v) for v in values)
    return median if least == most else f"{median} ({least} to {most})"


def seconds(value: float) -> str:
    """Return a time in the unit that suits it."""
    if value < 1:
        return f"{number(value * 1000)} ms"
    return f"{number(value)} s" if value < 120 else f"{value / 60:.1f} min"


def processor(run: Mapping[str, Any]) -> str:
    """Return the processor's name without its trade marks."""
    return " ".join(re.sub(r"\((R|TM)\)|\bProcessor\b|\bCPU\b", "", run["processor"]).split())


def how(found: Mapping[str, Any]) -> str:
    """Return three cells: the command, the date and processor, and the load of its run."""
    run = found["run"]
    if run["load"] is None:
        load = "not recorded"
    else:
        begun = run["load"][0]
        load = f"{begun:.1f}" + (", not idle" if begun > IDLE else "")
    return f"`{run['command']}` | {run['date']}, {processor(run)} | {load}"


def machines(published: Mapping[str, Any]) -> str:
    """Return what the benchmarks ran on, in words."""
    seen = set()
    for found in published.values():
        run = found["run"]
        on = f"{run['cores']} cores of a shared {run['processor']}, {run['system']}"
        seen.add(f"{on}, Python {run['python']}, JAX {found['jax']}")
    return "; ".join(sorted(seen))


def page(folder: Path = PUBLISHED) -> str:
    """Return the page.

    **Raises:** `jinja2.UndefinedError` for a figure that the JSON in the folder does not have.
    """
    published = {f.stem: json.loads(f.read_text()) for f in sorted(folder.glob("*.json"))}
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= dict(count="{:,}".format, number=number, spread=spread)
    environment.filters |= dict(seconds=seconds, how=how)
    template = environment.get_template("measured.md.jinja")
    return template.render(published, machines=machines(published))


def again(file: Path) -> None:
    """Run the command of a result once more, and keep what it prints."""
    command = shlex.split(json.loads(file.read_text())["run"]["command"])
    print(shlex.join(command), file=sys.stderr)
    run = [sys.executable, *command[1:]]
    done = subprocess.run(run, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    json.loads(done.stdout)
    file.write_text(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--again", nargs="*", metavar="NAME", help="run benchmarks first")
    at = parser.parse_args()
    if at.again is not None:
        for name in at.again or sorted(file.stem for file in PUBLISHED.glob("*.json")):
            again(PUBLISHED / f"{name}.json")
    PAGE.write_text(page())


if __name__ == "__main__":
    main()

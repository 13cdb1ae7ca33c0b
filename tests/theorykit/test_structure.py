"""The plan of docs/plan.md, held against the code, and what importing the package costs."""

import ast
import functools
import importlib
import importlib.util
import subprocess
import sys
from pathlib import Path

import networkx
import pytest

import theorykit

ROOT = Path(__file__).parents[2]
FOLDERS = {
    "theorykit": ROOT / "theorykit",
    "theorykit.kernels": ROOT / "kernels",
    "theorykit.proofs_numeric": ROOT / "proofs_numeric",
    "benchmarks": ROOT / "benchmarks",
}

SCRIPT = """
import sys
heavy = {"optax", "scipy", "typer", "rich", "flax", "neural_tangents"}
heavy |= {"theorykit.kernels", "theorykit.networks.nets", "theorykit.proofs_numeric"}

import theorykit
assert not {*heavy, "jax", "numpy"} & set(sys.modules), "import theorykit"

import jax
before = dict(jax.config.values)
import theorykit.checks, theorykit.checks.domains, theorykit.runs
from theorykit import claim, verify
assert not heavy & set(sys.modules), heavy & set(sys.modules)
assert dict(jax.config.values) == before
"""


def test_importing_loads_nothing_heavy_and_changes_no_setting():
    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# Names ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["crasp", "limit", "pacbayes", "simulation", "nets", "domains"])
def test_a_short_name_is_the_module_of_the_long_one(name):
    short = importlib.import_module(f"theorykit.{name}")
    long = importlib.import_module(theorykit._LONG[f"theorykit.{name}"])
    assert short is long is getattr(theorykit, name)
    assert long.__spec__.name == long.__name__ == theorykit._LONG[f"theorykit.{name}"]


def test_the_package_lists_its_public_names():
    assert set(theorykit.__all__) <= set(dir(theorykit))
    missing = [name for name in theorykit.__all__ if getattr(theorykit, name, None) is None]
    assert missing == []
    short = {name.rpartition(".")[2] for name in theorykit._LONG}
    in_rooms = {
        p.stem for r in ("networks", "subjects") for p in (ROOT / "theorykit" / r).iterdir()
    }
    assert {n for n in in_rooms if not n.startswith("_")} <= short


# Arrows -----------------------------------------------------------------------------------------


def modules() -> dict[str, str]:
    """Return the source of every module by its name."""
    found = {}
    for root, folder in FOLDERS.items():
        for file in folder.rglob("*.py"):
            parts = file.relative_to(folder).with_suffix("").parts
            parts = parts[:-1] if parts[-1] == "__init__" else parts
            found[".".join([root, *parts])] = file.read_text()
    return found


def arrows(sources: dict[str, str]) -> set[tuple[str, str]]:
    """Return which module imports which, by whatever form and name, also inside functions."""

    def resolved(name: str) -> str:
        root, _, rest = name.partition(".")
        if rest in theorykit._HOME:
            name = f"{root}.{theorykit._HOME[rest]}.{rest}"
        for short, long in theorykit._LONG.items():
            if name == short or name.startswith(short + "."):
                name = long + name.removeprefix(short)
        while name and name not in sources:
            name = name.rpartition(".")[0]
        return name

    found = {(m, resolved(name)) for m, source in sources.items() for name in imported(source)}
    return {(a, b) for a, b in found if a != b and b}


@functools.cache
def imported(source: str) -> list[str]:
    """Return the names of ours that a module imports, in full."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "an import in the project is not relative"
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return [name for name in found if name.split(".")[0] == "theorykit"]


def room(module: str) -> str:
    return module.removeprefix("theorykit.").split(".")[0]


def plan() -> dict[str, list[str]]:
    """Return the table of docs/plan.md."""
    spec = importlib.util.spec_from_file_location("picture", ROOT / "docs" / "plan_picture.py")
    picture = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(picture)
    table = picture.rooms((ROOT / "docs" / "plan.md").read_text())
    assert (ROOT / "docs" / "plan.svg").read_text() == picture.svg(table), "draw plan.svg again"
    return table


def strays(sources: dict[str, str]) -> list[str]:
    """Return what breaks the plan: arrows that it does not have, private names, circles."""
    table, found = plan(), arrows(sources)
    wrong = []
    for module, other in sorted(found):
        here, there = room(module), room(other)
        if here in ("benchmarks", "theorykit"):  # benchmarks use everything; the root lists it
            pass
        elif there != here and there not in table[here]:
            wrong.append(f"{module} imports {other}: {here} does not stand on {there}")
        owner, _, name = other.rpartition(".")
        if name.startswith("_") and not f"{module}.".startswith(f"{owner}."):
            wrong.append(f"{module} imports {other}, which is {owner}'s own")
    graph = networkx.DiGraph([(a, b) for a, b in found if "theorykit" not in (a, b)])
    rounds = [sorted(c) for c in networkx.strongly_connected_components(graph) if len(c) > 1]
    return wrong + [f"circle: {', '.join(c)}" for c in rounds]


def test_imports_follow_the_plan():
    sources = modules()
    rooms = {room(m) for m in sources} - {"theorykit", "benchmarks"}
    assert rooms == set(plan())
    assert strays(sources) == []


@pytest.mark.parametrize(
    ("module", "line", "said"),
    [
        ("theorykit.kernels.draws", "from theorykit import proofs_numeric", "kernels does not"),
        ("theorykit.subjects.limit", "def f():\n    from theorykit import checks", "subjects does"),
        ("theorykit.certify", "import theorykit.nets", "certify does not stand on networks"),
        ("theorykit.proofs_numeric.new", "from theorykit.crasp._parse import parse", "own"),
        ("theorykit.common.arguments", "from theorykit.common import keys", "circle"),
    ],
)
def test_an_import_against_the_plan_is_seen(module, line, said):
    sources = modules()
    sources["theorykit.common.keys"] = "from theorykit.common import arguments"
    before = strays(sources)
    sources[module] = line
    assert [s for s in strays(sources) if said in s and s not in before]


def test_private_arrow_inside_a_package_is_fine():
    sources = {
        "theorykit.crasp": "",
        "theorykit.subjects.crasp": "from theorykit.subjects.crasp import _parse",
        "theorykit.subjects.crasp._parse": "",
    }
    assert strays(sources) == []

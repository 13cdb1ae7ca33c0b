"""What makes a result of an earlier run worthless, and what does not."""

import ast
import json
import os
import subprocess
import sys
import types

import pytest

from theorykit.claims import installed, load
from theorykit.runs._fingerprint import _own, fingerprint
from theorykit.runs._reach import Code, reached

CLAIMS = '''
"""Claims."""
from theorykit import claim
from theorykit.checks import exhaustive

@claim("my.first")
def first():
    "Words."
    from {package}helper import is_small
    return exhaustive(predicate=is_small, universe=range(3),
                      control=dict(predicate=lambda n: n > 0))
'''

HELPER = '''
"""{words}"""
from {package}deeper import BOUND

def is_small(n):
    """{words}"""
    # {words}
    return n < BOUND
'''


def write(folder, words="Say it.", bound=5, package=""):
    """Write a file of claims that reaches a module by way of another."""
    folder.mkdir(exist_ok=True)
    (folder / "mine.py").write_text(CLAIMS.format(package=package))
    (folder / "helper.py").write_text(HELPER.format(words=words, package=package))
    (folder / "deeper.py").write_text(f'"""{words}"""\nBOUND = {bound}\n')


def verified(folder):
    """Return what the command line says, in a process of its own: how often claims ran."""
    command = [sys.executable, "-m", "theorykit.cli", "verify", "mine.py", "--run", "run"]
    env = dict(os.environ, XDG_CACHE_HOME=str(folder / "cache"))
    done = subprocess.run(
        [*command, "--json", "-"], cwd=folder, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 1), done.stderr
    (claim,) = json.loads(done.stdout)["claims"]
    return claim["verdict"], len((folder / "run" / "results.jsonl").read_text().splitlines())


def test_a_changed_dependency_runs_a_claim_again_and_words_do_not(tmp_path):
    folder = tmp_path / "work"
    write(folder)
    assert verified(folder) == ("holds", 1)
    write(folder, words="Say it otherwise.")
    assert verified(folder) == ("holds", 1)
    write(folder, bound=2)  # two imports away: 2 < 2 is false
    assert verified(folder) == ("refuted", 2)
    write(folder)
    assert verified(folder) == ("holds", 3)


def test_a_module_counts_as_it_was_imported(tmp_path, registry, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("helper", "deeper"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    write(tmp_path)
    mark = lambda: fingerprint(load(tmp_path / "mine.py")[0])
    before = mark()
    write(tmp_path, bound=4)  # nothing has imported it yet
    changed = mark()
    assert changed != before
    monkeypatch.setitem(sys.modules, "deeper", types.ModuleType("deeper"))
    sys.modules["deeper"].__file__ = str(tmp_path / "deeper.py")
    assert mark() == changed
    write(tmp_path, bound=3)  # too late for this process, which goes on with what it has
    assert mark() == changed


def test_a_claims_docstring_does_not_count(tmp_path, registry):
    write(tmp_path)
    before = fingerprint(load(tmp_path / "mine.py")[0])
    file = tmp_path / "mine.py"
    file.write_text(file.read_text().replace("Words.", "Other words.").replace("Claims.", "All."))
    assert fingerprint(load(file)[0]) == before
    file.write_text(file.read_text().replace("range(3)", "range(4)"))
    assert fingerprint(load(file)[0]) != before


@pytest.mark.parametrize("in_claim", [True, False])
def test_a_file_of_data_beside_the_code_counts(tmp_path, in_claim):
    read = 'Path(__file__).with_name("bound.json").read_text()'
    write(tmp_path)
    file = tmp_path / ("mine.py" if in_claim else "helper.py")
    file.write_text(f"from pathlib import Path\n{file.read_text()}\ntext = lambda: {read}\n")
    data = tmp_path / "bound.json"
    marks = []
    for content in ("5", "6", "5", None):
        if content is None:
            data.unlink()
        else:
            data.write_text(content)
        marks.append(fingerprint(load(tmp_path / "mine.py")[0]))
    assert marks[0] == marks[2]
    assert len(set(marks)) == 3


def test_a_claim_may_import_its_neighbours_while_it_runs(tmp_path):
    write(tmp_path, package="")
    text = (tmp_path / "mine.py").read_text().replace("helper", "some_neighbour")
    (tmp_path / "helper.py").rename(tmp_path / "some_neighbour.py")
    (tmp_path / "mine.py").write_text(text)
    (claim,) = load(tmp_path / "mine.py")
    assert claim.run().verdict == "holds"


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("import a.b", {"a.b"}),
        ("from a import b, c", {"a.b", "a.c"}),
        ("from a import *", {"a"}),
        ("from . import b", {"p.q.b"}),
        ("from ..c import d", {"p.c.d"}),
        ("import a as x\nx.b.c(1)", {"a", "a.b", "a.b.c"}),
        ("def f():\n    import a", {"a"}),
        ("import importlib\nimportlib.import_module('a.b')", {"a.b"}),
        ("if TYPE_CHECKING:\n    import a", set()),
    ],
)
def test_imports_are_read_in_every_form(line, names):
    found = Code.of(ast.parse(line), "p.q").imports
    assert {n for n in found if not n.startswith("importlib")} == names


def test_claims_reach_the_rooms_that_they_use(tmp_path):
    claims = {c.id: c for c in installed(["sharper.*"])}
    claim = claims["sharper.fig1.gap"]
    found = reached(_own(claim.build).imports, "theorykit", tmp_path)
    assert {"theorykit.checks._experiment", "theorykit.experiments.sharper._gap"} <= found.keys()
    assert {"theorykit.subjects.boolean._functions", "theorykit.networks.training"} <= found.keys()
    assert not any(name.startswith(("theorykit.report", "theorykit.cli")) for name in found)
    assert not any(name.startswith(("jax", "numpy", "theorykit.subjects.crasp")) for name in found)


def test_short_names_and_public_names_lead_home(tmp_path):
    find = lambda *names: set(reached(names, "", tmp_path))
    assert "theorykit.subjects.crasp._parse" in find("theorykit.crasp.parse")
    assert "theorykit.runs._runner" in find("theorykit.verify")
    assert any(n.startswith("theorykit.kernels") for n in find("theorykit.kernels"))
    assert find("json", "numpy.linalg", "no_such_module_at_all", "") == set()

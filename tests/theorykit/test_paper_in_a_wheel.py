"""A paper in a distribution of its own: built, installed, and met on the command line."""

import json
import os
import subprocess
import sys
import zipfile

import pytest

FILES = {
    "pyproject.toml": """
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[project]
name = "my-paper"
version = "1.0"

[project.entry-points."theorykit.papers"]
mine = "mine:PAPER"
""",
    "mine/__init__.py": '''
"""The statements of the paper below."""

from theorykit import Paper

PAPER = Paper(
    id="mine", title="On halves", authors=("Noether",), experiments="mine.figures",
)
''',
    "mine/lemmas.py": '''
from theorykit import claim
from theorykit.checks import inequality
from theorykit.checks.domains import inputs, interval

@claim("mine.bound", ref="Lemma 1", statement="x^2 \\\\le x / 2", expect="refuted")
def bound():
    """A square is at most half of its root."""
    return inequality(
        lhs=lambda x: x * x, rhs=lambda x: x / 2, over=inputs(x=interval(0, 1)),
        control=dict(rhs=lambda x: x / 4),
    )
''',
    "mine/figures.py": '''
from theorykit.experiments import Finding, reproduces

@reproduces("mine", "halves", ref="Figure 1")
def halves(setting):
    """Half of each number."""
    return Finding("Halves are smaller.", [{"n": n, "half": n / 2} for n in (1, 2)], {})
''',
}

BUILD = "from setuptools.build_meta import build_wheel; print(build_wheel('dist'))"

# One process for all commands: importing what the papers need takes longest.
COMMANDS = """
import io, json, os, sys
from contextlib import redirect_stderr, redirect_stdout
from theorykit import cli

said = []
for arguments in json.loads(sys.argv[1]):
    code, out, err = [], io.StringIO(), io.StringIO()
    os._exit, sys.argv = code.append, ["theorykit", *arguments]
    with redirect_stdout(out), redirect_stderr(err):
        cli.main()
    said.append([code[-1], out.getvalue(), err.getvalue()])
(result,) = [json.loads(line)["result"] for line in open("run/results.jsonl")]
program, out = result["certificate"]["program"], io.StringIO()
with redirect_stdout(out):
    exec(program, {})
print(json.dumps([*said, [program, out.getvalue()]]))
"""


@pytest.fixture
def site(tmp_path):
    """A folder in which the paper's wheel is installed, beside a paper that cannot be imported."""
    for name, text in FILES.items():
        (tmp_path / "project" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "project" / name).write_text(text)
    run = dict(cwd=tmp_path / "project", capture_output=True, text=True, check=True)
    built = subprocess.run([sys.executable, "-c", BUILD], **run).stdout.split()[-1]
    with zipfile.ZipFile(tmp_path / "project" / "dist" / built) as wheel:
        wheel.extractall(tmp_path / "site")
    broken = tmp_path / "site" / "broken-1.0.dist-info"
    broken.mkdir()
    (broken / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (broken / "entry_points.txt").write_text("[theorykit.papers]\nbroken = nowhere:PAPER\n")
    return tmp_path / "site"


@pytest.mark.slow
def test_an_installed_paper_works_like_a_shipped_one(site, tmp_path):
    commands = [
        ["list", "mine.*"],
        ["verify", "mine.*", "--run", "run"],
        ["show", "mine.bound"],
        ["report", "run", "--html", "page"],
        ["experiment", "mine"],
        ["experiment", "mine", "halves"],
        ["verify", "yours.*"],
    ]
    paths = [str(site), *filter(None, [os.environ.get("PYTHONPATH")])]
    more = {"PYTHONPATH": os.pathsep.join(paths), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS, json.dumps(commands)],
        cwd=tmp_path,
        env=os.environ | more | {"JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    *said, (program, replayed) = json.loads(done.stdout)
    assert [code for code, _, _ in said] == [0, 0, 0, 0, 0, 0, 2]
    listed, verified, shown, _, experiments, experiment, _ = [out for _, out, _ in said]
    assert "mine.bound" in listed
    assert "1 claim: 1 refuted; all as recorded." in verified
    assert "Lemma 1" in shown
    assert "theorykit verify mine.bound --seed 0" in (tmp_path / "page/index.html").read_text()
    assert "halves" in experiments
    assert "induction" not in experiments
    assert "Halves are smaller." in experiment
    assert "file=" not in program
    assert "lhs > rhs" in replayed
    left_out, unknown = said[0][2], said[-1][2]
    assert left_out.startswith("theorykit: the paper broken is left out: ModuleNotFoundError: No")
    assert left_out.count("\n") == 1
    assert "no claim matches 'yours.*'" in unknown

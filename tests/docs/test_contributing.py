"""The recipes of CONTRIBUTING.md, written to files as they are printed, and run."""

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "CONTRIBUTING.md"
BUILD = "from setuptools.build_meta import build_wheel; print(build_wheel('dist'))"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)


def blocks(kind):
    return [text for found, text in BLOCK.findall(PAGE.read_text()) if found == kind]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A folder with every file that the page prints."""
    folder = tmp_path_factory.mktemp("contributing")
    for text in blocks("python") + blocks("toml"):
        name = re.match(r"# (\S+)\n", text)
        assert name, f"a block does not begin with the name of its file: {text[:60]}"
        file = folder / name[1]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


@pytest.fixture(scope="module")
def run(written):
    def run(*command, at="."):
        paths = [str(written / "site"), *filter(None, [os.environ.get("PYTHONPATH")])]
        more = {"PYTHONPATH": os.pathsep.join(paths), "XDG_CACHE_HOME": str(written / "cache")}
        environment = os.environ | more | {"JAX_PLATFORMS": "cpu"}
        done = subprocess.run(
            [sys.executable, *command], cwd=written / at, env=environment,
            capture_output=True, text=True,
        )  # fmt: skip
        assert not done.returncode, done.stdout + done.stderr
        return done.stdout, done.stderr

    return run


CLI = ("-m", "theorykit.cli")


def test_the_files_are_those_of_the_layout(written):
    (layout,) = blocks("text")
    named = re.findall(r"(\S+\.(?:py|toml))", layout)
    found = sorted(f.name for f in (written / "my-paper").rglob("*") if f.is_file())
    assert sorted(named) == found


def test_a_check_and_a_claim_of_it(run):
    out, _ = run(*CLI, "verify", "orbits.py", "--run", "kept")
    assert "1 claim: 1 holds; all as recorded." in out
    assert "reaches 1 in 8 steps" in run(*CLI, "report", "kept", "--markdown", "-")[0]


@pytest.mark.slow
def test_a_paper_with_its_task_and_its_experiment(written, run):
    built = run("-c", BUILD, at="my-paper")[0].split()[-1]
    with zipfile.ZipFile(written / "my-paper" / "dist" / built) as wheel:
        wheel.extractall(written / "site")
    commands = [line.split() for text in blocks("sh") for line in text.splitlines()]
    commands = [[a.strip('"') for a in c[1:]] for c in commands if c[0] == "theorykit"]
    said = {c[0]: run(*CLI, *c) for c in commands}
    assert set(said) == {"list", "verify", "show", "experiment"}
    assert "1 claim: 1 holds; all as recorded." in said["verify"][0]
    assert "x in interval(0, 1)" in said["show"][0]
    out, err = said["experiment"]
    assert "at length = 32: one layer" in out
    assert "mine first, cpu, seed 0: Accuracy beyond the trained length." in " ".join(err.split())
    assert "[" in run("-m", "mine.first")[0]
    run(*CLI, "experiment", "mine", "first", "--run", "kept-first")
    kept = json.loads((written / "kept-first" / "finding.json").read_text())
    assert len(kept["numbers"]["one layer"]) == 3
    assert (written / "kept-first" / "figure.png").exists()


@pytest.mark.slow
def test_an_attention_and_an_activation(run):
    out, _ = run("attends.py")
    assert out.count("+-") == 2
    assert all(name in out for name in ("Bumps()", "Sparsemax()"))
    assert "nan" not in out


def test_a_layer(run):
    out, _ = run("bilinear.py")
    assert "nan" not in out
    assert float(re.search(r"apart by (\S+) errors", out)[1]) < 4

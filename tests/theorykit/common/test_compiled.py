"""What is compiled is kept where it is asked to be, within its bound."""

import os
import subprocess
import sys

import pytest

from theorykit.common.compiled import ASKED, keep_compiled, prune

PROGRAM = """
from theorykit.common.compiled import keep_compiled
print(keep_compiled())
import jax
jax.jit(lambda x: x + 1)(1.0)
"""


def test_the_next_process_finds_what_this_one_compiled(tmp_path):
    env = {k: v for k, v in os.environ.items() if k != ASKED} | {"XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True)
    assert not done.returncode, done.stderr
    kept = list((tmp_path / "theorykit" / "compiled").rglob("*-cache"))
    assert kept
    assert str(kept[0].parent) in done.stdout


def test_whoever_has_decided_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    mine = {ASKED: "elsewhere"}
    assert keep_compiled(mine) is None
    assert mine == {ASKED: "elsewhere"}
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_is_no_failure(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert keep_compiled({}) is None


def test_what_was_used_least_lately_goes_first(tmp_path):
    for age in range(5):
        file = tmp_path / f"{age}-cache"
        file.write_bytes(bytes(100))
        os.utime(file, (1000 - age, 500))
    prune(tmp_path, most=250)
    assert sorted(p.name for p in tmp_path.glob("*-cache")) == ["0-cache", "1-cache"]
    prune(tmp_path, most=0)
    assert not list(tmp_path.glob("*-cache"))


CLAIMS = """
import jax
from theorykit import claim
from theorykit.checks import inequality
from theorykit.domains import inputs, interval

def noted(name, **_):
    if name.endswith(("cache_hits", "cache_misses")):
        print(name.rpartition("_")[2])

jax.monitoring.register_event_listener(noted)

@claim("my.square")
def square():
    "A number between 0 and 1 is at least its square. Control: half of it."
    return inequality(lhs=lambda x: x * x, rhs=lambda x: x, over=inputs(x=interval(0, 1)),
                      control=dict(rhs=lambda x: x / 2))
"""


@pytest.mark.slow
def test_one_process_finds_what_it_compiled_the_last_time(tmp_path):
    (tmp_path / "mine.py").write_text(CLAIMS)
    env = {k: v for k, v in os.environ.items() if k != ASKED} | {"XDG_CACHE_HOME": str(tmp_path)}
    command = [sys.executable, "-m", "theorykit.cli", "verify", "mine.py", "--jobs", "1"]
    said = []
    for options in ([], [], ["--no-cache"]):
        done = subprocess.run(
            [*command, *options], env=env, cwd=tmp_path, capture_output=True, text=True
        )
        assert not done.returncode, done.stderr
        said.append([line for line in done.stdout.splitlines() if line in ("hits", "misses")])
    assert "misses" in said[0]
    assert set(said[1]) == {"hits"}
    assert not said[2]


TOO_LATE = """
import sys
from theorykit import cli

def prepared(*_):
    assert "jax" not in sys.modules
    raise ValueError("in time")

cli._claims.prepare = cli._work.prepare = prepared
cli.main()
"""


@pytest.mark.parametrize("command", ["verify", "experiment"])
def test_the_folder_is_named_before_jax_is_imported(command):
    done = subprocess.run([sys.executable, "-c", TOO_LATE, command], capture_output=True, text=True)
    assert done.stderr == "theorykit: in time\n"

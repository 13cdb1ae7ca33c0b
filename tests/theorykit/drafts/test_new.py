"""The folder of a new paper works as it is."""

import subprocess
import sys
from pathlib import Path

import pytest

from theorykit.drafts import new
from theorykit.runs import read_run


@pytest.mark.slow
def test_its_claims_are_tests_that_pass(tmp_path):
    folder = new("my_paper", tmp_path)
    more = (
        (folder / "src" / "my_paper" / "lemmas.py")
        .read_text()
        .replace("my_paper.", "my_paper.more.")
    )
    (folder / "src" / "my_paper" / "more.py").write_text(
        more
    )  # a further module is found by itself
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--theorykit-run", "run"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    found = {r.id: str(r.verdict) for r in read_run(folder / "run").results}
    verdicts = {"shift": "holds", "largest": "refuted", "largest.repaired": "holds"}
    assert found == {
        f"my_paper.{module}{name}": verdict
        for module in ("", "more.")
        for name, verdict in verdicts.items()
    }


def test_the_file_that_is_named_to_start_with_exists(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    said = command("new", "my_paper")[1].split()
    named = [Path(word) for word in said if word.endswith(".py")]
    assert len(named) == 2
    assert all(path.exists() for path in named)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("My", "lower-case letters, digits and _, .*; not 'My'"),
        ("my-paper", "not 'my-paper'"),
        ("../up", "lower-case"),
        ("class", "class already has a meaning"),
        ("tests", "tests already has a meaning"),
        ("numpy", "numpy is the name of an installed Python module"),
        ("sys", "sys is the name of"),
        ("capture", "there is already a paper capture"),
        (None, "not None"),
    ],
)
def test_a_name_that_will_not_do(tmp_path, name, said):
    with pytest.raises(ValueError, match=said):
        new(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_stays(tmp_path):
    (tmp_path / "mine").mkdir()
    with pytest.raises(ValueError, match="mine already exists"):
        new("mine", tmp_path)
    assert list((tmp_path / "mine").iterdir()) == []

"""The folder of a new paper works as it is."""

import subprocess
import sys

import pytest

from theorykit.drafts import new
from theorykit.runs import read_run


def test_its_claims_are_tests_that_pass(tmp_path):
    folder = new("my_paper", tmp_path)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--theorykit-run", "run"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    found = {r.id: str(r.verdict) for r in read_run(folder / "run").results}
    assert found == {
        "my_paper.shift": "holds",
        "my_paper.largest": "refuted",
        "my_paper.largest.repaired": "holds",
    }


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("My", "lower-case, as in my_paper, not 'My'"),
        ("../up", "lower-case"),
        ("class", "class has a meaning"),
        ("tests", "tests has a meaning"),
        ("capture", "there is a paper capture already"),
        (None, "not None"),
    ],
)
def test_a_name_that_will_not_do(tmp_path, name, said):
    with pytest.raises(ValueError, match=said):
        new(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_stays(tmp_path):
    (tmp_path / "mine").mkdir()
    with pytest.raises(ValueError, match="mine is there already"):
        new("mine", tmp_path)
    assert list((tmp_path / "mine").iterdir()) == []

"""A folder has one owner at a time, and one that is not ours stays as it was."""

import subprocess
import sys

import pytest

from theorykit.common.folders import Folder

HEADER = ("header.json", {"seed": 0})
OWNER = """
import sys, time
from theorykit.common.folders import Folder
folder = Folder(sys.argv[1], ("header.json", {"seed": 0}))
print("taken", flush=True)
time.sleep(600)
"""


def test_another_process_has_the_folder_until_it_is_gone(tmp_path):
    """Killed, it gives nothing back itself, and its lock file stays."""
    command = [sys.executable, "-c", OWNER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as owner:
        try:
            assert owner.stdout.readline() == "taken\n"
            with pytest.raises(ValueError, match="another process is running in"):
                Folder(tmp_path, HEADER)
        finally:
            owner.kill()
    assert (tmp_path / "lock").exists()
    Folder(tmp_path, HEADER).close()


def test_a_folder_is_taken_again_once_it_is_given_back(tmp_path):
    for _ in range(2):
        with Folder(tmp_path, HEADER), pytest.raises(ValueError, match="another process"):
            Folder(tmp_path, HEADER)


@pytest.mark.parametrize("file", ["thesis.tex", "header.json"])
def test_a_folder_that_is_refused_stays_as_it_was(tmp_path, file):
    (tmp_path / file).write_text("scribble")
    with pytest.raises(ValueError, match=r"use a new (or empty )?folder"):
        Folder(tmp_path, HEADER)
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [(file, "scribble")]
    (tmp_path / file).unlink()
    Folder(tmp_path, HEADER).close()


@pytest.mark.parametrize("path", [3, None, b"here", "", "x\0"])
def test_what_is_no_path_is_refused(path):
    with pytest.raises(ValueError, match="folder is a path, as text or a Path, got"):
        Folder(path, HEADER)

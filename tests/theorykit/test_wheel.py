"""What the wheel has: every file of the three source folders, under one import name."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("theorykit", "kernels", "proofs_numeric")
BUILD = "from setuptools.build_meta import build_wheel; print(build_wheel('dist'))"


def sources():
    """Return the files of the source folders, by their place in the repository."""
    found = [f for folder in FOLDERS for f in (ROOT / folder).rglob("*") if f.is_file()]
    return [f.relative_to(ROOT) for f in found if "__pycache__" not in f.parts]


def test_the_wheel_has_every_source_file_and_nothing_else(tmp_path):
    files = sources()
    for file in [*files, *map(Path, ("pyproject.toml", "setup.py", "README.md", "LICENSE"))]:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, tmp_path / file)
    run = dict(cwd=tmp_path, capture_output=True, text=True, check=True)
    name = subprocess.run([sys.executable, "-c", BUILD], **run).stdout.split()[-1]
    with zipfile.ZipFile(tmp_path / "dist" / name) as wheel:
        found = {n for n in wheel.namelist() if ".dist-info/" not in n}
    inside = lambda file: file if file.parts[0] == "theorykit" else "theorykit" / file
    assert found == {inside(file).as_posix() for file in files}

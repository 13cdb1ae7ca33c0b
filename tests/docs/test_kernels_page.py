"""The examples that docs/kernels.md prints, written to files and run."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "kernels.md"


SAID = {"described.py": "+-", "with_stax.py": "+-", "evidence.py": "slopes"}


SLOW = {"described.py", "evidence.py"}


@pytest.mark.parametrize(
    "file", [pytest.param(f, marks=pytest.mark.slow) if f in SLOW else f for f in SAID]
)
def test_an_example(tmp_path, file):
    text = re.search(rf"^```python\n(# {file}\n.*?)^```$", PAGE.read_text(), re.M | re.S)[1]
    (tmp_path / file).write_text(text)
    done = subprocess.run(
        [sys.executable, file], cwd=tmp_path, capture_output=True, text=True,
        env=os.environ | {"JAX_PLATFORMS": "cpu"},
    )  # fmt: skip
    assert not done.returncode, done.stderr
    assert SAID[file] in done.stdout
    assert "nan" not in done.stdout

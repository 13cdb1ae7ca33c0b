"""The description that docs/kernels.md prints, written to a file and run."""

import os
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "kernels.md"


def test_a_description_at_both_widths(tmp_path):
    text = re.search(r"^```python\n(# described.py\n.*?)^```$", PAGE.read_text(), re.M | re.S)[1]
    (tmp_path / "described.py").write_text(text)
    done = subprocess.run(
        [sys.executable, "described.py"], cwd=tmp_path, capture_output=True, text=True,
        env=os.environ | {"JAX_PLATFORMS": "cpu"},
    )  # fmt: skip
    assert not done.returncode, done.stderr
    assert "+-" in done.stdout
    assert "nan" not in done.stdout

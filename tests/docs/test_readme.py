"""What the README shows is what its code prints."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

README = (Path(__file__).parents[2] / "README.md").read_text()
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", README, re.DOTALL)


def block(start):
    """Return the code that starts with this."""
    (found,) = [text for _, text in BLOCKS if text.startswith(start)]
    return found


def test_the_claims_come_out_as_printed(tmp_path):
    (tmp_path / "my_claims.py").write_text(block("# my_claims.py"))
    run = subprocess.run(
        [sys.executable, "-c", "from theorykit.cli import main; main()", "verify", "my_claims.py"],
        cwd=tmp_path, env=os.environ | {"JAX_PLATFORMS": "cpu", "COLUMNS": "120"},
        capture_output=True, text=True,
    )  # fmt: skip
    assert run.returncode == 1
    printed, seconds = block("claim "), re.compile(r"\s+[\d.]+\s*$")
    lines = [seconds.sub("", line).rstrip() for line in run.stdout.splitlines()]
    for line in printed.splitlines():
        assert seconds.sub("", line).rstrip() in lines


def test_the_kernel_is_computed():
    names = {}
    exec(block("import jax\nfrom theorykit import kernels"), names)
    assert np.isfinite(names["fit"].mean).all()
    assert names["train"].ntk.shape == (20, 20)
    assert (np.diag(names["train"].ntk) > 0).all()


def test_it_is_short_and_its_files_are_there():
    assert README.count("\n") <= 150
    for name in set(re.findall(r"`((?:docs/)[\w/]+\.md|CONTRIBUTING\.md)`", README)):
        assert (Path(__file__).parents[2] / name).exists(), name


@pytest.mark.parametrize("name", re.findall(r"\]\((docs/[\w.]+)\)", README))
def test_its_pictures_are_there(name):
    assert (Path(__file__).parents[2] / name).exists()

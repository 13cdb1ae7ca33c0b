"""What importing the package costs and leaves behind."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

SCRIPT = """
import sys
heavy = {"optax", "scipy", "typer", "rich", "flax", "neural_tangents"}
heavy |= {"theorykit.kernels", "theorykit.networks.nets", "theorykit.proofs_numeric"}

import theorykit
assert not {*heavy, "jax", "numpy"} & set(sys.modules), "import theorykit"

import jax
before = dict(jax.config.values)
import theorykit.checks, theorykit.checks.domains, theorykit.runs._runner
from theorykit import claim, verify
assert not heavy & set(sys.modules), heavy & set(sys.modules)
assert dict(jax.config.values) == before
"""


def test_importing_loads_nothing_heavy_and_changes_no_setting():
    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_public_name_is_there():
    import theorykit

    for name in set(theorykit.__all__) - {"kernels", "nets", "proofs_numeric"}:
        assert getattr(theorykit, name) is not None


def test_arrows_point_one_way():
    """Kernels stand on the common room alone; no machinery imports the claims."""
    imports = lambda folder: {
        (file.name, name)
        for file in (ROOT / folder).rglob("*.py")
        for name in re.findall(r"^\s*(?:from|import) (theorykit[\w.]*)", file.read_text(), re.M)
    }
    own = ("theorykit.kernels", "theorykit.common")
    assert {n for _, n in imports("kernels") if not n.startswith(own)} == set()
    assert {i for i in imports("theorykit") if "proofs_numeric" in i[1]} == set()

"""Docstrings as Markdown; needs the dependency group `docs`."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("myst_parser")
FILE = Path(__file__).parents[2] / "docs" / "_ext" / "docstrings.py"


@pytest.fixture(scope="module")
def docstrings():
    spec = importlib.util.spec_from_file_location("docstrings", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_constant_has_the_string_below_it(docstrings):
    from theorykit.subjects import pacbayes

    lines = [*np.ndarray.__doc__.splitlines()]
    docstrings.hand_over(None, "data", "theorykit.pacbayes.MESH", pacbayes.MESH, None, lines)
    assert [line.strip() for line in lines if "sigma" in line] == [
        "The 20 values of sigma of the paper's section 2.1."
    ]
    assert not any("Parameters" in line for line in lines)


def test_a_constant_without_one_has_nothing(docstrings):
    lines = ["str(object='') -> str"]
    docstrings.hand_over(None, "data", "theorykit.nothing", "nothing", None, lines)
    assert lines == []

"""How a paper's package is laid out: a module per section, helpers beside them."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "proofs_numeric"
MODULES = [f for f in sorted(ROOT.rglob("*.py")) if f.name != "__init__.py"]


def claims(file):
    """Return the functions that are decorated with `@claim(...)`, in loops too."""
    found = [n for n in ast.walk(ast.parse(file.read_text())) if isinstance(n, ast.FunctionDef)]
    calls = [(f, d) for f in found for d in f.decorator_list if isinstance(d, ast.Call)]
    return [f for f, d in calls if getattr(d.func, "id", "") == "claim"]


def siblings(file):
    """Return the modules of `theorykit.proofs_numeric` that a file imports, by their last name."""
    for node in ast.walk(ast.parse(file.read_text())):
        module = getattr(node, "module", None) or ""
        if isinstance(node, ast.ImportFrom) and module.startswith("theorykit.proofs_numeric."):
            package, *rest = module.removeprefix("theorykit.proofs_numeric.").split(".")
            assert package == file.parent.name, f"{file} imports from the paper {package}"
            yield from rest or [name.name for name in node.names]


@pytest.mark.parametrize("file", MODULES, ids=lambda f: f"{f.parent.name}/{f.name}")
def test_a_module_has_claims_or_an_underscore_and_stands_on_helpers_only(file):
    assert bool(claims(file)) != file.name.startswith("_")
    assert all(name.startswith("_") for name in siblings(file))

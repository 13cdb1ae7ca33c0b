"""The API reference names everything that is public."""

import importlib
import inspect
import re
from pathlib import Path

import pytest

import theorykit

PAGES = Path(__file__).parents[2] / "docs" / "api"
PACKAGES = (
    "theorykit",
    "theorykit.certify",
    "theorykit.checks",
    "theorykit.experiments",
    "theorykit.export",
    "theorykit.kernels",
    "theorykit.kernels.layers",
    "theorykit.report.pages",
    *(name for name in theorykit._LONG if not name.endswith((".domains", ".exponents"))),
)


def documented() -> set[str]:
    """Return the full names that the pages ask autodoc for."""
    found, module = set(), ""
    for page in PAGES.glob("*.md"):
        for kind, name in re.findall(
            r"^\.\. (currentmodule|auto\w+):: (\S+)", page.read_text(), re.M
        ):
            module = name if kind == "currentmodule" else module
            found.add(f"{module}.{name}")
    return found


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_documented(package):
    module = importlib.import_module(package)
    text = Path(module.__file__).read_text()
    exported = re.findall(r"^\s*from theorykit\S* import \w+ as (\w+)$", text, re.M)
    public = {*getattr(module, "__all__", ()), *exported}
    public = {n for n in public if n[0] != "_" and not inspect.ismodule(getattr(module, n))}
    assert public, package
    assert not {f"{package}.{n}" for n in public} - documented()

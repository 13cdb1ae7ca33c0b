"""Both citations name the version that is installed."""

import re
from pathlib import Path

import theorykit

ROOT = Path(__file__).parents[2]


def test_the_version_is_this_one():
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.M)
    shown = re.search(r"version = \{(\S+)\}", (ROOT / "docs" / "index.md").read_text())
    assert cited
    assert shown
    assert {cited[1], shown[1]} == {theorykit.__version__}

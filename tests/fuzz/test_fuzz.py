"""No public function lets NaN, an empty input, a wrong type or a huge number through.

What comes of it is a sentence of the project's own, or NaN. The harness says how that is judged.
"""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

HARNESS = Path(__file__).parent / "harness.py"


def faults(*arguments):
    run = subprocess.run([sys.executable, HARNESS, *arguments], capture_output=True, text=True)
    assert not run.returncode, f"{run.stdout[-5000:]}\n{run.stderr[-2000:]}"


@pytest.mark.slow
@pytest.mark.parametrize(
    "package",
    ["pacbayes", "sharpness", "templates", "simulation", "boolean", "crasp", "limit", "tasks",
     "training", "nets", "kernels", "compare"],
)  # fmt: skip
def test_wrong_arguments_are_refused_in_a_sentence(package):
    faults(package)


MADE = """
def house(kind, x):
    if kind == "refuses":
        raise ValueError("x is a whole number.")
    if kind == "unasked":
        return x + 1
    if kind == "forgets":
        return 1.0 if x != x else x
    if kind == "passes":
        return 2.0 * x
    while True:
        pass
"""


@pytest.mark.parametrize(
    ("kind", "value", "fault"),
    [
        ("refuses", None, None),
        ("unasked", None, "raw"),
        ("forgets", float("nan"), "silent"),
        ("passes", float("nan"), None),
        ("loops", 1, "slow"),
    ],
)
def test_the_harness_tells_a_fault_from_a_refusal(monkeypatch, kind, value, fault):
    monkeypatch.syspath_prepend(str(HARNESS.parent))
    harness = importlib.import_module("harness")
    monkeypatch.setattr(harness, "SECONDS", 0.2)
    names = {}
    exec(compile(MADE, f"{harness.HOUSE[0]}/made.py", "exec"), names)
    call = lambda x: names["house"](kind, x)
    found = harness.judged(
        harness.Target("p", "f", call, {"x": lambda: 2.0}), "x", lambda: value, 2.0
    )
    assert (found and found[0]) == fault


def test_every_package_with_examples_is_tried(monkeypatch):
    monkeypatch.syspath_prepend(str(HARNESS.parent))
    valid = importlib.import_module("valid")
    (mark,) = (
        m for m in test_wrong_arguments_are_refused_in_a_sentence.pytestmark
        if m.name == "parametrize"
    )  # fmt: skip
    assert sorted(mark.args[1]) == sorted(valid.EXAMPLES)

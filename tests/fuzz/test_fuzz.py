"""No public function lets NaN, an empty input, a wrong type or a huge number through.

What comes of it is a sentence of the project's own, or NaN. The harness says how that is judged.
"""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import theorykit

HARNESS = Path(__file__).parent / "harness.py"


def faults(*arguments):
    run = subprocess.run([sys.executable, HARNESS, *arguments], capture_output=True, text=True)
    assert not run.returncode, f"{run.stdout[-5000:]}\n{run.stderr[-2000:]}"


PACKAGES = [
    "pacbayes", "sharpness", "templates", "simulation", "boolean", "crasp", "limit", "tasks",
    "predict", "training", "kernels", "nets", "compare", "certify", "checks", "checks.domains",
    "exponents",
]  # fmt: skip

SAMPLE = [
    "pacbayes.gaussian_kl", "pacbayes.sample_size", "templates.substitute", "templates.Template",
    "simulation.complexity", "simulation.apportion", "boolean.parity", "boolean.Design",
    "crasp.Counting", "crasp.Fragment", "limit.Local", "limit.Head", "tasks.Majority",
    "tasks.LengthBins", "training.reaches", "nets.Map", "kernels.template_expansion",
    "kernels.template_derivative", "certify.prove", "checks.rate", "checks.domains.Interval",
    "exponents.exact",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("package", PACKAGES)
def test_wrong_arguments_are_refused_in_a_sentence(package):
    faults(package)


def test_a_few_functions_of_each_package_refuse_them():
    """What goes wrong everywhere at once falls here; the slow test tries all functions."""
    faults(*SAMPLE, "--most=4")


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
    if kind == "takes":
        return int(x)
    while True:
        pass
"""


@pytest.mark.parametrize(
    ("kind", "value", "fault"),
    [
        ("refuses", None, "sentence"),
        ("unasked", None, "raw"),
        ("forgets", float("nan"), "silent"),
        ("passes", float("nan"), "answer"),
        ("passes", 2.5, "answer"),
        ("takes", "2", "silent"),
        ("takes", 2.5, "silent"),
        ("takes", 3, "answer"),
        ("loops", 1, "slow"),
    ],
)
def test_the_harness_tells_a_fault_from_a_refusal(monkeypatch, kind, value, fault):
    monkeypatch.syspath_prepend(str(HARNESS.parent))
    judge = importlib.import_module("judge")
    monkeypatch.setattr(judge, "SECONDS", 0.2)
    names = {}
    exec(compile(MADE, f"{judge.HOUSE[0]}/made.py", "exec"), names)
    call = lambda x: names["house"](kind, x)
    types = {"x": int if kind == "takes" else float}
    one = judge.Target("p", "f", call, {"x": lambda: 2.0}, types)
    found, _ = judge.judged(one, "x", lambda: value, 2.0)
    assert found == fault


def test_every_public_package_is_tried(monkeypatch):
    monkeypatch.syspath_prepend(str(HARNESS.parent))
    assert list(importlib.import_module("valid").EXAMPLES) == PACKAGES
    rooms = {name for room in ("networks", "subjects") for name in theorykit._SHORT[room]}
    assert rooms | {"kernels", "certify", "checks", "exponents"} < set(PACKAGES)
    assert {name.partition(".")[0] for name in SAMPLE} >= rooms - {"compare", "sharpness"}

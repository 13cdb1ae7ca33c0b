"""A check from outside the package, in one file: all reports say what it found."""

import io
import json
import subprocess
import sys

import pytest
from rich.console import Console

from theorykit import verify
from theorykit.report import content, pages, terminal
from theorykit.results import Curve, Stored, Verdict
from theorykit.runs import read_run, schema

CHECK = '''
"""A map that is applied again and again, and must not leave an interval."""

import dataclasses
from collections.abc import Callable

from theorykit.checks import Check, Trial
from theorykit.results import Curve, Evidence, Measurement, Number, Outcome, Verdict, Witness


class Orbit(Measurement):
    """The values that a map goes through, one for each step."""

    kind = "mine.orbit"
    values: tuple[Number, ...]
    bound: Number

    def words(self) -> str:
        """Return how far the values get."""
        return f"reaches {max(map(abs, self.values)):.3g} in {len(self.values) - 1} steps"

    def figure(self) -> Curve:
        """Return the values over the interval."""
        return Curve(
            caption=f"The values of {len(self.values) - 1} steps",
            x="step",
            points=[(step, value, 0.0) for step, value in enumerate(self.values)],
            predicted=(-self.bound, self.bound),
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Stays(Check):
    """`step`, applied `steps` times from `start`, never leaves [-bound, bound]."""

    step: Callable[[float], float]
    start: float
    bound: float
    steps: int = 8

    evidence = Evidence.exhaustive
    functions = ("step",)

    def test(self, trial: Trial) -> Outcome:
        """Follow the map."""
        values = [self.start]
        for done in range(self.steps):
            values.append(self.step(values[-1]))
            trial.progress((done + 1) / self.steps)
        start = Witness(f"value = {self.start!r}")
        measured = Orbit(values=values, bound=self.bound, places={"It starts at": start})
        outside = [v for v in values if abs(v) > self.bound]
        if not outside:
            return Outcome(Verdict.holds, self.evidence, len(values), measured=measured)
        return Outcome(
            Verdict.refuted,
            self.evidence,
            len(values),
            "The orbit leaves the interval.",
            measured,
            Witness(f"value = {outside[0]!r}", abs(outside[0]), self.bound),
        )

    def describe(self) -> str:
        """Return how far the map is followed."""
        return f"orbit: {self.steps} steps from {self.start:g}"
'''

CLAIMS = """
from stays_within import Stays
from theorykit import claim

@claim("orbit.halves", ref="Lemma 1")
def halves():
    "Halving stays."
    return Stays(step=lambda x: -x / 2, start=1.0, bound=1.0, control=dict(bound=0.5))

@claim("orbit.doubles", ref="Lemma 2", expect="refuted")
def doubles():
    "Doubling leaves."
    return Stays(step=lambda x: 2e200 * x, start=1.0, bound=1e9, control=dict(bound=0.5))
"""

STRANGER = """
import sys
from pathlib import Path
from rich.console import Console
from theorykit.report import content, pages, terminal
from theorykit.runs import read_run

run, out = read_run("run"), Path("stranger")
out.mkdir()
for page in (pages.html, pages.markdown, pages.latex):
    (out / page.__name__).write_text(page(run))
with (out / "terminal").open("w") as file:
    Console(file=file, width=140).print(terminal(content(run)))
assert not {"stays_within", "theorykit.checks", "jax"} & set(sys.modules)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("outside")
    (path / "stays_within.py").write_text(CHECK)
    (path / "mine.py").write_text(CLAIMS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(path / "cache"))
        verify(path / "mine.py", run=path / "run")
    yield path
    del sys.modules["stays_within"]


def printed(run):
    out = io.StringIO()
    Console(file=out, width=140).print(terminal(content(run)))
    return out.getvalue()


def test_a_new_check_is_one_file(folder):
    run = read_run(folder / "run")
    doubles, halves = run.results
    assert (halves.verdict, doubles.verdict) == (Verdict.holds, Verdict.refuted)
    assert type(halves.outcome.measured).__name__ == "Orbit"
    assert halves.outcome.measured.values[:2] == (1.0, -0.5)
    assert doubles.outcome.measured.values[-1] == float("inf")
    reports = {page.__name__: page(run) for page in (pages.html, pages.markdown, pages.latex)}
    reports["terminal"] = printed(run)
    for form, text in reports.items():
        assert "reaches 1 in 8 steps" in text, form
        assert "reaches inf in 8 steps" in text, form
        assert "The orbit leaves the interval." in text, form
    assert "<figcaption>The values of 8 steps</figcaption>" in reports["html"]
    assert "<summary>It starts at</summary>" in reports["html"]
    assert "orbit: 8 steps from 1; the control replaces bound" in reports["html"]
    # A process that has never heard of this check says the same.
    subprocess.run([sys.executable, "-c", STRANGER], cwd=folder, check=True)
    for form, text in reports.items():
        assert (folder / "stranger" / form).read_text() == text, form


def test_a_new_check_is_as_strict_as_the_shipped_ones(folder):
    stays = sys.modules["stays_within"].Stays
    with pytest.raises(ValueError, match="step is a function, not 2"):
        stays(step=2, start=1.0, bound=1.0)
    with pytest.raises(ValueError, match="a control replaces fields of its check \\(bound, start"):
        stays(step=abs, start=1.0, bound=1.0, control=dict(top=1)).controlled()
    assert "mine.orbit" in json.dumps(schema())
    orbit = schema()["$defs"]["Orbit"]
    assert {"kind", "words", "figure", "places", "values", "bound"} == set(orbit["required"])


def test_what_is_read_without_its_check_goes_back_as_it_was(folder, monkeypatch):
    lines = [json.loads(line) for line in (folder / "run" / "results.jsonl").open()]
    monkeypatch.delitem(sys.modules["theorykit.results._measurement"]._kinds, "mine.orbit")
    results = {r.id: r for r in read_run(folder / "run").results}
    for line in lines:
        assert results[line["result"]["id"]].json() == line["result"]
    measured = results["orbit.halves"].outcome.measured
    assert isinstance(measured, Stored)
    assert measured.bound == 1.0
    assert isinstance(measured.figure(), Curve)
    with pytest.raises(AttributeError, match=r"of the kind 'mine.orbit' has no 'slope'"):
        measured.slope  # noqa: B018

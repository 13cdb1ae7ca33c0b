"""Claims as pytest's tests."""

import json
import subprocess
import sys

import pytest

from theorykit.runs import kept, read_run

CLAIMS = """
import sys

from theorykit import claim
from theorykit.checks import exhaustive


@claim("mine.small", ref="Lemma 1", statement="n < 3")
def small():
    return exhaustive(
        predicate=lambda n: n < 3, universe=range(3), control=dict(predicate=lambda n: n < 2)
    )


@claim("mine.false", ref="Lemma 2", statement="n < 2")
def false():
    return exhaustive(
        predicate=lambda n: n < 2, universe=range(3), control=dict(predicate=lambda n: n < 1)
    )


@claim("mine.long", tier="slow")
def long():
    return exhaustive(
        predicate=lambda n: n < 4, universe=range(4), control=dict(predicate=lambda n: n < 2)
    )


again = small  # a second name makes no second test


def test_plain():
    assert "theorykit.plugin" in sys.modules
"""


@pytest.fixture
def suite(tmp_path):
    """Return a function that runs pytest on the claims."""
    (tmp_path / "test_mine.py").write_text(CLAIMS)

    def run(*options):
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    return run


def test_each_claim_is_a_test_with_the_mark_of_its_tier(suite):
    found = suite("--collect-only", "-q").stdout.splitlines()
    ids = ["mine.small", "mine.false", "mine.long", "test_plain"]
    assert [line for line in found if "::" in line] == [f"test_mine.py::{id}" for id in ids]
    for options, kept_ids in (
        (("-m", "slow"), ["mine.long"]),
        (("-m", "fast"), ["mine.small", "mine.false"]),
        (("-k", "small"), ["mine.small"]),
    ):
        found = suite("--collect-only", "-q", *options).stdout.splitlines()
        assert [line.partition("::")[2] for line in found if "::" in line] == kept_ids


def test_a_moved_verdict_fails_with_what_the_command_line_prints(suite):
    done = suite("test_mine.py::mine.false")
    assert done.returncode == 1
    assert "mine.false is refuted, but holds was expected." in done.stdout
    assert "member = 2" in done.stdout
    assert "1 claim: 1 refuted; 1 moved from the recorded verdict." in done.stdout


@pytest.mark.slow
def test_a_folder_keeps_results_from_all_workers_and_goes_on(suite, tmp_path):
    folder = tmp_path / "kept"
    assert suite("--theorykit-run=kept", "-n2", "-k", "not long").returncode == 1
    run = read_run(folder)
    assert [(r.id, r.verdict) for r in run.results] == [
        ("mine.false", "refuted"),
        ("mine.small", "holds"),
    ]
    assert run.claims["mine.small"].statement == "n < 3"
    assert not run.problems
    # What is kept is not run again: the result below is no claim's own.
    lines = (folder / "results.jsonl").read_text().replace('"cases": 3', '"cases": 77')
    (folder / "results.jsonl").write_text(lines)
    assert suite("--theorykit-run=kept", "-n2").returncode == 1
    assert {id: r.outcome.cases for id, (_, r) in kept(folder).items()}["mine.small"] == 77
    assert [json.loads(line)["result"]["id"] for line in lines.splitlines()].count(
        "mine.small"
    ) == 1
    assert len(read_run(folder).results) == 3


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--theorykit-seed=-1"], "--theorykit-seed is a number from 0 to 2^32 - 1, got -1"),
        (["--theorykit-run=test_mine.py"], "cannot be the folder of a run"),
        (["--theorykit-run=."], "holds other files, not a run"),
    ],
)
def test_bad_options_are_one_sentence(suite, options, said):
    done = suite(*options)
    assert done.returncode == 4
    assert said in done.stderr
    assert "Traceback" not in done.stderr

"""Benchmarks that are run again, beside the last time."""

import json

import pytest

from theorykit import bench as module
from theorykit.bench import bench, benchmarks, compared

PROGRAM = '''"""Counts.

More.
"""
import json, sys, time
from pathlib import Path

def report(name, **found):
    where = {"date": time.asctime(), "load": [time.perf_counter(), 2.0]}
    print(json.dumps({"benchmark": name, "theorykit": "1", "run": where, **found}))

def main():
    report(
        "counts", size=SIZE, seconds={"median": 2.0, "min": 1.5, "max": MOST}, rate=[0.5], on=True
    )

main()
'''


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    made = tmp_path / "benchmarks"
    made.mkdir()
    (made / "_timing.py").write_text(PROGRAM)
    (made / "other.py").write_text("print(1)")
    write(made)
    return made


def write(folder, size=3, most=2.5):
    text = PROGRAM.replace("SIZE", str(size)).replace("MOST", str(most))
    (folder / "counts.py").write_text(text)


def test_the_last_run_is_compared_with(folder):
    assert benchmarks(folder) == {"counts": "Counts."}
    said = []
    first = list(bench([], folder, said.append))
    assert said == ["counts: Counts."]
    assert [(row.measure, row.now, row.last) for row in first] == [
        ("seconds", (2.0, 1.5, 2.5), None),
        ("rate[0]", (0.5, 0.5, 0.5), None),
    ]
    second = list(bench(["counts"], folder, said.append))
    assert [row.last for row in second] == [row.now for row in first]
    assert second[0].cells()["now / last"] == "1.00"
    assert not any(row.apart for row in second)
    write(folder, size=4)
    assert all(row.last is None for row in bench([], folder, said.append))


def test_what_no_round_of_the_last_run_reaches_has_changed():
    last = {"seconds": {"median": 2.0, "min": 1.5, "max": 2.5}, "theorykit": "0", "jax": "1"}
    for median, apart in ((1.4, True), (1.6, False), (2.6, True)):
        now = {"seconds": {"median": median, "min": median, "max": median}, "theorykit": "1"}
        (row,) = compared("a", now | {"jax": "2"}, last)
        assert row.apart == apart
        assert row.cells()[""] == "changed" * apart


@pytest.mark.parametrize(
    ("names", "program", "said"),
    [
        (
            ["conts"],
            PROGRAM,
            "there is no benchmark 'conts'; there are counts. Did you mean counts",
        ),
        ([], PROGRAM + "sys.exit(3)", "counts failed with exit code 3"),
        ([], PROGRAM.replace("print(", "repr("), "counts prints no JSON"),
    ],
)
def test_what_cannot_be_run_is_said(folder, names, program, said):
    (folder / "counts.py").write_text(program.replace("SIZE", "1").replace("MOST", "2.0"))
    with pytest.raises(ValueError, match="benchmark") as error:
        list(bench(names, folder, lambda line: None))
    assert said in str(error.value)


def test_the_command_prints_a_table(folder, command):
    code, out, _ = command("bench", "--json", "out.json")
    assert code == 0
    assert "2 (1.5 to 2.5)" in out
    code, out, _ = command("bench", "--list")
    assert "Counts." in out
    assert len(json.loads((folder.parent / "out.json").read_text())["rows"]) == 2
    code, _, err = command("bench", "--folder", "none")
    assert code == 2
    assert "there is no folder none" in err


@pytest.mark.parametrize(
    ("ends", "code"), [(ValueError("the benchmark later failed."), 2), (KeyboardInterrupt(), 130)]
)
def test_what_was_measured_before_one_ends_early_is_printed(
    folder, command, monkeypatch, ends, code
):
    (folder / "later.py").write_text((folder / "counts.py").read_text())
    run = module._run

    def until_later(file):
        if file.stem == "later":
            raise ends
        return run(file)

    monkeypatch.setattr(module, "_run", until_later)
    found, out, _ = command("bench", "--json", "out.json")
    assert found == code
    assert "2 (1.5 to 2.5)" in out
    assert len(json.loads((folder.parent / "out.json").read_text())["rows"]) == 2

"""An audit of a package of a user's own, with tests and claims of its own."""

import json
import sys

import pytest

from theorykit.audit import _worker, audit
from theorykit.audit._audit import Found

CODE = '''
def doubled(n):
    """Return twice n."""
    return n * 2


def unseen(n):
    return n + 1


def waits(n):
    while n > 0:
        n = n - 1
    return n


def claimed(n):
    return n + 5
'''

TESTS = """
from toy import code

def test_doubled():
    assert code.doubled(3) == 6

def test_that_is_slower_and_says_less():
    assert code.doubled(0) == 0

def test_waits():
    assert code.waits(3) == 0
"""

CLAIMS = """
import pathlib, sys
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from theorykit import claim
from theorykit.checks import exhaustive
from toy import code

@claim("toy.five")
def five():
    return exhaustive(predicate=lambda n: code.claimed(n) == n + 5, universe=range(3),
                      control=dict(predicate=lambda n: code.claimed(n) == n + 6))
"""


@pytest.fixture
def toy(tmp_path, monkeypatch):
    package = tmp_path / "toy"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "code.py").write_text(CODE)
    tests = tmp_path / "tests"
    tests.mkdir()
    (tests / "test_code.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    (tmp_path / "claims_of_mine.py").write_text(CLAIMS)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    yield tmp_path
    for name in [m for m in sys.modules if m.split(".")[0] == "toy"]:
        del sys.modules[name]


def test_files_that_do_not_name_a_function_are_asked_as_well(toy):
    (toy / "tests" / "test_other.py").write_text("""
import importlib

def test_other():
    assert getattr(importlib.import_module("toy.co" + "de"), "un" + "seen")(1) == 2
""")
    found = audit(["toy.code.unseen"], folder=toy / "audit", tests=toy / "tests").found
    assert {f.what for f in found} == {"tests/test_other.py::test_other"}


def test_a_test_that_cannot_be_watched_is_asked_all_the_same(toy):
    (toy / "tests" / "test_code.py").write_text("""
import sys
from toy import code

def test_with_a_profiler_of_its_own():
    assert sys.getprofile() is None
    assert code.unseen(1) == 2

def test_that_fails():
    assert code.doubled(1) == 3
""")
    asked = audit(["toy.code.unseen"], folder=toy / "audit", tests=toy / "tests")
    assert {f.what for f in asked.found} == {"tests/test_code.py::test_with_a_profiler_of_its_own"}
    [problem] = asked.problems
    assert "test_that_fails" in problem
    assert "profiler" not in problem


@pytest.mark.slow
def test_what_tests_notice_and_what_nothing_does(toy, monkeypatch):
    monkeypatch.setattr("theorykit.audit._audit.PATIENCE", 15.0)
    asked = dict(folder=toy / "audit", tests=toy / "tests")
    found = audit(["toy.*"], **asked)
    by = {(f.fault.function, f.fault.change): (f.by, f.what) for f in found.found}
    doubled = "tests/test_code.py::test_doubled"
    assert by["toy.code.doubled", "n * 2 -> ((n) / (2))"] == ("test", doubled)
    assert by["toy.code.doubled", "2 -> 3"] == ("test", doubled)
    assert by["toy.code.unseen", "1 -> 2"] == ("", "")
    assert by["toy.code.waits", "n - 1 -> (n)"] == ("timeout", "tests")
    assert (toy / "toy" / "code.py").read_text() == CODE
    assert not found.problems
    assert {f.fault.function for f in found.missed} >= {"toy.code.unseen", "toy.code.claimed"}
    [row] = found.rows
    assert row["planted"] == found.possible == row["noticed"] + row["missed"]
    assert json.loads(json.dumps(found.json()))["packages"] == [row]

    # What was found is kept, also when the last line is torn; the order is the seed's.
    kept = (toy / "audit" / "faults.jsonl").read_text().splitlines()
    assert [Found.from_json(json.loads(line)["value"]) for line in kept] == found.found
    (toy / "audit" / "faults.jsonl").write_text("\n".join(kept[:-1]) + "\n" + kept[-1][:9])
    said = []
    assert len(audit(["toy.*"], **asked, say=said.append).found) == len(kept)
    assert len(said) == 1

    # A sample is the beginning of that order; a budget of nothing plants nothing.
    assert audit(["toy.*"], sample=3, **asked).found == found.found[:3]
    none = audit(["toy.*"], budget=0.0, folder=toy / "other", tests=toy / "tests")
    assert (none.found, none.left) == ([], found.possible)


def test_what_is_known_to_change_nothing_is_not_planted(toy):
    file = toy / "equivalent.toml"
    entry = '[[equivalent]]\nfunction = "toy.code.unseen"\nchange = "1 -> 2"\n'
    file.write_text(entry + 'reason = "No one calls it."\n')
    found = audit(["toy.code.unseen"], folder=toy / "a", tests=toy / "tests", equivalent=file)
    assert found.excused == 1
    assert "1 -> 2" not in {f.fault.change for f in found.found}
    file.write_text(entry)
    with pytest.raises(ValueError, match="every fault has a function, a change and a reason"):
        audit(["toy.code.unseen"], folder=toy / "a", tests=toy / "tests", equivalent=file)


def test_a_claim_notices_what_no_test_does(toy, command, monkeypatch, registry):
    """From a run in which it ran the function; the claim's file is named."""
    from theorykit.audit import _audit
    from theorykit.claims import load

    [five] = load(toy / "claims_of_mine.py")
    ran = five.run()
    monkeypatch.setattr(_audit, "_claims", lambda run: {"toy.five": ran})
    monkeypatch.setattr(_audit, "_near", lambda function, known: list(known))
    where = dict(folder=toy / "b", tests=toy / "tests", files=[toy / "claims_of_mine.py"])
    found = audit(["toy.code.claimed"], **where)
    assert {f.by for f in found.found} == {"claim"}
    assert {f.what for f in found.found} == {"toy.five"}


def test_which_functions_a_claim_ran_is_no_number_of_its(toy):
    """It is not the same once others have run in the process, which remember what they compiled."""
    job = {"claims": ["toy.five"], "files": [toy / "claims_of_mine.py"], "seed": 0}
    result = _worker.claims(job)["claims"]["toy.five"]["result"]
    assert not {"ran", "seconds"} & set(result)
    assert {"verdict", "control", "evidence"} <= set(result)


def test_the_command(toy, command, monkeypatch):
    code, out, err = command("audit", "toy.code.unseen", "--tests", toy / "tests", "--sample", 2)
    assert code == 1
    assert "planted" in out
    assert "return n + " in out
    assert "MISSED" in err
    code, _, err = command("audit", "toy.none")
    assert code == 2
    assert err.startswith(
        "theorykit: no function matches 'toy.none'; a pattern begins with a package"
    )

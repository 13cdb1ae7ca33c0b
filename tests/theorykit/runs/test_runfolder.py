import json
from pathlib import Path

import pytest

from theorykit.checks._rate import FittedExponent
from theorykit.results import Evidence, Outcome, Result, Verdict, Witness
from theorykit.runs import Asked
from theorykit.runs._folder import RunFolder, read_run, recall, remember

HEADER = {"version": "1", "seed": 0}


def result(id):
    outcome = Outcome(
        Verdict.refuted,
        Evidence.fitted,
        3,
        measured=FittedExponent(
            exponent=1.5,
            interval=(float("-inf"), 2.0),
            predicted=(1.0, float("inf")),
            points=((8.0, 1.0, 0.0),),
        ),
        witness=Witness("x = 1", 1.0, float("nan")),
    )
    return Result(id, "p", "L", "s", Verdict.holds, Verdict.refuted, None, outcome, "n", 1.0)


def test_results_are_there_when_the_folder_is_opened_again(tmp_path):
    with RunFolder(tmp_path / "run", HEADER) as folder:
        folder.append(result("a"), "f")
    with RunFolder(tmp_path / "run", HEADER) as folder:
        assert folder.result("a", "f").json() == result("a").json()
        assert folder.result("a", "changed") is None
        assert folder.result("b", "f") is None


@pytest.mark.parametrize("torn", [b"{", b'{"fingerprint": "f", "result": {}}', b"\xff"])
def test_a_torn_last_line_is_dropped(tmp_path, torn):
    with RunFolder(tmp_path, HEADER) as folder:
        folder.append(result("a"), "f")
    with (tmp_path / "results.jsonl").open("ab") as file:
        file.write(torn)
    with RunFolder(tmp_path, HEADER) as folder:
        assert folder.result("a", "f") is not None
        folder.append(result("b"), "f")
    lines = (tmp_path / "results.jsonl").read_text().splitlines()
    assert [json.loads(line)["result"]["id"] for line in lines] == ["a", "b"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
def test_a_full_disk_is_a_sentence_with_the_file(tmp_path):
    with RunFolder(tmp_path, HEADER) as folder:
        folder.append(result("a"), "f")
        with open("/dev/full", "w") as full:
            folder._out, whole = full, folder._out
            with pytest.raises(ValueError, match=r"cannot be written \(No space left"):
                folder.append(result("b"), "f")
            assert folder.result("b", "f") is None
            folder.close()
        whole.close()
    with RunFolder(tmp_path, HEADER) as folder:
        assert folder.result("a", "f") is not None


def test_a_folder_of_another_run_is_refused_and_kept(tmp_path):
    with RunFolder(tmp_path, HEADER) as folder:
        folder.append(result("a"), "f")
    before = (tmp_path / "results.jsonl").read_bytes()
    with pytest.raises(ValueError, match="a run with seed 0, this one has seed 1"):
        RunFolder(tmp_path, HEADER | {"seed": 1})
    assert (tmp_path / "results.jsonl").read_bytes() == before


def test_a_folder_of_something_else_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(ValueError, match="holds other files"):
        RunFolder(tmp_path, HEADER)
    with pytest.raises(ValueError, match="cannot be the folder of a run"):
        RunFolder(tmp_path / "thesis.tex", HEADER)


def test_a_damaged_file_is_refused_and_kept(tmp_path):
    with RunFolder(tmp_path, HEADER) as folder:
        folder.append(result("a"), "f")
    file = tmp_path / "results.jsonl"
    file.write_text("scribble\n" + file.read_text())
    with pytest.raises(ValueError, match="line 1 of"):
        RunFolder(tmp_path, HEADER)
    assert file.read_text().startswith("scribble")


def test_one_process_at_a_time(tmp_path):
    with (
        RunFolder(tmp_path, HEADER),
        pytest.raises(ValueError, match="another process is running in"),
    ):
        RunFolder(tmp_path, HEADER)
    RunFolder(tmp_path, HEADER).close()


def test_last_results_are_kept_claim_by_claim(monkeypatch, tmp_path):
    remember([result("a")], HEADER, {"a": "f"})
    remember([result("b")], HEADER, {"b": "g"})
    assert set(recall()) == {"a", "b"}
    assert (recall()["a"]["header"], recall()["b"]["fingerprint"]) == (HEADER, "g")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    (tmp_path / "file").write_text("in the way")
    remember([result("a")], HEADER, {"a": "f"})
    assert recall() == {}


def test_a_plan_is_kept_beside_those_before_it(tmp_path):
    with RunFolder(tmp_path, HEADER) as folder:
        folder.plan([{"id": "b"}], {"cores": 2})
        folder.append(result("b"), "f")
    with RunFolder(tmp_path, HEADER) as folder:
        folder.plan([{"id": "a"}, {"id": "b", "tier": "slow"}], {"cores": 2})
    run = read_run(tmp_path)
    assert run.claims == {"a": Asked(id="a"), "b": Asked(id="b", tier="slow")}
    assert run.machines == [{"cores": 2}]
    assert run.unfinished == ["a"]
    assert [r.json() for r in run.results] == [result("b").json()]


def test_a_run_is_read_while_it_runs_and_left_as_it_is(tmp_path):
    with RunFolder(tmp_path, HEADER) as folder:
        folder.append(result("a"), "f")
        with (tmp_path / "results.jsonl").open("ab") as file:
            file.write(b'{"fingerprint": "f", "resu')
        before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
        run = read_run(tmp_path)
        assert [r.id for r in run.results] == ["a"]
        assert any("1 line is not a result" in problem for problem in run.problems)
        assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


@pytest.mark.parametrize("line", ['{"result": {"id": "a"}}', "[]", "null", "\ufffd", ""])
@pytest.mark.parametrize("plan", ['{"claims": 3}', "[]", '{"claims": [{}, {"id": 3}]}', "{"])
def test_what_cannot_be_read_is_left_out(tmp_path, line, plan):
    with RunFolder(tmp_path, HEADER) as folder:
        folder.append(result("b"), "f")
    with (tmp_path / "results.jsonl").open("a") as file:
        file.write(line + "\n")
    (tmp_path / "plan.json").write_text(plan)
    (tmp_path / "header.json").write_text("scribble")
    run = read_run(tmp_path)
    assert [r.id for r in run.results] == ["b"]
    assert run.claims == {}
    assert "The run has no header: version, seed and device are not known." in run.problems


@pytest.mark.parametrize("plan", ['{"claims": 3}', '{"claims": [{}, {"id": 3}, null]}', "{"])
def test_a_damaged_plan_is_written_anew(tmp_path, plan):
    with RunFolder(tmp_path, HEADER) as folder:
        (tmp_path / "plan.json").write_text(plan)
        folder.plan([{"id": "a"}], {"cores": 2})
    assert read_run(tmp_path).claims == {"a": Asked(id="a")}


def test_no_run_is_refused(tmp_path):
    with pytest.raises(ValueError, match="there is no run folder"):
        read_run(tmp_path / "nothing")
    assert read_run(tmp_path).results == []
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(ValueError, match="is not a run folder: it holds other files"):
        read_run(tmp_path)

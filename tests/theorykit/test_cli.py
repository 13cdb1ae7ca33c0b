"""The command line, in processes of its own: exit codes, kills, Ctrl-C."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import theorykit
from theorykit import report, verify

ROOT = Path(__file__).parents[2]

CLAIMS = """
import time
from theorykit import claim
from theorykit.checks import exhaustive, expectation
import jax

def slowly(n, top):
    time.sleep(0.02)
    return n < top

for i in range(8):
    @claim(f"my.c{i}", ref=f"Lemma {i}", expect="refuted" if i == 5 else "holds")
    def c(i=i):
        "Numbers below ten are below ten."
        if i:
            return exhaustive(predicate=lambda n: slowly(n, 10 - (i == 5)), universe=range(10),
                              control=dict(predicate=lambda n: n < 5))
        return expectation(statistic=jax.random.normal, value=0.0, replicates=8,
                           vectorize=False, control=dict(value=9.0))
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "my_claims.py").write_text(CLAIMS)
    return tmp_path


# A job in the background of a shell ignores SIGINT, and so would what it starts.
START = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from theorykit.cli import main
main()
"""


def start(folder, *arguments):
    return subprocess.Popen(
        [sys.executable, "-c", START, *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def without_seconds(file):
    run = json.loads(file.read_text())
    return {
        **run,
        "claims": [{k: v for k, v in c.items() if k != "seconds"} for c in run["claims"]],
    }


def lines(folder):
    file = folder / "run" / "results.jsonl"
    return file.read_text().count("\n") if file.exists() else 0


def test_a_killed_run_goes_on_to_the_same_results(folder, command, registry):
    code, out, _ = command("verify", "my_claims.py", "--json", "whole.json")
    assert code == 0
    assert "8 claims: 7 hold, 1 refuted; all as recorded." in out
    assert "member = 9" in out
    again = ("verify", "my_claims.py", "--json", "resumed.json", "--run", "run")
    process = start(folder, *again)
    while lines(folder) < 3 and process.poll() is None:
        time.sleep(0.01)
    process.kill()
    process.communicate()
    assert not (folder / "resumed.json").exists()
    before = (folder / "run" / "results.jsonl").read_text()
    assert before.count("\n") < 8
    with (folder / "run" / "results.jsonl").open("a") as file:
        file.write('{"fingerprint": "torn')
    assert command(*again)[0] == 0
    assert (folder / "run" / "results.jsonl").read_text().startswith(before)
    assert lines(folder) == 8
    assert without_seconds(folder / "resumed.json") == without_seconds(folder / "whole.json")


SLOW = """
import time
from theorykit import claim
from theorykit.checks import exhaustive

wait = lambda n: time.sleep(0.1) is None and n >= 0

@claim("s.quick")
def quick():
    return exhaustive(predicate=lambda n: n < 3, universe=range(3),
                      control=dict(predicate=lambda n: n < 2))

@claim("s.slow")
def slow():
    return exhaustive(predicate=wait, universe=range(3000), control=dict(universe=[]))
"""


def test_ctrl_c_ends_cleanly_and_says_how_to_go_on(folder):
    (folder / "my_claims.py").write_text(SLOW)
    process = start(folder, "verify", "my_claims.py", "--run", "run")
    while lines(folder) < 1 and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "to continue: theorykit verify my_claims.py --run run" in err
    assert "Traceback" not in err
    assert "holds" in out


QUICK = """
from theorykit import claim
from theorykit.checks import exhaustive

@claim("q.one", ref="Lemma 1", statement="n < 3", assumptions=("n is small",))
def one():
    "Small numbers are small."
    return exhaustive(predicate=lambda n: n < 3, universe=range(3),
                      control=dict(predicate=lambda n: n < 2))

@claim("q.moved")
def moved():
    return exhaustive(predicate=lambda n: n < 2, universe=range(3),
                      control=dict(predicate=lambda n: n < 1))
"""


@pytest.fixture
def quick(registry, tmp_path):
    (tmp_path / "quick.py").write_text(QUICK)
    return tmp_path / "quick.py"


def test_a_moved_verdict_is_exit_code_1(command, quick):
    code, out, err = command("verify", "quick.py", "--json", "out.json", "--seed", 7)
    assert code == 1
    assert "refuted (recorded: holds)" in out
    assert "1 moved from the recorded verdict" in out
    assert "[2/2]" in err
    run = json.loads(quick.with_name("out.json").read_text())
    assert [c["id"] for c in run["claims"]] == ["q.moved", "q.one"]
    assert (run["seed"], run["claims"][0]["witness"]["code"]) == (7, "member = 2")
    assert set(run) == {"version", "seed", "jax", "device", "claims"}
    for field in ("paper", "ref", "statement", "verdict", "expected", "evidence", "control"):
        assert field in run["claims"][0]


def test_json_to_stdout_is_nothing_but_json(command, quick):
    code, out, _ = command("verify", "quick.py", "--json", "-")
    assert code == 1
    assert len(json.loads(out)["claims"]) == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["verify", "nothing.*"], "no claim matches 'nothing.*'"),
        (["verify", "none.py"], "there is no claims file none.py"),
        (["verify", "bad.py"], "ZeroDivisionError: division by zero (bad.py:1)"),
        (["verify", "twice.py"], "two claims have the id q.one"),
        (["verify", "quick.py", "--json", "no/such/out.json"], "no writable folder no/such"),
        (["verify", "quick.py", "--run", "used"], "a run with seed 5, this one has seed 0"),
        (["verify", "quick.py", "--run", "quick.py"], "cannot be the folder of a run"),
        (["verify", "--seed", "-1"], "--seed"),
        (
            ["verify", "--tier", "medium"],
            "'medium' is not one of 'fast', 'slow', 'all'. `theorykit",
        ),
        (["verify", "--seed", "x"], "'x' is not a valid integer. `theorykit verify --help`"),
        (["verify", "--nonsense"], "nonsense"),
        (["verify", "--tire", "fast"], "No such option: --tire. Did you mean --tier?"),
        (["verify", "draft.tex"], "not a file of claims, whose name ends in .py; `theorykit cov"),
        (["verify", "used"], "used is a folder; name its files of claims, as in used/*.py."),
        (["verify", "syntax.py"], "cannot be imported: SyntaxError: invalid syntax (syntax.py:1)."),
        (
            ["verify", "own.*"],
            "the paper is in drafts and is not installed; `pip install -e drafts`",
        ),
        (
            ["show", "own.one"],
            "the paper is in drafts and is not installed; `pip install -e drafts`",
        ),
        (["predict", "(ab"], "does not parse: a parenthesis is not closed."),
        (["predict", "*ab"], "does not parse: * has nothing before it."),
        (["show", "q.none", "quick.py"], "no claim has the id 'q.none'"),
        (["show", "q.oen", "quick.py"], "Did you mean q.one?"),
        (["verify", "q.moveed", "quick.py"], "Did you mean q.moved?"),
        (["experiment", "sharper", "gaps"], "Did you mean sharper gap?"),
        (["verify", "quik.py"], "there is no claims file quik.py. Did you mean quick.py?"),
        (["bench", "--folder", "nowhere"], "there is no folder nowhere"),
        (["frobnicate"], "frobnicate"),
        (["report", "no/run"], "there is no run folder no/run"),
        (["report", ".", "--html", "out"], ". is not a run folder: it holds other files"),
        (["report", "used", "--latex", "no/such/out.tex"], "no writable folder no/such"),
        (["report", "used", "q.*"], "no result of the run matches 'q.*'"),
    ],
)
def test_usage_errors_are_one_sentence_and_exit_code_2(command, quick, arguments, words):
    quick.with_name("bad.py").write_text("1 / 0")
    quick.with_name("twice.py").write_text(QUICK + QUICK)
    quick.with_name("syntax.py").write_text("def f(:")
    quick.with_name("draft.tex").write_text("")
    quick.with_name("drafts").mkdir()
    quick.with_name("drafts").joinpath("pyproject.toml").write_text(
        '[project]\nentry-points."theorykit.papers".own = "own:PAPER"\n'
    )
    used = quick.with_name("used")
    used.mkdir()
    (used / "header.json").write_text('{"version": "0.1.0", "seed": 5}')
    code, out, err = command(*arguments)
    assert code == 2
    assert out == ""
    assert words in err
    assert err.startswith("theorykit: ")
    assert err.count("\n") == 1


def test_without_a_command_there_is_the_help_and_nothing_else(command):
    code, out, err = command()
    assert (code, err) == (2, "")
    assert "coverage" in out


def test_the_version_is_said(command):
    code, out, err = command("--version")
    assert (code, out, err) == (0, f"theorykit {theorykit.__version__}\n", "")


def test_claims_that_the_tier_leaves_out_are_said_to_be(command, quick):
    quick.write_text(QUICK.replace('claim("q.moved")', 'claim("q.moved", tier="slow")'))
    code, out, err = command("verify", "quick.py")
    assert code == 0
    assert "1 claim: 1 holds; all as recorded." in out
    assert (
        "theorykit: 1 claim of the slow tier is left out; to run every claim, use --tier all" in err
    )


def test_list_and_show(command, quick):
    code, out, _ = command("list", "quick.py")
    assert code == 0
    assert "Small numbers are small." in out
    code, out, _ = command("list", "quick.py", "--json", "-")
    assert [c["id"] for c in json.loads(out)["claims"]] == ["q.one", "q.moved"]
    code, out, _ = command("show", "q.one", "quick.py")
    assert code == 0
    assert "no result for this claim in its present form" in out
    command("verify", "quick.py", "--seed", 3)
    code, out, _ = command("show", "q.one", "quick.py")
    for words in ("n is small", "n < 3", "exhaustive", "replaces predicate", "seed 3", "holds"):
        assert words in out
    quick.write_text(quick.read_text().replace("n < 3", "n < 4"))
    assert "no result for this claim in its present form" in command("show", "q.one", "quick.py")[1]


def test_a_kept_result_is_repeated_from_the_folder_that_one_is_in(command, quick, monkeypatch):
    quick.write_text(
        "from theorykit import claim\nfrom theorykit.checks import identity\n"
        "from theorykit.domains import inputs, reals\n"
        "claim('q.falls', expect='refuted')(lambda: identity(lhs=lambda x: x, rhs=lambda x: 2 * x,"
        " over=inputs(x=reals()), control=dict(rhs=lambda x: 3 * x)))\n"
    )
    below = quick.with_name("below")
    below.mkdir()
    monkeypatch.chdir(below)
    (found,) = verify("../quick.py", run="../run")
    assert "file='../quick.py'" in found.outcome.certificate.program
    assert "file='quick.py'" in command("show", "q.falls", "quick.py")[1]
    assert "file='quick.py'" in command("verify", "quick.py", "--run", "run")[1]


RUNS = """
from theorykit import claim, pacbayes
from theorykit.checks import exhaustive

def check(predicate):
    false = dict(predicate=lambda n: n > 9)
    return exhaustive(predicate=predicate, universe=range(1, 3), control=false)

claim("q.runs")(lambda: check(lambda n: pacbayes.gaussian_kl(1.0, float(n)) > 0))
claim("q.none")(lambda: check(lambda n: n > 0))
claim("q.pure", mathematics=True)(lambda: check(lambda n: n > 0))
"""


def test_what_a_claim_ran_is_shown(command, quick):
    quick.write_text(RUNS)
    code, out, _ = command("verify", "quick.py", "--run", "run")
    assert code == 0
    assert "3 claims: 3 hold; all as recorded. 1 ran theorykit's own functions." in out
    said = {
        "q.runs": "Ran: theorykit.pacbayes.gaussian_kl",
        "q.none": "Ran: none of theorykit's own functions, although the claim is not",
        "q.pure": "Ran: none of theorykit's own functions: the claim is about mathematics",
    }
    command("report", "run", "--html", "page")
    page = (quick.parent / "page" / "index.html").read_text().replace("<wbr>", "")
    for id, words in said.items():
        assert words in command("show", id, "quick.py")[1]
        assert words.removeprefix("Ran: ").replace("'", "&#39;") in page.replace("&#x27;", "&#39;")


def test_a_last_result_of_another_version_is_none(command, quick, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    command("verify", "quick.py")
    kept = tmp_path / "theorykit" / "last.json"
    kept.write_text(kept.read_text().replace('"measured"', '"ratio"'))
    code, out, _ = command("show", "q.one", "quick.py")
    assert code == 0
    assert "no result for this claim in its present form" in out


def test_the_schema_describes_what_verify_writes(command, quick):
    command("verify", "quick.py", "--json", "out.json")
    run = json.loads(quick.with_name("out.json").read_text())
    code, out, _ = command("schema")
    assert code == 0
    schema = json.loads(out)
    assert set(schema["properties"]) == set(run)
    assert set(schema["$defs"]["Result"]["properties"]) == set(run["claims"][0])


def test_a_run_is_reported(command, quick):
    command("verify", "quick.py", "--seed", 3, "--run", "run")
    code, out, _ = command("report", "run")
    assert code == 0
    assert "1 moved from the recorded verdict" in out
    pages = ("--html", "a/b", "--markdown", "-", "--latex", "run.tex")
    code, out, err = command("report", "run", *pages, "--against", "run")
    assert (code, err) == (0, "")
    assert "### Moved since run\n\nNothing." in out
    assert r"\begin{longtable}" in quick.with_name("run.tex").read_text()
    page = (quick.parent / "a" / "b" / "index.html").read_text()
    for words in (
        "Small numbers are small.",
        "theorykit verify q.one quick.py --seed 3",
        "n &lt; 2",
    ):
        assert words in page
    code, _, err = command("report", "run", "--html", "run.tex")
    assert code == 2
    assert "run.tex is a file; name a folder for the page." in err
    less = shutil.copytree(quick.with_name("run"), quick.with_name("less"))
    for file in ("results.jsonl", "plan.json"):
        (less / file).write_text((less / file).read_text().replace("q.moved", "q.new"))
    (less / "header.json").write_text((less / "header.json").read_text().replace("3", "4"))
    code, out, err = command("report", "less", "--against", "run")
    assert code == 0
    assert "q.moved: gone" in out
    assert "but run has seed 3." in err
    quick.with_name("empty").mkdir()
    code, _, err = command("report", "empty", "--html", "c")
    assert code == 0
    assert "The run has no result yet." in err
    assert "There is no result to show." in (quick.parent / "c" / "index.html").read_text()


def test_a_prediction_is_shown_kept_and_written_as_a_page(command, tmp_path):
    (tmp_path / "mine.py").write_text(
        'alphabet = "ab"\ndef accepts(string): return string.count("a") > string.count("b")\n'
    )
    asked = ("predict", "mine.py", "--most", "4", "--run", "run", "--html", "page")
    code, out, err = command(*asked)
    assert code == 0
    assert "#[j <= i] Q_a(j)" in out
    assert "3 operations" in err  # progress is not part of the answer
    kept = json.loads((tmp_path / "run" / "prediction.json").read_text())
    assert (kept["answer"], kept["length"]) == ("yes", 4)
    page = (tmp_path / "page" / "index.html").read_text()
    assert "Will a transformer learn" in page
    assert command(*asked)[:2] == (0, out)
    (tmp_path / "file").touch()
    for wrong, words in (
        (("--html", "file"), "file is a file; name a folder for the page"),
        (("--run", "run", "--most", "5"), "run belongs to a prediction with most 4"),
        (("--alphabet", "abc"), "mine.py has an alphabet of its own; leave out alphabet"),
    ):
        code, _, err = command("predict", "mine.py", *wrong)
        assert code == 2, err
        assert words in " ".join(err.split())


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--run", "run"), "interrupted; to continue: theorykit predict (ab)* --run run"),
        ((), "interrupted; with --run DIR it could be continued"),
    ],
)
def test_an_interrupted_prediction_says_how_to_go_on(command, monkeypatch, more, words):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("theorykit.predict.predict", interrupted)
    code, _, err = command("predict", "(ab)*", *more)
    assert code == 130
    assert words in " ".join(err.replace("'", "").split())


def test_a_pipe_is_no_terminal_whatever_is_forced(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert not report.console().is_terminal
    assert report.console(stderr=True).width == 140

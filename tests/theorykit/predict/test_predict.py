"""From a task to a page: answers that are known, sentences that name their theorems, bad input."""

import itertools
import json
import re

import numpy as np
import pytest

from theorykit import claims, predict, report
from theorykit.networks.tasks import LANGUAGES, BinaryMajority, RegularLanguage
from theorykit.predict import _lengths, _neighbours, _sources, _train
from theorykit.results import Verdict
from theorykit.subjects import crasp


def more_a(s):
    return s.count("a") > s.count("b")


@pytest.fixture(scope="module")
def majority():
    return predict.predict(more_a, alphabet="ab", most=4)


def written(prediction):
    """Return a page as the terminal has it, in one line."""
    console = report.console()
    with console.capture() as said:
        console.print(report.terminal_page(predict.page(prediction)))
    return " ".join(said.get().split())


@pytest.mark.parametrize(
    ("task", "answer", "nope", "ape"),
    [
        ("tomita1", "yes", True, True),
        ("aa_star", "yes", False, True),
        ("parity", "no", False, False),
        ("a|b|a(a|b)*a|b(a|b)*b", "not known", False, False),
    ],
)
def test_answers_that_are_known(task, answer, nope, ape):
    made = predict.predict(task, most=4 if answer == "yes" else 2)
    assert made.answer == answer
    assert (made.expects("NoPE"), made.expects("APE")) == (nope, ape)
    assert (made.size is None) == (made.lengths is None) == (answer != "yes")


def test_tasks_of_many_numbers_are_asked_about_with_a_few():
    found = predict.predict("sort", most=0)
    assert found.asked.name == "sort with 8 numbers"
    assert len(found.asked.task.symbols) == 8
    assert found.answer == "not known"


def test_the_interval_of_a_share_ends_within_0_and_1():
    trial = _train.Trial("NoPE", 4, (4, 8), np.array([[1.0, 0.9, 1.0], [0.0, 0.2, 0.1]]))
    high, low = trial.means()
    assert 0.8 < high.low < high.high == 1
    assert 0 == low.low < low.high < 0.4


def test_the_page_says_all_that_was_asked_for(majority):
    said = written(majority)
    assert "is right on all strings that were tried" in said
    assert "If it is right on all strings, some training length is enough" in said
    assert "C1(i) > C2(i)" in said
    assert "Limit Transformer with 2 layers, at most 1 head per layer, and width 7" in said
    assert "R_inf = " in said
    assert f"{majority.lengths.asked:,.0f} symbols" in said
    assert f"up to {majority.length} symbols is right on everything that was tried" in said
    assert "PARITY of a" in said
    assert "Theorem 4.1, quantitative paper, repaired" in said


def test_the_page_as_html_names_each_source_once(majority):
    page = predict.page(majority)
    text = report.html_page(page)
    assert "<script" not in text
    assert "&lt;=" in text  # lines of programs are escaped
    for number, source in enumerate(page.sources, 1):
        assert text.count(f'id="source-{number}"') == 1
        assert source.id in text
        assert source.assumes.split(".")[0].split(";")[0] in re.sub(r"&#39;", "'", text)


def test_every_source_is_a_claim_with_the_verdict_that_it_is_used_for():
    known = {claim.id: claim for claim in claims.select(["limit.*", "quantitative.*"], "all")}
    for source in _sources.ALL:
        if not source.id:
            continue
        assert known[source.id].expect == Verdict.holds
        if "repaired" in source.name and source.id.endswith(".repaired"):
            assert known[known[source.id].repairs].expect == Verdict.refuted
        for id in re.findall(r"(?:limit|quantitative)\.[\w.]*\w", source.assumes):
            assert known[id].expect == Verdict.refuted


# Lengths -----------------------------------------------------------------------------------------


def test_the_needed_length_is_that_of_the_rival(majority):
    needed = majority.lengths.needed
    for string in map("".join, itertools.product("ab", repeat=needed.length - 1)):
        assert crasp.interpreted(needed.rival, string) == more_a(string)
    assert crasp.interpreted(needed.rival, needed.wrong) != more_a(needed.wrong)
    assert len(needed.wrong) == needed.length == majority.length
    assert needed.evidence == "exhaustive"


def test_no_program_is_right_for_longer_than_is_needed():
    """Held against each program of one operation, made by hand."""
    needed = crasp.needed(more_a, crasp.Fragment(constants=()), most=2, alphabet="ab")
    lines = [f"exists[j <= i] {p}(j)" for p in ("Q_a", "Q_b", "not Q_a", "not Q_b")]
    lines += ["Q_a(i)", "Q_b(i)", "true", "false", "Q_a(i) or Q_b(i)", *[f"not {e}" for e in lines]]
    strings = ["".join(w) for n in range(9) for w in itertools.product("ab", repeat=n)]
    longest = 0
    for line in lines:
        program = crasp.parse(f"alphabet: a b\nL(i) := {line}")
        wrong = [s for s, said in zip(strings, program.accepts(strings), strict=True)
                 if said != more_a(s)]  # fmt: skip
        assert wrong
        longest = max(longest, len(wrong[0]))
    assert longest <= needed.length


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        ("(#[j <= i] Q_a(j)) > (#[j <= i] Q_b(j))", lambda a, b, last: a - b),
        ("(#[j <= i] Q_a(j)) <= 2 * (#[j <= i] Q_b(j))", lambda a, b, last: 2 * b - a),
        ("exists[j <= i] Q_a(j)", lambda a, b, last: a),
        ("not exists[j <= i] Q_a(j)", lambda a, b, last: -a),
        ("(#[j <= i] Q_a(j)) = (#[j <= i] Q_b(j))", lambda a, b, last: -abs(a - b)),
    ],
)
def test_a_score_is_by_how_much_a_comparison_holds(text, truth):
    from theorykit import simulation

    f = crasp.score(crasp.parse(f"alphabet: a b\nL(i) := {text}"))
    for string in ("a", "ab", "bba", "aabab", "bbbb"):
        found = simulation.hard_output(f, string)
        a, b = (string.count(s) / len(string) for s in "ab")
        assert found == pytest.approx(truth(a, b, string[-1]))


@pytest.mark.parametrize("every", [True, False])
def test_a_score_of_several_conditions_has_the_sign_of_the_verdict(every):
    from theorykit import simulation

    sign, word = (1, "and") if every else (-1, "or")
    program = crasp.parse(
        "alphabet: a b\nL(i) := (#[j <= i] Q_a(j)) <= (#[j <= i] Q_b(j)) "
        f"{word} {'' if every else 'not '}Q_a(i)"
    )
    f = crasp.score(program)
    for string in map("".join, itertools.product("ab", repeat=5)):
        score = float(simulation.hard_output(f, string)[0])
        assert sign * score <= 0
        if every:
            assert (score == 0) == crasp.interpreted(program, string)
        else:  # a difference of 0 holds, and has the score 0
            tie = string.count("a") == string.count("b")
            assert (score > 0) == crasp.interpreted(program, string) or tie


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("(#[j <= i] Q_a(j)) >= 3", "constant"),
        ("(#[j <= i] j % 2 = 0) > (#[j <= i] Q_a(j))", "counts more than"),
        ("i % 2 = 0", "Periodic"),
        ("(exists[j <= i] Q_a(j)) and (Q_a(i) or exists[j <= i] Q_b(j))", "mixes"),
    ],
)
def test_what_is_no_score_is_said_to_be_none(text, said):
    program = crasp.parse(f"alphabet: a b\nL(i) := {text}")
    with pytest.raises(ValueError, match=said):
        crasp.score(program)


def test_a_pair_needs_no_longer_strings_than_it_was_compared_on(majority):
    assert majority.lengths.pair <= majority.lengths.pair_longest <= _lengths.FAR[0]
    assert majority.lengths.pair < majority.lengths.asked


# Neighbours --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["tomita2", "tomita7", "aa_star"])
def test_neighbours_differ_first_where_it_is_said_and_have_no_program(name):
    language, positions = LANGUAGES[name], name == "aa_star"
    found = _neighbours.neighbours(language, tuple(language.alphabet), positions)
    assert found
    for near in found:
        if "PARITY" not in near.why:
            assert "no program" in near.why
            assert not positions or "no program at all" in near.why


def test_the_first_difference_is_a_shortest_one():
    one, other = LANGUAGES["tomita1"].automaton, LANGUAGES["tomita2"].automaton
    word = _neighbours._first_difference(one, other)
    accepts = lambda name, s: LANGUAGES[name].accepts(s)
    strings = ["".join(w) for n in range(4) for w in itertools.product("01", repeat=n)]
    first = next(s for s in strings if accepts("tomita1", s) != accepts("tomita2", s))
    assert len(word) == len(first)
    assert _neighbours._first_difference(one, one) is None


# Tasks in files ----------------------------------------------------------------------------------


def file(tmp_path, text):
    path = tmp_path / "mine.py"
    path.write_text(text)
    return str(path)


def test_an_acceptor_and_a_sampler_in_a_file(tmp_path):
    accepts = "alphabet = 'ab'\ndef accepts(s):\n    return 'a' in s\n"
    made = predict.predict(file(tmp_path, accepts), most=2)
    assert (made.asked.name, made.answer, made.found.operations) == ("mine", "yes", 1)
    sample = (
        "alphabet = 'ab'\ndef sample(rng, length):\n"
        "    s = ''.join(rng.choice(list('ab'), length))\n    return s, 'a' in s\n"
    )
    made = predict.predict(file(tmp_path, sample), most=2)
    assert (made.answer, made.found.operations) == ("yes", 1)
    task = "from theorykit.tasks import BinaryMajority\ntask = BinaryMajority()\n"
    assert predict.asked(file(tmp_path, task)).draws


BAD = {
    "x = 1": "has no task",
    "import nothing_there": "fails: ModuleNotFoundError",
    "def accepts(s):\n    return True": "no alphabet",
    "alphabet = 'ab'\ndef accepts(s):\n    return False": "no word among all strings",
    "alphabet = 'ab'\ndef accepts(s):\n    return 1 / len(s)": "division by zero",
    "alphabet = [str(k) for k in range(1000)]\ndef accepts(s):\n    return True": "1,000 symbols",
    "alphabet = 'ab'\ndef sample(rng, n):\n    raise OSError('full')": "fails at length 1: OSError",
    "alphabet = 'ab'\ndef sample(rng, n):\n    return 'c', True": "symbol 'c'",
    "alphabet = 'ab'\ndef sample(rng, n):\n    return 'a', rng.random() < 0.5": "contradict",
    "alphabet = 'ab'\ndef sample(rng, n):\n    return None": "fails at length 1: TypeError",
}


@pytest.mark.parametrize("text", BAD)
def test_a_bad_file_is_refused_in_a_sentence(text, tmp_path):
    with pytest.raises(ValueError, match=BAD[text]) as raised:
        predict.predict(file(tmp_path, text), most=1)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("task", "options", "said"),
    [
        ("nothing.py", {}, "there is no file"),
        ("parityy", {}, "Did you mean parity?"),
        ("(a|b", {}, "does not parse"),
        ("a*", dict(alphabet="bc"), "not in the alphabet"),
        ("(a)&(b)", {}, "empty language"),
        ("()", {}, "distinct characters"),
        (3, {}, "a task is given as a name"),
        ({"a": "x"}, {}, "not True or False"),
        (lambda s: True, {}, "needs an alphabet"),
        ("parity", dict(alphabet="01"), "parity has an alphabet of its own"),
        (BinaryMajority(), dict(alphabet="01"), "has an alphabet of its own"),
        ("parity", dict(most=-1), "most is"),
        ("parity", dict(train=3), "train is"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(task, options, said):
    with pytest.raises(ValueError, match=re.escape(said)) as raised:
        predict.predict(task, **options)
    assert "\n" not in str(raised.value)


# Networks ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("means", "expects", "at", "said"),
    [
        ((1, 1, 1), True, 4, "agree"),
        ((1, 1, 0.5), True, 4, "disagree"),
        ((1, 1, 0.5), True, 2, "not judged"),  # below the predicted length
        ((0.5, 0.5, 0.5), True, 4, "not judged"),
        ((1, 1, 0.5), False, 2, "agree"),
        ((1, 1, 1), False, 4, "disagree"),
    ],
)
def test_a_network_agrees_by_the_stated_rule(majority, means, expects, at, said):
    import dataclasses

    made = dataclasses.replace(majority, training=predict.Training())
    if not expects:
        none = predict.predict("parity", most=1)
        made = dataclasses.replace(none, training=predict.Training())
    trial = predict.Trial(
        "NoPE", at, (at, 2 * at, 3 * at), np.array([[float(m)] * 3 for m in means])
    )
    assert made.agrees(trial) == said


def test_strings_to_train_on_have_both_labels_and_the_right_ones():
    language = RegularLanguage("(ab)*", "(ab)*", "ab")
    found = crasp.labelled(language, range(1, 13), 16)
    assert set(found) == set(range(1, 13))
    for n, rows in found.items():
        assert len(rows) <= 16
        for string, labels in rows:
            assert len(string) == n
            assert list(labels) == [language.accepts("".join(string[:k])) for k in range(n + 1)]
        said = {bool(labels[-1]) for _, labels in rows}
        assert said == ({True, False} if n % 2 == 0 else {False})


def test_words_are_grown_where_only_an_acceptor_is_known():
    found = crasp.labelled(lambda s: s == s[::-1], [16, 17], 16, alphabet="ab")
    for rows in found.values():
        inside = [s for s, labels in rows if labels[-1]]
        assert len(inside) == 8
        assert all(s == s[::-1] for s in inside)


def test_a_stock_of_strings_pads_and_counts_what_is_inside():
    import jax

    stock = _train.stock(predict.asked("a*b*"), 4, 12, 8, seed=0)
    assert stock.lengths(1, 4) == [1, 2, 3, 4]
    assert max(stock.at) == 12
    keys = jax.random.split(jax.random.key(0), 32)
    made = jax.vmap(lambda k: stock.padded(k, 3, 6))(keys)
    assert (np.asarray(made.weight).sum(1) == 4).all()
    language = RegularLanguage("a*b*", "a*b*", "ab")
    for x, target in zip(np.asarray(made.x), np.asarray(made.target), strict=True):
        word = "".join("ab"[c] for c in x[1:4])
        assert [language.accepts(word[:k]) for k in range(4)] == target[:4].astype(bool).tolist()
    labels = np.asarray(made.target)[:, 3]
    assert 0 < labels.mean() < 1


@pytest.mark.slow
def test_training_that_was_killed_goes_on_to_the_same_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr(_train, "POSITIONS", ("NoPE",))
    training = predict.Training(steps=8, seeds=2, batch=8, strings=8, beyond=1, default=2)
    options = dict(most=1, train=training)

    def kill(line):
        if line.startswith("trained-2"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        predict.predict("parity", folder=tmp_path / "one", say=kill, **options)
    again = predict.predict("parity", folder=tmp_path / "one", **options)
    whole = predict.predict("parity", **options)
    assert json.dumps(again.json()) == json.dumps(whole.json())
    assert json.loads((tmp_path / "one" / "prediction.json").read_text()) == again.json()
    assert "Compared with trained networks" in written(again)
    assert "8 steps of 8 strings" in written(again)
    with pytest.raises(ValueError, match="belongs to a prediction with most 1"):
        predict.predict("parity", folder=tmp_path / "one", most=3)


def test_a_task_that_draws_has_a_length_of_its_own():
    made = predict.predict(BinaryMajority(), most=4)
    assert made.answer == "yes"
    assert made.lengths.asked is None
    assert made.length <= made.lengths.needed.length
    assert "the task drew" in written(made)

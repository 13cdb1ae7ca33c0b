"""The programs of Tables 2 and 3: by the slow interpreter, as text, and broken on purpose."""

import itertools

import pytest

from theorykit.common.words import words
from theorykit.networks.tasks import LANGUAGES
from theorykit.proofs_numeric.limit import _tables, tables, tasks
from theorykit.subjects import crasp

NAMES = tables.PLAIN + tables.PLACED
ROWS = {row["task"]: row for row in crasp.table(2)}


def test_there_is_a_program_for_every_yes_of_table_2():
    plain = {name for name, row in ROWS.items() if row["no_positions"] == "yes"}
    either = {name for name, row in ROWS.items() if row["positions"] == "yes"}
    assert set(tables.PLAIN) == plain
    assert {name.removesuffix("_bigrams") for name in NAMES} == either
    assert len(either) == 13  # "for 13 of the languages" (Section 5)


def test_there_is_a_program_for_every_yes_of_table_3():
    yes = {row["task"] for row in crasp.table(3) if row["positions"] == "yes"}
    assert set(tasks.NEXT) == yes
    for row in crasp.table(3):
        if row["task"] in yes:
            program = crasp.load(f"next_{row['task']}")
            assert (program.periodic or program.local) == (row["no_positions"] != "yes")


@pytest.mark.parametrize("name", NAMES)
def test_the_interpreter_agrees_with_the_automaton(name):
    program, language = crasp.load(name), tables.of(name)
    for n in range(6 if len(language.alphabet) == 2 else 5):
        for word in map("".join, itertools.product(language.alphabet, repeat=n)):
            assert crasp.interpreted(program, word) == language.accepts(word), word


@pytest.mark.parametrize("name", [*NAMES, *(f"next_{task}" for task in tasks.NEXT)])
def test_programs_print_as_they_are(name):
    program = crasp.load(name)
    assert crasp.parse(str(program)) == program
    assert all(len(line) <= 130 for line in crasp.source(name).splitlines())


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("tomita2", "wrong(i) = 0 and", "wrong(i) <= 2 and"),
        ("tomita4", "i - 2", "i - 3"),
        ("tomita7", "Q_0(i) and exists[j < i] B(j)", "Q_1(i) and exists[j < i] B(j)"),
        ("tomita7_bigrams", "<= 1", "<= 2"),
        ("d3", "+ 3", "+ 2"),
        ("d4", "wrong(i) = 0 and ", ""),
        ("abab_star", "i % 4", "i % 2"),
        ("abcde", "E(i) and (#", "(#"),
        ("ab_d_bc", "Cd(i) = 1", "Cd(i) >= 1"),
    ],
)
def test_a_program_that_is_changed_is_caught(name, old, new):
    source, language = crasp.source(name), tables.of(name)
    broken = source.replace(old, new)
    assert broken != source
    every = [words(language.alphabet, n) for n in range(9 if name != "abcde" else 6)]
    found = tables.tried(crasp.parse(broken), language, every)
    assert found.differ is not None


def test_long_words_are_half_in_the_language():
    language = LANGUAGES["tomita4"]
    near = _tables.long_words(language, 50, 40)
    assert language.accepts(near[:50]).all()
    assert language.accepts(near[50:]).mean() < 0.4
    assert {len(w) for w in near[:50]} >= set(range(1, 41))


def test_transcripts():
    task = tasks.NEXT["sort"][0]
    row, after = _tables.transcript(task, [3, 1])
    assert row == [task.start, 3, 1, task.separator, 1, 3]
    assert after == [1, 3, task.end]
    row, after = _tables.repetition(task, [3, 1], size=6)
    assert row == [task.start, 3, 1, task.separator, 1, 3, task.separator, 1, 3]
    assert after == [1, 3, task.end, 1, 3, task.end]


def test_a_wrong_prediction_is_found():
    task = tasks.NEXT["bin_majority"][0]
    source = crasp.source("next_bin_majority").replace("C1(i) > C0(i)", "C1(i) >= 2")
    assert _tables.first_wrong(crasp.parse(source), task, [(1, 1), (1,)]) == "SOS 1 SEP 1"

"""Predictions for many tasks: what theory says about each, and what networks did.

    python benchmarks/predict.py [--run DIR] [--train N] [--steps 500] [--beyond 1] [TASK ...]
    python benchmarks/predict.py --table FILE [--table FILE ...]

The first form prints JSON, one row per task: the shipped languages, and ten that are in no paper.
For the first N of the named tasks, networks are trained. With a folder, results are saved, and the
same command resumes. The second form prints the tables of docs/predict.md from such JSON files.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from _timing import report

from theorykit import predict
from theorykit.networks.tasks import LANGUAGES, RegularLanguage


def more_a(s: str) -> bool:
    """More a than b."""
    return s.count("a") > s.count("b")


def twice_as_many(s: str) -> bool:
    """At least twice as many a as b."""
    return s.count("a") >= 2 * s.count("b")


def few_a(s: str) -> bool:
    """Two to four a."""
    return 2 <= s.count("a") <= 4


def a_n_b_n(s: str) -> bool:
    """Some a, then as many b."""
    return s == "a" * (len(s) // 2) + "b" * (len(s) // 2)


def palindrome(s: str) -> bool:
    """A palindrome."""
    return s == s[::-1]


OWN: dict[str, Callable[[str], bool] | RegularLanguage] = {
    **{f.__name__: f for f in (more_a, twice_as_many, few_a, a_n_b_n, palindrome)},
    "no_bb": RegularLanguage("no_bb", "(a|ba)*(b|())", "ab"),
    "same_ends": RegularLanguage("same_ends", "a|b|a(a|b)*a|b(a|b)*b", "ab"),
    "sorted": RegularLanguage("sorted", "a*b*c*", "abc"),
    "triples": RegularLanguage("triples", "((a|b)(a|b)(a|b))*", "ab"),
    "thirds_of_a": RegularLanguage("thirds_of_a", "b*(ab*ab*ab*)*", "ab"),
}
"""Ten tasks that are in no paper."""


def rows(
    names: list[str], trained: int, training: predict.Training, run: Path | None
) -> list[dict]:
    """Predict each task, and train networks for the first of them."""
    found = []
    for place, name in enumerate(names):
        task = OWN.get(name, name)
        alphabet = None if name in LANGUAGES or isinstance(task, RegularLanguage) else "ab"
        train = training if place < trained else False
        folder = None if run is None else run / name
        start = time.process_time()
        made = predict.predict(task, alphabet=alphabet, train=train, folder=folder)
        busy = time.process_time() - start
        found.append(dict(made.json(), task=name, own=name in OWN, busy=busy))
        print(f"{name}: {made.answer}, {busy:.0f} s", file=sys.stderr, flush=True)
    return found


def tables(found: list[dict]) -> str:
    """Return the tables of docs/predict.md."""
    lines = [
        "| task | answer | made of | operations | none of at most | layers, heads, width | R_inf | "
        "length by search | by Theorem 4.1, repaired |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in found:
        lines.append(f"| {' | '.join(_cells(row))} |")
    networks = trained(found)
    return "\n".join([*lines, "", counts(found), "", networks] if networks else lines)


def trained(found: list[dict]) -> str:
    """Return the table of networks, one row per network; "" if none was trained."""
    judged = _judged(found)
    if not judged:
        return ""
    lines = [
        "| task | network | below the length | at the length | four times the length |",
        "|---|---|---|---|---|",
    ]
    networks: dict[tuple[str, str], list[str]] = {}
    for row, trial in judged:
        networks.setdefault((row["task"], trial["positions"]), []).append(_trial(trial))
    for (task, positions), cells in networks.items():
        lines.append(f"| `{task}` | {positions} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _trial(trial: dict) -> str:
    of = trial["positions"], trial["length"], tuple(trial["ends"])
    own, *_, beyond = predict.Trial(*of, np.array(trial["accuracy"])).means()
    return f"{trial['length']}: {own.value:.2f}, {beyond:.2f}, {trial['agrees']}"


def _expects(row: dict, positions: str) -> bool:
    """Return what `predict.Prediction.expects` does."""
    found = [row["plain"], row["positional"] if positions == "APE" else None]
    return any(part is not None and part["program"] is not None for part in found)


def _judged(found: list[dict]) -> list[tuple[dict, dict]]:
    return [(row, trial) for row in found for trial in row["trials"]]


def counts(found: list[dict]) -> str:
    """Return a table of how many verdicts there are of each kind, by expectation and length."""
    where = ("below", "at", "four times")
    count: dict[tuple[str, str], list[str]] = {}
    places: dict[tuple[str, str], int] = {}
    for row, trial in _judged(found):
        network = (row["task"], trial["positions"])
        place = places[network] = places.get(network, -1) + 1
        at = "right at all lengths" if _expects(row, trial["positions"]) else "wrong beyond"
        count.setdefault((at, where[place]), []).append(trial["agrees"])
    lines = ["| expected | trained | agree | disagree | not judged |", "|---|---|---|---|---|"]
    for (at, place), said in sorted(count.items(), key=lambda c: (c[0][0], where.index(c[0][1]))):
        cells = [str(said.count(v)) for v in ("agree", "disagree", "not judged")]
        lines.append(f"| {at} | {place} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cells(row: dict) -> list[str]:
    part = row["plain"] if row["plain"]["program"] else row["positional"] or row["plain"]
    size, asked = row["size"], row["asked_length"]
    why = (part["impossible"] or {}).get("proved", "")
    return [
        f"`{row['task']}`",
        row["answer"]
        + (f" (none {why}: proof)" if not part["program"] and why == "at all" else ""),
        row["fragment"] or "",
        "" if part["operations"] is None else str(part["operations"]),
        str(part["excluded"]) if part["excluded"] >= 0 else "",
        "" if size is None else f"{size['layers']}, {size['heads']}, {size['width']}",
        "" if size is None else f"{size['norm']:.0f}",
        "" if row["length"] is None else f"{row['length']} ({row['needed']['evidence']})",
        "" if asked is None else f"{asked:.1e}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="TASK", help="all of them without one")
    parser.add_argument("--train", type=int, default=0, metavar="N")
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--beyond", type=int, default=1, metavar="TIMES")
    parser.add_argument("--run", type=Path)
    parser.add_argument("--table", type=Path, action="append", metavar="FILE")
    args = parser.parse_args()
    if args.table is not None:
        found = [json.loads(file.read_text())["tasks"] for file in args.table]
        print(tables([row for rows in found for row in rows]))
        return
    training = predict.Training(steps=args.steps, beyond=args.beyond)
    names = args.names or [*LANGUAGES, *OWN]
    report("predict", tasks=rows(names, args.train, training, args.run))


if __name__ == "__main__":
    main()

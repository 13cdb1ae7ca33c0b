"""A prediction in sentences, each with what it rests on."""

import math
from collections.abc import Iterator

from theorykit.common.arguments import instance
from theorykit.common.version import __version__
from theorykit.predict._lengths import EPS
from theorykit.predict._predict import Prediction
from theorykit.predict._sources import (
    LEMMA_36,
    LEMMA_37,
    NO_POSITIONS,
    PARITY,
    REGULARISER,
    SEARCH,
    THEOREM_4_1,
    THEOREM_5_2,
    THEOREM_7,
    THEOREM_27,
)
from theorykit.report import Code, Page, Rows, Section, Source, Statement
from theorykit.subjects import crasp

Part = Statement | Code | Rows


def page(found: Prediction) -> Page:
    """Return a prediction as a page, for `report.terminal_page` and `report.html_page`."""
    instance("found", found, Prediction, "what predict.predict returned")
    sections = [Section("The program", tuple(_program(found)))]
    if found.found is not None:
        sections += [
            Section("The transformer", tuple(_transformer(found))),
            Section("The training length", tuple(_lengths(found))),
        ]
        if not found.asked.draws:
            sections.append(Section("What would break it", tuple(_neighbours(found))))
    if found.trials:
        sections.append(Section("Held against networks", tuple(_trials(found))))
    facts = {"task": f"{found.asked.name}, {found.asked.given}", "seed": found.seed,
             "version": __version__}  # fmt: skip
    if found.training is not None:
        facts["networks"] = str(found.training)
    title = f"Will a transformer learn {found.asked.name} at all lengths?"
    return Page(title, found.answer, _lead(found), tuple(sections), facts)


def _lead(found: Prediction) -> str:
    if found.plain.program is not None:
        return ("There is a program without positional relations, so transformers should learn it, "
                f"without positions too; by search strings of up to {_symbols(found.length)} tell "
                "it from all other small programs.")  # fmt: skip
    if found.found is not None:
        return ("There is a program with positional relations and none was found without, so "
                "transformers with positions should learn it; by search strings of up to "
                f"{_symbols(found.length)} tell it from all other small programs.")  # fmt: skip
    if found.proved:
        return ("There is no program, with positional relations or without, and transformers are "
                "not expected to learn it at all lengths.")  # fmt: skip
    return ("No program was found, and it is not proved that there is none; transformers are not "
            "expected to learn it at all lengths.")  # fmt: skip


def _symbols(n: int | None) -> str:
    return f"{n} symbol{'' if n == 1 else 's'}"


def _program(found: Prediction) -> Iterator[Part]:
    for search in (found.plain, found.positional):
        if search is not None:
            yield from _search(found, search)
    if found.found is not None:
        rests = (THEOREM_7, THEOREM_27, *([NO_POSITIONS] if found.plain.program else []))
        yield Statement(
            "So some training length is enough for all lengths, for transformers "
            f"{'with positions or without' if found.plain.program else 'with positions'}.",
            "", rests,
        )  # fmt: skip
    else:
        yield Statement(
            "Theorem 7 says nothing of tasks that no Limit Transformer expresses, and a task "
            "without a program may still have one; that networks fail is what the limit paper "
            "expects, and found on the languages of its Table 2.", "", (THEOREM_7,)
        )  # fmt: skip


def _search(found: Prediction, search: crasp.Found) -> Iterator[Part]:
    made_of = f"Of programs with {search.fragment}"
    if search.program is not None:
        size = sum(p.operations or 0 for p in search.parts)
        least = "none of fewer is right" if search.smallest else (
            f"none of at most {search.excluded} is right" if search.excluded >= 0
            else "smaller ones were not excluded")  # fmt: skip
        yield Statement(
            f"{made_of}, one of {size} operations is right on {search.tried}, and {least}.",
            search.evidence, (SEARCH,),
        )  # fmt: skip
        yield Code(search.explain())
        return
    yield Statement(
        f"{made_of}, none of at most {search.excluded} operations is right on the strings that "
        f"were tried; {search.distinct:,} behaviours were compared.", search.evidence, (SEARCH,),
    )  # fmt: skip
    if search.apart is not None:
        x, y = (crasp.shown(s) for s in search.apart)
        yield Statement(f"Of {x} and {y} one is right and one is wrong, and no program of at most "
                        f"{search.untold} operations tells them apart.", "exhaustive",
                        (SEARCH,))  # fmt: skip
    if search.impossible is not None:
        proved = search.impossible.proved != "nothing"
        rests = (_lemma(search.impossible.words),)
        yield Statement(str(search.impossible), "proof" if proved else "", rests)


def _lemma(words: str) -> Source:
    return LEMMA_36 if "Lemma 36" in words else LEMMA_37


def _transformer(found: Prediction) -> Iterator[Part]:
    size = found.size
    assert size is not None
    yield Statement(
        f"It compiles to a Limit Transformer of {_many(size.layers, 'layer')}, at most "
        f"{_many(size.heads, 'head')} to a layer and width {size.width}.", "", (THEOREM_27,)
    )  # fmt: skip
    finite = "" if size.finite is None else (
        f" The finite transformer of Lemma 47 with a context of {size.context} has R = "
        f"{size.finite:.4g}, by Definition 5.")  # fmt: skip
    yield Statement(f"Its regulariser is R_inf = {size.norm:.4g}.{finite}", "", (REGULARISER,))


def _many(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"


def _lengths(found: Prediction) -> Iterator[Part]:
    known = found.lengths
    assert known is not None
    yield Statement("That some length is enough comes without a number.", "", (THEOREM_7,))
    if known.asked is not None:
        asked = f"{known.asked:,.0f}" if math.isfinite(known.asked) else "infinitely many"
        yield Statement(
            f"As a score, the program is a transformer of one layer. Two scores with its norms "
            f"that agree within {EPS:g} on all strings of up to {asked} symbols agree within "
            f"{2 * EPS:g} on all; the printed expression, with the constant 1, says "
            f"{known.printed:,.3g}. A score is no verdict: near 0 it may have either sign.",
            "proof", (THEOREM_4_1,),
        )  # fmt: skip
    else:
        yield Statement(
            f"No number comes from the bounds: {known.why_not.rstrip('.')}; and the compiled "
            "transformer has steps and a start symbol.", "", (THEOREM_4_1, THEOREM_5_2)
        )  # fmt: skip
    if known.pair is not None:
        yield Statement(
            f"The pair of that score and {known.rival} really needs {_symbols(known.pair)}, looked "
            f"for up to {known.pair_longest}.", "exhaustive", (SEARCH,)
        )  # fmt: skip
    needed = known.needed
    some = ("that the task drew" if not needed.complete else
            f"up to {needed.complete} symbols, and some of up to {needed.longest}")  # fmt: skip
    yield Statement(
        f"Every program of at most {needed.operations} operations that is right on all strings of "
        f"up to {_symbols(needed.length)} is right on all that were tried ({needed.strings:,} "
        f"prefixes of strings {some}).", needed.evidence, (SEARCH, THEOREM_27)
    )  # fmt: skip
    if needed.rival is not None and needed.wrong is not None:
        yield Statement(f"The last to fall is right on all shorter ones, and wrong on "
                        f"{crasp.shown(needed.wrong)}:")  # fmt: skip
        yield Code(str(needed.rival).rstrip())


def _neighbours(found: Prediction) -> Iterator[Part]:
    if not found.neighbours:
        yield Statement("No task near it was found of which it is known that it has no program.")
    for near in found.neighbours:
        parity = "PARITY of" in near.why
        rests = (PARITY,) if parity else (_lemma(near.why),)
        text = f"{near.words[0].upper()}{near.words[1:]}: differs first on {near.differs}. "
        yield Statement(text + near.why, "proof", rests)


def _trials(found: Prediction) -> Iterator[Part]:
    training = found.training
    assert training is not None
    rows = []
    for trial in found.trials:
        means = [f"{mean:.2f}" for mean in trial.means()]
        first, middle, last = trial.ends
        rows.append({
            "network": trial.positions,
            "trained up to": trial.length,
            "there": means[0],
            "up to twice": f"{means[1]} ({first + 1} to {middle})",
            "up to three times": f"{means[2]} ({middle + 1} to {last})",
            "expected": "right" if found.expects(trial.positions) else "not right",
            "verdict": found.agrees(trial),
        })  # fmt: skip
    yield Rows(rows)
    verdicts = [found.agrees(trial) for trial in found.trials]
    counts = [f"{verdicts.count(v)} {v}" for v in ("agree", "disagree", "not judged")]
    yield Statement(
        f"{', '.join(counts)}. Accuracy is the share of strings that are right at every prefix, "
        f"means of {training.seeds} seeds with 95% intervals. A network is right at all lengths if "
        f"its mean at two to three times its length is {training.line:g} or more; it is not judged "
        "if that is not so at its own lengths, or if a program is expected and it was trained "
        "below the length that is needed.", "trained", (THEOREM_7,)
    )  # fmt: skip

"""A prediction in sentences, each with what it rests on."""

import math
from collections.abc import Iterator
from typing import Any

from theorykit.common import picture
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
        sections.append(Section("Compared with trained networks", tuple(_trials(found))))
    facts = {"task": f"{found.asked.name}, {found.asked.given}", "seed": found.seed,
             "version": __version__}  # fmt: skip
    if found.training is not None:
        facts["networks"] = str(found.training)
    title = f"Will a transformer learn {found.asked.name} at all lengths?"
    answer = found.answer + (", by what was tried" if found.answer == "yes" else "")
    return Page(title, answer, _lead(found), tuple(sections), facts)


@picture.pieces.register
def _(found: Prediction) -> list[Any]:
    return [page(found)]


def _lead(found: Prediction) -> str:
    if found.plain.program is not None:
        return ("A program without positional relations is right on all strings that were tried, "
                "so transformers are expected to learn the task, with positional encodings or "
                f"without. {_told(found)}")  # fmt: skip
    if found.found is not None:
        return ("A program with positional relations is right on all strings that were tried, and "
                "none was found without them, so transformers with positional encodings are "
                "expected to learn the task. "
                f"{_told(found)}")  # fmt: skip
    if found.proved:
        return ("There is no program, with positional relations or without, so transformers are "
                "not expected to learn the task at all lengths.")  # fmt: skip
    return ("No program was found, but it is not proved that there is none. Transformers are not "
            "expected to learn the task at all lengths.")  # fmt: skip


def _told(found: Prediction) -> str:
    return ("According to the search, strings of up to "
            f"{_symbols(found.length)} tell it apart from all other small programs.")  # fmt: skip


def _symbols(n: int | None) -> str:
    return f"{n} symbol{'' if n == 1 else 's'}"


def _program(found: Prediction) -> Iterator[Part]:
    for search in (found.plain, found.positional):
        if search is not None:
            yield from _search(found, search)
    if found.found is not None:
        rests = (THEOREM_7, THEOREM_27, *([NO_POSITIONS] if found.plain.program else []))
        without = " or without" if found.plain.program else ""
        yield Statement(
            "If it is right on all strings, some training length is enough for all lengths, "
            f"for transformers with positional encodings{without}.",
            "", rests,
        )  # fmt: skip
        yield Statement(
            "That training finds it does not follow. Of the small networks that were trained "
            "beside such predictions, most were wrong on longer strings at the predicted length, "
            "and many at four times that length (docs/predict.md has the numbers).", "trained",
        )  # fmt: skip
    else:
        yield Statement(
            "Theorem 7 says nothing about tasks that no Limit Transformer expresses, and a task "
            "without a program may still have a Limit Transformer. The limit paper expects "
            "networks to fail there, and saw them fail on the languages of its Table 2.",
            "", (THEOREM_7,)
        )  # fmt: skip


def _search(found: Prediction, search: crasp.Found) -> Iterator[Part]:
    among = f"Among programs with {search.fragment}"
    if search.program is not None:
        size = sum(p.operations or 0 for p in search.parts)
        yield Statement(
            f"{among}, one with {_many(size, 'operation')} is right on {search.tried}.",
            "searched", (SEARCH,),
        )  # fmt: skip
        if size and (search.excluded >= 0 or search.smallest):
            least = "fewer" if search.smallest else f"at most {search.excluded}"
            yield Statement(f"None with {least} is.", search.evidence, (SEARCH,))
        elif size:
            yield Statement("Smaller ones were not ruled out.", "", (SEARCH,))
        yield Code(search.explain())
        return
    yield Statement(
        f"{among}, none with at most {_many(search.excluded, 'operation')} is right on the "
        f"strings that were tried; {search.distinct:,} behaviours were compared.",
        search.evidence, (SEARCH,),
    )  # fmt: skip
    if search.apart is not None:
        x, y = (crasp.shown(s) for s in search.apart)
        yield Statement(f"Of {x} and {y}, one is in the language and the other is not, and no "
                        f"program with at most {_many(search.untold, 'operation')} tells them "
                        "apart.", "exhaustive", (SEARCH,))  # fmt: skip
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
        f"It compiles to a Limit Transformer with {_many(size.layers, 'layer')}, at most "
        f"{_many(size.heads, 'head')} per layer, and width {size.width}.", "", (THEOREM_27,)
    )  # fmt: skip
    finite = "" if size.finite is None else (
        f" The finite transformer of Lemma 47 with a context of {size.context} has "
        f"R = {size.finite:.4g} (Definition 5).")  # fmt: skip
    yield Statement(f"Its regulariser is R_inf = {size.norm:.4g}.{finite}", "", (REGULARISER,))


def _many(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"


def _lengths(found: Prediction) -> Iterator[Part]:
    known = found.lengths
    assert known is not None
    yield Statement("Theorem 7 gives no number for this length.", "", (THEOREM_7,))
    if known.asked is not None:
        asked = f"{known.asked:,.0f}" if math.isfinite(known.asked) else "infinitely many"
        yield Statement(
            f"As a score, the program is a transformer with one layer. Two scores with its norms "
            f"that agree within {EPS:g} on all strings of up to {asked} symbols agree within "
            f"{2 * EPS:g} on all strings. (The printed expression, with the constant 1, gives "
            f"{known.printed:,.3g}.) A score is not a verdict: near 0 it may have either sign.",
            "proof", (THEOREM_4_1,),
        )  # fmt: skip
    else:
        yield Statement(
            f"The bounds give no number: {known.why_not.rstrip('.')}; and the compiled "
            "transformer has step functions and a start symbol.", "", (THEOREM_4_1, THEOREM_5_2)
        )  # fmt: skip
    if known.pair is not None:
        yield Statement(
            f"That score and {known.rival} in fact need {_symbols(known.pair)}; strings of up to "
            f"{known.pair_longest} were tried.", "exhaustive", (SEARCH,)
        )  # fmt: skip
    needed = known.needed
    some = ("that the task drew" if not needed.complete else
            f"of up to {_symbols(needed.complete)}, and of some of up to "
            f"{needed.longest}")  # fmt: skip
    yield Statement(
        f"Every program with at most {_many(needed.operations, 'operation')} that is right on all "
        f"strings of up to {_symbols(needed.length)} is right on everything that was tried "
        f"({needed.strings:,} prefixes of strings {some}).", needed.evidence, (SEARCH, THEOREM_27)
    )  # fmt: skip
    if needed.rival is not None and needed.wrong is not None:
        yield Statement("The last one to fail is right on all shorter strings and wrong on "
                        f"{crasp.shown(needed.wrong)}:")  # fmt: skip
        yield Code(str(needed.rival).rstrip())


def _neighbours(found: Prediction) -> Iterator[Part]:
    if not found.neighbours:
        yield Statement("No similar task was found that is known to have no program.")
    for near in found.neighbours:
        parity = "PARITY of" in near.why
        rests = (PARITY,) if parity else (_lemma(near.why),)
        text = (f"{near.words[0].upper()}{near.words[1:]}. The shortest string on which the two "
                f"differ is {near.differs}. ")  # fmt: skip
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
            "up to there": means[0],
            "up to twice": f"{means[1]} ({first + 1} to {middle})",
            "up to three times": f"{means[2]} ({middle + 1} to {last})",
            "expected": "right" if found.expects(trial.positions) else "wrong",
            "verdict": found.agrees(trial),
        })  # fmt: skip
    yield Rows(rows)
    verdicts = [found.agrees(trial) for trial in found.trials]
    counts = [f"{verdicts.count(v)} {v}" for v in ("agree", "disagree", "not judged")]
    yield Statement(
        f"{', '.join(counts)}. Accuracy is the share of strings on which the network is right at "
        f"every prefix, averaged over {training.seeds} seeds, with a 95% interval. A network "
        "counts as right at all lengths if its mean accuracy at two to three times its training "
        f"length is at least {training.line:g}. It is not judged if it misses that at its own "
        "lengths, or if there is a program and it was trained below the predicted length.",
        "trained", (THEOREM_7,)
    )  # fmt: skip

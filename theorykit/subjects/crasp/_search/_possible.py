"""Whether a program of any size can exist, as far as the refuter's proofs decide it."""

import itertools

from theorykit.common.arguments import instance
from theorykit.networks.tasks import Automaton, RegularLanguage, by_length, monoid
from theorykit.subjects.crasp._search._found import Impossible, shown
from theorykit.subjects.crasp._search._questions import Language, Question, Regular, up_to

Moves = tuple[int, ...]
"""The action of a word on the states of an automaton."""

Word = tuple[int, ...]
"""A word, by the numbers of its symbols."""

FAR = 60
"""The number of powers of a word that are tried where no automaton is known."""


def impossible(language: RegularLanguage | Automaton, alphabet: str = "") -> Impossible | None:
    """Return why no C-RASP program accepts a regular language, or None if no reason is known.

    A program has the same verdict on x u^n z for all large n if |u| is a multiple of its moduli.
    This is the argument of Lemmas 37, 38 and 41 (limit paper), for which `crasp.pump` computes the
    verdicts. If u cycles through several states of the automaton, there is no program without
    periodic relations; if another word of the same length fixes each of these states, there is none
    at all.

    **Arguments:** `language`: a regular language, or a minimal automaton with its `alphabet`.

    **Raises:** `ValueError` for anything else, or an alphabet that lacks a symbol for some letter.
    """
    automaton: Automaton
    if isinstance(language, RegularLanguage):
        automaton, alphabet = language.automaton, language.alphabet
    else:
        automaton = instance("language", language, Automaton, "a tasks.RegularLanguage")
    instance("alphabet", alphabet, str, "text")
    if len(alphabet) != automaton.follow.shape[1]:
        raise ValueError(
            f"the automaton reads {automaton.follow.shape[1]} symbols, and its alphabet has "
            f"{len(alphabet)}."
        )
    if len(alphabet) >= 3 and (symbols := _be_star(automaton)):
        a, b, e = (alphabet[n] for n in symbols)
        return Impossible(
            f"There is no program at all: among strings of {a}, {b} and {e}, the language has "
            f"exactly those of Sigma* {b} {e}*, where Sigma is the three (Lemma 36).", "at all"
        )  # fmt: skip
    try:
        return _pumped(automaton, alphabet)
    except ValueError as error:  # the monoid is too large
        said = str(error).rstrip(".")
        return Impossible(
            f"Whether a program of any size exists was not examined: {said}.", "nothing"
        )


def reason(asked: Question) -> Impossible | None:
    """Return why no program exists for a question, or None if no reason is known."""
    if isinstance(asked, Regular):
        return impossible(asked.language)
    return _by_powers(asked) if isinstance(asked, Language) else None


def _pumped(automaton: Automaton, alphabet: str) -> Impossible | None:
    text = lambda word: "".join(alphabet[n] for n in word)
    group = _group(automaton)
    if group is not None:
        x, u, v, z = map(text, group)
        return Impossible(
            "There is no program at all, with positional relations or without. Whether "
            f"{_powers(x, u, f'{_bracketed(v)}^(m-1)', z)} is in the language never settles as n "
            "grows, for any m, but a program's verdict does settle once m is a multiple of its "
            "moduli (Lemmas 37 and 41).", "at all"
        )  # fmt: skip
    cycle = _cycle(automaton)
    if cycle is None:
        return None
    x, u, z = map(text, cycle[:3])
    return Impossible(
        "There is no program without periodic relations. Whether "
        f"{_powers(x, u, '', z)} is in the language never settles as n grows, but such a program's "
        "verdict does (Lemmas 37 and 38). With periodic relations there may be one.",
        "without periodic relations",
        cycle[3],
    )


def _powers(x: str, u: str, rest: str, z: str) -> str:
    power = f"({u} {rest})^n" if rest else f"{_bracketed(u)}^n"
    return " ".join(part for part in (x, power, z) if part)


def _bracketed(word: str) -> str:
    return f"({word})" if len(word) > 1 else word


def _by_powers(asked: Language) -> Impossible | None:
    """Try powers of short words, where only an acceptor is known."""
    for u in up_to(asked.alphabet, 40)[1:]:
        powers = [u * n for n in range(FAR // len(u))]
        truth = asked.truths(powers)[:, 0]
        late = truth[len(truth) // 3 :]
        if late.min() != late.max() and any((late[p:] == late[:-p]).all() for p in (2, 3)):
            return Impossible(
                f"On the powers of {shown(u)}, tried up to {len(powers) - 1}, membership does not "
                "settle. If that goes on, there is no program without periodic relations "
                "(Lemmas 37 and 38).", "nothing"
            )  # fmt: skip
    return None


def _round(moves: Moves, state: int) -> list[int]:
    """Return the states on the cycle of a word through this state, if it comes back."""
    path = [state]
    while (state := moves[state]) not in path:
        path.append(state)
    return path if state == path[0] else []


def _cycle(automaton: Automaton) -> tuple[Word, Word, Word, int] | None:
    """Return x, u, z such that x u^n z is in the language for some large n and not for others.

    Also return the period in symbols.
    """
    found = monoid(automaton)
    for moves, u in found.items():
        for state in range(len(moves)):
            if (times := len(_round(moves, state))) > 1:
                z = _telling(automaton, found, state, moves[state])
                return _to(found, state), u, z, len(u) * times
    return None


def _group(automaton: Automaton) -> tuple[Word, Word, Word, Word] | None:
    """Return x, u, v, z with |u| = |v|, where u cycles through states and v fixes each of them."""
    for same in by_length(automaton):
        stays: dict[frozenset[int], Word] = {}  # the states that a word fixes
        for still, v in same.items():
            stays.setdefault(frozenset(s for s, to in enumerate(still) if s == to), v)
        for (moves, u), state in itertools.product(same.items(), range(len(automaton.accept))):
            path = _round(moves, state)
            fit = [v for kept, v in stays.items() if kept.issuperset(path)]
            if len(path) > 1 and fit:
                found = monoid(automaton)
                z = _telling(automaton, found, state, moves[state])
                return _to(found, state), u, fit[0], z
    return None


def _to(found: dict[Moves, Word], state: int) -> Word:
    """Return a word that leads from the start to a state."""
    return next(word for moves, word in found.items() if moves[0] == state)


def _telling(automaton: Automaton, found: dict[Moves, Word], one: int, other: int) -> Word:
    """Return a word that is accepted from exactly one of two states."""
    accept = automaton.accept
    return next(w for moves, w in found.items() if accept[moves[one]] != accept[moves[other]])


def _be_star(automaton: Automaton) -> tuple[int, int, int] | None:
    """Return symbols a, b, e over which the language is exactly Sigma* b e*.

    Its automaton has two states: the last symbol other than e is b, or it is not.
    """
    follow, accept = automaton.follow, automaton.accept
    for a, b, e in itertools.permutations(range(follow.shape[1]), 3):
        pairs = {(0, 0)}  # pairs of a state and whether the last symbol other than e is b
        waiting = list(pairs)
        for state, holds in waiting:
            for symbol, after in ((a, 0), (b, 1), (e, holds)):
                pair = int(follow[state, symbol]), after
                if pair not in pairs:
                    pairs.add(pair)
                    waiting.append(pair)
        if all(bool(accept[state]) == bool(holds) for state, holds in pairs):
            return a, b, e
    return None

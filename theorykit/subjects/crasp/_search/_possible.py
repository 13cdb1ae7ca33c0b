"""Whether any program can exist, of whatever size, where the refuter's proofs say so."""

import itertools

from theorykit.common.arguments import instance
from theorykit.networks.tasks import Automaton, RegularLanguage, by_length, monoid
from theorykit.subjects.crasp._search._found import Impossible, shown
from theorykit.subjects.crasp._search._questions import Language, Question, Regular, up_to

Moves = tuple[int, ...]
"""What a word does to the states of an automaton."""

Word = tuple[int, ...]
"""The numbers of a word's symbols."""

FAR = 60
"""Powers of a word that are looked at where no automaton is known."""


def impossible(language: RegularLanguage | Automaton, alphabet: str = "") -> Impossible | None:
    """Return why no C-RASP program accepts a regular language, or None where that is not known.

    A program says the same of x u^n z for all large n, if |u| is a multiple of its moduli: the
    argument of Lemmas 37, 38 and 41 (limit paper), for which `crasp.pump` computes the verdicts.
    An automaton in which u goes round states for ever leaves no program without periodic
    relations; if another word of the same length stays in each of them, none at all.

    **Arguments:** `language`: a regular language, or a minimal automaton with its `alphabet`.

    **Raises:** `ValueError` for something else, or an alphabet without a symbol for each letter.
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
    """Return why no program exists for what is asked, or None where that is not known."""
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
    """Look at powers of short words, where only an acceptor is known."""
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
    """Return the states that a word goes round through, if it comes back to this one."""
    path = [state]
    while (state := moves[state]) not in path:
        path.append(state)
    return path if state == path[0] else []


def _cycle(automaton: Automaton) -> tuple[Word, Word, Word, int] | None:
    """Return x, u, z such that x u^n z is in the language for some large n and not for others.

    And after how many symbols it all comes again.
    """
    found = monoid(automaton)
    for moves, u in found.items():
        for state in range(len(moves)):
            if (times := len(_round(moves, state))) > 1:
                z = _telling(automaton, found, state, moves[state])
                return _to(found, state), u, z, len(u) * times
    return None


def _group(automaton: Automaton) -> tuple[Word, Word, Word, Word] | None:
    """Return x, u, v, z, |u| = |v|, where u goes round and v stays, all the way."""
    for same in by_length(automaton):
        stays: dict[frozenset[int], Word] = {}  # the states that a word leaves where they are
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
    """Return a word that is accepted from one state and not from the other."""
    accept = automaton.accept
    return next(w for moves, w in found.items() if accept[moves[one]] != accept[moves[other]])


def _be_star(automaton: Automaton) -> tuple[int, int, int] | None:
    """Return symbols a, b, e of which the language has just the strings of Sigma* b e*.

    Its automaton has two states: the last symbol other than e is b, or it is not.
    """
    follow, accept = automaton.follow, automaton.accept
    for a, b, e in itertools.permutations(range(follow.shape[1]), 3):
        pairs = {(0, 0)}  # a state, and whether the last symbol other than e is b
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

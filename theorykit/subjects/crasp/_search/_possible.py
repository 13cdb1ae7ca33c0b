"""Whether any program can exist, of whatever size, where the refuter's proofs say so."""

import itertools

from theorykit.networks.tasks import RegularLanguage
from theorykit.subjects.crasp._search._found import shown
from theorykit.subjects.crasp._search._fragment import Fragment
from theorykit.subjects.crasp._search._questions import Language, Question, Regular, up_to

Moves = tuple[int, ...]
"""What a word does to the states of an automaton."""

MOST = 2000
"""Different maps of the states that are looked at, at most."""

FAR = 60
"""Powers of a word that are looked at where no automaton is known."""


def impossible(asked: Question, fragment: Fragment) -> str | None:
    """Return why no program exists, in a sentence or two, or None where that is not known.

    A program says the same of x u^n z for all large n, if |u| is a multiple of its moduli: the
    argument of Lemmas 37, 38 and 41, for which `crasp.pump` computes the verdicts.
    """
    if not isinstance(asked, Language):
        return None
    if isinstance(asked, Regular):
        if len(asked.alphabet) >= 3 and (symbols := _be_star(asked.language)):
            a, b, e = symbols
            return (f"There is no program at all: of strings of {a}, {b} and {e} the language has "
                    f"those of Sigma* {b} {e}*, with Sigma the three (Lemma 36).")  # fmt: skip
        return _by_automaton(asked.language, fragment)
    return _by_powers(asked)


def _by_automaton(language: RegularLanguage, fragment: Fragment) -> str | None:
    group = _group(language)
    if group is not None:
        x, u, v, z = group
        return (
            "There is no program at all, with positional relations or without: whether "
            f"{_powers(x, u, f'{_bracketed(v)}^(m-1)', z)} is in the language depends on n for "
            "ever, whatever m is, and a program's verdict does not once m is a multiple of its "
            "moduli (Lemmas 37 and 41)."
        )
    cycle = _cycle(language)
    if cycle is None:
        return None
    x, u, z = cycle
    return (
        "There is no program without periodic relations: whether "
        f"{_powers(x, u, '', z)} is in the language depends on n for ever, and such a program's "
        "verdict does not (Lemmas 37 and 38)."
        + (" With them there may be one." if fragment.periodic else "")
    )


def _powers(x: str, u: str, rest: str, z: str) -> str:
    power = f"({u} {rest})^n" if rest else f"{_bracketed(u)}^n"
    return " ".join(part for part in (x, power, z) if part)


def _bracketed(word: str) -> str:
    return f"({word})" if len(word) > 1 else word


def _by_powers(asked: Language) -> str | None:
    """Look at powers of short words, where only an acceptor is known."""
    for u in up_to(asked.alphabet, 40)[1:]:
        powers = [u * n for n in range(FAR // len(u))]
        truth = asked.truths(powers)[:, 0]
        late = truth[len(truth) // 3 :]
        if late.min() != late.max() and any((late[p:] == late[:-p]).all() for p in (2, 3)):
            return (
                f"On the powers of {shown(u)}, tried up to the {len(powers) - 1}th, the truth does "
                "not settle; if it goes on like that, there is no program without periodic "
                "relations (Lemmas 37 and 38)."
            )
    return None


def _moves(language: RegularLanguage) -> dict[Moves, str]:
    """Return maps of the states, each with a shortest word that does it."""
    follow = language.automaton.follow
    found: dict[Moves, str] = {tuple(range(len(follow))): ""}
    waiting = list(found)
    for moves in waiting:
        for place, symbol in enumerate(language.alphabet):
            made = tuple(int(follow[state, place]) for state in moves)
            if made not in found and len(found) < MOST:
                found[made] = found[moves] + symbol
                waiting.append(made)
    return found


def _round(moves: Moves, state: int) -> list[int]:
    """Return the states that a word goes round through, if it comes back to this one."""
    path = [state]
    while (state := moves[state]) not in path:
        path.append(state)
    return path if state == path[0] else []


def _cycle(language: RegularLanguage) -> tuple[str, str, str] | None:
    """Return x, u, z such that x u^n z is in the language for some large n and not for others."""
    found = _moves(language)
    for moves, u in found.items():
        for state in range(len(moves)):
            if len(_round(moves, state)) > 1:
                return _to(found, state), u, _telling(language, found, state, moves[state])
    return None


def _group(language: RegularLanguage) -> tuple[str, str, str, str] | None:
    """Return x, u, v, z, |u| = |v|, where u goes round and v stays, all the way."""
    follow = language.automaton.follow
    found, seen = _moves(language), set[frozenset[Moves]]()
    same: dict[Moves, str] = {tuple(range(len(follow))): ""}
    while frozenset(same) not in seen and len(seen) < MOST:
        seen.add(frozenset(same))
        longer: dict[Moves, str] = {}
        for (moves, word), (place, symbol) in itertools.product(
            same.items(), enumerate(language.alphabet)
        ):
            made = tuple(int(follow[state, place]) for state in moves)
            if len(longer) < MOST:
                longer.setdefault(made, word + symbol)
        same = longer
        for (moves, u), state in itertools.product(same.items(), range(len(follow))):
            path = _round(moves, state)
            stays = (v for still, v in same.items() if all(still[s] == s for s in path))
            if len(path) > 1 and (v := next(stays, None)) is not None:
                return _to(found, state), u, v, _telling(language, found, state, moves[state])
    return None


def _to(found: dict[Moves, str], state: int) -> str:
    """Return a word that leads from the start to a state."""
    return next(word for moves, word in found.items() if moves[0] == state)


def _telling(language: RegularLanguage, found: dict[Moves, str], one: int, other: int) -> str:
    """Return a word that is accepted from one state and not from the other."""
    accept = language.automaton.accept
    return next(w for moves, w in found.items() if accept[moves[one]] != accept[moves[other]])


def _be_star(language: RegularLanguage) -> tuple[str, str, str] | None:
    """Return symbols a, b, e of which the language has just the strings of Sigma* b e*.

    Its automaton has two states: the last symbol other than e is b, or it is not.
    """
    follow, accept = language.automaton.follow, language.automaton.accept
    for a, b, e in itertools.permutations(range(len(language.alphabet)), 3):
        pairs = {(0, 0)}  # a state, and whether the last symbol other than e is b
        waiting = list(pairs)
        for state, holds in waiting:
            for symbol, after in ((a, 0), (b, 1), (e, holds)):
                pair = int(follow[state, symbol]), after
                if pair not in pairs:
                    pairs.add(pair)
                    waiting.append(pair)
        if all(bool(accept[state]) == bool(holds) for state, holds in pairs):
            names = [language.alphabet[c] for c in (a, b, e)]
            return names[0], names[1], names[2]
    return None

"""Regular languages: acceptors, the symbols that may follow, and a sampler by length."""

import dataclasses
import functools
import re
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import random
from jaxtyping import Array, Float, Int, PRNGKeyArray

from theorykit.common.arguments import (
    affordable,
    as_strings,
    flag,
    instance,
    integers,
    listed,
    numbered,
    shown,
)
from theorykit.networks.tasks._base import Sample
from theorykit.networks.tasks._lengths import AnyLength, span

END = "EOS"
OPERATORS = "|*+?&^.(){} "
"""Characters that are not symbols in a pattern."""


FEW = 32
"""Up to this many words are read one after another instead of in parallel; each may be long."""

MOST_STATES, MOST_STEPS = 2**12, 2**21
"""The most states of an automaton before it is minimised, and the most steps to find them."""


@dataclasses.dataclass(frozen=True)
class Automaton:
    """The minimal complete automaton as arrays; states are numbered from the initial one.

    **Fields:** `follow` (states, symbols): the next state; `accept` and `live` (states,): whether a
    word may end here, and whether any word passes through here.
    """

    follow: np.ndarray
    accept: np.ndarray
    live: np.ndarray

    @classmethod
    def minimal(cls, follow: np.ndarray, accept: np.ndarray) -> "Automaton":
        """Return the minimal automaton of a complete one; the first state is the initial one.

        Moore's refinement: states are told apart by longer and longer words, until nothing changes.
        """
        reached = [0]
        for state in reached:
            reached += [s for s in dict.fromkeys(follow[state].tolist()) if s not in reached]
        place = np.zeros(len(follow), int)
        place[reached] = np.arange(len(reached))
        follow, accept = place[follow[reached]], np.asarray(accept)[reached]
        classes, parts = accept.astype(int), 0
        while len(np.unique(classes)) > parts:
            parts = len(np.unique(classes))
            rows = np.column_stack([classes, classes[follow]])
            classes = np.unique(rows, axis=0, return_inverse=True)[1].ravel()
        _, first, classes = np.unique(classes, return_index=True, return_inverse=True)
        order = np.argsort(first)  # by the first state of each class, so that the initial one is 0
        number = np.argsort(order)
        return cls.of(number[classes][follow[first[order]]], accept[first[order]])

    @classmethod
    def of(cls, follow: np.ndarray, accept: np.ndarray) -> "Automaton":
        """Return an automaton, with `live` computed."""
        live = accept
        for _ in follow:
            live = live | live[follow].any(1)
        return cls(follow, accept, live)


@dataclasses.dataclass(frozen=True)
class RegularLanguage(AnyLength):
    """Predict the set of symbols that may come next, at every token of a word.

    The input is SOS and a word of n symbols, n + 1 tokens. The target at each token is the set of
    symbols that may come next in some word of the language, with EOS if the word may end here; each
    set that occurs is one class, as in the limit paper (Section 5).

    Half the samples are uniform among the words of a length. In the other half the transitions of
    the automaton have independent random weights, the odds of uniform numbers, and the weight of a
    word is the product over its transitions, so that frequencies, runs and depths vary more than
    among uniform words.

    **Arguments:** `name`; `pattern`: a regular expression with `|`, `*` and brackets; `alphabet`:
    its symbols, one character each; `complement`: whether the language consists of the words that
    do not match.

    **Raises:** `ValueError` for a pattern that does not parse or has a symbol outside the alphabet,
    an alphabet with repeated symbols, a word with other symbols, or a length without words; on
    first use, for a pattern whose automaton has more than 4,096 states before it is minimised.
    """

    name: str
    pattern: str
    alphabet: str
    complement: bool = False

    smallest: ClassVar[int] = 1

    def __repr__(self) -> str:
        return f"RegularLanguage({self.name!r})"

    def __post_init__(self):
        for what in ("name", "pattern", "alphabet"):
            instance(what, getattr(self, what), str, "text")
        flag("complement", self.complement)
        symbols = tuple(self.alphabet)
        if not symbols or len(set(symbols)) < len(symbols) or set(symbols) & set(OPERATORS):
            raise ValueError(
                f"the alphabet of {self.name} is distinct characters, none of {OPERATORS!r}, not "
                f"{self.alphabet!r}."
            )
        plain = re.sub(r"\{[\d,]*\}", "", self.pattern)
        if unknown := [c for c in plain if c not in symbols and c not in OPERATORS]:
            raise ValueError(
                f"the pattern {self.pattern!r} has the symbol {unknown[0]!r}, which is not in the "
                f"alphabet {self.alphabet!r}."
            )
        try:
            re.compile("".join("a" if c in symbols else c for c in plain))
        except re.error:
            _ = (
                self.dfa
            )  # last, since its module is slow to import; this reports errors in the pattern

    @functools.cached_property
    def dfa(self) -> Any:
        """The minimal automaton, an `automata.fa.dfa.DFA`."""
        from automata.base.exceptions import AutomatonException, RegexException
        from automata.fa.dfa import DFA
        from automata.fa.nfa import NFA

        symbols = set(self.alphabet)
        try:
            pattern = without_powers_of_0(self.pattern)
            nfa = NFA.from_regex(pattern, input_symbols=symbols)
            self._affordable(nfa)
            made = DFA.from_nfa(nfa, minify=True)
        except (AutomatonException, RegexException) as error:
            raise ValueError(
                f"the pattern {self.pattern!r} does not parse: {_plainly(str(error))}."
            ) from error
        return made.complement(minify=True) if self.complement else made

    def _affordable(self, nfa: Any) -> None:
        """Raise a `ValueError` if the subset construction reaches too many states.

        Sets of states are bits of integers, which makes counting them quick.
        """
        number = {state: k for k, state in enumerate(nfa.states)}
        moves = nfa.transitions

        def closed(states: Iterable[Any]) -> int:
            """Return the epsilon closure of states, as bits."""
            found = dict.fromkeys(states)
            waiting = list(found)
            for state in waiting:
                more = [s for s in moves.get(state, {}).get("", ()) if s not in found]
                found.update(dict.fromkeys(more))
                waiting += more
            return sum(1 << number[s] for s in found)

        step = [[closed(moves.get(q, {}).get(a, ())) for q in number] for a in self.alphabet]
        waiting, work = [closed([nfa.initial_state])], 0
        seen = set(waiting)
        for subset in waiting:
            inside = [k for k, bit in enumerate(reversed(f"{subset:b}")) if bit == "1"]
            work += len(self.alphabet) * (len(inside) + 1)
            for table in step:
                after = functools.reduce(int.__or__, (table[k] for k in inside), 0)
                if after not in seen:
                    seen.add(after)
                    waiting.append(after)
            if len(seen) > MOST_STATES or work > MOST_STEPS:
                raise ValueError(
                    f"the pattern {shown(self.pattern)} needs a deterministic automaton of up to "
                    f"2^{len(number)} states: after {work:,} steps {len(seen):,} were found; at "
                    f"most {MOST_STATES:,} states and {MOST_STEPS:,} steps are allowed."
                )

    @functools.cached_property
    def automaton(self) -> Automaton:
        """The automaton as arrays."""
        dfa = self.dfa.to_complete()
        order, waiting = {dfa.initial_state: 0}, [dfa.initial_state]
        for state in waiting:
            for symbol in self.alphabet:
                found = dfa.transitions[state][symbol]
                if found not in order:
                    order[found] = len(order)
                    waiting.append(found)
        follow = np.array([[order[dfa.transitions[s][a]] for a in self.alphabet] for s in waiting])
        accept = np.array([s in dfa.final_states for s in waiting])
        return Automaton.of(follow, accept)

    def accepts(self, words: str | Sequence[str]) -> Any:
        """Return whether a word is in the language, or an array (words,) for a list of words."""
        if isinstance(words, str):
            return bool(self.accepts([words])[0])
        words = [self._text(word) for word in as_strings(words)]
        if len(words) <= FEW:
            return np.array([self.automaton.accept[self._state(word)] for word in words], bool)
        lengths = np.array([len(word) for word in words])
        inside = np.arange(lengths.max(initial=0)) < lengths[:, None]
        ids = np.zeros(inside.shape, int)
        ids[inside] = self.ids("".join(words))
        state, accepted = np.zeros(len(words), int), np.zeros(len(words), bool)
        for n in range(inside.shape[1] + 1):
            accepted = np.where(lengths == n, self.automaton.accept[state], accepted)
            if n < inside.shape[1]:
                state = self.automaton.follow[state, ids[:, n]]
        return accepted

    def next_symbols(self, word: str) -> frozenset[str]:
        """Return the symbols that may follow a prefix, including "EOS"; empty if no word has it."""
        return self._after(self._state(word))

    def _state(self, word: str) -> int:
        """Return the state after reading a word."""
        state, follow = 0, self.automaton.follow.tolist()
        for number in self.ids(word).tolist():
            state = follow[state][number]
        return state

    @functools.cached_property
    def sets(self) -> tuple[frozenset[str], ...]:
        """The sets of next symbols that occur, which are the classes, in order."""
        found = {self._after(state) for state in np.flatnonzero(self.automaton.live).tolist()}
        return tuple(sorted(found, key=lambda s: (len(s), sorted(s))))

    def ids(self, word: str) -> np.ndarray:
        """Return the symbols of a word as indices into the alphabet."""
        codes = np.frombuffer(self._text(word).encode("utf-32-le"), np.uint32)
        symbols = np.frombuffer(self.alphabet.encode("utf-32-le"), np.uint32)
        order = np.argsort(symbols)
        place = np.minimum(np.searchsorted(symbols[order], codes), len(symbols) - 1)
        if (wrong := symbols[order][place] != codes).any():
            raise ValueError(
                f"{self.name} is a language over {listed(self.alphabet)}; "
                f"{word[np.argmax(wrong)]!r} is not one of its symbols."
            )
        return order[place]

    def word(self, ids: Sequence[int] | Int[np.ndarray | Array, " symbols"]) -> str:
        """Return the word with these symbol ids, without SOS."""
        row = integers("ids", ids)
        numbered(row, len(self.alphabet) + 1)
        if row.ndim != 1:
            raise ValueError(f"ids are a row of numbers, got an array of shape {row.shape}.")
        return "".join(self.alphabet[i] for i in row.tolist() if i < len(self.alphabet))

    def _text(self, word: Sequence[str]) -> str:
        """Return a word as text."""
        if isinstance(word, tuple | list) and all(isinstance(s, str) for s in word):
            return "".join(word)
        return str(instance("a word", word, str, "text or a tuple of symbols"))

    @property
    def options(self) -> dict[str, Any]:
        """Options for `nets.Transformer`: ids in (SOS is the last), scores of the sets out."""
        return dict(
            vocabulary=len(self.alphabet) + 1,
            outputs=len(self.sets),
            readout="tokens",
            causal=True,
        )

    def tokens(self, length: int) -> int:
        """Return n + 1."""
        return length + 1

    def lengths(self, low: int, high: int) -> list[int]:
        """Return the lengths from `low` to `high` that have words."""
        low, high = span(low, high)
        within, seen = frozenset({0}), dict[frozenset[int], int]()
        has: list[bool] = []
        while within not in seen and len(has) <= high:
            seen[within] = len(has)
            has.append(bool(self.automaton.accept[list(within)].any()))
            within = frozenset(self.automaton.follow[list(within)].ravel().tolist())
        start = seen.get(within, 0)  # periodic from here on
        round_ = lambda n: n if n < len(has) else start + (n - start) % (len(has) - start)
        return [n for n in range(max(low, self.smallest), high + 1) if has[round_(n)]]

    def padded(self, key: PRNGKeyArray, length: Int[Array, ""] | int, size: int) -> Sample:
        """Return one word of this length and its sets, padded to `size` symbols.

        **Raises:** `ValueError` for a length without words, if it is not traced.
        """
        if not isinstance(length, jax.core.Tracer):
            self.check(length)  # type: ignore[arg-type]
        follow, live = jnp.asarray(self.automaton.follow), self.automaton.live
        # One draw for everything, since each random call costs a second of compilation.
        u = random.uniform(key, (follow.size + 1 + size,), minval=1e-6, maxval=1 - 1e-6)
        odds = u[: follow.size].reshape(follow.shape)
        weights = jnp.where(u[follow.size] < 0.5, jnp.log(odds / (1 - odds)), 0.0)
        weights = jnp.where(live[self.automaton.follow], weights, -jnp.inf)

        def longer(ways, _):
            return jax.nn.logsumexp(weights + ways[follow], -1), ways

        ends = jnp.where(jnp.asarray(self.automaton.accept), 0.0, -jnp.inf)
        _, ways = jax.lax.scan(
            longer, ends, length=max(size, 1)
        )  # indexed by the number of symbols left

        def step(state, at):
            place, u = at
            left = jnp.maximum(length - place - 1, 0)
            share = jnp.cumsum(jax.nn.softmax(weights[state] + ways[left][follow[state]]))
            chosen = (u * share[-1] > share).sum()
            inside = place < length
            after = jnp.where(inside, follow[state, chosen], state)
            return after, (jnp.where(inside, chosen, 0), after)

        places = jnp.arange(size), u[follow.size + 1 :]
        _, (word, states) = jax.lax.scan(step, jnp.zeros((), follow.dtype), places)
        x = jnp.concatenate([jnp.full(1, len(self.alphabet)), word])
        states = jnp.concatenate([jnp.zeros(1, states.dtype), states])
        weight = jnp.where(jnp.arange(size + 1) <= length, 1.0, 0.0)
        return Sample(x, jnp.asarray(self._classes)[states], weight)

    def problem(
        self, key: PRNGKeyArray, length: int
    ) -> tuple[Float[Array, "tokens symbols"], Float[Array, ""]]:
        """Return one-hot tokens (n + 1, symbols + 1), and +1 if they are a word, else -1.

        With probability 1/2 it is a word of the language, else a word with one symbol replaced.
        """
        for_word, for_half, for_place, for_symbol = random.split(key, 4)
        x = self.sample(for_word, length).x
        place = random.randint(for_place, (), 1, length + 1)
        other = (x[place] + random.randint(for_symbol, (), 1, max(len(self.alphabet), 2))) % len(
            self.alphabet
        )
        x = jnp.where(random.bernoulli(for_half), x, x.at[place].set(other))
        follow = jnp.asarray(self.automaton.follow)
        state, _ = jax.lax.scan(lambda s, a: (follow[s, a], None), jnp.zeros((), int), x[1:])
        word = jnp.asarray(self.automaton.accept)[state]
        return jax.nn.one_hot(x, len(self.alphabet) + 1), jnp.where(word, 1.0, -1.0)

    @functools.cached_property
    def _classes(self) -> np.ndarray:
        """The class of the set of each state; 0 at states that no sample reaches."""
        return np.array(
            [
                self.sets.index(self._after(state)) if live else 0
                for state, live in enumerate(self.automaton.live)
            ]
        )

    def _after(self, state: int) -> frozenset[str]:
        follow, live = self.automaton.follow[state], self.automaton.live
        may = {a for a, to in zip(self.alphabet, follow, strict=True) if live[to]}
        return frozenset(may | {END} if self.automaton.accept[state] else may)


def without_powers_of_0(pattern: str) -> str:
    """Return a pattern in which anything repeated zero times is (), the empty word.

    `automata` reads `a{0}` as `a?`.

    **Raises:** `ValueError` for repetitions that multiply to more than 10^5 symbols.
    """
    starts: list[int] = []  # where, in `found`, the operand of a quantifier would start
    opened: list[int] = []
    found: list[str] = []
    sizes: list[int] = []
    for piece in re.findall(r"\{[\d,]*\}|[^ ]", pattern):
        repeated = re.fullmatch(r"\{(\d*),?(\d*)\}", piece)
        if piece == "(":
            opened.append(len(found))
        if repeated and starts and "|" not in found[-1:] and "(" not in found[-1:]:
            largest = max(int(n or 0) for n in repeated.groups())
            size = sum(sizes[starts[-1] :]) * max(largest, 1)
            affordable(f"the pattern {pattern!r}", size, 10**5, "symbols, written out")
            end = piece.rpartition(",")[2] if "," in piece else piece
            if largest == 0 and end.strip("{}") != "":
                found[starts[-1] :], sizes[starts[-1] :] = ["(", ")"], [1, 1]
            else:
                found.append(piece)
                sizes.append(size - sum(sizes[starts[-1] :]))
            continue
        starts.append(opened.pop() if piece == ")" and opened else len(found))
        if piece in "*+?" and len(starts) > 1:
            starts.pop()  # the repeated part remains the operand
        found.append(piece)
        sizes.append(1)
    return "".join(found)


def depth(n: int) -> str:
    """Return the pattern of D_n = (a D_{n-1} b)*, where D_0 is just the empty word."""
    pattern = ""
    for _ in range(n):
        pattern = f"(a{pattern}b)*"
    return pattern


LANGUAGES = {
    language.name: language
    for language in (
        RegularLanguage("tomita1", "1*", "01"),
        RegularLanguage("tomita2", "(10)*", "01"),
        RegularLanguage("tomita3", "((0|1)*0)?1(11)*0(00)*(1(0|1)*)?", "01", complement=True),
        RegularLanguage("tomita4", "(0|1)*000(0|1)*", "01", complement=True),
        RegularLanguage("tomita5", "(00|11|(01|10)(00|11)*(01|10))*", "01"),
        RegularLanguage("tomita6", "(0(01)*(1|00)|1(10)*(0|11))*", "01"),
        RegularLanguage("tomita7", "0*1*0*1*", "01"),
        RegularLanguage("d2", depth(2), "ab"),
        RegularLanguage("d3", depth(3), "ab"),
        RegularLanguage("d4", depth(4), "ab"),
        RegularLanguage("d12", depth(12), "ab"),
        RegularLanguage("parity", "b*(ab*ab*)*", "ab"),
        RegularLanguage("aa_star", "(aa)*", "ab"),
        RegularLanguage("aaaa_star", "(aaaa)*", "ab"),
        RegularLanguage("abab_star", "(abab)*", "ab"),
        RegularLanguage("abcde", "aa*bb*cc*dd*ee*", "abcde"),
        RegularLanguage("ab_d_bc", "(a|b)*d(b|c)*", "abcd"),
        RegularLanguage("012_02", "(0|1|2)*02*", "012"),
    )
}
"""The languages of Table 2 of the limit paper, including PARITY, by name.

Tomita 3 follows its description in words: no maximal run of ones of odd length is immediately
followed by a maximal run of zeros of odd length, including at the ends of the word.
"""


_PLAINLY = {
    "Token list has unclosed parethesis": "a parenthesis is not closed",
    "Token list has mismatched parethesis": "a parenthesis is closed that was not opened",
    r"'<\w+: (.+)>' cannot appear at the (start|end) of a statement": r"\1 has nothing \2",
    r"state \d+ has invalid transition symbol (.)": r"\1 does not belong there",
    r"Lower bound (\d+) cannot be greater .*": r"the lower count \1 is above the upper one",
}
"""What the parser says of a pattern, and how it is said here."""


def _plainly(said: str) -> str:
    for theirs, ours in _PLAINLY.items():
        said = re.sub(theirs, ours, said)
    said = said.replace("has nothing start", "has nothing before it")
    return said.replace("has nothing end", "has nothing after it").rstrip(".")

"""Programs compared with acceptors and tasks, many strings at a time."""

import itertools

import jax
import numpy as np

from theorykit.common.words import words
from theorykit.networks.tasks import Majority
from theorykit.subjects import crasp


def long_words(language, count, size):
    """Return `count` random words of the language of length up to `size`, and as many mutations.

    A mutation exchanges two symbols or replaces one, and is drawn again if it is in the language.
    """
    lengths = np.resize(language.lengths(1, size), count)
    keys = jax.random.split(jax.random.key(0), count)
    draw = jax.jit(jax.vmap(lambda key, n: language.padded(key, n, size).x[1:]))
    ids = np.asarray(draw(keys, lengths))
    inside = [language.word(row[:n]) for row, n in zip(ids, lengths, strict=True)]
    rng, near = np.random.default_rng(0), list(inside)
    for _ in range(20):
        still = np.flatnonzero(language.accepts(near))
        for k in still:
            near[k] = _changed(rng, inside[k], language.alphabet)
    return inside + near


def _changed(rng, word, alphabet):
    symbols = list(word)
    i, j = rng.integers(len(word), size=2)
    symbols[i], symbols[j] = symbols[j], symbols[i]
    if rng.random() < 0.5:
        symbols[i] = str(rng.choice(list(alphabet)))
    return "".join(symbols)


class Letters(Majority):
    """Majority over three letters."""

    symbols = ("a", "b", "c")


def inputs(task, n):
    """Return every input of a length that the task has an answer to."""
    distinct = hasattr(task, "vocabulary")
    choose = itertools.permutations if distinct else _product
    symbols = range(task.vocabulary if distinct else min(len(task.symbols), 3))
    for ids in choose(symbols, n):
        try:
            task.solution(ids)
        except ValueError:  # a tie
            continue
        yield ids


def _product(symbols, n):
    return itertools.product(symbols, repeat=n)


def transcript(task, given):
    """Return SOS, input, SEP, answer, and what follows SEP and each symbol of the answer."""
    answer = task.solution(given)
    return [task.start, *given, task.separator, *answer], [*answer, task.end]


def repetition(task, given, size=300):
    """Return SOS, input, SEP, answer, SEP, answer, ...; EOS stands for the next SEP."""
    answer = task.solution(given)
    rounds = size // (len(answer) + 1)
    once = [task.separator, *answer]
    return [task.start, *given, *(once * rounds)], [*answer, task.end] * rounds


def first_wrong(program, task, given, written=transcript):
    """Return the first input after which a program does not name each next symbol, or None."""
    rows = [written(task, ids) for ids in given]
    size = max(len(x) for x, _ in rows)
    x = np.array([[*row, *[-1] * (size - len(row))] for row, _ in rows], np.int32)
    symbols = [*task.symbols, "SOS", "SEP", "EOS"]
    named = [n for n in program.kinds if n.startswith("NEXT_")]
    evaluate = jax.jit(
        lambda x: crasp.evaluate(program, x, named),
        compiler_options={"xla_backend_optimization_level": 0},
    )
    said = jax.tree.map(np.asarray, evaluate(x))
    for i, (row, wanted) in enumerate(rows):
        after = slice(len(row) - len(wanted) + 1, len(row) + 1)  # entry k: after k symbols
        for name in named:
            right = [name == f"NEXT_{symbols[a]}" for a in wanted]
            if (said[name][i, after] != right).any():
                return " ".join(symbols[a] for a in row)
    return None


def long_wrong(program, task, count=2_000, size=300):
    """Return the first of random inputs up to a size at which a program is wrong, or None."""
    lengths = np.resize(task.lengths(1, size), count)
    keys = jax.random.split(jax.random.key(1), count)
    draw = jax.jit(jax.vmap(lambda key, n: task.draw(key, n, size)[0]))
    given = np.asarray(draw(keys, lengths))
    return first_wrong(
        program, task, [tuple(r[:n].tolist()) for r, n in zip(given, lengths, strict=True)]
    )


def repeated_wrong(program, task):
    """Return the first of all inputs whose repetitions, to length 300, a program gets wrong."""
    given = [ids for n in range(1, task.vocabulary + 1) for ids in inputs(task, n)]
    return first_wrong(program, task, given, repetition)


def up_to(most=10):
    """Return all words of zeros and ones up to a length, short ones first."""
    return words("01", *range(most + 1))

"""Words over an alphabet: all of a length, and long ones near a language."""

import itertools

import jax
import numpy as np


def words(alphabet, n):
    """Return all strings of length n."""
    return ["".join(w) for w in itertools.product(alphabet, repeat=n)]


def long_words(language, count, size):
    """Return `count` random words of the language of length up to `size`, and as many near them.

    Near: two symbols exchanged or one replaced, tried again where that is in the language too.
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

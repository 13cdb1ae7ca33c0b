"""Definition 22, Theorem 23 and Proposition 59: other training lengths, broken offsets."""

import itertools

import numpy as np

from theorykit import claim
from theorykit.checks import construction, exhaustive
from theorykit.common.words import words
from theorykit.subjects import limit

# Theorem 23 --------------------------------------------------------------------------------------


def training_length(thresholds, n):
    """Return t(n) = max {k: n_k <= n}, eq. (29)."""
    return max(k for k, at in enumerate(thresholds) if at <= n)


SEQUENCES = [
    (0, *found)
    for found in itertools.combinations(range(1, 9), 4)
    if all(n > k for k, n in enumerate(found, 1))
]
"""n_0 = 0 < n_1 < n_2 < ... with n_k > k."""


@claim(
    "limit.23.training_length",
    ref="Definition 22, Theorem 23",
    statement=r"t(n) = \max\{k: n_k \le n\} \Rightarrow t(n) \le n,\ t(n) \to \infty,\ "
    r"t(n_k) = k",
    mathematics=True,
)
def training():
    """What the proof builds is a training length, and at n_k it is k.

    n_k > k is asked for k >= 1: the proof starts with n_0 = 0. The rest of the proof is about
    minimisers of R and is not computed. Control: t(n) < n.
    """
    grows = lambda s: all(training_length(s, n) <= training_length(s, n + 1) for n in range(s[-1]))
    right = lambda s, less: (
        all(training_length(s, n) <= n - less for n in range(s[-1] + 1))
        and all(training_length(s, at) == k for k, at in enumerate(s))
        and grows(s)
    )
    return exhaustive(
        predicate=lambda s: right(s, 0),
        universe=SEQUENCES,
        control=dict(predicate=lambda s: right(s, 1)),
    )


# Proposition 59 ----------------------------------------------------------------------------------


def by_halves(n, exchanged):
    """Return the transformer of Proposition 59 for n positions, over a and b.

    Dimensions: $; a symbol; what layer 1's two heads copied; the output; positions. `exchanged`:
    head 1 of layer 2 is parked at `$` for late queries and head 2 for early ones, not as printed.
    """
    k, d = 2, 9 + n
    unit = np.eye(d)
    own, first, second, out, place = (unit[s : s + k] for s in (1, 3, 5, 7, 9))
    place = unit[9:]
    E = np.concatenate([unit[:1], own])
    j = np.arange(1, n + 1)
    back = lambda far: np.eye(n, k=far)  # keys down, queries across
    W1 = np.where(j <= 3 * n / 4, back(1), back(2))
    W2 = np.where(j <= n / 4, back(2), back(1))
    copies = tuple(
        limit.Head(place, 2 * W @ place, to.T @ own) for W, to in ((W1, first), (W2, second))
    )
    early = ((j < 3 * n / 4) @ place)[None]
    late = ((j >= 3 * n / 4) @ place)[None]
    parked = (late, early) if exchanged else (early, late)
    looking = tuple(
        limit.Head(
            np.concatenate([copied, unit[:1]]), np.concatenate([10 * own, 20 * when]),
            out.T @ own,
        )
        for copied, when in zip((first, second), parked, strict=True)
    )  # fmt: skip
    layers = tuple(limit.Layer(h, *limit.mlp(d)) for h in (copies, looking))
    return limit.Transformer(("$", "a", "b"), E, place.copy(), layers, out.copy(), n, precision=2)


def largest_error(n, lengths, exchanged):
    """Return how far outputs are from eq. (10), where it is defined, over strings and offsets."""
    t, worst = by_halves(n, exchanged), 0.0
    for length in lengths:
        strings = words("ab", length - 1)
        strings = strings[:: 1 + len(strings) // 500]
        for offset in range(n - length + 1):
            outputs = limit.exact(t, strings, offset).outputs.floats()
            for s, rows in zip(strings, outputs, strict=True):
                for i in range(1, len(s)):
                    after = [b for a, b in itertools.pairwise(s[: i + 1]) if a == s[i]]
                    if after:
                        f = np.array([after.count(c) / len(after) for c in "ab"])
                        worst = max(worst, float(np.abs(rows[i + 1] - f).max()))
    return worst


@claim(
    "limit.59.offset",
    ref="Proposition 59",
    statement=r"|T_n(x, o) - f(x)| \text{ small for } |x| \le n / 2",
    expect="refuted",
    falls="proof",
    consequence="The two heads are parked the wrong way round; exchanged, they prove the "
    "proposition's two halves.",
)
def offset_printed():
    """With `$` parked as printed, T_n errs at lengths up to n / 2 already.

    Its first head answers late queries, with keys that late positions have wrong. Small means
    below 1/4, at n = 12 (and 20 and 10 for the logits, as in the proof's sums). Control: at
    length n.
    """
    return construction(
        build=lambda n: largest_error(n, (n // 2,), False),
        has=lambda error: error < 0.25,
        cases=[12],
        control=dict(build=lambda n: largest_error(n, (n,), False)),
    )


@claim(
    "limit.59.offset.repaired",
    ref="Proposition 59",
    statement=r"|T_n(x, o) - f(x)| \text{ small for } |x| \le n / 2,\ \text{not for } |x| = n",
)
def offset_repaired():
    """With the two conditions exchanged it is right up to n / 2 and wrong at n.

    Control: right at n.
    """
    build = lambda n: [largest_error(n, (size,), True) for size in (n // 2, n)]
    return construction(
        build=build,
        has=lambda errors: errors[0] < 0.25 < errors[1],
        cases=[12],
        control=dict(has=lambda errors: errors[1] < 0.25),
    )

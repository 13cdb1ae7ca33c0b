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
    """The construction in the proof is a training length, and at n_k it is k.

    n_k > k is required for k >= 1, since the proof starts with n_0 = 0. The rest of the proof is
    about minimisers of R and is not computed. Control: t(n) < n.
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


def by_halves(n, exchanged, marked=False):
    """Return the transformer of Proposition 59 for n positions, over a and b.

    Dimensions: $; a symbol; what layer 1's two heads copied; the output; positions; and, not as
    printed, marks of the early and of the late positions, which are used if `marked`. `exchanged`:
    head 1 of layer 2 is parked at `$` for late queries and head 2 for early ones, not as printed.
    """
    k, d = 2, 11 + n
    unit = np.eye(d)
    own, first, second, out, place = (unit[s : s + k] for s in (1, 3, 5, 7, 9))
    place, marks = unit[9:-2], unit[-2:]
    E = np.concatenate([unit[:1], own])
    j = np.arange(1, n + 1)
    back = lambda far: np.eye(n, k=far)  # keys along rows, queries along columns
    W1 = np.where(j <= 3 * n / 4, back(1), back(2))
    W2 = np.where(j <= n / 4, back(2), back(1))
    copies = tuple(
        limit.Head(place, 2 * W @ place, to.T @ own) for W, to in ((W1, first), (W2, second))
    )
    is_late = j >= 3 * n / 4
    early, late = marks[:1], marks[1:]
    if not marked:
        early, late = (~is_late @ place)[None], (is_late @ place)[None]
    parked = (late, early) if exchanged else (early, late)
    looking = tuple(
        limit.Head(
            np.concatenate([copied, unit[:1]]), np.concatenate([10 * own, 20 * when]),
            out.T @ own,
        )
        for copied, when in zip((first, second), parked, strict=True)
    )  # fmt: skip
    layers = tuple(limit.Layer(h, *limit.mlp(d)) for h in (copies, looking))
    return limit.Transformer(
        ("$", "a", "b"),
        E,
        place + marked * marks[is_late.astype(int)],
        layers,
        out.copy(),
        n,
        precision=2,
    )


short = lambda n: range(2, n // 2 + 1)
"""The lengths up to n / 2, `$` included."""


def largest_error(n, lengths, exchanged, marked=False):
    """Return how far outputs are from eq. (10), where it is defined, over strings and offsets.

    All strings up to eight symbols, and every so many of the longer ones.
    """
    t, worst = by_halves(n, exchanged, marked), 0.0
    for length in lengths:
        strings = words("ab", length - 1)
        strings = strings[:: 1 + len(strings) // 200]
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
    """With `$` parked as printed, T_n already errs at lengths up to n / 2.

    Its first head answers late queries, with keys that are wrong at late positions. Small means
    below 1/4, at n = 12 (and 20 and 10 for the logits, as in the proof's sums). Control: at length
    n.
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
    """With the conditions exchanged, T_n is right up to n / 2 and wrong at n, for n = 10 to 14.

    Control: right at n.
    """
    build = lambda n: [largest_error(n, sizes, True) for sizes in (short(n), (n,))]
    return construction(
        build=build,
        has=lambda errors: errors[0] < 0.25 < errors[1],
        cases=[10, 12, 14],
        complete=True,
        control=dict(has=lambda errors: errors[1] < 0.25),
    )


def growth(marked):
    """Return the build: R(T_n) at n and 2 n, and whether keys are at most two places back."""

    def build(n):
        found = [by_halves(m, True, marked) for m in (n, 2 * n)]
        far = [
            np.abs(np.tril(limit.alpha(t, 1, h, (), (), t.positions, t.positions), -1)).max()
            + np.abs(np.triu(limit.alpha(t, 1, h, (), (), t.positions, t.positions), 3)).max()
            for t in found for h in (1, 2)
        ]  # fmt: skip
        return [limit.regularizer(t) for t in found], max(far)

    return build


stays = lambda found: abs(found[0][1] - found[0][0]) < 1e-6
near = lambda found: found[1] == 0


@claim(
    "limit.59.offset.bounded",
    ref="Proposition 59",
    statement=r"\sup_n R(T_n) < \infty,\ \text{the } p_i^T K^T Q p_j \text{ local for } \tau = 2",
    expect="refuted",
    falls="proof",
    consequence="The printed K^T Q of layer 2 tells early from late positions by n orthogonal unit "
    "vectors, so its norm grows as the root of n; two more dimensions that mark them bound it.",
)
def bounded():
    """R(T_n) of the construction grows with n, by the spectral norm of the second layer's K^T Q.

    A row that is 10 for all early positions and 0 for late ones has a norm of at least 5 sqrt(n).
    The products themselves are local. Control: those of distance 1 alone.
    """
    return construction(
        build=growth(False),
        has={"R is bounded": stays, "local": near},
        cases=[12, 16, 32],
        control=dict(has=lambda found: found[0][1] < found[0][0]),
    )


@claim(
    "limit.59.offset.bounded.repaired",
    ref="Proposition 59",
    statement=r"\sup_n R(T_n) < \infty,\ p_i \text{ with a mark for } i < 3n/4 \text{ and } "
    r"i \ge 3n/4",
)
def bounded_repaired():
    """With marks R does not depend on n, and T_n is right up to n / 2 and wrong at n as before.

    Control: without marks.
    """

    def build(n, marked=True):
        errors = (
            [largest_error(n, sizes, True, marked) for sizes in (short(n), (n,))] if n == 12 else []
        )
        return *growth(marked)(n), errors

    halves = lambda found: not found[2] or found[2][0] < 0.25 < found[2][1]
    return construction(
        build=build,
        has={"R is bounded": stays, "local": near, "right to n / 2": halves},
        cases=[12, 16, 32],
        complete=True,
        control=dict(build=lambda n: build(n, False)),
    )

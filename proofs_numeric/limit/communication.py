"""Theorem 12 (19), Corollary 13 (20), appendix B.3: the bits that Alice must send.

As printed, the theorem fails, in two ways that its proof overlooks. Averages of averages have
denominators of order exp(N), so exact sums need more than O(log N) bits. And logits that are
rounded after the product of two activations distinguish unboundedly many keys. If the attended
values are integers over a common denominator and keys take boundedly many values, as in all
compiled programs, the protocol and its number of bits are as claimed.
"""

import itertools
import math
from fractions import Fraction

import jax.numpy as jnp
import numpy as np

from theorykit import claim
from theorykit.checks import construction, exhaustive, rate
from theorykit.networks.tasks import ALGORITHMIC
from theorykit.subjects import crasp, limit

LOGARITHMIC = 0.33
"""The exponent that log N seems to have from 16 on: log(5) / log(4) - 1 of a doubling at most."""

none = lambda d: np.zeros((0, d))


def uniform(d, read, write):
    """Return a head that averages one dimension into another."""
    V = np.zeros((d, d))
    V[write, read] = 1
    return limit.Head(none(d), none(d), V)


def two_layers(second):
    """Return a Limit Transformer over 0 and 1: the share of 1 so far, then another head.

    Dimensions: $, 1, the share, the second head's output. No positions at all.
    """
    E = np.zeros((3, 4))
    E[0, 0] = E[2, 1] = 1
    layers = tuple(limit.Layer((head,), *limit.mlp(4)) for head in (uniform(4, 1, 2), second))
    U = np.eye(4)[3:]
    return limit.Transformer(("$", "0", "1"), E, np.zeros((1, 4)), layers, U, precision=1)


AVERAGES = two_layers(uniform(4, 2, 3))
"""The average of the shares: sum over j of c_j / j, by uniform attention alone."""

SHARPENED = two_layers(limit.Head(np.eye(4)[[2]], np.eye(4)[[2]], uniform(4, 0, 3).V))
"""Logits u_i u_j of two shares, in halves; the value of `$` makes the total weight visible."""

# Exact sums --------------------------------------------------------------------------------------


def primes(N):
    """Return the primes in (N / 2, N)."""
    return [p for p in range(N // 2 + 1, N) if all(p % q for q in range(2, p))]


def swapped(N):
    """Return Alice's strings: for each prime p a 1 at position p or p + 1 of $ and the string."""
    places = primes(N)
    for late in itertools.product((0, 1), repeat=len(places)):
        x = ["0"] * (N + 1)
        for p, shift in zip(places, late, strict=True):
            x[p + shift] = "1"
        yield "".join(x[2 : N + 1])


def sums(N):
    """Return the distinct values of sum_j c_j / j over these strings, up to what they share."""
    found = {Fraction(0)}
    for p in primes(N):
        found |= {s + Fraction(1, p) for s in found}
    return found


@claim(
    "limit.12.communication",
    ref="Theorem 12, Theorem 19",
    statement=r"\text{Bob can compute each } y_i^{(l)},\ N < i \le 2N, "
    r"\text{ from } C \log N \text{ bits}",
    expect="refuted",
    falls="statement",
    consequence="Theorem 12 holds for compiled programs; for Limit Transformers in general "
    "Corollary 13 loses this proof.",
    mathematics=True,
)
def communication():
    """Two layers of uniform attention need at least N / (3 log N) bits.

    The first writes the share c_j / j of 1 among the first j symbols, the second averages it: Bob
    learns sum_j c_j / j. Moving a 1 from position p + 1 to a prime p adds 1 / p, and sums of
    distinct 1 / p, N / 2 < p < N, all differ. Measured: log2 of the number of Bob's activations.
    `limit.12.communication.activations` runs it. Control: half that exponent.
    """
    return rate(
        measure=lambda N: jnp.log2(len(sums(N))),
        at=(32, 64, 128),
        at_most=LOGARITHMIC,
        control=dict(at_most=LOGARITHMIC / 2),
    )


@claim(
    "limit.12.communication.activations",
    ref="Theorem 12, Theorem 19",
    statement=r"\#\{y_{2N}^{(2)}: x_{1 \dots N}\} \ge 2^{\pi(N) - \pi(N / 2)}",
)
def activations():
    """The Limit Transformer of the counterexample, in exact arithmetic: all activations differ.

    It is PERIODIC and LOCAL and uses no positions. Control: one more string.
    """

    def build(N):
        strings = [w + "0" * N for w in swapped(N)]
        out = limit.exact(AVERAGES, strings).outputs.fractions()[:, -1, 0].tolist()
        return len(set(out)), 2 ** len(primes(N)), AVERAGES.nope

    return construction(
        build=build,
        has=lambda found: found[2] and found[0] >= found[1],
        cases=[8, 16, 32],
        complete=True,
        control=dict(has=lambda found: found[0] > found[1]),
    )


@claim(
    "limit.12.precision",
    ref="Theorem 19, proof",
    statement=r"\text{all } y_i^{(l)} \text{ are computed at } O(\log N) \text{ precision}",
    expect="refuted",
    falls="proof",
    consequence="Activations need more than O(log N) bits where averages are averaged; where "
    "what is averaged has a common denominator, as in compiled programs, they do not.",
    unrepaired="That it holds for integers over a common denominator is in "
    "limit.12.communication.repaired.",
)
def precision():
    """The number of bits of the denominator of the second layer's average is linear in N.

    Attention weights have O(log N) bits, but sums of values with other denominators do not.
    Control: half that exponent.
    """

    def bits(N):
        out = limit.exact(AVERAGES, ["01" * (int(N) // 2)]).outputs
        return float(int(out.denominators[0, -1, 0]).bit_length())

    return rate(
        measure=bits,
        at=(32, 64, 128),
        at_most=LOGARITHMIC,
        control=dict(at_most=LOGARITHMIC / 2),
    )


# Rounded logits ----------------------------------------------------------------------------------


def walks(M):
    """Return the shares: Alice has $ 1^M and M / 2 pairs 10 or 01, Bob has 2 M ones.

    **Returns:** the two possible shares (high, low) of each pair, and Bob's shares.
    """
    pairs = []
    for k in range(M // 2):
        ones, place = M + k, M + 2 * k + 2  # the position of the pair's first symbol, with $
        pairs.append((Fraction(ones + 1, place), Fraction(ones, place)))
    N, ones = 2 * (M // 2) + M + 1, M + M // 2
    bob = [Fraction(ones + t, N + t) for t in range(1, N + 1)]
    return pairs, bob


def free_pairs(M):
    """Return pairs that Bob's activations distinguish, each at a query that no other pair affects.

    For a query u, a share is large if u times the share is at least 3/4, where halves round up to
    1.
    """
    pairs, bob = walks(M)
    chosen: list[int] = []
    used: list[tuple[Fraction, Fraction]] = []
    for k, (high, low) in enumerate(pairs):
        sees = [u for u in bob if u * high >= Fraction(3, 4) > u * low]
        alone = [u for u in sees if all(not u * h >= Fraction(3, 4) > u * l for h, l in used)]
        if alone and (not used or all(u * low < Fraction(3, 4) for u in alone)):
            clear = [
                u for u in alone
                if all((u * h >= Fraction(3, 4)) == (u * l >= Fraction(3, 4)) for h, l in used)
            ]  # fmt: skip
            if clear and (not used or high <= used[-1][1]):
                chosen.append(k)
                used.append((high, low))
    return chosen


@claim(
    "limit.12.communication.thresholds",
    ref="Theorem 12, Theorem 19",
    statement=r"\text{Bob can compute each } y_i^{(l)} \text{ to } O(\log N) \text{ bits from } "
    r"C \log N \text{ bits}",
    expect="refuted",
    falls="reading",
    consequence="The theorem is about exact activations; reading it as asking for O(log N) bits "
    "of each does not save it, since rounding a product of activations separates many keys.",
    unrepaired="No class of Limit Transformers beyond compiled programs is known for which it "
    "holds.",
    mathematics=True,
)
def thresholds():
    """Exact sums are not the only obstacle: rounded logits alone make N / 20 bits necessary.

    Layer 1 writes the share u_j of 1; layer 2 has the logit u_i u_j, rounded to halves, and its
    output is 1 over the total weight. So Bob learns how many of Alice's shares pass 3 / (4 u_i),
    for many u_i. Each of her pairs 10 or 01 is one bit with its own threshold. Measured: the number
    of such pairs. `limit.12.communication.thresholds.activations` runs it. Control: half the
    exponent.
    """
    return rate(
        measure=lambda N: len(free_pairs(N)),
        at=(60, 120, 240),
        at_most=LOGARITHMIC,
        control=dict(at_most=LOGARITHMIC / 2),
    )


@claim(
    "limit.12.communication.thresholds.activations",
    ref="Theorem 12, Theorem 19",
    statement=r"\#\{(y_i^{(2)})_{i > N}: x_{1 \dots N}\} = 2^m,\ "
    r"|y_i - y_i'| \ge N^{-4} \text{ somewhere}",
)
def thresholds_run():
    """The Limit Transformer of that counterexample, in exact arithmetic, separates 2^m halves.

    The margin is visible with O(log N) bits. Control: a margin of 1 / N.
    """

    def build(M):
        chosen = free_pairs(M)
        outputs = []
        for bits in itertools.product((0, 1), repeat=len(chosen)):
            pairs = ["10"] * (M // 2)
            for k, late in zip(chosen, bits, strict=True):
                pairs[k] = "01" if late else "10"
            alice = "1" * M + "".join(pairs)
            N = len(alice) + 1
            run = limit.exact(SHARPENED, [alice + "1" * N])
            outputs.append(run.outputs.fractions()[0, N:, 0])
        gaps = [
            max(abs(a - b) for a, b in zip(u, v, strict=True))
            for u, v in itertools.combinations(outputs, 2)
        ]
        return N, len(chosen), min(gaps)

    apart = lambda power: lambda found: found[1] >= 2 and found[2] * found[0] ** power >= 1
    return construction(
        build=build, has=apart(4), cases=[32, 48], complete=True, control=dict(has=apart(1))
    )


@claim(
    "limit.12.rounded_keys",
    ref="Theorem 19, proof",
    statement=r"\mathrm{Round}_p(q\, \mathrm{Round}_{p'}(y)) = \mathrm{Round}_p(q y) "
    r"\text{ for some } p'",
    expect="refuted",
    falls="proof",
    consequence="Keys cannot be grouped by rounding alone, so that the number of groups may grow "
    "with N.",
    unrepaired="Where keys take boundedly many values, as in compiled programs, no rounding is "
    "needed.",
)
def rounded_keys():
    """Keys rounded to any fixed p' do not give the rounded logits: y may be near a boundary.

    With p = 0 and q = 1. The keys are the shares of 1 that the first layer of the counterexample
    above writes for 0101...; the member is the largest p' that is tried, each on 2^(p' + 1)
    symbols. Control: q = 3.
    """
    near = lambda v: (2 * v + 1) // 2  # to the nearest integer, ties upward
    run = limit.exact(AVERAGES, ["01" * 2**8])
    shares = run.layers[1].fractions()[0, :, 2].tolist()
    coarse = lambda y, bits: Fraction(near(y * 2**bits), 2**bits)
    some = lambda q: (
        lambda most: any(
            all(near(q * coarse(y, bits)) == near(q * y) for y in shares[: 2 ** (bits + 1) + 2])
            for bits in range(1, most + 1)
        )
    )
    return exhaustive(predicate=some(1), universe=[7], control=dict(predicate=some(3)))


INDICES = [
    (N, tau, j, k)
    for N in range(1, 8) for tau in range(4)
    for j in range(1, N + 1) for k in range(1, N + 1)
]  # fmt: skip
"""N, tau and two of Alice's positions."""


def told_apart(index):
    """Return the predicate: positions of one index look the same to a tau-local function."""
    sees = lambda N, tau, j: N + 1 - j if N + 1 - j <= tau else 0  # of Bob's first position

    def predicate(m):
        N, tau, j, k = m
        return index(N, tau, j) != index(N, tau, k) or sees(N, tau, j) == sees(N, tau, k)

    return predicate


@claim(
    "limit.12.clusters",
    ref="Theorem 19, proof",
    statement=r"\max(N - j, N - \tau) = \max(N - k, N - \tau) \Rightarrow "
    r"\phi(j, i) = \phi(k, i),\ i > N",
    expect="refuted",
    falls="wording",
    consequence="An index: min for max, and tau for N - tau.",
    mathematics=True,
)
def clusters():
    """The printed index of a position separates the far end and merges the near one.

    Control: no index at all.
    """
    return exhaustive(
        predicate=told_apart(lambda N, tau, j: max(N - j, N - tau)),
        universe=INDICES,
        control=dict(predicate=told_apart(lambda N, tau, j: 0)),
    )


@claim(
    "limit.12.clusters.repaired",
    ref="Theorem 19, proof",
    statement=r"\min(N - j, \tau) = \min(N - k, \tau) \Rightarrow \phi(j, i) = \phi(k, i),\ i > N",
    mathematics=True,
)
def clusters_repaired():
    """With min and tau, the index of a position is right. Control: with tau - 1."""
    return exhaustive(
        predicate=told_apart(lambda N, tau, j: min(N - j, tau)),
        universe=INDICES,
        control=dict(predicate=told_apart(lambda N, tau, j: min(N - j, tau - 1))),
    )


# The protocol, for compiled programs -------------------------------------------------------------

PLAYED = ["anbncn", "aa_star", "contains_ab", "dyck1", "induction_all", "majority"]


def strings_for(p, N):
    """Return strings of 2 N - 1 symbols: the first two symbols in turn, and random ones."""
    rng = np.random.default_rng(N)
    drawn = ["".join(rng.choice(list(p.alphabet), 2 * N - 1)) for _ in range(3)]
    return [("".join(p.alphabet[:2]) * N)[: 2 * N - 1], *drawn]


def exchanges(name, sizes=(8, 16, 32)):
    """Return N, bits, integers sent, and whether Bob's activations were right, string by string."""
    p = crasp.load(name)
    t = crasp.compile(p).transformer
    found = []
    for N in sizes:
        for string in strings_for(p, N):
            played = limit.communicate(t, string)
            run = limit.exact(t, [string])
            equal = all(b == y[:, N:] for b, y in zip(played.bob, run.layers, strict=True))
            heads = [groups for layer in played.groups for groups in layer]
            sent = sum(1 + sum(2 + len(g.key) + len(g.total) for g in groups) for groups in heads)
            found.append((N, played.bits, sent, equal))
    return found


most = lambda N, sent: sent * (2 * int(math.log2(2 * N)) + 1)
"""The bits that this many integers up to 2 N take in Elias's gamma code."""


@claim(
    "limit.12.communication.repaired",
    ref="Theorem 12, Theorem 19",
    statement=r"P \in \text{C-RASP}[\text{periodic}, \text{local}] \Rightarrow "
    r"\text{bits} \le M (2 \lfloor \log_2 2N \rfloor + 1),\ M \text{ independent of } N",
)
def communication_compiled():
    """For compiled programs, Bob's activations equal the direct ones, and bits grow as log N.

    There keys are constant and values are 0 or 1, so the number of integers sent does not depend on
    N or the string, and each is at most 2 N. Four strings of each length. Control: each integer
    takes log2 (2 N) bits.
    """
    bob = lambda found: all(equal for *_, equal in found)
    few = lambda found: len({sent for _, _, sent, _ in found}) == 1
    short = lambda found: all(bits <= most(N, sent) for N, bits, sent, _ in found)
    plain = lambda found: all(bits <= sent * math.log2(N) / 2 for N, bits, sent, _ in found)
    return construction(
        build=exchanges,
        has={"Bob is right": bob, "so many integers": few, "so many bits": short},
        cases=PLAYED,
        control=dict(has=plain),
    )


@claim(
    "limit.13.copying",
    ref="Corollary 13, Corollary 20",
    statement=r"M (2 \lfloor \log_2 2N \rfloor + 1) < N \text{ bits, which equality of two halves "
    r"needs}",
)
def copying():
    """Messages of compiled programs are shorter than N bits, so no such program copies.

    Two equal halves over two symbols can be chosen in 2^N ways, which Bob has to distinguish. M is
    what `limit.12.communication.repaired` counts, N = 2^13. For Limit Transformers that are not
    compiled programs the corollary rests on Theorem 12, which fails. Control: N = 8.
    """

    def build(name):
        return max(sent for _, _, sent, _ in exchanges(name, (8,)))

    needs = lambda k: lambda sent: most(2**k, sent) < 2**k
    return construction(build=build, has=needs(13), cases=PLAYED, control=dict(has=needs(3)))


@claim(
    "limit.13.addition",
    ref="Corollary 20, proof",
    statement=r"x + 0 = x",
)
def addition():
    """Adding 0 is copying, by the task's own solution: for all x up to 8 digits that begin with 1.

    Numbers with zeros in front are no copies, which leaves Bob 2^(N-1) ways to tell apart.
    Control: adding 1.
    """
    task = ALGORITHMIC["addition"]
    symbol = task.symbols.index
    digits = [(1, *x) for n in range(8) for x in itertools.product((0, 1), repeat=n)]
    plus = lambda x, y: task.solution([*map(symbol, map(str, x)), symbol("+"), symbol(y)])
    copied = lambda y: lambda x: list(plus(x, y)) == [symbol(str(b)) for b in x]
    return exhaustive(predicate=copied("0"), universe=digits, control=dict(predicate=copied("1")))

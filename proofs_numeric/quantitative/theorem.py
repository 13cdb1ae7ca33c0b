"""Theorem 4.1 and appendix A.2: the simulating string, with and without encodings."""

import dataclasses
import functools
import math

import numpy as np

from theorykit import claim
from theorykit.checks import alternative, construction, exhaustive, inequality, rate
from theorykit.checks.domains import inputs, integers
from theorykit.proofs_numeric.quantitative._strings import without_mlp
from theorykit.subjects import limit, simulation


@functools.lru_cache(4096)
def drawn(seed, longest=2000):
    """Return a random pair's simulation: alphabets 2 to 5, tau 0 to 3, Delta 1 to 3.

    Every other pair has two symbols, no encodings, and no MLP, which makes the bound nearer.
    """
    rng = np.random.default_rng(seed)
    symbols, tau, period = int(rng.integers(2, 6)), int(rng.integers(0, 4)), int(rng.integers(1, 4))
    bare = seed % 2 == 1
    symbols, period = (2, 1) if bare else (symbols, period)
    alphabet = "abcde"[:symbols]
    f, g = (simulation.random_one_layer(rng, alphabet, tau, period) for _ in range(2))
    f, g = (without_mlp(f), without_mlp(g)) if bare else (f, g)
    length = int(10 ** rng.uniform(2, math.log10(longest)))
    odds = rng.dirichlet(np.full(symbols, 10 ** rng.uniform(-1.5, 0.5)), size=period)
    places = (rng.random(length)[:, None] > odds.cumsum(1)[np.arange(length) % period]).sum(1)
    x = "".join(alphabet[min(p, symbols - 1)] for p in places)
    return simulation.simulate_hard(f, g, x, float(rng.uniform(0.02, 0.3)))


def simulation_check(pairs, longest, looser):
    """Return the check of differences against the bound, over seeds."""
    found = lambda seed: drawn(int(seed), longest)
    return inequality(
        lhs=lambda seed: np.array(found(seed).difference),
        rhs=lambda seed: np.array(found(seed).bound),
        over=inputs(seed=integers(0, 10**9)),
        cases=pairs,
        traceable=False,
        control=dict(rhs=lambda seed: np.array(found(seed).bound) / looser),
    )


@claim(
    "quantitative.thm4.1.simulation",
    ref="Theorem 4.1, App. A.2",
    statement=r"\|f(x) - f(z)\| \le L_f^{MLP} M_f^V (10 |\Sigma| \Delta + 15 (\tau + 1)) "
    r"\varepsilon,\ g \text{ alike}",
)
def simulated():
    """The string of the proof, with its repairs, simulates both of a random pair of transformers.

    100 pairs, strings to length 2,000. Control: a bound 100 times smaller.
    """
    return simulation_check(100, 2000, 100)


@claim(
    "quantitative.thm4.1.simulation.many",
    ref="Theorem 4.1, App. A.2",
    statement=r"\|f(x) - f(z)\| \le L_f^{MLP} M_f^V (10 |\Sigma| \Delta + 15 (\tau + 1)) "
    r"\varepsilon,\ g \text{ alike}",
    tier="slow",
)
def simulated_many():
    """The same for 1,000 pairs and strings to length 10,000. Control: 100 times smaller."""
    return simulation_check(1000, 10_000, 100)


def pair(both):
    """Return f, which attends to a, and g, which attends to b and c, or with `both` to all."""

    def head(reads):
        K = np.array([reads], float)
        return limit.Head(K, np.ones((1, 3)), np.eye(3))

    def make(reads):
        layer = limit.Layer((head(reads),), *limit.mlp(3))
        return limit.Transformer(
            ("a", "b", "c"), np.eye(3), np.zeros((1, 3)), (layer,), np.eye(3), precision=1,
            shift=True,
        )  # fmt: skip

    return make([1, 0, 0]), make([0, 0, 0] if both else [0, 1, 1])


def length_at(both):
    """Return the length of z at 1 / eps, for a string of 300,000 symbols."""
    rng = np.random.default_rng(0)
    odds = [0.3, 0.4, 0.3] if not both else [0.05, 0.5, 0.45]
    x = "".join(rng.choice(list("abc"), 300_000, p=odds))
    f, g = pair(both)
    return lambda n: len(simulation.simulate_hard(f, g, x, 1 / n).string)


@claim(
    "quantitative.thm4.1.length",
    ref="App. A.2",
    statement=r"|z| = O(1 / \varepsilon^2)",
)
def length():
    """Where f and g attend to different tokens, z has about 1/eps^2 symbols: exponent 2.

    The proof's case |P_f and P_g| <= eps |P_g|; the square is not needed there, since 1/eps tokens
    for g would suffice. Control: the value for an exponent of 3/2.
    """
    return rate(
        measure=length_at(False), at=(16, 32, 64, 128), exponent=2.0, control=alternative(1.5)
    )


@claim(
    "quantitative.thm4.1.length.one_scale",
    ref="App. A.2",
    statement=r"|z| = \Theta(1 / \varepsilon) \text{ where } |P_g| \le c |P_f|",
)
def length_one_scale():
    """Where g attends to all and f to a twentieth of it, z has about 20/eps symbols: exponent 1.

    Control: what an exponent of 3/2 would give.
    """
    return rate(
        measure=length_at(True), at=(32, 64, 128, 256), exponent=1.0, control=alternative(1.5)
    )


@claim(
    "quantitative.thm4.1.positions",
    ref="App. A.2, Including positional embedding vectors",
    statement=r"\text{each (token, position mod } \Delta \text{) of the construction can be placed "
    r"with at most } \Delta \text{ true tokens}",
    expect="refuted",
    falls="proof",
    consequence="Numbers balanced between residues replace those of the proof, and "
    "Theorem 4.1 keeps its length.",
)
def positions():
    """The inserted tokens are also attended to if everything at a residue is.

    f attends to odd positions and g to even ones, whatever the symbols. The proof requires 1/eps
    tokens at odd positions and 1/eps^2 at even ones, which no string has. Control: nothing may be
    inserted.
    """
    return construction(
        build=lambda E: laid_out(E, 1),
        has=lambda prefix: prefix is not None,
        cases=range(2, 9),
        control=dict(build=lambda E: laid_out(E, 0)),
    )


def by_position(residue):
    """Return a transformer that attends to one residue mod 2 and averages the symbols' values."""
    K = np.array([[0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])[[residue]]
    head = limit.Head(K, np.ones((1, 4)), np.eye(4))
    E = np.eye(2, 4)
    positions = np.array([[0.0, 0, 1, 0], [0.0, 0, 0, 1]])
    layer = limit.Layer((head,), *limit.mlp(4))
    return limit.Transformer(
        ("a", "b"), E, positions, (layer,), np.eye(2, 4), precision=1, shift=True
    )


def laid_out(E, room):
    """Return a prefix with the proof's numbers at eps = 1/E, or None; more places with room."""
    x = "".join(np.random.default_rng(E).choice(list("ab"), 4000))
    n = np.array([[x[i::2].count(s) for i in (0, 1)] for s in "ab"])
    Af = np.array([[True, False]] * 2)
    m = simulation.counted(n.ravel(), Af.ravel(), ~Af.ravel(), 1 / E).m.reshape(n.shape)
    length = simulation.shortest(m, 1, 0, 0) + 2 * room
    return simulation.lay_out(m, length, np.array([-1, -1]))


@claim(
    "quantitative.thm4.1.positions.repaired",
    ref="App. A.2, Including positional embedding vectors",
    statement=r"\text{a string of } O(\Delta / \varepsilon^2) \text{ symbols simulates both, with "
    r"encodings too}",
)
def positions_repaired():
    """A string whose numbers are balanced between residues simulates both.

    Control: the proof's numbers, laid out.
    """
    f, g = by_position(0), by_position(1)

    def build(E, ours=True):
        x = "".join(np.random.default_rng(E).choice(list("ab"), 4000))
        if ours:
            found = simulation.simulate_hard(f, g, x, 1 / E)
            return found.case, found.difference, found.bound
        return "none" if laid_out(E, 1) is None else "proof", (0, 0), (0, 0)

    return construction(
        build=build,
        has=lambda found: (
            found[0] == "balanced" and all(a <= b for a, b in zip(found[1], found[2], strict=True))
        ),
        cases=(5, 8, 12, 16, 20, 30),
        control=dict(build=lambda E: build(E, False)),
    )


@claim(
    "quantitative.thm4.1.short",
    ref="App. A.2",
    statement=r"|P_f|, |P_g| \le 1/\varepsilon \Rightarrow f(z) = f(x) \text{ for } z \text{ the "
    r"attended tokens and the suffix}",
    assumptions=[r"|x| \ge 2^{p/\gamma}, \text{ as the appendix assumes}"],
    expect="refuted",
    falls="proof",
    consequence="z must be padded to 2^(p/gamma) with tokens that get no attention; Theorem 4.1 "
    "has that length in its maximum.",
)
def short():
    """The string may be too short for hard attention, on which eqs. (2) and (3) rely.

    f = g attends to a, margin 1, p bits; x is one a and 2^(p+1) times b, long enough. Then z = ab,
    and f(z) gives b some weight. Exact. Members are p. Control: z has another last token.
    """

    def same(p, z):
        f = dataclasses.replace(pair(False)[0], precision=p)
        return last_output(f, "a" + "b" * 2 ** (p + 1)) == last_output(f, z)

    return exhaustive(
        predicate=lambda p: same(p, "ab"),
        universe=range(2, 6),
        control=dict(predicate=lambda p: same(p, "ac")),
    )


def last_output(f, x):
    """Return f(x) in fractions."""
    return limit.exact(f, [x]).outputs.fractions()[0, -1].tolist()


@claim(
    "quantitative.thm4.1.short.repaired",
    ref="App. A.2",
    statement=r"z \text{ padded to } 2^{p/\gamma} \text{ with tokens below the largest logit}",
)
def short_repaired():
    """Padded strings are simulated by the transformers themselves. Control: z without padding."""

    def build(seed, padded=True):
        f = pair(False)[0]
        x = "a" * (2 + seed) + "bc" * 40
        z = simulation.simulate_hard(f, f, x, 0.1).string if padded else "a" * (2 + seed) + "c"
        return last_output(f, x) == last_output(f, z)

    return construction(
        build=build,
        has=bool,
        cases=range(3),
        control=dict(build=lambda seed: build(seed, False)),
    )

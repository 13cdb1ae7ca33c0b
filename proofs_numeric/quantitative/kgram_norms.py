"""B.3: the width, the norms and the complexity of the k-gram's construction."""

import itertools
import math

import numpy as np

from theorykit import claim
from theorykit.checks import alternative, construction, exhaustive, rate
from theorykit.proofs_numeric.quantitative._kgram import weights
from theorykit.subjects import limit, simulation

norm = np.linalg.norm


def free(symbols, tau, blocks):
    """Return how many directions of the width blocks * S no state y^(1) reaches.

    That is the width less the rank of all states; elimination in integers.
    """
    one_hot = [[int(s == t) for t in range(symbols)] for s in range(symbols)]
    pivots: dict[int, list[int]] = {}
    for choice in itertools.product(one_hot, repeat=tau + 1):
        row = [entry for block in choice for entry in block]
        for place, other in pivots.items():
            row = [other[place] * a - row[place] * b for a, b in zip(row, other, strict=True)]
        if any(row):
            pivots[[bool(a) for a in row].index(True)] = row
    return blocks * symbols - len(pivots)


@claim(
    "quantitative.5.4.kgram.width",
    ref="App. B.3",
    statement=r"d \ge (\tau + 1) S \text{ suffices for } \mathbf Y^{(1)}_i = \mathbf E_{x_i} "
    r"\oplus \dots \oplus \mathbf E_{x_{i-\tau}} \text{ and for the output}",
    expect="refuted",
    falls="reading",
    consequence="The printed bound on d is for the first layer alone; with the output it is (tau "
    "+ 2) S, and C(f) keeps its order.",
    mathematics=True,
)
def width():
    """The residual stream keeps y^(1), and no width is left for the output.

    The MLP being zero, f is linear in y^(1) and what attention adds. An output without y^(1) needs
    S - 1 directions, one less than symbols since shares sum to 1, that no y^(1) has; of (tau + 1) S
    there are tau. Control: S of them.
    """
    enough = lambda less: lambda member: free(*member, member[1] + 1) >= member[0] - less
    return exhaustive(
        predicate=enough(1),
        universe=[(S, tau) for tau in (1, 2) for S in (2, 3, 4)],
        control=dict(predicate=enough(0)),
    )


@claim(
    "quantitative.5.4.kgram.width.repaired",
    ref="App. B.3",
    statement=r"d = (\tau + 2) S:\quad f(x)_s = \frac{\sum_i w_i \mathbf 1(x_i = s)}{\sum_i w_i}",
)
def width_repaired():
    """With one more block, the transformer outputs what its weights say.

    To 1e-9, phi being 60, at random strings of 8 symbols; the weights are counted in fractions.
    Control: another beta.
    """
    phi, root = 60.0, 4

    def build(case):
        symbols, tau = case
        t = limit.kgram(symbols, tau + 1, 2 * math.log(root), phi)
        xs = np.random.default_rng(0).integers(0, symbols, (20, 8))
        return tau, xs, np.array([simulation.soft_output(t, "".join(map(str, x))) for x in xs])

    def has(root):
        def equal(built):
            tau, xs, found = built
            for x, f in zip(xs.tolist(), found, strict=True):
                given = weights(tuple(x), tau, root)
                shares = np.zeros(len(f))
                for i, w in given.items():
                    shares[x[i]] += w / sum(given.values())
                if np.abs(shares - f).max() > 1e-9:
                    return False
            return True

        return equal

    return construction(
        build=build,
        has=has(root),
        cases=[(2, 1), (2, 2), (3, 1), (3, 2), (4, 1)],
        control=dict(has=has(root + 1)),
    )


@claim(
    "quantitative.5.4.kgram.norms",
    ref="Sec. 5, App. B.3",
    statement=r"H = \tau = k - 1,\quad \|\mathbf V_{1,h}\|_{op} = 1,\quad "
    r"\|\mathbf K_{2,1}^\top \mathbf Q_{2,1}\|_{op} = \beta,\quad \gamma(f) \ge 1",
)
def norms():
    """The construction has the norms and the positional margin that the paper states, k to 5.

    Control: at phi = 3/2 the margin is 1/2.
    """

    def properties(build):
        def margin(t):
            reaches = [{1.0, *h.phi.values} for h in t.layers[0].heads]
            return min(np.subtract(*sorted(P)[:-3:-1]) for P in reaches)

        return dict(
            build=build,
            has={
                "heads": lambda built: len(built[1].layers[0].heads) == built[0] - 1,
                "locality": lambda built: built[1].locality == built[0] - 1,
                "values": lambda built: all(norm(h.V, 2) == 1 for h in built[1].layers[0].heads),
                "attention": lambda built: norm(built[1].layers[1].heads[0].KQ, 2) == 3,
                "margin": lambda built: margin(built[1]) >= 1,
            },
        )

    make = lambda phi: lambda k: (k, limit.kgram(2, k, 3.0, phi))
    return construction(
        **properties(make(2.0)),
        cases=range(2, 6),
        complete=True,
        control=properties(make(1.5)),
    )


@claim(
    "quantitative.5.4.kgram.complexity",
    ref="Sec. 5, App. B.3",
    statement=r"C(f) = \exp(C k^2 \log(1 / \varepsilon)) k^2 S = \varepsilon^{-\Theta(k^2)}",
)
def complexity():
    """The logarithm of B.2's C(f) grows like k^2 for the construction, at beta = 0.6.

    With the constant C = 1; at a larger beta C(f) overflows. Control: the value for k^(3/2).
    """
    return rate(
        measure=lambda k: math.log(simulation.complexity(limit.kgram(2, int(k), 0.6), C=1.0)),
        at=(8, 16, 32),
        exponent=2.0,
        tolerance=0.2,
        control=alternative(1.5),
    )


@claim(
    "quantitative.5.4.kgram.complexity.accuracy",
    ref="Sec. 5, App. B.3",
    statement=r"\log C(f) = \Theta(\log(1/\varepsilon)),\ \beta = \log(1/\varepsilon)",
)
def complexity_accuracy():
    """At k = 4 the logarithm of C(f) grows like beta. Control: the value for beta^(3/2)."""
    return rate(
        measure=lambda beta: math.log(simulation.complexity(limit.kgram(2, 4, beta), C=1.0)),
        at=(10, 20, 40),
        exponent=1.0,
        control=alternative(1.5),
    )

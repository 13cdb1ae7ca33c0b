"""Sections 4.4 and 3: from a kernel predictor with Monte-Carlo noise to a delta-implementation."""

import itertools
import math
from collections import deque
from fractions import Fraction

import jax.numpy as jnp
import numpy as np

from theorykit import claim
from theorykit.checks import exhaustive, expectation, identity, inequality
from theorykit.checks.domains import inputs, positive, reals, simplex
from theorykit.common.keys import generator

# Section 4.4. `e` is f_delta - A, `noise` is f_MC - f_delta, both in units of the spacing Delta.


def probability(weights, event):
    """Return the probability of an event, given as a truth value an outcome."""
    return jnp.where(event, weights, 0.0).sum()


def decision(value):
    """Return the output nearest to a value: outputs are the integers, Delta = 1."""
    return math.floor(value + Fraction(1, 2))


@claim(
    "capture.4.4.triangle",
    ref="Sec. 4.4",
    statement=r"\Pr[|f^{MC} - A| < \Delta/2] \ge \Pr[|f - A| < \Delta/3] + "
    r"\Pr[|f^{MC} - f| < \Delta/6] - 1",
)
def triangle():
    """The final error stays below half the spacing unless one of the two parts is too large.

    On any finite probability space, so with 1 - delta/2 and 1 - 2 exp(-c Delta^2 N / P) for the
    two terms the printed bound follows. The printed probabilities are over X alone; the second
    one needs the Monte-Carlo draws too, so the space here is their product. Control: noise up to
    a third of the spacing in place of a sixth.
    """
    sure = lambda allowed: (
        lambda w, e, noise: (
            probability(w, jnp.abs(e) < 1 / 3) + probability(w, jnp.abs(noise) < allowed) - 1
        )
    )
    return inequality(
        lhs=sure(1 / 6),
        rhs=lambda w, e, noise: probability(w, jnp.abs(e + noise) < 1 / 2),
        over=inputs(w=simplex("n"), e=reals("n", 0.4), noise=reals("n", 0.2), n=(1, 3)),
        starts=8,
        steps=20,
        control=dict(lhs=sure(1 / 3)),
    )


@claim(
    "capture.4.4.triangle.decision",
    ref="Sec. 4.4",
    statement=r"|f - A| < \Delta/3,\ |f^{MC} - f| < \Delta/6 \Rightarrow "
    r"|f^{MC} - A| < \Delta/2 \text{ and the output nearest to } f^{MC} \text{ is } A",
    assumptions=[r"\text{outputs are spaced by } \Delta \text{ or more}"],
)
def decision_rule():
    """Half the spacing decides: the nearest output is then the right one.

    Every pair of errors that is a multiple of Delta / 24, in exact arithmetic. Control: errors
    up to and including a third and a sixth.
    """
    grid = [Fraction(n, 24) for n in range(-12, 13)]
    decides = lambda e, noise: abs(e + noise) < Fraction(1, 2) and decision(7 + e + noise) == 7
    small = lambda e, noise: abs(e) < Fraction(1, 3) and abs(noise) < Fraction(1, 6)
    ends = lambda e, noise: abs(e) <= Fraction(1, 3) and abs(noise) <= Fraction(1, 6)
    return exhaustive(
        predicate=lambda errors: decides(*errors) or not small(*errors),
        universe=list(itertools.product(grid, grid)),
        control=dict(predicate=lambda errors: decides(*errors) or not ends(*errors)),
    )


def failure(N, P, gap, delta, c):
    """Return the bound on the failure probability: 2 exp(-c Delta^2 N / P) + delta / 2."""
    return 2 * jnp.exp(-c * gap**2 * N / P) + delta / 2


def budget(P, gap, delta, c):
    """Return the draws that make the first term delta / 2: N = P log(4 / delta) / (c Delta^2)."""
    return P * jnp.log(4 / delta) / (c * gap**2)


@claim(
    "capture.4.4.triangle.budget",
    ref="Sec. 4.4",
    statement=r"2 e^{-c \Delta^2 N / P} = \delta / 2 \iff N = \frac{P \log(4/\delta)}{c \Delta^2}",
)
def draws_needed():
    """N = P log(4 / delta) / (c Delta^2) draws make the whole failure probability delta.

    So N grows like P log(1 / delta), as printed, once delta is well below 1/4. Control: 4 left
    out of the logarithm, which fails with probability 2.5 delta.
    """
    delta = lambda odds: odds / (1 + odds)
    at = lambda draws: (
        lambda P, gap, odds, c: (
            failure(draws(P, gap, delta(odds), c), P, gap, delta(odds), c) / delta(odds)
        )
    )
    return identity(
        lhs=at(budget),
        rhs=lambda P: 1.0,
        over=inputs(P=positive(), gap=positive(), odds=positive(), c=positive()),
        control=dict(lhs=at(lambda P, gap, delta, c: budget(P, gap, 4 * delta, c))),
    )


# Section 3. Breadth-first search on random geometric graphs, its time counted in nodes and edges.


def radius(T, d, degree):
    """Return the radius at which T points on [-1, 1]^d have this mean degree, boundary aside."""
    ball = math.pi ** (d / 2) / math.gamma(d / 2 + 1)
    return 2 * (degree / (T * ball)) ** (1 / d)


def graph(rng, T, d, degree):
    """Return the neighbours of each of T + 2 random points: source 0, target T + 1."""
    x = rng.uniform(-1, 1, (T + 2, d))
    near = np.linalg.norm(x[:, None] - x[None], axis=-1) <= radius(T, d, degree)
    np.fill_diagonal(near, False)
    return [np.flatnonzero(row).tolist() for row in near]


def search(neighbours, budget=math.inf):
    """Return (distance to the target or -1, time): one step a node taken up and an edge followed.

    Past the budget the answer is -2, an output that is never right: the worst "random value".
    """
    source, target = 0, len(neighbours) - 1
    distance, queue, time = {source: 0}, deque([source]), 0
    while queue:
        node = queue.popleft()
        time += 1 + len(neighbours[node])
        if time > budget:
            return -2, budget
        if node == target:
            return distance[node], time
        fresh = [other for other in neighbours[node] if other not in distance]
        distance |= dict.fromkeys(fresh, distance[node] + 1)
        queue.extend(fresh)
    return -1, time


DELTAS = np.array([0.75, 0.5, 0.25, 0.1])
GRAPHS = 40


def instances(key, d, degree):
    """Return random graphs of 24 nodes and two more."""
    rng = generator(key)
    return [graph(rng, 24, d, degree) for _ in range(GRAPHS)]


def over_graphs(statistic):
    """Return statistic(graphs), less delta, in 2 and 3 dimensions, below and above criticality."""
    settings = list(itertools.product((2, 3), (2.0, 8.0)))
    return lambda key: np.stack([statistic(instances(key, *s)) - DELTAS for s in settings])


def late(graphs, share=1.0):
    """Return Pr[t >= share E t / delta] under the uniform measure on these graphs."""
    t = np.array([search(g)[1] for g in graphs])
    return (t >= share * t.mean() / DELTAS[:, None]).mean(1)


def wrong(graphs, share=1.0):
    """Return Pr[A_delta != A], A_delta the search stopped after share E t / delta steps."""
    answer, t = np.array([search(g) for g in graphs]).T
    stopped = lambda budget: np.array([search(g, budget)[0] for g in graphs])
    return np.array([(stopped(share * t.mean() / delta) != answer).mean() for delta in DELTAS])


@claim(
    "capture.sec3.markov",
    ref="Sec. 3",
    statement=r"\Pr_X[t(X) \ge \mathbb E[t(X)] / \delta] \le \delta",
)
def markov():
    """A run lasts 1 / delta times its mean or longer with probability at most delta.

    Breadth-first search on random geometric graphs; the measure is uniform on 40 graphs, drawn
    anew in each replicate, so that mean and probability are exact and the bound holds in every
    one. Control: a tenth of that time.
    """
    return expectation(
        statistic=over_graphs(late),
        at_most=0.0,
        replicates=12,
        error=1e-3,
        vectorize=False,
        control=dict(statistic=over_graphs(lambda graphs: late(graphs, 0.1))),
    )


@claim(
    "capture.sec3.truncated",
    ref="Sec. 3",
    statement=r"\Pr_X[|A_\delta(X) - A(X)| = 0] > 1 - \delta \text{ in time } "
    r"\mathbb E[t(X)] / \delta",
)
def truncated():
    """Search stopped after 1 / delta times its mean time is right with probability over 1 - delta.

    Strictly, as printed: a run that ends just in time counts, and E t > (E t / delta) Pr[t >
    E t / delta] otherwise. What it does when stopped is taken to be wrong always. Control: a
    tenth of that budget.
    """
    return expectation(
        statistic=over_graphs(wrong),
        at_most=0.0,
        replicates=12,
        error=1e-3,
        vectorize=False,
        control=dict(statistic=over_graphs(lambda graphs: wrong(graphs, 0.1))),
    )

"""Definition 5.4 and B.3: the in-context k-gram and the output of its two-layer construction.

Weights of the second layer are counted in integers where e^beta is a square; outputs are the
library's.
"""

import functools
import math

import numpy as np

from theorykit import claim
from theorykit.checks import alternative, exhaustive, rate
from theorykit.proofs_numeric.quantitative._kgram import agreement, following, strings, weights
from theorykit.proofs_numeric.quantitative._powers import power
from theorykit.subjects import limit, simulation


@functools.cache
def transformer(tau, root):
    """Return the construction for two symbols, k = tau + 1, e^beta = root^2 and phi = 60."""
    return limit.kgram(2, tau + 1, 2 * math.log(root), 60.0)


@functools.lru_cache(4096)
def put_out(x, tau, root):
    """Return the output of the transformer at the end of a string over two symbols."""
    return simulation.soft_output(transformer(tau, root), "".join(map(str, x)))


def distance(x, counts, tau, root):
    """Return the l1 distance from the transformer's output to the target."""
    total = sum(counts.values())
    target = np.array([counts.get(s, 0) / total for s in (0, 1)])
    return float(np.abs(put_out(x, tau, root) - target).sum())


def answered(context, *lengths):
    """Return the strings of two symbols whose last `context` symbols came before."""
    return [x for x in strings(*lengths) if len(x) > context and following(x, context)]


def apart(tau, x):
    """Whether no position before tau agrees merely because it has nothing to look back to."""
    return all(agreement(x, i, tau) < 2 * tau for i in range(tau))


@claim(
    "quantitative.5.4.kgram.order",
    ref="Definition 5.4, App. B.3",
    statement=r"f \approx f^* \text{ with } k - 1 \text{ heads}, \tau = k - 1,\ "
    r"f^* \text{ over } x_{t-k:t-1} = x_{T-k+1:T}",
    expect="refuted",
    falls="wording",
    consequence="With k - 1 symbols Definition 5.4 is what the construction, the data and "
    "tau = k - 1 are about.",
)
def order():
    """The definition compares k symbols, and the construction k - 1 of them.

    At k = 2 with e^beta = 10^6, strings of two symbols, within 1/10; strings whose first positions
    agree by mistake are left out. Control: e^beta = 1.
    """
    near = lambda root: lambda x: 10 * distance(x, following(x, 2), 1, root) <= 1
    return exhaustive(
        predicate=near(1000),
        universe=[x for x in answered(2, 3, 4, 5, 6) if apart(1, x)],
        control=dict(predicate=near(1)),
    )


@claim(
    "quantitative.5.4.kgram.order.repaired",
    ref="Definition 5.4, App. B.3",
    statement=r"f \approx f^* \text{ over } x_{t-k+1:t-1} = x_{T-k+2:T}",
)
def order_repaired():
    """With k - 1 symbols compared it holds, as in the k-wise transitions of appendix C.

    At k = 2 and 3. Control: e^beta = 1.
    """
    near = lambda root: lambda m: 10 * distance(m[1], following(m[1], m[0]), m[0], root) <= 1
    return exhaustive(
        predicate=near(1000),
        universe=[
            (tau, x) for tau in (1, 2) for x in answered(tau, 3, 4, 5, 6, 7) if apart(tau, x)
        ],
        control=dict(predicate=near(1)),
    )


# A member is tau, beta and a string.
LOGITS = [(tau, beta, x) for beta in (1, 2, 3) for tau in (1, 2) for x in answered(tau, 3, 4, 5)]


def others_below(most):
    """Return whether logits of whole contexts that do not agree are at most most(beta, tau)."""

    def predicate(member):
        tau, beta, x = member
        twice = [agreement(x, i, tau) for i in range(tau, len(x))]
        return all(beta * m <= 2 * most(beta, tau) for m in twice if m < 2 * tau)

    return predicate


@claim(
    "quantitative.5.4.kgram.weights",
    ref="App. B.3",
    statement=r"\text{attention weight of at most } e^{\tau (\beta - 1)} "
    r"\text{ on tokens that do not agree}",
    expect="refuted",
    falls="wording",
    consequence="The exponent is beta (tau - 1), as in E_N and E_D two lines below.",
    mathematics=True,
)
def weights_of_others():
    """A context that agrees in all places but one has the weight e^(beta (tau - 1)).

    That exceeds e^(tau (beta - 1)) wherever beta < tau. Control: e^(-beta).
    """
    return exhaustive(
        predicate=others_below(lambda beta, tau: tau * (beta - 1)),
        universe=LOGITS,
        control=dict(predicate=others_below(lambda beta, tau: -beta)),
    )


@claim(
    "quantitative.5.4.kgram.weights.repaired",
    ref="App. B.3",
    statement=r"\text{attention weight of at most } e^{\beta (\tau - 1)} "
    r"\text{ on tokens that do not agree}",
    mathematics=True,
)
def weights_repaired():
    """A context that does not agree weighs at most e^(beta (tau - 1)), as in E_N and E_D.

    Control: e^(beta (tau - 2)).
    """
    return exhaustive(
        predicate=others_below(lambda beta, tau: beta * (tau - 1)),
        universe=LOGITS,
        control=dict(predicate=others_below(lambda beta, tau: beta * (tau - 2))),
    )


# A member is tau, the root of e^beta and a string.
CASES = [(tau, root, x) for tau in (1, 2) for root in (2, 10) for x in answered(tau, 3, 4, 5, 6, 7)]


def rest_below(most):
    """Return whether E_D, and so |E_N|, is at most most(T, tau, e^beta)."""

    def predicate(member):
        tau, root, x = member
        agreeing = sum(following(x, tau).values()) * power(root, 2 * tau)
        return sum(weights(x, tau, root).values()) - agreeing <= most(len(x), tau, root * root)

    return predicate


@claim(
    "quantitative.5.4.kgram.output",
    ref="App. B.3",
    statement=r"f(x)_s = \frac{e^{\beta \tau} n_s + E_{N, s}}{e^{\beta \tau} n + E_D},\quad "
    r"\|E_N\|, \|E_D\| \le T e^{\beta (\tau - 1)}",
    expect="refuted",
    falls="proof",
    consequence="The first tau positions add tau e^(beta tau); on typical inputs the error is "
    "still e^-beta.",
    mathematics=True,
)
def output():
    """At the first position a head that should look back sees the position itself.

    If x_1 is the symbol that it looks for, x_1 counts as if it followed that symbol, with the full
    weight e^(beta tau). Here n_s is the number of t with x_t = s after an agreeing context.
    Control: 0.
    """
    return exhaustive(
        predicate=rest_below(lambda T, tau, w: T * power(w, tau - 1)),
        universe=CASES,
        control=dict(predicate=rest_below(lambda T, tau, w: 0)),
    )


@claim(
    "quantitative.5.4.kgram.output.repaired",
    ref="App. B.3",
    statement=r"\|E_N\|, \|E_D\| \le T e^{\beta (\tau - 1)} + \tau e^{\beta \tau}",
    mathematics=True,
)
def output_repaired():
    """The first tau positions weigh at most e^(beta tau) each. Control: without them."""
    return exhaustive(
        predicate=rest_below(lambda T, tau, w: T * power(w, tau - 1) + tau * power(w, tau)),
        universe=CASES,
        control=dict(predicate=rest_below(lambda T, tau, w: T * power(w, tau - 1))),
    )


@claim(
    "quantitative.5.4.kgram.error",
    ref="App. B.3",
    statement=r"\|f(x) - f^*(x)\| \lesssim \frac{T}{e^\beta \sum_i \mathbf 1(x_{i-\tau:i-1} = "
    r"x_{T-\tau+1:T})}",
    expect="refuted",
    falls="proof",
    consequence="tau is added to T e^-beta; on typical inputs the error is still e^-beta.",
)
def error():
    """For a fixed x the bound falls like e^-beta; the error of 0 1 0, at tau = 1, stays at 1.

    Position 1 agrees because it has no predecessor, and so 0 has half of the weight. n is e^beta.
    Control: falls like e^(-2 beta).
    """
    x = (0, 1, 0)
    return rate(
        measure=lambda root: distance(x, following(x, 1), 1, root),
        at=(10, 100, 1000),
        at_most=-2.0,
        control=dict(at_most=-4.0),
    )


def error_below(start):
    """Return whether the error is at most 2 (T e^-beta + start tau) / n."""

    def predicate(member):
        tau, root, x = member
        counts = following(x, tau)
        most = 2 / sum(counts.values()) * (len(x) / root**2 + start * tau)
        return distance(x, counts, tau, root) <= most + 1e-9

    return predicate


@claim(
    "quantitative.5.4.kgram.error.repaired",
    ref="App. B.3",
    statement=r"\|f(x) - f^*(x)\|_1 \le \frac{2 (T e^{-\beta} + \tau)}{\sum_i \mathbf 1("
    r"x_{i-\tau:i-1} = x_{T-\tau+1:T})}",
)
def error_repaired():
    """With the share of the first tau positions it holds for every x. Control: without."""
    return exhaustive(
        predicate=error_below(1), universe=CASES, control=dict(predicate=error_below(0))
    )


@claim(
    "quantitative.5.4.kgram.error.typical",
    ref="App. B.3",
    statement=r"\sum_i \mathbf 1(x_{i-\tau:i-1} = x_{T-\tau+1:T}) = \Theta(T) \Rightarrow "
    r"\|f(x) - f^*(x)\| \lesssim e^{-\beta}",
)
def error_typical():
    """On a random string of 2,000 symbols the error falls like e^-beta, n = e^(beta / 2).

    At tau = 2, to beta = 6, where the start is not yet felt. Control: what e^(-3 beta / 4) would
    give.
    """
    x = tuple(np.random.default_rng(0).integers(0, 2, 2_000).tolist())
    counts = following(x, 2)
    return rate(
        measure=lambda root: distance(x, counts, 2, root),
        at=(5, 10, 20),
        exponent=-2.0,
        tolerance=0.3,
        control=alternative(-1.5),
    )

"""Appendix C: how data for the in-context k-gram are drawn."""

import jax
import numpy as np

from theorykit import claim
from theorykit.checks import construction, exhaustive
from theorykit.networks.tasks import InContextKGram
from theorykit.proofs_numeric.quantitative._kgram import following, strings


def occurs(last, context):
    """Return whether the replacement at i = k ... last makes the last symbols occur earlier.

    Members are k, T, i and a string; those with i beyond last(k, T) are left aside.
    """

    def predicate(member):
        k, T, i, x = member
        if i > last(k, T):
            return True
        made = x[: i - k] + x[T - k :] + x[i:]
        return bool(following(made, context(k)))

    return predicate


PLACED = [
    (k, T, i, x)
    for k in (2, 3)
    for T in range(k + 1, 2 * k + 3)
    for i in range(k, T)
    for x in strings(T)
]


@claim(
    "quantitative.5.4.kgram.occurs",
    ref="App. C, in-context k-gram",
    statement=r"x_{i-k+1:i} \leftarrow x_{T-k+1:T},\ i \in [k : T - 1] \Rightarrow "
    r"x_{T-k+1:T} \text{ occurs before}",
    expect="refuted",
    falls="wording",
    consequence="i goes to T - k; for the others footnote 3 leaves the target open.",
    mathematics=True,
)
def placed():
    """Where the two overlap, the replacement changes the context that should occur.

    On all strings of two symbols. Control: a longer context than the replacement.
    """
    return exhaustive(
        predicate=occurs(lambda k, T: T - 1, lambda k: k),
        universe=PLACED,
        control=dict(predicate=occurs(lambda k, T: T - k, lambda k: k + 1)),
    )


@claim(
    "quantitative.5.4.kgram.occurs.repaired",
    ref="App. C, in-context k-gram",
    statement=r"i \in [k : T - k],\ T \ge 2k \Rightarrow x_{T-k+1:T} \text{ occurs before}",
    mathematics=True,
)
def placed_repaired():
    """Without an overlap the last context occurs before. Control: one more place."""
    return exhaustive(
        predicate=occurs(lambda k, T: T - k, lambda k: k),
        universe=PLACED,
        control=dict(predicate=occurs(lambda k, T: T - k + 1, lambda k: k)),
    )


@claim(
    "quantitative.5.4.kgram.occurs.context",
    ref="App. C, in-context k-gram",
    statement=r"\text{the same for the } k - 1 \text{ symbols that a context has}",
    expect="refuted",
    falls="wording",
    consequence="At k = 2 it holds; from k = 3 on i goes to T - k, as for k symbols.",
    mathematics=True,
)
def placed_context():
    """At i = T - 1 and k = 3 the last two become x_T x_T. Control: three symbols."""
    return exhaustive(
        predicate=occurs(lambda k, T: T - 1, lambda k: k - 1),
        universe=PLACED,
        control=dict(predicate=occurs(lambda k, T: T - 1, lambda k: k)),
    )


@claim(
    "quantitative.5.4.kgram.occurs.context.repaired",
    ref="App. C, in-context k-gram",
    statement=r"\text{data with } i \in [k : T - k] \text{ have their context before}",
)
def placed_context_repaired():
    """In 60 strings that the library draws, k = 3, S = 4. Control: in independent symbols."""

    def build(case, drawn=True):
        symbols, k, T = case
        task, keys = InContextKGram(symbols, k), jax.random.split(jax.random.key(0), 60)
        one = lambda key: task.sample(key, T).x
        other = lambda key: jax.random.randint(key, (T,), 0, symbols)
        return k, np.asarray(jax.jit(jax.vmap(one if drawn else other))(keys)).tolist()

    return construction(
        build=build,
        has=lambda built: all(following(tuple(x), built[0] - 1) for x in built[1]),
        cases=[(4, 3, 7)],
        control=dict(build=lambda case: build(case, False)),
    )

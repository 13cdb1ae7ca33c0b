"""Appendix C: how data for the in-context k-gram are drawn."""

from theorykit import claim
from theorykit.checks import exhaustive
from theorykit.proofs_numeric.quantitative._kgram import following, strings


@claim(
    "quantitative.5.4.kgram.data",
    ref="App. C, in-context k-gram",
    statement=r"x_i \sim \pi(\cdot \mid x_{i-k:i-1}) \text{ for } i \ge k,\ "
    r"\pi(\cdot \mid z_{1:k-1})",
    expect="refuted",
)
def data():
    """x_(i-k:i-1) has k symbols, one more than a context has, and at i = k begins before x_1.

    Members are k and i. Control: x_(i-k-1:i-1).
    """
    fits = lambda back: lambda member: back(member[0]) == member[0] - 1 <= member[1] - 1
    return exhaustive(
        predicate=fits(lambda k: k),
        universe=[(k, i) for k in (2, 3, 4) for i in range(k, 8)],
        control=dict(predicate=fits(lambda k: k + 1)),
    )


@claim(
    "quantitative.5.4.kgram.data.repaired",
    ref="App. C, in-context k-gram",
    statement=r"x_i \sim \pi(\cdot \mid x_{i-k+1:i-1}) \text{ for } i \ge k",
)
def data_repaired():
    """With k - 1 symbols back it fits. Control: as printed."""
    fits = lambda back: lambda member: back(member[0]) == member[0] - 1 <= member[1] - 1
    return exhaustive(
        predicate=fits(lambda k: k - 1),
        universe=[(k, i) for k in (2, 3, 4) for i in range(k, 8)],
        control=dict(predicate=fits(lambda k: k)),
    )


def occurs(last, context):
    """Return whether what is put at i = k ... last makes the last symbols occur earlier.

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
)
def placed():
    """Where the two overlap, the replacement changes what was to occur.

    At all strings of two symbols. Control: a longer context than what is put.
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
)
def placed_repaired():
    """Without an overlap it occurs. Control: one more place."""
    return exhaustive(
        predicate=occurs(lambda k, T: T - k, lambda k: k),
        universe=PLACED,
        control=dict(predicate=occurs(lambda k, T: T - k + 1, lambda k: k)),
    )

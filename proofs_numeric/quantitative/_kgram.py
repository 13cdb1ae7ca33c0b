"""The in-context k-gram of Definition 5.4, and what its construction attends to (B.3)."""

import itertools

from theorykit.proofs_numeric.quantitative._powers import power


def strings(*lengths):
    """Return all strings of two symbols of these lengths."""
    return [x for n in lengths for x in itertools.product((0, 1), repeat=n)]


def following(x, context):
    """Return how often each symbol follows the last `context` symbols, Definition 5.4's sums."""
    last = x[len(x) - context :]
    counts: dict[int, int] = {}
    for t in range(context, len(x)):
        if x[t - context : t] == last:
            counts[x[t]] = counts.get(x[t], 0) + 1
    return counts


def before(x, i, h):
    """Return what head h of the first layer attends to at position i, from 0: x_(i-h), or all."""
    return x[i - h : i - h + 1] if i >= h else x[: i + 1]


def agreement(x, i, tau):
    """Return twice the number of the last tau symbols that agree with those before i.

    tau is 1 or 2. A head with nothing h positions back sees one or two symbols, and agrees with
    half of each.
    """
    twice = 0
    for h in range(1, tau + 1):
        seen = before(x, i, h)
        twice += 2 * seen.count(x[len(x) - h]) // len(seen)
    return twice


def weights(x, tau, root, start=True):
    """Return the attention of the second layer, e^beta = root^2; without `start`, from tau on."""
    first = 0 if start else tau
    return {i: power(root, agreement(x, i, tau)) for i in range(first, len(x))}

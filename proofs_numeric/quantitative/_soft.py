"""Explicit two-layer transformers of infinite precision, appendix B.2."""

import numpy as np

from theorykit.subjects import limit


def two(first, KQ, V, U):
    """Return a transformer of two layers over one-hot a and b, infinite precision."""
    d = len(V)
    K, Q = KQ
    layers = (first, limit.Layer((limit.Head(K, Q, V),), *limit.mlp(d)))
    return limit.Transformer(
        ("a", "b"), np.eye(2, d), np.zeros((1, d)), layers, U, precision=None, scaling="suffix"
    )


def single(d, target, source, value=1.0):
    """Return the d x d matrix with one entry."""
    M = np.zeros((d, d))
    M[target, source] = value
    return M


def biased(bias):
    """Return f with weight e^bias on each a: the share of a if each a counts e^bias times.

    The first layer's MLP puts the bias into a coordinate, which the second layer's query reads.
    Only the norm of the bias depends on it; the output of the first layer's head is never read.
    """
    head = limit.Head(np.zeros((0, 5)), np.zeros((0, 5)), single(5, 4, 0))
    first = limit.Layer((head,), *limit.mlp(5, [({}, float(bias), False, {2: 1.0})]))
    return two(first, (np.eye(1, 5), np.eye(5)[[2]]), single(5, 3, 0), np.eye(5)[[3]])


def second_share():
    """Return f = the share of a, by uniform attention in the second layer; the first outputs 0."""
    head = limit.Head(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((3, 3)))
    first = limit.Layer((head,), *limit.mlp(3))
    return two(first, (np.zeros((0, 3)),) * 2, single(3, 2, 0), np.eye(3)[[2]])

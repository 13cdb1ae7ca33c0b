"""Transformers with random parameters, as the checks of several sections use them."""

import dataclasses

import numpy as np

from theorykit.subjects import limit


def drawn(seed, depth=2, heads=2, d=3, context=7):
    """Return a transformer with random parameters of few bits; it subtracts the largest logit."""
    rng = np.random.default_rng(seed)
    some = lambda *shape: rng.integers(-2, 3, shape) / 2
    head = lambda: limit.Head(some(2, d), some(2, d), some(d, d), limit.Local(tuple(some(3))))
    layer = lambda: limit.Layer(
        tuple(head() for _ in range(heads)), some(2, d), some(d, 2), some(2), rng.random(2) < 0.5
    )
    return limit.Transformer(
        ("$", "a", "b"), some(3, d), some(context, d), tuple(layer() for _ in range(depth)),
        some(2, d), context, precision=2, shift=True,
    )  # fmt: skip


def each_head(t, change):
    """Return a transformer whose heads are changed one by one."""
    layer = lambda l: dataclasses.replace(l, heads=tuple(map(change, l.heads)))
    return dataclasses.replace(t, layers=tuple(map(layer, t.layers)))

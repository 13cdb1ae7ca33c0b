"""The hypothesis class and the regularisers, item by item: Definitions 4, 5, 46 and 50, eq. (8)."""

import dataclasses

import numpy as np
import pytest

from theorykit.subjects import limit
from theorykit.subjects.limit._products import attention_to_start

CONTEXT = 4


def silent(context=CONTEXT):
    """Return a transformer of width 4 whose parameters are all 0: layers of one and two heads."""
    zero = np.zeros((1, 4))
    head = limit.Head(zero, zero, np.zeros((4, 4)))
    layer = lambda *heads: limit.Layer(heads, *limit.mlp(4, [({}, 0.0, False, {})] * 2))
    return limit.Transformer(
        ("$", "a"), np.zeros((2, 4)), np.zeros((context or 2, 4)),
        (layer(head), layer(head, head)), np.zeros((2, 4)), context, 0,
    )  # fmt: skip


def row(*entries):
    """Return a row of width 4 that is 0 but for these (coordinate, value)."""
    found = np.zeros((1, 4))
    for at, value in entries:
        found[0, at] = value
    return found


def changed(t, layer=None, head=None, **fields):
    """Return a transformer with other fields, of the whole, of a layer or of a head."""
    if layer is None:
        return dataclasses.replace(t, **fields)
    old = t.layers[layer - 1]
    if head is not None:
        heads = list(old.heads)
        heads[head - 1] = dataclasses.replace(heads[head - 1], **fields)
        fields = dict(heads=tuple(heads))
    layers = list(t.layers)
    layers[layer - 1] = dataclasses.replace(old, **fields)
    return dataclasses.replace(t, layers=tuple(layers))


def block(rows, columns, *entries):
    found = np.zeros((rows, columns))
    for i, j, value in entries:
        found[i, j] = value
    return found


# Definition 5 and 16: what a single parameter adds to L + H = 4. ---------------------------------

V = block(4, 4, (0, 1, 2.0), (1, 2, 5.0), (2, 2, 0.0))  # rank 2, norm 5 (Frobenius: sqrt(29))
K, Q = row((0, 1), (1, 1)), row((2, 3))  # K'Q has the one singular value 3 sqrt(2)
FLAT = block(2, 4, (0, 0, 2.0), (1, 1, 3.0), (1, 2, 6.0))  # Frobenius 7, spectral sqrt(45)
ROWS = block(2, 4, (0, 0, 3.0), (1, 0, 2.0), (1, 1, 6.0), (1, 3, 9.0))  # lengths 3 and 11
TERMS = {
    "layers": (lambda t: dataclasses.replace(t, layers=t.layers + t.layers[:1]), 1),
    "heads": (lambda t: changed(t, 2, heads=t.layers[1].heads * 2), 2),
    "precision of parameters": (lambda t: changed(t, 1, 1, K=row((3, 0.125))), 3),
    "precision of rounding": (lambda t: changed(t, precision=7), 7),
    "no rounding": (lambda t: changed(t, precision=None), 0),
    "V of the first layer": (lambda t: changed(t, 1, 1, V=V), 2 + 5),
    "V of the last head": (lambda t: changed(t, 2, 2, V=V), 2 + 5),
    "K'Q of the first layer": (lambda t: changed(t, 1, 1, K=K, Q=Q), 3 * np.sqrt(2)),
    "K'Q of the last head": (lambda t: changed(t, 2, 2, K=K, Q=Q), 3 * np.sqrt(2)),
    "A of the first layer": (lambda t: changed(t, 1, A=FLAT), 7),
    "A of the last": (lambda t: changed(t, 2, A=FLAT), 7),
    "B of the first layer": (lambda t: changed(t, 1, B=FLAT.T), 7),
    "B of the last": (lambda t: changed(t, 2, B=FLAT.T), 7),
    "b of the first layer": (lambda t: changed(t, 1, b=np.array([3.0, -4.0])), 5),
    "b of the last": (lambda t: changed(t, 2, b=np.array([3.0, -4.0])), 5),
    "U": (lambda t: changed(t, U=block(2, 4, (0, 0, 3.0), (1, 1, -4.0))), 4),
    "p": (lambda t: changed(t, positions=np.pad(ROWS, ((1, 1), (0, 0)))), 11),
    "E": (lambda t: changed(t, E=ROWS), 11),
}  # fmt: skip


@pytest.mark.parametrize("term", TERMS)
def test_each_term_of_the_regulariser_by_itself(term):
    change, more = TERMS[term]
    assert limit.regularizer_minus(silent()) == 4
    assert limit.regularizer_minus(change(silent())) == pytest.approx(4 + more, rel=1e-12)
    assert limit.regularizer(change(silent())) == pytest.approx(4 + more, rel=1e-12)


def test_terms_are_maxima_over_layers_and_heads_and_add_up():
    t = silent()
    for layer, head, times in ((1, 1, 1.0), (2, 1, 3.0), (2, 2, 2.0)):
        t = changed(t, layer, head, V=times * V, K=K, Q=times * Q)
        t = changed(t, layer, A=times * FLAT, B=times * FLAT.T, b=times * np.array([3.0, 4.0]))
    # Of the second layer A, B and b come with its last head: twice the size.
    expected = 4 + 2 + 3 * 5 + 3 * 3 * np.sqrt(2) + 2 * (7 + 7 + 5)
    assert limit.regularizer_minus(t) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_equation_8_is_the_first_position_as_key(seed):
    """The sum over layers, heads and j <= N of (p_1' K' Q p_j)^2, number by number."""
    rng = np.random.default_rng(seed)
    some = lambda *shape: rng.integers(-3, 4, shape).astype(float)
    t = changed(silent(), positions=some(CONTEXT, 4))
    for layer, head in ((1, 1), (2, 1), (2, 2)):
        t = changed(t, layer, head, K=some(2, 4), Q=some(2, 4))
    p = t.positions
    total = sum(
        sum(a * b for a, b in zip(head.K @ p[0], head.Q @ p[j], strict=True)) ** 2
        for layer in t.layers for head in layer.heads for j in range(CONTEXT)
    )  # fmt: skip
    assert total > 0
    assert attention_to_start(t) == total
    assert limit.regularizer(t) == pytest.approx(limit.regularizer_minus(t) + total, rel=1e-12)


def test_equation_8_of_the_start_alone_of_the_others_alone_and_of_one_head():
    """Keys read coordinate 0 and queries coordinate 1 of p; position 1 is (2, 3), others (5, 7)."""
    p = np.array([[2.0, 3, 0, 0], [5, 7, 0, 0], [5, 7, 0, 0], [5, 7, 0, 0]])
    for layer, head in ((1, 1), (2, 1), (2, 2)):
        t = changed(silent(), layer, head, K=row((0, 1)), Q=row((1, 1)))
        for kept, expected in ((p, (2 * 3) ** 2 + 3 * (2 * 7) ** 2),
                               (p * [[1], [0], [0], [0]], (2 * 3) ** 2),
                               (p * [[0], [1], [1], [1]], 0)):  # fmt: skip
            assert attention_to_start(changed(t, positions=kept)) == expected


# Definition 50 -----------------------------------------------------------------------------------

LIMIT_TERMS = {
    "layers": (lambda t: dataclasses.replace(t, layers=t.layers + t.layers[:1]), 1),
    "heads": (lambda t: changed(t, 2, heads=t.layers[1].heads * 2), 2),
    "precision of parameters": (lambda t: changed(t, U=block(2, 4, (0, 0, 0.25))), 2 + 0.25),
    "precision of rounding": (lambda t: changed(t, precision=7), 7),
    "the largest entry": (lambda t: changed(t, 2, 2, V=block(4, 4, (1, 2, -9.0), (0, 0, 8))), 9),
    "the period": (lambda t: changed(t, positions=block(6, 4, (0, 0, 1.0), (3, 0, 1.0))), 2 + 1),
    "squares of phi but at distance 0": (
        lambda t: changed(t, 1, 1, phi=limit.Local((3.0, 2.0, -1.0))), 3 + 4 + 1),
    "the largest phi": (lambda t: changed(
        changed(t, 1, 1, phi=limit.Local((0.0, 2.0, 1.0))),
        2, 2, phi=limit.Local((0.0, -2.0, 2.0, 1.0))), 2 + 9),
}  # fmt: skip


@pytest.mark.parametrize("term", LIMIT_TERMS)
def test_each_term_of_the_limit_regulariser_by_itself(term):
    """L + H, the width 4, and the period 1 of encodings that are all 0."""
    change, more = LIMIT_TERMS[term]
    assert limit.regularizer_infinity(silent(None)) == 4 + 4 + 1
    assert limit.regularizer_infinity(change(silent(None))) == 9 + more


def test_regularisers_are_of_their_own_kind():
    far = changed(silent(None), 1, 1, phi=lambda j, i: 1.0 * (j == 1))
    for t, R in ((silent(None), limit.regularizer), (silent(), limit.regularizer_infinity),
                 (far, limit.regularizer_infinity)):  # fmt: skip
        with pytest.raises(ValueError, match="R_inf"):
            R(t)


# Definitions 4 and 46: condition 3, product by product. ------------------------------------------

COUNTING = np.stack([[i, 0, 0, 0] for i in range(1, CONTEXT + 1)]).astype(float)


def placed():
    """Coordinate 0 tells positions, 1 symbols, 2 is written by the MLPs, 3 by value matrices."""
    t = changed(silent(), positions=COUNTING, E=block(2, 4, (0, 1, 1.0), (1, 1, 2.0)))
    write = block(4, 2, (2, 0, 1.0))
    return changed(changed(t, 1, B=write), 2, B=write)


MOVE = lambda a: block(4, 4, (3, a, 1.0))  # from coordinate a to coordinate 3
READ = lambda *at: dict(zip("KQ", (row((a, 1)) for a in at), strict=True))
BROKEN = {
    "beta, A": (lambda t: changed(t, 2, A=block(2, 4, (1, 0, 1.0))), "('A', 2, 2) and p_i, as it"),
    "beta, U": (lambda t: changed(t, U=block(2, 4, (1, 0, 1.0))), "('U', 2) and p_i, as it is"),
    "beta, by a value": (
        lambda t: changed(changed(t, 1, 1, V=MOVE(0)), U=row((3, 1))), "p_i, as it is, V_1,1"),
    "alpha, symbols as queries": (lambda t: changed(t, 2, 2, **READ(0, 1)), "and ('E', '$')"),
    "alpha, symbols as keys": (lambda t: changed(t, 2, 2, **READ(1, 0)), "and ('E', '$')"),
    "alpha, units as queries": (lambda t: changed(t, 2, 2, **READ(0, 2)), "and ('B', 1, 1)"),
    "alpha, units as keys": (lambda t: changed(t, 2, 2, **READ(2, 0)), "and ('B', 1, 1)"),
    "alpha, moved symbols": (
        lambda t: changed(changed(t, 1, 1, V=MOVE(1)), 2, 1, **READ(0, 3)), "V_1,1"),
    "alpha, moved positions as keys": (
        lambda t: changed(changed(t, 1, 1, V=MOVE(0)), 2, 1, **READ(3, 1)), "p_i, as it is, V_1,1"),
    "alpha, moved positions as queries": (
        lambda t: changed(changed(t, 1, 1, V=MOVE(0)), 2, 1, **READ(1, 3)), "p_i, as it is, V_1,1"),
    "alpha, two positions": (lambda t: changed(t, 2, 1, **READ(0, 0)), "p_j, as it is"),
    "alpha, a moved one and another": (
        lambda t: changed(changed(t, 1, 1, V=MOVE(0)), 2, 1, **READ(3, 0)), "p_j, as it is"),
    "alpha, another and a moved one": (
        lambda t: changed(changed(t, 1, 1, V=MOVE(0)), 2, 1, **READ(0, 3)), "p_j, as it is, V_1,1"),
}  # fmt: skip


@pytest.mark.parametrize("product", BROKEN)
def test_every_product_with_a_position_is_looked_at(product):
    """Each of them alone makes a transformer leave the class."""
    change, says = BROKEN[product]
    assert limit.variant_product(placed()) is None
    t = change(placed())
    assert says in (limit.variant_product(t) or "")
    assert not limit.in_hypothesis_class(t, CONTEXT)


def test_what_stays_in_the_class():
    """Products without positions, constant ones, and those of j - i, in both directions."""
    constant = changed(placed(), positions=np.ones((CONTEXT, 4)), U=np.ones((2, 4)))
    for key, query in ((0, 1), (1, 0), (0, 0), (1, 2)):
        assert limit.variant_product(changed(constant, 2, 1, **READ(key, query))) is None
    assert limit.variant_product(changed(placed(), 2, 1, **READ(1, 2))) is None
    turns = np.pi / 2 * np.arange(CONTEXT)
    circle = np.stack([np.cos(turns).round(), 0 * turns, 0 * turns, np.sin(turns).round()], 1)
    both = block(2, 4, (0, 0, 1.0), (1, 3, 1.0))
    turned = changed(placed(), positions=circle)
    quarter = block(2, 4, (0, 3, 1.0), (1, 0, -1.0))
    for Q in (both, quarter, -quarter):  # cos and sin of the difference
        assert limit.variant_product(changed(turned, 2, 1, K=both, Q=Q)) is None
    only = changed(turned, 2, 1, **READ(0, 0))  # cos(i) cos(j)
    assert "p_j" in limit.variant_product(only)


def test_the_class_is_of_one_context():
    assert limit.in_hypothesis_class(placed(), CONTEXT)
    assert not limit.in_hypothesis_class(placed(), CONTEXT - 1)
    assert not limit.in_hypothesis_class(placed(), CONTEXT + 1)


@pytest.mark.parametrize("values", [(0, 0), (1.0,), (0, 2.0), (0, 2.0, 0, 0), (1.0, 0, 3.0)])
def test_locality_is_the_farthest_distance_that_counts(values):
    t = changed(silent(None), 2, 1, phi=limit.Local(tuple(map(float, values))))
    far = [d for d, v in enumerate(values) if v]
    assert t.locality == (far[-1] if far else 0)
    j, i = np.indices((6, 6))
    phi = limit.Local(tuple(map(float, values)))(j, i)
    for (key, query), value in np.ndenumerate(phi):
        distance = query - key
        assert value == (values[distance] if 0 <= distance < len(values) else 0)

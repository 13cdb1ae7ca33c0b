import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theorykit.subjects import limit, simulation
from theorykit.subjects.simulation import _layout as layout
from theorykit.subjects.simulation._counts import balanced, counted

ALPHABET = "abcde"


def drawn(seed, symbols=3, tau=1, period=1, length=300):
    rng = np.random.default_rng(seed)
    f, g = (simulation.random_one_layer(rng, ALPHABET[:symbols], tau, period) for _ in range(2))
    weights = rng.dirichlet(np.full(symbols, 0.3), size=period)
    x = [ALPHABET[rng.choice(symbols, p=weights[i % period])] for i in range(length)]
    return f, g, "".join(x)


@given(st.lists(st.integers(0, 40), min_size=1, max_size=6), st.integers(1, 60))
def test_apportion_is_lemma_a4(weights, total):
    if not any(weights):
        return
    m = simulation.apportion(np.array(weights), total)
    assert m.sum() == total
    assert (m >= 0).all()
    assert (abs(m * sum(weights) - total * np.array(weights)) <= sum(weights)).all()


@pytest.mark.parametrize("seed", range(6))
def test_hard_output_is_what_the_transformer_computes(seed):
    f, _, x = drawn(seed, 2 + seed % 3, seed % 3, 1 + seed % 2, 60)
    assert simulation.hard_length(f) <= len(x)
    outputs = limit.forward(f, jnp.array(f.encode(x)))
    np.testing.assert_allclose(simulation.hard_output(f, x), outputs[-1], atol=2e-5)


def test_below_the_hard_length_it_is_not():
    head = limit.Head(np.array([[0.5, 0.0]]), np.ones((1, 2)), np.eye(2))
    layer = limit.Layer((head,), *limit.mlp(2))
    f = limit.Transformer(
        ("a", "b"), np.eye(2), np.zeros((1, 2)), (layer,), np.eye(2), precision=6, shift=True
    )
    assert simulation.logit_margin(f) == 0.5
    assert simulation.hard_length(f) == 2**14 + 1
    x = "ab" * 20
    outputs = limit.forward(f, jnp.array(f.encode(x)))
    assert abs(simulation.hard_output(f, x) - outputs[-1]).max() > 1e-2


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    symbols=st.integers(2, 4),
    tau=st.integers(0, 3),
    period=st.integers(1, 3),
    eps=st.floats(0.03, 0.5),
)
def test_differences_stay_below_the_bound(seed, symbols, tau, period, eps):
    f, g, x = drawn(seed, symbols, tau, period)
    tau = max(f.locality, g.locality)  # phi may end in zeros
    found = simulation.simulate_hard(f, g, x, eps)
    z = found.string
    for t, difference, bound in zip((f, g), found.difference, found.bound, strict=True):
        direct = simulation.hard_output(t, x) - simulation.hard_output(t, z)
        assert np.isclose(np.linalg.norm(direct), difference)
        assert difference <= bound
    assert len(z) <= min(found.length_bound, len(x))
    assert z[-tau - 1 :] == x[-tau - 1 :]
    assert (len(z) - len(x)) % period == 0
    assert len(z) >= min(len(x), simulation.hard_length(f))


def test_on_the_transformers_themselves():
    f, g, x = drawn(3, 2, 1, 1, 400)
    found = simulation.simulate_hard(f, g, x, 0.1)
    assert len(found.string) < len(x)
    for t, difference in zip((f, g), found.difference, strict=True):
        out = [np.asarray(limit.forward(t, jnp.array(t.encode(s)))[-1]) for s in (x, found.string)]
        assert np.isclose(np.linalg.norm(out[0] - out[1]), difference, atol=1e-4)


@given(
    n=st.lists(st.integers(1, 200), min_size=4, max_size=4),
    f=st.integers(1, 15),
    g=st.integers(1, 15),
    eps=st.floats(0.02, 0.2),
)
def test_every_case_of_the_proof(n, f, g, eps):
    n = np.array(n)
    Af, Ag = (np.array([bool(v >> k & 1) for k in range(4)]) for v in (f, g))
    if n[Af].sum() > n[Ag].sum():
        Af, Ag = Ag, Af
    found = counted(n, Af, Ag, eps)
    assert (found.m[~(Af | Ag)] == 0).all()
    for A in (Af, Ag):
        off = abs(found.m[A] / found.m[A].sum() - n[A] / n[A].sum()).sum()
        assert off <= max(40 * eps, 12 * len(n) * eps)
    for equation, (left, right) in found.bounds.items():
        if equation not in ("15", "15 ratios", "17 shared", "21", "24", "27", "29", "29 sum"):
            assert left <= right + 1e-9, equation


def test_balanced_fills_every_position():
    n = np.array([[30, 5], [10, 35]])
    Af, Ag = n >= 0, np.array([[True, False], [False, False]])
    slots = np.array([12, 11])
    m, spare = balanced(n, Ag, Af, 0.3, slots)
    assert (m.sum(0) + spare == slots).all()
    assert not spare.any()


def test_layout_puts_tokens_at_their_residues():
    m = np.array([[2, 0, 1], [0, 1, 0]])
    length = layout.shortest(m, residue=1, tau=0, least=8)
    found = layout.lay_out(m, length, np.array([1, 1, 1]))
    assert length % 3 == 1
    assert length + 1 >= 8
    assert [(found[i::3] == 0).sum() for i in range(3)] == [2, 0, 1]
    assert layout.lay_out(m, length, np.array([1, -1, 1])) is None


def test_nothing_longer_than_x_is_laid_out(monkeypatch):
    laid = []
    lay_out = layout.lay_out
    monkeypatch.setattr(layout, "lay_out", lambda m, n, z: laid.append(n) or lay_out(m, n, z))
    for seed in range(20):
        f, g, x = drawn(seed, 3, 1, 2, 400)
        for eps in (0.06, 1e-3, 1e-9):
            simulation.simulate_hard(f, g, x, eps)
    assert laid
    assert max(laid) < 400


def test_x_is_whole_where_attention_is_not_yet_hard():
    f, g, x = drawn(0, 2, 1)
    far = dataclasses.replace(f, precision=40)
    assert simulation.hard_length(far) > 10**9
    found = simulation.simulate_hard(far, g, x, 0.1)
    assert (found.case, found.eps, found.string) == ("whole", 0.1, x)


def test_bad_input():
    f, g, x = drawn(0, 2, 1)
    with pytest.raises(ValueError, match="a weight is a whole number of at least 0, got -1"):
        simulation.apportion(np.array([-1, 3]), 2)
    with pytest.raises(ValueError, match="the total is a whole number of at least 0, got -2"):
        simulation.apportion(np.array([1, 3]), -2)
    with pytest.raises(ValueError, match="eps is a positive number, got -1"):
        simulation.share_error(2, 1, 0, -1.0)
    with pytest.raises(ValueError, match=r"between 0 and 1, not '0.1'"):
        simulation.simulate_hard(f, g, x, "0.1")
    with pytest.raises(ValueError, match="eps lies between 0 and 1, not 1"):
        simulation.simulate_hard(f, g, x, 1)
    with pytest.raises(ValueError, match="'z' is not in the alphabet a b"):
        simulation.simulate_hard(f, g, x + "z", 0.1)
    with pytest.raises(ValueError, match="longer than tau = 3; this one has 2 symbols"):
        simulation.simulate_hard(*drawn(0, 2, 3)[:2], "ab", 0.1)
    with pytest.raises(ValueError, match="share an alphabet"):
        simulation.simulate_hard(f, drawn(0, 3)[1], x, 0.1)
    with pytest.raises(ValueError, match="hard attention needs precision=p"):
        simulation.simulate_hard(dataclasses.replace(f, precision=None), g, x, 0.1)
    finite = dataclasses.replace(f, context=9, positions=np.zeros((9, f.width)))
    with pytest.raises(ValueError, match="g is not periodic: it has a context of 9"):
        simulation.simulate_hard(f, finite, x, 0.1)
    head = dataclasses.replace(f.layers[0].heads[0], phi=lambda j, i: 0.0 * (i - j))
    layer = dataclasses.replace(f.layers[0], heads=(head,))
    with pytest.raises(ValueError, match="f is not local"):
        simulation.simulate_hard(dataclasses.replace(f, layers=(layer,)), g, x, 0.1)

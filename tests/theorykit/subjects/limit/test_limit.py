import dataclasses
import itertools
from fractions import Fraction

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theorykit.subjects import crasp, limit
from theorykit.subjects.limit import _integers as exactly
from theorykit.subjects.limit._exact import last


def words(n):
    return ["".join(w) for w in itertools.product("ab", repeat=n)]


def drawn(seed, context=6, depth=1, shift=True, period=None):
    rng = np.random.default_rng(seed)
    some = lambda *shape: rng.integers(-2, 3, shape) / 2
    head = lambda: limit.Head(some(2, 3), some(2, 3), some(3, 3), limit.Local((0.0, 0.5, -1.0)))
    layer = lambda: limit.Layer((head(),), some(2, 3), some(3, 2), some(2), rng.random(2) < 0.5)
    return limit.Transformer(
        ("$", "a", "b"), some(3, 3), some(context or period, 3),
        tuple(layer() for _ in range(depth)), some(2, 3), context, 2, "length", shift,
    )  # fmt: skip


@given(
    st.lists(
        st.lists(st.integers(-(2**70), 2**70), min_size=3, max_size=3), min_size=3, max_size=3
    ),
    st.integers(0, 2**40),
)
def test_integers_do_not_overflow(rows, scale):
    a = np.array(rows, object)
    assert (exactly.matmul(a, a) == a @ a).all()
    assert (exactly.multiply(a, np.array([scale])) == a * scale).all()
    assert (exactly.add(a, a.T) == a + a.T).all()


@given(st.integers(1, 60), st.integers(-12, 12), st.integers(0, 3))
def test_powers_are_rounded_exactly(base, exponent, bits):
    degree, k = 2**bits, exactly.power(base, exponent, bits)
    target = Fraction(base) ** exponent
    scaled = lambda half: Fraction(half, 2 * 2**bits) ** degree
    assert scaled(2 * k + 1) > target
    assert k == 0 or scaled(2 * k - 1) <= target


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 2))
def test_prefixes_of_equal_length_inputs_agree(seed, offset):
    t = drawn(seed)
    last = limit.exact(t, ["aab", "aaa"], offset).layers[-1]
    assert last[0, :3] == last[1, :3]


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.integers(1, 2), st.permutations(words(3)))
def test_a_prefix_that_strings_share_is_run_once_to_the_same_numbers(seed, finite, depth, strings):
    t = drawn(seed, 6 if finite else None, depth, period=3)
    outputs = limit.exact(t, strings).outputs[:, -1]
    assert last(t, np.array([t.encode(s) for s in strings])) == outputs
    assert (limit.accepts(t, strings) == (outputs.numerators[:, -1] > 0)).all()


def test_long_strings_are_run_a_few_at_a_time(monkeypatch):
    t, strings = drawn(5, None, period=3), words(6)
    right = limit.accepts(t, strings)
    for numbers in (1, 1000):  # one, and a few
        monkeypatch.setattr("theorykit.subjects.limit._exact.NUMBERS", numbers)
        assert (limit.accepts(t, strings) == right).all()


def test_other_transformers_and_symbols_are_refused():
    t = drawn(0)
    nan = np.full_like(t.E, np.nan)
    for change, says in (
        (dict(scaling="log"), "scaling is one of"),
        (dict(context=0), "context is a whole number of at least 1, got 0"),
        (dict(precision=-1), "precision is a whole number of at least 0, got -1"),
        (dict(E=nan), "E must be finite"),
    ):
        with pytest.raises(ValueError, match=says):
            dataclasses.replace(t, **change)
    for x, says in (([0, 3], "numbered 0 ... 2, not 3"), ([0, -1], "not -1"), ([0.0], "float64")):
        with pytest.raises(ValueError, match=says):
            limit.forward(t, x)
    with pytest.raises(ValueError, match="precision is a whole number"):
        crasp.compile(crasp.load("majority"), precision=-1)


def test_length_scales_logits():
    t = crasp.compile(crasp.load("contains_ab")).transformer
    short = limit.exact(t, ["ab"]).layers[1].fractions()[0, 2]
    longer = limit.exact(t, ["abb"]).layers[1].fractions()[0, 2]
    assert (short != longer).any()


def test_suffix_scaling_and_no_rounding_are_options():
    t = dataclasses.replace(drawn(3), precision=None, scaling="suffix")
    with pytest.raises(ValueError, match="exact arithmetic needs a precision"):
        limit.exact(t, ["ab"])
    x = np.array(t.encode("abb"))
    with jax.enable_x64(True):
        outputs = np.asarray(limit.forward(t, x))
        y = t.E[x] + t.positions[:4]
        (head,), (layer,) = t.layers[0].heads, t.layers
        i = np.arange(1, 5)
        a = (y @ head.Q.T) @ (y @ head.K.T).T + np.log(i)[:, None] * head.phi(i[None], i[:, None])
        w = np.tril(np.exp(a))
        Y = y + (w / w.sum(1, keepdims=True)) @ y @ head.V.T
        inside = Y @ layer.A.T + layer.b
        hidden = np.where(layer.heaviside, inside >= 0, np.maximum(inside, 0))
        assert np.allclose(outputs, (Y + hidden @ layer.B.T) @ t.U.T)


def test_alphabets_without_a_start_symbol():
    t = dataclasses.replace(drawn(1), alphabet=("a", "b", "c"))
    assert t.encode("cab") == [2, 0, 1]
    assert limit.exact(t, ["cab"]).outputs.numerators.shape == (1, 3, 2)


def test_bad_input_is_named():
    t = drawn(0)
    with pytest.raises(ValueError, match="'x' is not in the alphabet a b"):
        limit.exact(t, ["ax"])
    with pytest.raises(ValueError, match="4 symbols at offset 3 exceed the context of 6"):
        limit.exact(t, ["abb"], 3)
    with pytest.raises(ValueError, match="all of the same length"):
        limit.exact(t, ["a", "ab"])
    flat = limit.Head(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((2, 3)))
    layer = dataclasses.replace(t.layers[0], heads=(flat,))
    with pytest.raises(ValueError, match="V of layer 1 has the shape"):
        dataclasses.replace(t, layers=(layer,))
    low = limit.Head(np.zeros((0, 3)), np.zeros((0, 3)), np.eye(3), limit.Local((-1.0,) * 9))
    layer = dataclasses.replace(t.layers[0], heads=(low,))
    with pytest.raises(ValueError, match="round to zero at precision 1"):
        limit.exact(dataclasses.replace(t, layers=(layer,), precision=1, shift=False), ["aabb"])
    with pytest.raises(ValueError, match="number of symbols must be even"):
        limit.communicate(t, "ab")


@pytest.mark.parametrize("seed", range(6))
def test_bob_gets_activations_of_any_transformer(seed):
    t = drawn(seed, context=None, depth=2, period=2)
    for string in ("abb", "babab", "aabbaba"):
        played = limit.communicate(t, string)
        right = limit.exact(t, [string]).layers
        half = (len(string) + 1) // 2
        assert all(b == y[:, half:] for b, y in zip(played.bob, right, strict=True))
        assert set(played.message) <= {"0", "1"}
        assert played.bits == len(played.message)


@pytest.mark.parametrize("seed", [0, 2])
def test_translations_there_and_back(seed):
    t = drawn(seed, context=None, shift=False, period=2)
    t = dataclasses.replace(t, precision=3)
    finite = limit.to_finite(t, 5)
    assert limit.variant_product(finite) is None
    assert finite.width == 3 + 5 + 3 * 2 + 2
    back = limit.to_limit(finite)
    compared = 0
    for n in range(4):
        try:
            right = limit.exact(t, words(n)).outputs
        except ValueError:
            continue
        compared += 1
        assert limit.exact(back, words(n)).outputs == right
        for offset in range(4 - n):
            assert limit.exact(finite, words(n), offset).outputs == right
    assert compared


def test_a_position_in_a_product_is_found():
    t = drawn(0)
    assert "p_i" in limit.variant_product(t)
    assert not limit.in_hypothesis_class(t, 6)
    with pytest.raises(ValueError, match="with a context"):
        limit.variant_product(dataclasses.replace(t, context=None))


def test_periodic_and_local():
    t = drawn(0, context=None, period=4)
    t = dataclasses.replace(t, positions=np.tile(np.eye(3)[:2], (2, 1)))
    assert t.period == 2
    assert t.locality == 2
    far = dataclasses.replace(t.layers[0].heads[0], phi=lambda j, i: 1.0 * (j == 1))
    layer = dataclasses.replace(t.layers[0], heads=(far,))
    assert dataclasses.replace(t, layers=(layer,)).locality is None
    with pytest.raises(ValueError, match="LOCAL"):
        limit.communicate(dataclasses.replace(t, layers=(layer,)), "a")


def test_regularisers_of_a_small_example():
    t = crasp.compile(crasp.load("exists_a")).transformer
    finite = limit.to_finite(t, 4)
    assert limit.regularizer(finite) == limit.regularizer_minus(finite)  # no positions
    assert limit.regularizer_infinity(t) == 1 + 1 + 5 + 0 + 1 + 1 + 1 + 0
    with pytest.raises(ValueError, match="R_inf"):
        limit.regularizer(t)


def test_arrays_of_other_dtypes_will_do():
    t = drawn(0)
    single = lambda head: limit.Head(*map(np.float32, (head.K, head.Q, head.V)), head.phi)
    layers = tuple(
        limit.Layer(
            tuple(map(single, layer.heads)),
            *map(np.float32, (layer.A, layer.B, layer.b)),
            layer.heaviside,
        )
        for layer in t.layers
    )
    again = dataclasses.replace(t, E=np.float32(t.E), U=np.float32(t.U), layers=layers)
    assert {a.dtype for a in again.parameters} == {np.dtype(np.float64)}
    x = np.array([t.encode(t.alphabet[1:] * 2)])
    np.testing.assert_array_equal(limit.forward(again, x), limit.forward(t, x))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda t: dataclasses.replace(t, layers=(t,)), "layers are a tuple of limit.Layer"),
        (lambda t: dataclasses.replace(t, shift=np.nan), "shift is True or False, got nan"),
        (
            lambda t: limit.Head(np.ones((1, 1)), np.ones((1, 1)), np.ones((1, 1)), phi=3),
            "phi is None, a limit.Local or",
        ),
        (lambda t: limit.Local("a"), "values is an array of real numbers, got 'a'"),
        (lambda t: limit.Local((1.0, np.inf)), "values must be finite"),
        (lambda t: limit.alpha(t, 9, 1, (), (), t.E, t.E), "a layer is a whole number from 1 to"),
        (lambda t: limit.beta(t, (3,), t.E, t.E), "a path is pairs (layer, head), got (3,)"),
        (lambda t: limit.paths(t, below=99), "below is a whole number from 0 to"),
        (lambda t: limit.forward(t, []), "at least one symbol, got none"),
        (lambda t: t.encodings(10**30), "length is a whole number"),
        (lambda t: limit.mod_p_task(10**6), "this transformer takes about 3.0e12 numbers"),
    ],
)
def test_what_no_transformer_is_made_of(call, says):
    with pytest.raises(ValueError, match=r"\.$") as error:
        call(drawn(0))
    assert says in str(error.value)

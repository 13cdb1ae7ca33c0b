"""SimpleTask, ModPTask and the in-context k-gram as transformers, against their targets."""

import dataclasses
import math
from fractions import Fraction

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theorykit.subjects import limit

SIMPLE = limit.simple_task(4.0, 0.01)
MEANS = limit.mod_p_task(3, 2)


@settings(deadline=None, max_examples=50)
@given(st.text("012", min_size=1, max_size=40))
def test_simple_task_is_the_sine_of_the_share(x):
    zeros, ones = x.count("0"), x.count("1")
    run = limit.exact(SIMPLE, [x])
    if zeros + ones:
        z = Fraction(zeros - ones, zeros + ones)
        assert run.layers[-1].fractions()[0, -1, 3] == z
        assert abs(run.outputs.floats()[0, -1, 0] - math.sin(4 * z)) < 0.01


@settings(deadline=None, max_examples=50)
@given(st.text("01", min_size=1, max_size=40))
def test_mod_p_task_is_the_mean_at_every_prefix(x):
    outputs = limit.exact(MEANS, [x]).outputs.fractions()[0, :, 0]
    for n in range(2, len(x) + 1):
        seen = [int(s) for s in x[1:n:3]]
        assert outputs[n - 1] == Fraction(sum(seen), len(seen))


@pytest.mark.parametrize(
    ("made", "symbols", "encodings", "others"), [(SIMPLE, 3, 0, 2), (MEANS, 2, 3, 1)]
)
def test_the_coordinates_are_the_documented_ones_and_attention_reads_inputs_only(
    made, symbols, encodings, others
):
    assert made.width == symbols + encodings + others
    assert (made.E[:, :symbols] == np.eye(symbols)).all()
    assert not made.E[:, symbols:].any()
    (head,) = made.layers[0].heads
    inputs = symbols + encodings
    assert not head.K[:, inputs:].any()
    assert not head.Q[:, inputs:].any()
    assert not head.V[:, inputs:].any()
    written = np.flatnonzero(head.V.any(1))
    assert written.tolist() == [symbols if not encodings else made.width - 1]


def test_a_margin_below_the_precision_is_no_hard_attention():
    layer = SIMPLE.layers[0]
    head = dataclasses.replace(layer.heads[0], K=layer.heads[0].K / 10)
    weak = dataclasses.replace(SIMPLE, layers=(dataclasses.replace(layer, heads=(head,)),))
    z = lambda x: limit.exact(weak, [x]).layers[-1].fractions()[0, -1, 3]
    assert z("02") != 1
    assert z("02" * 300) == 1  # to the nearest multiple: 600 exceeds 2^(8 + 1)


@pytest.mark.parametrize("omega", [2.0, 5.5, 20.0])
def test_the_sine_has_the_stated_error_and_norm(omega):
    A, B = (getattr(limit.simple_task(omega, 0.001).layers[0], m) for m in "AB")
    b = limit.simple_task(omega, 0.001).layers[0].b
    z = np.linspace(-1, 1, 2001)
    found = np.maximum(np.outer(z, A[:, 3]) + b, 0) @ B[4]
    assert np.abs(found - np.sin(omega * z)).max() < 0.001
    assert np.linalg.norm(A) == pytest.approx(1, abs=1e-4)
    variation = 2 * omega * np.abs(np.sin(omega * z)).mean() * omega
    assert np.linalg.norm(B) == pytest.approx(variation + 2 * omega, rel=0.02)


def target(x, context, symbols):
    """Return the shares of what follows the last symbols, and how often they came before."""
    places = [t for t in range(context, len(x)) if list(x[t - context : t]) == list(x[-context:])]
    return np.bincount([x[t] for t in places], minlength=symbols) / max(len(places), 1), len(places)


@pytest.mark.parametrize(("symbols", "order"), [(2, 2), (3, 2), (2, 3)])
def test_kgram_averages_what_followed(symbols, order):
    t = limit.kgram(symbols, order, beta=12.0, phi=8.0)
    xs = np.random.default_rng(0).integers(0, symbols, (50, 60))
    with jax.enable_x64():
        found = np.asarray(jax.jit(lambda x: limit.forward(t, x))(xs))[:, -1]
    for x, f in zip(xs, found, strict=True):
        shares, count = target(x, order - 1, symbols)
        if count:
            assert np.abs(f - shares).sum() < 2 * (order - 1 + 60 * math.exp(-12)) / count + 1e-3


def test_kgram_without_beta_averages_all():
    t = limit.kgram(2, 2, beta=0.0)
    found = np.asarray(limit.forward(t, np.array([0, 1, 1, 1])))[-1]
    assert found == pytest.approx([0.25, 0.75], abs=1e-6)


@pytest.mark.parametrize(("omega", "error"), [(2.0, 1e-8), (300.0, 0.01), (0.001, 1e-9)])
def test_weights_are_long_enough_for_the_error(omega, error):
    layer = limit.simple_task(omega, error).layers[0]
    z = np.linspace(-1, 1, 1001)
    found = sum(  # a unit after the other: many pieces
        np.maximum(a * z + b, 0) * c
        for a, b, c in zip(layer.A[:, 3], layer.b, layer.B[4], strict=True)
    )
    assert np.abs(found - np.sin(omega * z)).max() < error


def test_whole_floats_are_whole_numbers():
    assert limit.kgram(2.0, 2.0, 1.0).width == 6
    assert limit.mod_p_task(3.0, 2.0, 8.0).precision == 8


def test_constructions_say_what_is_wrong():
    for make, says in (
        (lambda: limit.simple_task(-1.0), "omega is a positive number, got -1.0"),
        (lambda: limit.simple_task(1.0, 0.0), "error is a positive number, got 0.0"),
        (lambda: limit.mod_p_task(0), "period is a whole number of at least 1, got 0"),
        (lambda: limit.kgram(1, 2, 1.0), "symbols is a whole number of at least 2, got 1"),
        (lambda: limit.kgram(2, 1, 1.0), "order is a whole number of at least 2, got 1"),
        (lambda: limit.kgram(2, 2, 1.0, phi=1.0), "above 1, where positions dominate, got 1.0"),
        (lambda: limit.kgram(2, 2, math.nan), "beta is a finite number, got nan"),
        (lambda: limit.kgram(2, 2, 1.0, phi=math.inf), "got inf"),
        (lambda: limit.mod_p_task(3, 0.5), "index is a whole number of at least 0, got 0.5"),
        (lambda: limit.simple_task(2.0, 1e-13), "pieces of the sine"),
        (lambda: limit.simple_task(3000.0, 1e-4), "bits of the weights of the sine"),
    ):
        with pytest.raises(ValueError, match=says):
            make()


def hidden(transformer, units):
    layer = transformer.layers[0]
    A, B, b, step = limit.mlp(transformer.width, [({}, 0.0, False, {})] * units)
    layer = dataclasses.replace(layer, A=A, B=B, b=b, heaviside=step)
    return dataclasses.replace(transformer, layers=(layer,))


LIMITS = {
    "context": (limit.mod_p_task(2), 300),
    "period": (limit.mod_p_task(40), 3),
    "heads": (limit.kgram(2, 9, 1.0), 3),
    "hidden units": (hidden(limit.mod_p_task(1), 2000), 3),
}


@pytest.mark.parametrize("large", LIMITS)
def test_a_finite_transformer_is_refused_by_what_it_would_hold(costs, large):
    t, context = LIMITS[large]
    t = dataclasses.replace(t, alphabet=("$", "1"), precision=8)
    made, (count, *_) = costs(lambda: limit.to_finite(t, context))
    assert count / 4 < made < 4 * count


@pytest.mark.parametrize(
    "call",
    [
        lambda: limit.mod_p_task(60),
        lambda: limit.kgram(30, 2, 1.0),
        lambda: limit.kgram(2, 30, 1.0),
        lambda: limit.mlp(30, [({}, 0.0, False, {})] * 50),
    ],
)
def test_what_is_refused_as_too_large_is_what_is_made(costs, call):
    made, (count, *_) = costs(call)
    assert count / 4 < made < 4 * count


def test_attention_is_between_all_pairs_of_positions(costs):
    """The start symbol's included."""
    _, counts = costs(lambda: limit.accepts(MEANS, ["01" * 20]))
    assert max(counts) == 41**2

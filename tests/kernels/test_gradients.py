"""Gradients in hyperparameters: right, and without an array of all pairs of inputs and draws."""

import re
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from theorykit.kernels import InfiniteTransformer, features, recursion
from theorykit.kernels.attention import Sigmoid, Softmax, Tokens

from .tiers import tiers

SCALES = jnp.array([1.0, 1.2, 0.3])


def gram(net, get, draw, scales, x):
    """Return a Gram matrix at these hyperparameters."""
    net = replace(net, score_scale=scales[0], sigma_w=scales[1], sigma_b=scales[2])
    call = net
    if draw.startswith("described"):
        call, draw = net.description(features=x.shape[-1]).kernel, draw.removeprefix("described ")
    options = dict(key=jax.random.key(1), draws=64, replicates=1, get=get, draw=draw)
    return getattr(call(x, **options), get)


def total(net, get, draw):
    """Return a function of hyperparameters and inputs: a weighted sum of entries."""
    weights = lambda n: jnp.cos(jnp.arange(n * n).reshape(n, n))
    return lambda scales, x: jnp.sum(weights(len(x)) * gram(net, get, draw, scales, x))


CASES = {
    "features": (dict(), "ntk", "joint"),
    "joint": (dict(readout="mean"), "ntk", "joint"),
    "pairwise": (dict(readout="mean"), "ntk", "pairwise"),
    "description": (dict(readout="mean"), "ntk", "described pairwise"),
}


@pytest.mark.parametrize("name", tiers(CASES, ["joint", "pairwise"]))
def test_gradients_are_difference_quotients(name, x64, monkeypatch):
    """In three hyperparameters, over several blocks of draws."""
    monkeypatch.setattr(features, "BLOCK", 2**10)
    options, get, draw = CASES[name]
    f = total(InfiniteTransformer(activation="erf", **options), get, draw)
    x, scales = jax.random.normal(jax.random.key(0), (3, 4, 2)), jnp.asarray(SCALES, float)
    slopes = jax.jit(jax.grad(f))(scales, x)
    step = 1e-4 * jnp.eye(3)
    both = jax.jit(jax.vmap(lambda s: f(s, x)))(jnp.concatenate([scales + step, scales - step]))
    np.testing.assert_allclose(slopes, (both[:3] - both[3:]) / 2e-4, rtol=1e-5)
    assert np.abs(slopes).min() > 1e-2


@pytest.mark.parametrize("name", tiers(["joint", "pairwise", "description"], ["joint"]))
def test_a_gradient_keeps_no_array_of_pairs_and_draws(name):
    """By what the compiler reserves, in such arrays: ten to twenty where steps are kept."""
    options, get, draw = CASES[name]
    f = jax.grad(total(InfiniteTransformer(**options), get, draw))
    x = jax.ShapeDtypeStruct((16, 16, 4), jnp.float32)
    memory = jax.jit(f).lower(SCALES, x).compile().memory_analysis()
    pairs, draws, weights = 16 * 17 // 2, 64, 16 * 16
    assert memory.temp_size_in_bytes < 2 * pairs * draws * weights * 4


@pytest.mark.parametrize("draw", tiers(["joint", "described joint"], ["joint"]))
def test_a_gradient_makes_no_array_of_all_inputs_for_a_pair(draw):
    """What flows back into the weights of all inputs is added in place in the loop over pairs."""
    f = jax.grad(total(InfiniteTransformer(readout="mean"), "ntk", draw))
    x = jax.ShapeDtypeStruct((9, 7, 4), jnp.float32)
    compiled = jax.jit(f).lower(SCALES, x).compile().as_text()
    weights = r"f32\[9,7,64,7\]"  # inputs, rows, draws, tokens
    bodies = [part for part in compiled.split("\n\n") if re.match(r"%?\S*region", part)]
    assert any(re.search(weights, body) for body in bodies)
    begun = rf"broadcast\S* = {weights}|= {weights}\S* (copy|broadcast)\("
    assert not [line for body in bodies for line in body.splitlines() if re.search(begun, line)]


@pytest.mark.parametrize("attends", [Softmax(), Sigmoid()])
def test_the_slope_in_the_score_scale_repeats_no_product(attends):
    """What it multiplies is kept: only its square enters after the sums over draws."""
    scores, s = jax.random.normal(jax.random.key(0), (2, 8, 3)), jnp.eye(3)
    rows = attends.rows(scores, jnp.ones((), bool), True)
    tokens = Tokens(s, None, s[:2, :2], None)
    ntk = recursion.again(lambda scale2: attends.step(rows, rows, tokens, scale2, True)[1].sum())
    count = lambda f: str(jax.make_jaxpr(f)(1.3)).count(" dot_general")
    assert count(jax.grad(ntk)) == count(ntk) > 2

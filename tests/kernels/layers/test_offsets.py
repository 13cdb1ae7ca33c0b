"""Positions in the scores, against draws from their covariance and tangents term by term."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from theorykit.kernels import layers as k
from theorykit.kernels.layers.base import Setting
from theorykit.kernels.plan import Plan
from theorykit.kernels.recursion import State

T, SCALE, SIGMA, SLOPES = 3, 1.4, 0.9, (1.5, 0.2)
ROPE = k.RoPE(base=2.0, frequencies=2)
CASES = {"rope": ROPE, "alibi": k.ALiBi(SLOPES), "bias": k.RelativeBias(SIGMA)}
AT = np.arange(T)
KEY = jax.random.key(5)


def kernels():
    """NNGP and NTK of two inputs of three tokens."""
    rng = np.random.default_rng(3)
    gram = lambda f: (f @ f.T).reshape(2, T, 2, T)
    return tuple(gram(rng.normal(size=(2 * T, 2 * T)) / 2 + 0.3) for _ in range(2))


@functools.cache
def found(name):
    """NNGP and NTK after the layer, with their standard errors."""
    layer = k.Attention(scale=SCALE, mask="causal", positions=CASES[name])
    s, w = (jnp.asarray(v, jnp.float32) for v in kernels())
    var = jnp.einsum("iaia->ia", s)
    z = State(s, w, var[:, :, None, None], var)
    plan = Plan(draws=2000, replicates=1, ntk=True, draw="joint", sampler="independent")

    def one(key):
        at = Setting(jnp.ones((2, T), bool), None, 2, key, plan, 0, [])
        out = layer.through(z, at)
        return jnp.stack([out.nngp[0, :, 1], out.ntk[0, :, 1]])

    every = np.asarray(jax.jit(lambda keys: jax.lax.map(one, keys))(jax.random.split(KEY, 20)))
    return every.mean(0), every.std(0, ddof=1) / np.sqrt(len(every))


TERMS = ("query", "key", "below, by the query", "below, by the key", "shift")


@functools.cache
def plainly(name, turned_scores=True, turned_slopes=True):
    """NNGP, and the NTK by the term that it comes from, from draws of the scores themselves."""
    s, w = kernels()
    g = lambda u: np.cos(u[..., None] * 2.0 ** -np.array([0, 0.5])).mean(-1)
    g = g if name == "rope" else np.ones_like
    first, second = (i.ravel() for i in np.indices((T, T)))
    apart = (second - first)[:, None] - (second - first)  # of two scores' offsets
    over = lambda i, j: s[i, :, j][np.ix_(first, first)] * s[i, :, j][np.ix_(second, second)]
    cov = SCALE**2 * np.block([[over(i, j) * g(apart * 1.0) for j in (0, 1)] for i in (0, 1)])
    if not turned_scores:
        cov = SCALE**2 * np.block([[over(i, j) for j in (0, 1)] for i in (0, 1)])
    if name == "bias":
        cov = cov + np.tile(SIGMA**2 * (apart == 0), (2, 2))
    values, vectors = np.linalg.eigh(cov)
    n = 20_000
    rng = np.random.default_rng(7)
    root = vectors * np.sqrt(np.maximum(values, 0))
    drawn = (rng.normal(size=(n, len(cov))) @ root.T).reshape(n, 2, T, T)
    if name == "alibi":
        far = np.abs(AT[:, None] - AT)
        drawn = drawn - rng.choice(SLOPES, size=n)[:, None, None, None] * far
    a = np.exp(drawn) * np.tri(T)
    a /= a.sum(-1, keepdims=True)
    jac = a[..., None] * (np.eye(T) - a[..., None, :])  # d a_c / d s_k
    s12, w12 = s[0, :, 1], w[0, :, 1]
    mean = lambda spec, *args: np.einsum(spec, *args, optimize=True)
    out = mean("nac,ce,nbe->nab", a[:, 0], s12, a[:, 1])
    below = mean("nac,ce,nbe->nab", a[:, 0], w12, a[:, 1])
    # How scores (a, k) and (b, l) move together, a number for each of the four tokens.
    difference = (AT[None, :] - AT[:, None])[:, :, None, None] - (AT[None, :] - AT[:, None])
    turn = g(difference * 1.0) if turned_slopes else np.ones((T,) * 4)  # (a, k, b, l)
    both = lambda rows, seen: SCALE**2 * np.einsum("ab,kl->akbl", rows, seen) * turn
    tangents = [both(s12, s12), both(s12, s12), both(w12, s12), both(s12, w12)]
    tangents.append(SIGMA**2 * (difference == 0) * (name == "bias"))
    moved = mean("nack,ce,nbel->nakbl", jac[:, 0], s12, jac[:, 1])
    terms = [np.einsum("nakbl,akbl->nab", moved, v) for v in tangents]
    return out, out + below, terms


def distance(name, nngp, ntk):
    """The largest difference, in standard errors of both sides; float32 counts as one of 1e-5."""
    mean, error = found(name)
    plain = np.stack([nngp, ntk], 1)
    both = np.hypot(error, plain.std(0, ddof=1) / np.sqrt(len(plain)))
    return np.max(np.abs(mean - plain.mean(0)) / np.hypot(both, 1e-5))


@pytest.mark.parametrize("name", CASES)
def test_the_layer_is_what_its_scores_make_it(name):
    nngp, values, terms = plainly(name)
    assert distance(name, nngp, values + sum(terms)) < 4.5


@pytest.mark.parametrize("term", TERMS)
@pytest.mark.parametrize("name", ["rope", "bias"])
def test_a_dropped_term_is_seen(name, term):
    if (name, term) == ("rope", "shift"):
        assert not np.any(plainly(name)[2][-1])
        return
    nngp, values, terms = plainly(name)
    left = [v for at, v in zip(TERMS, terms, strict=True) if at != term]
    assert distance(name, nngp, values + sum(left)) > 8


@pytest.mark.parametrize("turned", [(False, True), (True, False)])
def test_scores_and_slopes_that_are_not_turned_are_seen(turned):
    nngp, values, terms = plainly("rope", *turned)
    assert distance("rope", nngp, values + sum(terms)) > 8


def test_waves_make_the_function_of_offsets():
    offsets = np.arange(-4, 5)
    for of in (ROPE, k.RoPE(), k.RelativeBias()):
        waves = of.waves(5)
        expected = of.turning((offsets[:, None] - offsets).astype(float))
        np.testing.assert_allclose(waves @ waves.T, expected, atol=1e-9)
    assert ROPE.waves(5).shape[1] == 4  # a cosine and a sine for each frequency

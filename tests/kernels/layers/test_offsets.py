"""Positions in the scores by their definition: covariances of scores, and tangents term by term."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from theorykit.kernels import layers as k
from theorykit.kernels import recursion
from theorykit.kernels.attention import Mechanism, Sigmoid, Softmax
from theorykit.kernels.layers.attention import Heads
from theorykit.kernels.layers.base import Setting
from theorykit.kernels.plan import Plan
from theorykit.kernels.recursion import State

from ..tiers import tiers

pytestmark = pytest.mark.usefixtures("x64")
T, DRAWS, SCALE, SIGMA = 3, 4, 1.4, 0.9
ROPE = k.RoPE(base=2.0, frequencies=2)
AT = np.arange(T)
OFFSET = AT - AT[:, None]  # of the token looked at, from the one that looks
APART = OFFSET[:, :, None, None] - OFFSET  # of two scores' offsets: (a, k, b, l)
TERMS = ("query", "key", "below, by the query", "below, by the key", "shift")


class Cubes(Mechanism):
    """Weights whose derivatives are left to automatic differentiation."""

    def weights(self, scores, allowed):
        return jnp.where(allowed, scores, 0.0) ** 3


BIAS, CUBES = k.RelativeBias(SIGMA), Cubes()


def heads(positions, of="softmax", rows=None):
    """Return an attention layer on two inputs of three tokens."""
    rng = np.random.default_rng(3)
    gram = lambda f: jnp.asarray((f @ f.T).reshape(2, T, 2, T))
    s, w = (gram(rng.normal(size=(2 * T, 2 * T)) / 2 + 0.3) for _ in range(2))
    var = jnp.einsum("iaia->ia", s)
    z = State(s, w, var[:, :, None, None], var)
    layer = k.Attention(of, SCALE, "causal", positions)
    plan = Plan(draws=DRAWS, replicates=1, ntk=True, draw="joint", sampler="independent")
    at = Setting(jnp.ones((2, T), bool), rows, 2, jax.random.key(5), plan, 0, [])
    return Heads.of(layer, z, at), at


def turn(positions, u):
    """g by hand."""
    return np.cos(u[..., None] * np.array([1, 2**-0.5])).mean(-1) if positions is ROPE else 1.0


@pytest.mark.parametrize("positions", [ROPE, k.RelativeBias(SIGMA)])
def test_scores_have_the_covariance_of_their_offsets(positions):
    """Scores are linear in the normals, so that the derivatives in these give the covariance."""
    layer, at = heads(positions)
    drawn = jax.tree.map(lambda v: v[:1], layer.source(at)[0](0))
    slopes = jax.jacobian(lambda drawn: layer.scores(drawn)[:, :, 0])(drawn)
    covariance = lambda j: np.einsum("iacx,jbdx->iacjbd", *2 * (j.reshape(2, T, T, -1),))
    s = np.asarray(layer.z.nngp)
    expected = SCALE**2 * np.einsum("iajb,icjd->iacjbd", s, s)
    turned = np.broadcast_to(turn(positions, APART), APART.shape)[None, :, :, None]
    np.testing.assert_allclose(covariance(slopes.u), expected * turned, atol=1e-9)
    if positions is not ROPE:
        same = np.broadcast_to((APART == 0)[None, :, :, None], expected.shape)
        np.testing.assert_allclose(covariance(slopes.shift), same, atol=1e-12)


def by_definition(layer, drawn):
    """Return NNGP, what comes by the values, and the summands by the scores, between two inputs."""
    positions, of = layer.layer.positions, layer.attends
    s, w = (np.asarray(v)[0, :, 1] for v in layer.z[:2])
    scores, causal = layer.scores(drawn), jnp.tril(jnp.ones((T, T), bool))
    row = lambda x, see: of.weights(x[None], see[None])[0]
    over = lambda f: jax.vmap(jax.vmap(jax.vmap(f, (0, None)), (0, 0)), (0, None))
    a, jac = (np.asarray(over(f)(scores, causal)) for f in (row, jax.jacobian(row)))
    out, below = (np.einsum("anc,ce,bne->ab", a[0], v, a[1]) / DRAWS for v in (s, w))
    moved = np.einsum("anck,ce,bnel->akbl", jac[0], s, jac[1]) / DRAWS
    turned = lambda rows, seen: (
        SCALE**2 * np.einsum("ab,kl->akbl", rows, seen) * turn(positions, APART)
    )
    tangents = [turned(s, s), turned(s, s), turned(w, s), turned(s, w)]
    tangents.append(SIGMA**2 * (APART == 0) * (positions is not ROPE))
    return out, out + below, [np.einsum("akbl,akbl->ab", moved, v) for v in tangents]


@pytest.mark.parametrize(
    ("positions", "of"),
    tiers(
        list(itertools.product((ROPE, BIAS), (Softmax(), Sigmoid(-1.0), CUBES))),
        [(ROPE, Sigmoid(-1.0)), (ROPE, CUBES), (BIAS, Softmax())],
    ),
)
def test_the_ntk_is_its_definition_and_each_term_counts(positions, of):
    layer, at = heads(positions, of)
    drawn = layer.source(at)[0](0)
    a = layer.weights(drawn, True)
    nngp, ntk = layer.pair(recursion.at(a, 0), recursion.at(a, 1), 0, 1, True)
    out, values, terms = by_definition(layer, drawn)
    np.testing.assert_allclose(nngp, out, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ntk, values + sum(terms), rtol=1e-8, atol=1e-9)
    largest = np.abs(ntk).max()
    for name, term in zip(TERMS, terms, strict=True):
        if (name, positions) != ("shift", ROPE):
            assert np.abs(term).max() > 1e-3 * largest, name


def test_the_rows_that_are_wanted_know_where_they_are():
    """One row of each input, the second of one and the third of the other."""
    for positions in (ROPE, k.RelativeBias(SIGMA)):
        layer, at = heads(positions)
        some, _ = heads(positions, rows=jnp.array([[1], [2]]))
        drawn = layer.source(at)[0](0)
        rows = [h.weights(drawn, True) for h in (layer, some)]
        every, one = (
            h.pair(recursion.at(a, 0), recursion.at(a, 1), 0, 1, True)
            for h, a in zip((layer, some), rows, strict=True)
        )
        for whole, cut in zip(every, one, strict=True):
            np.testing.assert_allclose(cut, whole[1:2, 2:3], rtol=1e-10)


def test_slopes_have_equal_shares_of_draws_and_heads():
    of = k.ALiBi((1.0, 0.5, 0.25))
    block = of.shifts(jax.random.key(1), 2, 3, T, float)
    shifts = np.concatenate([block(0), block(1)])
    assert sorted(-shifts[:, T]) == [0.25, 0.25, 0.5, 0.5, 1.0, 1.0]  # one token ahead
    np.testing.assert_array_equal(shifts, shifts[:, T : T + 1] * np.abs(np.arange(1 - T, T)))
    sizes = k.serial(k.Embed(vocabulary=2), k.Attention(positions=of), k.Readout())
    module = sizes.module(width=6, heads=6, rngs=0).layers[1].positions
    np.testing.assert_array_equal(module.shift(T, float)[:3, 0, 1], [-1.0, -0.5, -0.25])


def test_trained_shifts_have_their_scale():
    block = lambda scale: k.RelativeBias(scale).shifts(jax.random.key(1), 1, 4, T, float)(0)
    np.testing.assert_allclose(block(SIGMA), SIGMA * block(1.0))
    assert block(1.0).std() > 0.5


def test_rotations_make_the_function_of_offsets():
    """The mean product of a turned query and key is that of the plain ones times g."""
    net = k.serial(k.Embed(vocabulary=2), k.Attention(positions=ROPE), k.Readout())
    module = net.module(width=8, heads=1, head_size=8, rngs=0).layers[1].positions
    basis = jnp.asarray(np.eye(8))
    turned = jax.vmap(lambda e: module.turned(jnp.broadcast_to(e, (1, 5, 8)))[0])(basis)
    traces = np.einsum("eai,eci->ac", turned, turned) / 8
    expected = turn(ROPE, np.arange(5.0) - np.arange(5.0)[:, None])
    np.testing.assert_allclose(traces, expected, atol=1e-6)


def test_waves_make_the_function_of_offsets():
    offsets = np.arange(-4, 5)
    for of in (ROPE, k.RoPE(), k.RelativeBias()):
        waves = of.waves(5)
        expected = of.turning((offsets[:, None] - offsets).astype(float))
        np.testing.assert_allclose(waves @ waves.T, expected, atol=1e-9)
    assert ROPE.waves(5).shape[1] == 4  # a cosine and a sine for each frequency

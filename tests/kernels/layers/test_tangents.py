"""Layers that neural-tangents has, against it; and each summand of their NTK dropped."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from theorykit.kernels import activations
from theorykit.kernels import layers as k
from theorykit.kernels.layers.base import Setting
from theorykit.kernels.plan import Plan
from theorykit.kernels.tangents import stax

from ..tiers import tiers

pytestmark = pytest.mark.filterwarnings("ignore:`FanIn` layers assume independent inputs")
X = np.random.default_rng(0).normal(size=(3, 4, 2)).astype(np.float32)
ERF = activations.activation("erf")
dense = stax.Dense(1)


def mlp(w=1.0, b=None):
    return stax.serial(dense, stax.Erf(), stax.Dense(1, w, b))


def added(*branches):
    return stax.serial(stax.FanOut(len(branches)), stax.parallel(*branches), stax.FanInSum())


gated = stax.serial(
    stax.FanOut(2),
    stax.parallel(stax.serial(dense, stax.Erf()), dense),
    stax.FanInProd(),
    stax.Dense(1, 1.3),
)
NORM = stax.LayerNorm(-1)
CASES = {
    "dense": ([k.Dense(1.2, 0.4)], [stax.Dense(1, 1.2, 0.4)]),
    "activation": ([k.Activation("erf"), k.Dense()], [stax.Erf(), dense]),
    "mlp": ([k.MLP("erf", True, 1.2, 0.4)], [mlp(1.2, 0.4)]),
    "one matrix": ([k.MLP("erf", False, 1.2)], [stax.Erf(), stax.Dense(1, 1.2)]),
    "gated": ([k.GatedMLP("erf", 1.3)], [gated]),
    "norm": ([k.MLP("erf"), k.LayerNorm(), k.MLP("erf")], [mlp(), NORM, mlp()]),
    "residual": (
        [k.residual(k.serial(k.RMSNorm(), k.MLP("erf")))],
        [added(stax.Identity(), stax.serial(NORM, mlp()))],
    ),
    "parallel": ([k.parallel(k.MLP("erf"), k.Dense(0.5))], [added(mlp(), stax.Dense(1, 0.5))]),
    "post-norm": (
        [k.residual(k.GatedMLP("erf", 1.3)), k.LayerNorm()],
        [added(stax.Identity(), gated), NORM],
    ),
}


def ours(body):
    return k.serial(k.Embed(features=2), *body, k.Readout("mean")).kernel(X)


@functools.cache
def theirs(name):
    kernel = stax.serial(dense, *CASES[name][1], stax.GlobalAvgPool(), dense)[2]
    return kernel(X, None, ("nngp", "ntk"))


@pytest.mark.parametrize(
    "name", tiers(CASES, CASES.keys() - {"activation", "one matrix", "norm", "residual"})
)
def test_layers_are_those_of_neural_tangents(name):
    one, right = ours(CASES[name][0]), theirs(name)
    np.testing.assert_allclose(one.nngp, right.nngp, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(one.ntk, right.ntk, rtol=1e-4, atol=1e-5)


def test_tokens_that_are_pooled_before_a_perceptron():
    right = stax.serial(dense, mlp(), stax.GlobalAvgPool(), mlp(), dense)[2](X)
    for reading in ("last", "mean"):
        net = k.serial(
            k.Embed(features=2), k.MLP("erf"), k.Pool(), k.MLP("erf"), k.Readout(reading)
        )
        one = net.kernel(X)
        np.testing.assert_allclose(one.ntk, right.ntk, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(net.kernel(X[:1], X[1:]).ntk, one.ntk[:1, 1:], rtol=1e-5)


def summands(layer, z):
    """Return what the weights of a layer add to its NTK, and what comes from below."""
    w2, s = layer.sigma_w**2, z.nngp
    if isinstance(layer, k.GatedMLP):
        gate, slope = (f(z.var1, s, z.var2) for f in (ERF.dual, ERF.dual_derivative))
        return dict(
            last=w2 * gate * s, gate=w2 * s * slope * s, below_gate=w2 * z.ntk * slope * s,
            value=w2 * s * gate, below_value=w2 * z.ntk * gate,
        )  # fmt: skip
    last = w2 * s + layer.sigma_b**2
    if isinstance(layer, k.MLP):
        slope = ERF.dual_derivative(z.var1, s, z.var2)
        last = w2 * ERF.dual(z.var1, s, z.var2) + layer.sigma_b**2
        return dict(last=last, first=w2 * s * slope, below=w2 * z.ntk * slope)
    return dict(last=last, below=w2 * z.ntk)


class Dropped(k.TokenLayer):
    """A layer without one summand of its NTK."""

    fresh = True

    def __init__(self, layer, term):
        self.layer, self.term = layer, term

    def carry(self, z, at):
        out = self.layer.carry(z, at)
        terms = summands(self.layer, z)
        np.testing.assert_allclose(out.ntk, sum(terms.values()), rtol=1e-5, atol=1e-6)
        return out._replace(ntk=out.ntk - terms[self.term])

    def build(self, sizes, rngs):
        raise NotImplementedError


@pytest.mark.parametrize(
    ("name", "term"),
    [
        ("dense", "last"), ("dense", "below"), ("mlp", "last"), ("mlp", "first"), ("mlp", "below"),
        ("gated", "last"), ("gated", "gate"), ("gated", "below_gate"), ("gated", "value"),
        ("gated", "below_value"),
    ],
)  # fmt: skip
def test_a_dropped_summand_is_seen(name, term):
    (layer,), _ = CASES[name]
    right = theirs(name).ntk
    wrong = np.asarray(ours_without(layer, term))
    assert np.abs(wrong - right).max() > 1e-2 * np.abs(right).max()


def ours_without(layer, term):
    """Return the NTK with a summand dropped, from the layers one by one."""
    plan = Plan(draws=1, replicates=1, ntk=True, draw="joint", sampler="independent")
    mask = jnp.ones(X.shape[:2], bool)
    readout = k.Readout("mean")
    at = Setting(mask, readout.rows(mask), len(X), jax.random.key(0), plan, 0, [])
    z = k.Embed(features=2).enter(X, mask, jnp.float32)
    z = readout.carry(Dropped(layer, term).through(z, at), at)
    return readout.read(z.ntk, at)

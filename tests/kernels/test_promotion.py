"""Kernels, networks and training run where the caller has JAX refuse to promote ranks and dtypes.

As with `JAX_NUMPY_RANK_PROMOTION=raise` and `JAX_NUMPY_DTYPE_PROMOTION=strict`.
"""

import contextlib
import types

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from theorykit.common import precision
from theorykit.networks import training
from theorykit.networks.nets import MLP, Transformer

from .test_precision import FAST, TRACED, WATCHED
from .tiers import tiers


@contextlib.contextmanager
def refused():
    with jax.numpy_rank_promotion("raise"), jax.numpy_dtype_promotion("strict"):
        yield


def slopes(function):
    """What is traced by `jax.grad`, after the function's own scope is closed."""
    total = lambda *a: sum(jnp.sum(v) for v in jax.tree.leaves(function(*a)))
    return jax.grad(total)


@pytest.mark.parametrize("name", tiers(TRACED, FAST))
def test_kernels_and_their_derivatives(name):
    function, *arrays = TRACED[name]
    fresh = lambda *a: function(*a)  # so that nothing is remembered from outside the scope
    with refused():  # what is traced for the gradient is the function, and its derivatives
        jax.make_jaxpr(slopes(fresh))(*arrays)


@pytest.mark.parametrize(
    "name", tiers(WATCHED, ["features", "gram", "template_matrix", "compare.kernels"])
)
def test_what_runs_piece_by_piece(name):
    jax.clear_caches()
    with refused():
        WATCHED[name]()


OPTIONS = dict(vocabulary=3, outputs=2, width=8, heads=2)
NETWORKS = {
    "MLP": lambda rngs: MLP(width=4, features=3, rngs=rngs),
    "plain": lambda rngs: Transformer(**OPTIONS, readout="last", rngs=rngs),
    "rotary": lambda rngs: Transformer(**OPTIONS, positions="rotary", causal=True, rngs=rngs),
    "layer norm": lambda rngs: Transformer(
        **OPTIONS, depth=2, layer_norm=True, readout="mean", rngs=rngs
    ),
}


@pytest.mark.parametrize("name", tiers(NETWORKS, ["MLP", "rotary"]))
def test_networks_and_their_training(name):
    x = np.arange(12).reshape(4, 3) % 3
    x = x.astype("f4") if name == "MLP" else x
    with refused():
        y = np.zeros((4, *NETWORKS[name](0)(x[0]).shape), "f4")
        fit = training.fit(
            NETWORKS[name], training.OnData(x, y), optax.adam(0.1), steps=2, every=1, seeds=2,
            progress=False,
        )  # fmt: skip
    assert np.isfinite(fit.history["loss"]).all()


def test_a_dropped_scope_is_noticed(monkeypatch):
    """Without it a kernel is refused, so that the tests above can fail."""
    as_set = lambda _: contextlib.nullcontext()
    scopes = dict(numpy_rank_promotion=as_set, numpy_dtype_promotion=as_set)
    own = types.SimpleNamespace(default_matmul_precision=jax.default_matmul_precision, **scopes)
    monkeypatch.setattr(precision, "jax", own)
    function, *arrays = TRACED["InfiniteTransformer"]
    with refused(), pytest.raises((ValueError, TypeError), match="promotion"):
        jax.make_jaxpr(lambda *a: function(*a))(*arrays)

"""The trained Limit Transformer: equal to the exact object, at any length, one token at a time."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from theorykit.networks.nets import LocalTransformer
from theorykit.subjects import limit

OPTIONS = dict(
    vocabulary=3, width=6, mlp_width=5, heads=(2, 1), period=2, reach=2, outputs=2, rngs=0
)


def quick(f, *inputs):
    """Compile and call: op by op, each would be compiled alone."""
    return jax.jit(f)(*inputs)


def network(**more):
    """Return a network whose phi and biases are not zero."""
    make = lambda: LocalTransformer(**(OPTIONS | more))
    shake = lambda w: w + 0.5 * jax.random.normal(jax.random.key(w.size), w.shape, w.dtype)
    state = quick(lambda: jax.tree.map(shake, nnx.state(make())))
    return nnx.merge(nnx.graphdef(nnx.eval_shape(make)), state)


def as_limit(made):
    """Return the same function as a `limit.Transformer`."""
    effective = lambda m, h=...: np.asarray(m.weight[...], float)[h] * m.multiplier
    period = made.period or 1
    place = [(n + 1) % period for n in range(period)]
    d = made.head.weight.shape[0]
    scale = d if made.layers[0].options.parameterisation == "mup" else d**0.5
    positions = effective(made.positions)[place] if made.period else np.zeros((1, d))
    layers = []
    for layer in made.layers:
        heads = []
        for h in range(layer.key.weight.shape[0]):
            phi = None
            if layer.reach is not None:
                phi = limit.Local(tuple(np.asarray(layer.phi[...][h], float).tolist()))
            key, query, value = (effective(m, h) for m in (layer.key, layer.query, layer.value))
            heads.append(limit.Head(key.T, query.T / scale, value.T, phi))
        bias = np.asarray(layer.expand_bias[...], float)
        A, B = effective(layer.expand).T, effective(layer.linear).T
        layers.append(limit.Layer(tuple(heads), A, B, bias, np.zeros(len(bias), bool)))
    return limit.Transformer(
        tuple(map(str, range(made.vocabulary))), effective(made.embedding), positions,
        tuple(layers), effective(made.head).T, precision=None, scaling="suffix",
    )  # fmt: skip


OTHERS = [
    dict(period=None, reach=None, heads=(1,)),
    *({"parameterisation": p} for p in ("ntk", "standard")),
]


@pytest.mark.parametrize("more", [{}, *OTHERS])
def test_it_is_equation_1(more):
    made = network(**more)
    x = jnp.array([0, 2, 1, 1, 0, 2, 2, 1, 0])
    other = as_limit(made)
    ours, theirs = quick(lambda x: (made(x), limit.forward(other, x)), x)
    assert jnp.abs(ours).max() > 0.1
    assert jnp.abs(ours - theirs).max() < 1e-4 * jnp.abs(theirs).max()


@pytest.mark.parametrize("kind", ["ntk", "standard", "mup"])
def test_the_sizes_of_all_weights_at_the_start(kind):
    """1 / sqrt(fan in), but of rows that are looked up, and of muP's readout."""
    sizes = dict(vocabulary=50, width=40, mlp_width=90, period=60, outputs=30, heads=(2,))
    made = LocalTransformer(**OPTIONS | sizes | dict(parameterisation=kind))
    looked_up = (
        dict(embedding=50, positions=60) if kind == "ntk" else dict(embedding=1, positions=1)
    )
    fans = looked_up | dict(head=40**2 if kind == "mup" else 40)
    layer = made.layers[0]
    maps = {name: (getattr(made, name), fan) for name, fan in fans.items()}
    maps |= {name: (getattr(layer, name), 40) for name in ("query", "key", "value", "expand")}
    maps |= {"linear": (layer.linear, 90)}
    for name, (found, fan) in maps.items():
        entries = np.asarray(found.effective())
        assert entries.std() * fan**0.5 == pytest.approx(1, abs=4 / entries.size**0.5), name
    for zero in (layer.expand_bias, layer.phi):
        assert not np.asarray(zero[...]).any()


def test_the_last_token_alone_is_the_last_of_all():
    made, x = network(), jnp.array([0, 2, 1, 1, 0])
    every, last, weights = quick(lambda x: (made(x), made.last(x), made.attention(x)), x)
    assert jnp.abs(every[-1] - last).max() < 1e-5
    assert weights.shape == (2, 5)
    assert weights.sum(-1) == pytest.approx(1, abs=1e-5)


def test_it_is_causal_and_periodic():
    made = network()
    xs = jnp.array([[0, 2, 1, 1], [0, 2, 0, 2]])
    (one, other), embedded = quick(lambda xs: (jax.vmap(made)(xs), made.embed(xs[0] * 0 + 1)), xs)
    assert jnp.abs(one[:2] - other[:2]).max() < 1e-6
    assert (embedded[0] == embedded[2]).all()
    assert not (embedded[0] == embedded[1]).all()


def test_it_says_what_is_wrong():
    for options, says in (
        (dict(heads=(0, 1)), "heads of a layer is a whole number of at least 1, got 0"),
        (dict(period=0), "period is a whole number of at least 1, got 0"),
        (dict(reach=-1), "reach is a whole number of at least 0, got -1"),
        (dict(readout="last"), "readout is one of 'tokens', got 'last'"),
        (dict(activation="sine"), "activation is one of"),
    ):
        with pytest.raises(ValueError, match=says):
            LocalTransformer(**(OPTIONS | options))

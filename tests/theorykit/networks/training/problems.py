"""A task and a network that compile in a moment; run as a script, a fit in a folder."""

import signal
import sys
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

from theorykit.networks import training


class Sample(NamedTuple):
    x: Any
    target: Any
    weight: Any


class Shift:
    """The next symbol of the alphabet."""

    def __repr__(self):
        return "Shift()"

    def sample(self, key, length):
        x = jax.random.randint(key, (length,), 0, 5)
        return Sample(x, (x + 1) % 5, jnp.ones(length))

    def loss(self, outputs, sample):
        return optax.softmax_cross_entropy_with_integer_labels(outputs, sample.target).mean()

    def metrics(self, outputs, sample):
        return {"accuracy": (outputs.argmax(-1) == sample.target).mean()}


class Tiny(nnx.Module):
    random_offset = False

    def __init__(self, rngs):
        draw = lambda *shape: nnx.Param(0.3 * jax.random.normal(rngs.params(), shape))
        self.table, self.head = draw(5, 6), draw(6, 5)

    def __call__(self, x):
        return jnp.tanh(self.table[...][x]) @ self.head[...]


def small(make=Tiny, problem=None, optimizer=None, *, task=None, evaluate=None, **options):
    """A fit of `Tiny`, on `Shift` or what is given."""
    sizes = {name: options.pop(name, size) for name, size in dict(length=4, batch=8).items()}
    if problem is None:
        problem = training.OnTask(task or Shift(), **sizes, evaluate=evaluate)
    few = dict(steps=30, every=10, seeds=3, progress=False)
    return training.fit(make, problem, optimizer or optax.adam(0.02), **few | options)


def equal(one, other):
    """Whether two fits are the same, bit for bit."""
    leaves = zip(jax.tree.leaves(one.state), jax.tree.leaves(other.state), strict=True)
    return all(np.array_equal(a, b) for a, b in leaves) and all(
        np.array_equal(one.history[name], other.history[name]) for name in one.history.values
    )


LONG = dict(steps=6000, every=20, batch=16, evaluate={"6": dict(length=6, batch=8)})

if __name__ == "__main__":
    # A job in the background of a shell ignores interrupts, and so would what it starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    small(folder=sys.argv[1], **LONG)

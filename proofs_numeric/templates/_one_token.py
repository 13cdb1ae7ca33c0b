"""The transformer of appendix J on strings of one token, eq. (27), and the sizes it is tried at."""

import jax
import jax.numpy as jnp
import numpy as np

SYMBOLS, SEEN, HEADS = 3, 2, 2
RATE = dict(at=(16, 32, 64, 128), replicates=8, batch=1, tolerance=0.2)


def weights(key, n, heads=HEADS):
    """Return the weights of appendix J.2 at d_emb = d_head = n.

    The variance of the outputs is H / d_emb, so that heads must grow more slowly than the width for
    them to vanish at first.
    """
    E, P, O, V = jax.random.split(key, 4)
    entry = lambda key, *shape: jax.random.normal(key, shape) / np.sqrt(n)
    return dict(
        E=entry(E, SYMBOLS, n), P=entry(P, n), O=entry(O, heads, n, n), V=entry(V, heads, n, n),
        b=jnp.zeros(heads),
    )  # fmt: skip


def network(theta, x, gamma):
    """Return the logits f' of eq. (27) for the token x."""
    z = theta["E"][x] + gamma * theta["P"]
    heads = jnp.einsum("hed,he->d", theta["O"], theta["V"] @ z)
    return theta["E"] @ (heads + theta["b"].sum() * z)

"""What the claims of appendix G share: absolute series, and the series of the softmax."""

import math

import jax
import jax.numpy as jnp
import numpy as np


def absolute(a, r):
    """Return sum over n >= 1 of |a_n| r^n: the least tau_2 for tau_1 = r (Definition G.2)."""
    return jnp.sum(jnp.abs(a[1:]) * r ** np.arange(1, len(a)))


def logistic(u, order):
    """Return the Taylor coefficients of 1 / (1 + e^-u) around u, from s' = s (1 - s)."""
    s = [jax.nn.sigmoid(u)]
    for n in range(order):
        square = sum(s[i] * s[n - i] for i in range(n + 1))
        s.append((s[n] - square) / (n + 1))
    return jnp.stack(s)


RADIUS = 1 / (2 * math.e**2)

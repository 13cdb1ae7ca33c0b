"""Kernel entries of normalised tokens, in every draw of the scores."""

import jax
import jax.numpy as jnp
import numpy as np

from theorykit.kernels import attention, recursion

SOFTMAX = attention.Softmax()

normal = jax.random.normal
unit = lambda F: F / np.linalg.norm(F, axis=-1, keepdims=True)  # layer norm: Sigma'_aa = 1


def tokens(inputs, T, d=4):
    """Return the factors (inputs, T, d) of fixed normalised tokens."""
    return unit(np.random.default_rng(T).standard_normal((inputs, T, d)))


def averages(F, U):
    """Return A_T(X_i) F_i of every input, in every draw of U: (inputs, draws, d)."""
    F, seen = jnp.asarray(F), jnp.ones((), bool)
    scores = recursion.scores(F, F[:, -1:], U, 1.0)
    return jnp.einsum("inc,icd->ind", SOFTMAX.weights(scores, seen)[:, 0], F)


def draws(F, G, U):
    """Return A_T(X1) Sigma' A_T(X2)' in every draw of U: the last tokens of two inputs."""
    first, second = averages(jnp.stack([F, G]), U)
    return (first * second).sum(-1)

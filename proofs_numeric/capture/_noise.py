"""Kernel entries of normalised tokens, in every draw of the scores."""

import jax
import jax.numpy as jnp
import numpy as np

normal = jax.random.normal
unit = lambda F: F / np.linalg.norm(F, axis=-1, keepdims=True)  # layer norm: Sigma'_aa = 1


def tokens(inputs, T, d=4):
    """Return the factors (inputs, T, d) of fixed normalised tokens."""
    return unit(np.random.default_rng(T).standard_normal((inputs, T, d)))


def draws(F, G, U):
    """Return A_T(X1) Sigma' A_T(X2)' in every draw of U: the last tokens of two inputs."""
    row = lambda F: jax.nn.softmax(jnp.einsum("r,nrs,ts->nt", F[-1], U, F)) @ F
    return (row(F) * row(G)).sum(-1)

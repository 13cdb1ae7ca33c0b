"""What the claims of appendix D share: kernel matrices that only know the templates of strings."""

import jax.numpy as jnp
import numpy as np

from theorykit.subjects.templates import Distribution, families

SIZES = np.array([2, 3])
BLOCK = np.repeat([0, 1], SIZES)


def from_spectrum(turn, e):
    """Return a symmetric 2 x 2 matrix whose eigenvalues are away from 0."""
    e = jnp.where(e >= 0, e + 0.1, e - 0.1)
    Q = jnp.array([[jnp.cos(turn), -jnp.sin(turn)], [jnp.sin(turn), jnp.cos(turn)]])
    return dict(N=Q @ jnp.diag(e) @ Q.T, smallest=jnp.abs(e).min())


def solved(N, smallest, share):
    """Return (K_ideal + lambda)^-1 v_ideal for a string of the first template, and lambda, tau."""
    tau = 2 * smallest
    K = N[BLOCK][:, BLOCK]
    found = jnp.linalg.solve(K + share * tau * jnp.eye(5), K[:, 0])
    return found, share * tau, tau


def same_different(symbols):
    """Return the same/different task over an alphabet."""
    return Distribution(families.same_different(), symbols=symbols)


IDEAL = np.array([[1.0, 0.5], [0.5, 0.5]])
"""N of the incidence kernel for αα and αβ: <XX', YY'> / 4."""

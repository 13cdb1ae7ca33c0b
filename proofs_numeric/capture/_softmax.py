"""The averaged value of two softmax weights, and the blocks of its Hessian, written out."""

import jax
import jax.numpy as jnp

softmax = jax.nn.softmax
total = lambda derivative: jnp.abs(derivative).sum()


def f(s1, s2, V):
    """Return f = sum_ce A_c(s1) V_ce A_e(s2)."""
    return softmax(s1) @ V @ softmax(s2)


def first_block(s1, s2, V):
    """Return the sum of |d2 f / dS1_k dS1_l|, with the Hessian of a softmax average written out.

    For an average m = A . v it is  d2 m / dS_k dS_l = d_kl A_k u_k - A_k A_l (u_k + u_l),
    u = v - m.
    """
    A, v = softmax(s1), V @ softmax(s2)
    u = v - A @ v
    return total(jnp.diag(A * u) - jnp.outer(A, A) * (u[:, None] + u[None, :]))


def second_block(s1, s2, V):
    """Return the sum of |d2 f / dS2_k dS2_l|."""
    return first_block(s2, s1, V.T)


def cross_block(s1, s2, V):
    """Return the sum of |d2 f / dS1_k dS2_l|."""
    A, B = softmax(s1), softmax(s2)
    left = jnp.diag(A) - jnp.outer(A, A)
    right = jnp.diag(B) - jnp.outer(B, B)
    return total(left @ V @ right)


def hessian_sum(s1, s2, V):
    """Return the absolute sum of the whole 2T x 2T Hessian, eq. (31)."""
    return first_block(s1, s2, V) + second_block(s1, s2, V) + 2 * cross_block(s1, s2, V)

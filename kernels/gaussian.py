"""Gaussian pairs `(u, v)` to rounding: angles, determinants, and the range of their dtype."""

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array

from theorykit.common.binary import halving, leading
from theorykit.common.precision import highest
from theorykit.kernels.inputs import widened


def wide(dual: Callable) -> Callable:
    """Return a dual function of any real numbers, from one of arrays in float32 or wider."""

    @highest
    @functools.wraps(dual)
    def call(self, k11, k12, k22):
        wide, dtype = widened("variances and covariances", k11, k12, k22)
        return dual(self, *wide).astype(dtype)

    return call


def scales(k11, k22) -> tuple[Array, Array, Array, Array, Array]:
    """Return (none, root, h1, h2, scale): scale = sqrt(k11 k22) = root / (h1 h2), `none` where 0.

    The powers of 2 keep the product in the range of the dtype.
    """
    (h1, up1), (h2, up2) = halving(k11), halving(k22)
    none = (k11 <= 0) | (k22 <= 0)
    product = (k11 * h1 * h1) * (k22 * h2 * h2)
    root = jnp.sqrt(jnp.where(none, 1.0, product))
    return none, root, h1, h2, jnp.where(none, 0.0, root * up1 * up2)


def angles(k11, k12, k22) -> tuple[Array, Array, Array]:
    """Return (sin, cos, angle) of the correlation, and no NaN gradient at the ends.

    Below what rounding leaves of it the angle is zero (or pi): equal and collinear inputs get
    exactly that, which keeps Gram matrices that have them positive semidefinite.
    """
    none, root, h1, h2, _ = scales(k11, k22)
    cos = jnp.where(none, 0.0, k12 * h1 * h2 / root)
    # Clipped, but with the slope of what is clipped: at equal inputs `clip` would halve it.
    cos = cos + jax.lax.stop_gradient(jnp.clip(cos, -1.0, 1.0) - cos)
    sin2 = (1.0 - cos) * (1.0 + cos)
    # In float64 averages over some hundred draws were seen to leave up to 530 eps of collinear
    # tokens; in lower precision so wide a step would be felt.
    together = sin2 <= jnp.finfo(sin2.dtype).eps * (2048 if sin2.dtype.itemsize == 8 else 8)
    sin = jnp.where(together, 0.0, jnp.sqrt(jnp.where(together, 1.0, sin2)))
    angle = jnp.where(
        together, jnp.where(cos < 0, jnp.pi, 0.0), jnp.arctan2(sin, jnp.where(together, 1.0, cos))
    )
    return sin, cos, angle


def _split(x):
    """Return two numbers of half the digits that sum to `x`."""
    high = leading(x)
    return high, x - high


@jax.custom_jvp
def determinant(a, b, c):
    """Return `a b - c^2` as if it were computed with twice the digits (Dekker's products)."""
    (a1, a2), (b1, b2), (c1, c2) = map(_split, (a, b, c))
    product, square = a * b, c * c
    rest = ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2
    return (product - square) + (rest - (((c1 * c1 - square) + 2 * c1 * c2) + c2 * c2))


@determinant.defjvp
def _determinant_jvp(primals, tangents):
    (a, b, c), (da, db, dc) = primals, tangents
    return determinant(a, b, c), b * da + a * db - 2 * c * dc


class Saturating(NamedTuple):
    """What is common to activations of a normal distribution function.

    With `a = 1 + k11`, `b = 1 + k22` and `gap = a b - k12^2`, and with powers of 2 that keep
    all in the range of the dtype: no digits are lost where gap is small beside a b.

    **Fields:** `minor`, `gap`: k11 k22 - k12^2 and `gap`, both times (h1 h2)^2; `cross`: k12 h1 h2;
    `h1`, `h2`: the powers, about 1 / sqrt(a) and 1 / sqrt(b); `up1`, `up2`: their inverses, since
    a quotient of quotients is compiled as a product that underflows.
    """

    minor: Array
    gap: Array
    cross: Array
    h1: Array
    h2: Array
    up1: Array
    up2: Array


def saturating(k11, k12, k22) -> Saturating:
    """Return the parts that a normal distribution function asks for."""
    k11, k12, k22 = jnp.broadcast_arrays(k11, k12, k22)
    (h1, up1), (h2, up2) = halving(1 + k11), halving(1 + k22)
    n11, n22, cross = k11 * h1 * h1, k22 * h2 * h2, k12 * h1 * h2
    minor = determinant(n11, n22, cross)
    minor = minor + jax.lax.stop_gradient(jnp.maximum(minor, 0.0) - minor)  # with its slope
    p1, p2 = h1 * h1, h2 * h2
    return Saturating(minor, p1 * p2 + (n11 * p2 + n22 * p1) + minor, cross, h1, h2, up1, up2)

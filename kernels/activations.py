"""Dual activations: Gaussian expectations of an activation and of its derivative.

For `(u, v)` centred Gaussian with variances `k11`, `k22` and covariance `k12`,

    dual(k11, k12, k22)            = E[phi(u) phi(v)]
    dual_derivative(k11, k12, k22) = E[phi'(u) phi'(v)] = d dual / d k12  (Price).

Any object with these two methods is an activation. All work elementwise on arrays
that broadcast, in the dtype of their input, and compute in float32 at least.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike

from theorykit.common.binary import halving, leading
from theorykit.common.precision import highest
from theorykit.kernels.devices import varying
from theorykit.kernels.inputs import widened


@runtime_checkable
class Activation(Protocol):
    """The two dual functions that a kernel recursion asks of an activation."""

    def dual(self, k11: ArrayLike, k12: ArrayLike, k22: ArrayLike) -> ArrayLike:
        """Return E[phi(u) phi(v)]."""
        ...

    def dual_derivative(self, k11: ArrayLike, k12: ArrayLike, k22: ArrayLike) -> ArrayLike:
        """Return E[phi'(u) phi'(v)]."""
        ...


def _wide(dual: Callable) -> Callable:
    """Return a dual function of any real numbers, from one of arrays in float32 or wider."""

    @highest
    @functools.wraps(dual)
    def call(self, k11, k12, k22):
        wide, dtype = widened("variances and covariances", k11, k12, k22)
        return dual(self, *wide).astype(dtype)

    return call


def _scale(k11, k22) -> tuple[Array, Array, Array, Array, Array]:
    """Return (none, root, h1, h2, scale): scale = sqrt(k11 k22) = root / (h1 h2), `none` where 0.

    The powers of 2 keep the product in the range of the dtype.
    """
    (h1, up1), (h2, up2) = halving(k11), halving(k22)
    none = (k11 <= 0) | (k22 <= 0)
    product = (k11 * h1 * h1) * (k22 * h2 * h2)
    root = jnp.sqrt(jnp.where(none, 1.0, product))
    return none, root, h1, h2, jnp.where(none, 0.0, root * up1 * up2)


def _angle(k11, k12, k22) -> tuple[Array, Array, Array]:
    """Return (sin, cos, angle) of the correlation, and no NaN gradient at the ends.

    Below what rounding leaves of it the angle is zero (or pi): equal and collinear inputs get
    exactly that, which keeps Gram matrices that have them positive semidefinite.
    """
    none, root, h1, h2, _ = _scale(k11, k22)
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
def _minor(a, b, c):
    """Return `a b - c^2` as if it were computed with twice the digits (Dekker's products)."""
    (a1, a2), (b1, b2), (c1, c2) = map(_split, (a, b, c))
    product, square = a * b, c * c
    rest = ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2
    return (product - square) + (rest - (((c1 * c1 - square) + 2 * c1 * c2) + c2 * c2))


@_minor.defjvp
def _minor_jvp(primals, tangents):
    (a, b, c), (da, db, dc) = primals, tangents
    return _minor(a, b, c), b * da + a * db - 2 * c * dc


class _Saturating(NamedTuple):
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


def _saturating(k11, k12, k22) -> _Saturating:
    k11, k12, k22 = jnp.broadcast_arrays(k11, k12, k22)
    (h1, up1), (h2, up2) = halving(1 + k11), halving(1 + k22)
    n11, n22, cross = k11 * h1 * h1, k22 * h2 * h2, k12 * h1 * h2
    minor = _minor(n11, n22, cross)
    minor = minor + jax.lax.stop_gradient(jnp.maximum(minor, 0.0) - minor)  # with its slope
    p1, p2 = h1 * h1, h2 * h2
    return _Saturating(minor, p1 * p2 + (n11 * p2 + n22 * p1) + minor, cross, h1, h2, up1, up2)


@dataclass(frozen=True)
class Relu:
    """`max(x, 0)`; the arc-cosine kernels of Cho and Saul (2009)."""

    @_wide
    def dual(self, k11, k12, k22):
        """Return sqrt(k11 k22) (sin t + (pi - t) cos t) / 2 pi, t the angle."""
        *_, scale = _scale(k11, k22)
        sin, cos, angle = _angle(k11, k12, k22)
        return scale * (sin + (jnp.pi - angle) * cos) / (2 * jnp.pi)

    @_wide
    def dual_derivative(self, k11, k12, k22):
        """Return (pi - t) / 2 pi."""
        _, _, angle = _angle(k11, k12, k22)
        return jnp.where((k11 <= 0) | (k22 <= 0), 0.0, (jnp.pi - angle) / (2 * jnp.pi))


@dataclass(frozen=True)
class Erf:
    """`erf(x)`; Williams (1997)."""

    @_wide
    def dual(self, k11, k12, k22):
        """Return (2 / pi) arcsin(2 k12 / sqrt((1 + 2 k11)(1 + 2 k22)))."""
        of = _saturating(2 * k11, 2 * k12, 2 * k22)
        return (2 / jnp.pi) * jnp.arctan2(of.cross, jnp.sqrt(of.gap))

    @_wide
    def dual_derivative(self, k11, k12, k22):
        """Return (4 / pi) / sqrt((1 + 2 k11)(1 + 2 k22) - 4 k12^2)."""
        of = _saturating(2 * k11, 2 * k12, 2 * k22)
        return (4 / jnp.pi) * (of.h1 * of.h2 / jnp.sqrt(of.gap))


@dataclass(frozen=True)
class Gelu:
    """`x Phi(x)`, with the exact normal distribution function.

    The closed form follows from integrating by parts until only E[Phi(u) Phi(v)]
    (an angle) and E[Phi'(u) Phi'(v)] (a Gaussian integral) are left.
    """

    def _parts(self, k11, k12, k22):
        of = _saturating(k11, k12, k22)
        root = jnp.sqrt(of.gap)
        distribution = jnp.arctan2(root, -of.cross) / (2 * jnp.pi)
        return of, 1 / (1 + k11) + 1 / (1 + k22), root, distribution

    @_wide
    def dual(self, k11, k12, k22):
        """Return E[u v Phi(u) Phi(v)]."""
        of, inverses, root, distribution = self._parts(k11, k12, k22)
        inner = (of.minor + of.cross**2 * inverses) / (2 * jnp.pi * root)
        return inner * of.up1 * of.up2 + k12 * distribution

    @_wide
    def dual_derivative(self, k11, k12, k22):
        """Return the derivative of `dual` in k12."""
        of, inverses, root, distribution = self._parts(k11, k12, k22)
        slope = inverses + (of.h1**2 / root) * (of.h2**2 / root)
        return of.cross / (2 * jnp.pi * root) * slope + distribution


@dataclass(frozen=True)
class Cos:
    """`cos(frequency * x + phase)`: the two parameters b1 and b2 of the template paper."""

    frequency: float = 1.0
    phase: float = 0.0

    def _waves(self, k11, k12, k22):
        b2 = self.frequency**2
        minus = jnp.exp(-b2 * ((k11 - k12) + (k22 - k12)) / 2)
        plus = jnp.exp(-b2 * ((k11 + k12) + (k22 + k12)) / 2)
        return minus, plus

    @_wide
    def dual(self, k11, k12, k22):
        """Return E[cos(b1 u + b2) cos(b1 v + b2)] by the sum and difference angles."""
        minus, plus = self._waves(k11, k12, k22)
        return (minus + jnp.cos(2 * self.phase) * plus) / 2

    @_wide
    def dual_derivative(self, k11, k12, k22):
        """Return b1^2 E[sin(b1 u + b2) sin(b1 v + b2)]."""
        b2 = self.frequency**2
        minus, plus = self._waves(k11, k12, k22)
        # minus - plus, which cancels at small scales, from the larger of the two.
        along = k12 >= 0
        up, down = jnp.where(along, k12, 0.0), jnp.where(along, 0.0, k12)
        difference = jnp.where(
            along, -minus * jnp.expm1(-2 * b2 * up), plus * jnp.expm1(2 * b2 * down)
        )
        return b2 * (difference / 2 + jnp.sin(self.phase) ** 2 * plus)


@dataclass(frozen=True)
class Identity:
    """`x`: a linear network."""

    @_wide
    def dual(self, k11, k12, k22):
        """Return k12."""
        return k12 + 0 * (k11 + k22)

    @_wide
    def dual_derivative(self, k11, k12, k22):
        """Return 1."""
        return jnp.ones_like(k11 + k12 + k22)


@dataclass(frozen=True)
class Quadrature:
    """Dual functions of any smooth scalar function, by Gauss-Hermite quadrature.

    `u = sqrt(k11) s`, `v = sqrt(k22) (c s + sqrt(1 - c^2) t)` on a grid of
    `points`^2 nodes. Accurate to rounding for entire functions of moderate growth;
    a kink (relu) leaves an error of about 1 / points.

    **Fields:**

    - `phi`: the activation, a function of arrays that JAX can differentiate.
    - `points`: nodes in each direction.
    """

    phi: Callable[[Array], Array]
    points: int = 48

    def _mean(self, f, k11, k12, k22):
        nodes, weights = np.polynomial.hermite_e.hermegauss(self.points)
        weights = weights / weights.sum()
        sin, cos, _ = _angle(k11, k12, k22)
        r1, r2 = (jnp.sqrt(jnp.where(k <= 0, 0.0, k)) for k in (k11, k22))

        def row(total, node):
            s, w = node
            u = r1 * s
            v = r2[..., None] * (cos[..., None] * s + sin[..., None] * jnp.asarray(nodes, u.dtype))
            inner = f(v) @ jnp.asarray(weights, u.dtype)
            return total + w * f(u) * inner, None

        k11, k12, k22 = jnp.broadcast_arrays(k11, k12, k22)
        r1, r2, sin, cos = jnp.broadcast_arrays(r1, r2, sin, cos)
        zero = jnp.zeros_like(r1)
        pairs = jnp.stack([jnp.asarray(nodes, zero.dtype), jnp.asarray(weights, zero.dtype)], 1)
        total, _ = jax.lax.scan(row, varying(zero, r1, r2, sin), pairs)
        return total

    @_wide
    def dual(self, k11, k12, k22):
        """Return the quadrature of phi(u) phi(v)."""
        return self._mean(self.phi, k11, k12, k22)

    @_wide
    def dual_derivative(self, k11, k12, k22):
        """Return the quadrature of phi'(u) phi'(v)."""
        slope = jnp.vectorize(jax.grad(self.phi))
        return self._mean(slope, k11, k12, k22)


NAMES: dict[str, Activation] = {
    "relu": Relu(),
    "erf": Erf(),
    "gelu": Gelu(),
    "cos": Cos(),
    "identity": Identity(),
}


def activation(name: "str | Activation") -> Activation:
    """Return the activation of that name, or the object itself if it has the two duals.

    **Raises:** `ValueError` for an unknown name or an object without the two dual functions.
    """
    if isinstance(name, str):
        if name in NAMES:
            return NAMES[name]
        raise ValueError(f"unknown activation {name!r}; known are {', '.join(map(repr, NAMES))}")
    if isinstance(name, Activation) and not isinstance(name, type):
        return name
    raise ValueError(
        f"an activation is one of {', '.join(map(repr, NAMES))} or an object with the methods "
        f"dual(k11, k12, k22) and dual_derivative(k11, k12, k22), got {name!r}; "
        "activations.Quadrature(phi) makes one of any function"
    )

"""Dual activations: Gaussian expectations of an activation and of its derivative.

For `(u, v)` centred Gaussian with variances `k11`, `k22` and covariance `k12`,

    dual(k11, k12, k22)            = E[phi(u) phi(v)]
    dual_derivative(k11, k12, k22) = E[phi'(u) phi'(v)] = d dual / d k12  (Price).

Any object with these two methods is an activation. All work elementwise on arrays
that broadcast, in the dtype of their input.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike


@runtime_checkable
class Activation(Protocol):
    """The two dual functions that a kernel recursion asks of an activation."""

    def dual(self, k11: ArrayLike, k12: ArrayLike, k22: ArrayLike) -> ArrayLike:
        """Return E[phi(u) phi(v)]."""
        ...

    def dual_derivative(self, k11: ArrayLike, k12: ArrayLike, k22: ArrayLike) -> ArrayLike:
        """Return E[phi'(u) phi'(v)]."""
        ...


def _angle(k11, k12, k22) -> tuple[Array, Array, Array]:
    """Return (sin, cos, angle) of the correlation, and no NaN gradient at the ends.

    Below the resolution of the dtype the angle is zero: equal inputs get exactly
    equal entries, which keeps Gram matrices with repeats positive semidefinite.
    """
    product = k11 * k22
    resolved = product > 0
    scale = jnp.sqrt(jnp.where(resolved, product, 1.0))
    cos = jnp.where(resolved, k12 / scale, 0.0)
    # Clipped, but with the slope of what is clipped: at equal inputs `clip` would halve it.
    cos = cos + jax.lax.stop_gradient(jnp.clip(cos, -1.0, 1.0) - cos)
    sin2 = (1.0 - cos) * (1.0 + cos)
    apart = sin2 > 8 * jnp.finfo(jnp.result_type(sin2)).eps
    sin = jnp.where(apart, jnp.sqrt(jnp.where(apart, sin2, 1.0)), 0.0)
    angle = jnp.where(
        apart, jnp.arctan2(sin, jnp.where(apart, cos, 1.0)), jnp.where(cos < 0, jnp.pi, 0.0)
    )
    return sin, cos, angle


@dataclass(frozen=True)
class Relu:
    """`max(x, 0)`; the arc-cosine kernels of Cho and Saul (2009)."""

    def dual(self, k11, k12, k22):
        """Return sqrt(k11 k22) (sin t + (pi - t) cos t) / 2 pi, t the angle."""
        product = k11 * k22
        scale = jnp.where(product > 0, jnp.sqrt(jnp.where(product > 0, product, 1.0)), 0.0)
        sin, cos, angle = _angle(k11, k12, k22)
        return scale * (sin + (jnp.pi - angle) * cos) / (2 * jnp.pi)

    def dual_derivative(self, k11, k12, k22):
        """Return (pi - t) / 2 pi."""
        _, _, angle = _angle(k11, k12, k22)
        return jnp.where(k11 * k22 > 0, (jnp.pi - angle) / (2 * jnp.pi), 0.0)


@dataclass(frozen=True)
class Erf:
    """`erf(x)`; Williams (1997)."""

    def dual(self, k11, k12, k22):
        """Return (2 / pi) arcsin(2 k12 / sqrt((1 + 2 k11)(1 + 2 k22)))."""
        root = jnp.sqrt((1 + 2 * k11) * (1 + 2 * k22))
        return (2 / jnp.pi) * jnp.arcsin(2 * k12 / root)

    def dual_derivative(self, k11, k12, k22):
        """Return (4 / pi) / sqrt((1 + 2 k11)(1 + 2 k22) - 4 k12^2)."""
        return (4 / jnp.pi) / jnp.sqrt((1 + 2 * k11) * (1 + 2 * k22) - 4 * k12**2)


@dataclass(frozen=True)
class Gelu:
    """`x Phi(x)`, with the exact normal distribution function.

    The closed form follows from integrating by parts until only E[Phi(u) Phi(v)]
    (an arcsine) and E[Phi'(u) Phi'(v)] (a Gaussian integral) are left.
    """

    def _parts(self, k11, k12, k22):
        a, b = 1 + k11, 1 + k22
        gap = a * b - k12**2
        density = 1 / (2 * jnp.pi * jnp.sqrt(gap))
        distribution = 0.25 + jnp.arcsin(k12 / jnp.sqrt(a * b)) / (2 * jnp.pi)
        return 1 / a + 1 / b, gap, density, distribution

    def dual(self, k11, k12, k22):
        """Return E[u v Phi(u) Phi(v)]."""
        inverses, _, density, distribution = self._parts(k11, k12, k22)
        return density * (k11 * k22 - k12**2 * (1 - inverses)) + k12 * distribution

    def dual_derivative(self, k11, k12, k22):
        """Return the derivative of `dual` in k12."""
        inverses, gap, density, distribution = self._parts(k11, k12, k22)
        inner = k11 * k22 - k12**2 * (1 - inverses)
        slope = inner / gap - 2 * (1 - inverses) + 1
        return density * k12 * slope + distribution


@dataclass(frozen=True)
class Cos:
    """`cos(frequency * x + phase)`: the two parameters b1 and b2 of the template paper."""

    frequency: float = 1.0
    phase: float = 0.0

    def dual(self, k11, k12, k22):
        """Return E[cos(b1 u + b2) cos(b1 v + b2)] by the sum and difference angles."""
        b2 = self.frequency**2
        minus = jnp.exp(-b2 * (k11 + k22 - 2 * k12) / 2)
        plus = jnp.exp(-b2 * (k11 + k22 + 2 * k12) / 2)
        return (minus + jnp.cos(2 * self.phase) * plus) / 2

    def dual_derivative(self, k11, k12, k22):
        """Return b1^2 E[sin(b1 u + b2) sin(b1 v + b2)]."""
        b2 = self.frequency**2
        minus = jnp.exp(-b2 * (k11 + k22 - 2 * k12) / 2)
        plus = jnp.exp(-b2 * (k11 + k22 + 2 * k12) / 2)
        return b2 * (minus - jnp.cos(2 * self.phase) * plus) / 2


@dataclass(frozen=True)
class Identity:
    """`x`: a linear network."""

    def dual(self, k11, k12, k22):
        """Return k12."""
        return k12 + 0 * (k11 + k22)

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
        r1, r2 = (jnp.sqrt(jnp.where(k > 0, k, 0.0)) for k in (k11, k22))

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
        total, _ = jax.lax.scan(row, zero, pairs)
        return total

    def dual(self, k11, k12, k22):
        """Return the quadrature of phi(u) phi(v)."""
        return self._mean(self.phi, k11, k12, k22)

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

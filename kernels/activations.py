"""Activations: a function, and its dual functions, which are Gaussian expectations.

For `(u, v)` centred Gaussian with variances `k11`, `k22` and covariance `k12`,

    dual(k11, k12, k22)            = E[phi(u) phi(v)]
    dual_derivative(k11, k12, k22) = E[phi'(u) phi'(v)] = d dual / d k12  (Price).

To add your own, derive from `Activation` and define `__call__`, the function that finite networks
apply; its duals are then found by quadrature, unless you define them too. Kernels need only the
duals, and accept any object that has them. All functions work elementwise on arrays that broadcast,
in the dtype of their input, and compute in float32 at least.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike

from theorykit.common.spelling import Spelt, nearest
from theorykit.kernels.devices import varying
from theorykit.kernels.gaussian import angles, saturating, scales, wide


@runtime_checkable
class Duals(Protocol):
    """The two dual functions that a kernel recursion asks of an activation."""

    def dual(self, k11: ArrayLike, k12: ArrayLike, k22: ArrayLike) -> ArrayLike:
        """Return E[phi(u) phi(v)]."""
        ...

    def dual_derivative(self, k11: ArrayLike, k12: ArrayLike, k22: ArrayLike) -> ArrayLike:
        """Return E[phi'(u) phi'(v)]."""
        ...


class Activation(Spelt, ABC):
    """A function, for finite networks, and its duals, for infinite ones.

    The duals of this class are Gauss-Hermite quadrature, with `u = sqrt(k11) s`,
    `v = sqrt(k22) (c s + sqrt(1 - c^2) t)` on a grid of `points`^2 nodes: accurate to rounding for
    entire functions of moderate growth; a kink (relu) leaves an error of about 1 / points.
    """

    points: int = 48

    @abstractmethod
    def __call__(self, x: Any) -> Any:
        """Return the function of each entry, in a way that JAX can differentiate."""

    def _mean(self, f, k11, k12, k22):
        nodes, weights = np.polynomial.hermite_e.hermegauss(self.points)
        weights = weights / weights.sum()
        sin, cos, _ = angles(k11, k12, k22)
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

    @wide
    def dual(self, k11, k12, k22):
        """Return E[phi(u) phi(v)]."""
        return self._mean(self, k11, k12, k22)

    @wide
    def dual_derivative(self, k11, k12, k22):
        """Return E[phi'(u) phi'(v)]."""
        return self._mean(jnp.vectorize(jax.grad(self)), k11, k12, k22)


@dataclass(frozen=True)
class Quadrature(Activation):
    """An activation made of any smooth scalar function; see `Activation` for its accuracy.

    **Fields:**

    - `phi`: the activation, a function of arrays that JAX can differentiate.
    - `points`: nodes in each direction.
    """

    phi: Callable[[Array], Array]
    points: int = 48

    def __call__(self, x):
        """Return phi(x)."""
        return self.phi(x)


@dataclass(frozen=True)
class Relu(Activation):
    """`max(x, 0)`; the arc-cosine kernels of Cho and Saul (2009)."""

    def __call__(self, x):
        """Return max(x, 0)."""
        return jax.nn.relu(x)

    @wide
    def dual(self, k11, k12, k22):
        """Return sqrt(k11 k22) (sin t + (pi - t) cos t) / 2 pi, t the angle."""
        *_, scale = scales(k11, k22)
        sin, cos, angle = angles(k11, k12, k22)
        return scale * (sin + (jnp.pi - angle) * cos) / (2 * jnp.pi)

    @wide
    def dual_derivative(self, k11, k12, k22):
        """Return (pi - t) / 2 pi."""
        _, _, angle = angles(k11, k12, k22)
        return jnp.where((k11 <= 0) | (k22 <= 0), 0.0, (jnp.pi - angle) / (2 * jnp.pi))


@dataclass(frozen=True)
class Erf(Activation):
    """`erf(x)`; Williams (1997)."""

    def __call__(self, x):
        """Return erf(x)."""
        return jax.scipy.special.erf(x)

    @wide
    def dual(self, k11, k12, k22):
        """Return (2 / pi) arcsin(2 k12 / sqrt((1 + 2 k11)(1 + 2 k22)))."""
        of = saturating(2 * k11, 2 * k12, 2 * k22)
        return (2 / jnp.pi) * jnp.arctan2(of.cross, jnp.sqrt(of.gap))

    @wide
    def dual_derivative(self, k11, k12, k22):
        """Return (4 / pi) / sqrt((1 + 2 k11)(1 + 2 k22) - 4 k12^2)."""
        of = saturating(2 * k11, 2 * k12, 2 * k22)
        return (4 / jnp.pi) * (of.h1 * of.h2 / jnp.sqrt(of.gap))


@dataclass(frozen=True)
class Gelu(Activation):
    """`x Phi(x)`, with the exact normal distribution function.

    The closed form follows from integrating by parts until only E[Phi(u) Phi(v)]
    (an angle) and E[Phi'(u) Phi'(v)] (a Gaussian integral) are left.
    """

    def __call__(self, x):
        """Return x Phi(x)."""
        return x * (0.5 + 0.5 * jax.scipy.special.erf(x / math.sqrt(2)))

    def _parts(self, k11, k12, k22):
        of = saturating(k11, k12, k22)
        root = jnp.sqrt(of.gap)
        distribution = jnp.arctan2(root, -of.cross) / (2 * jnp.pi)
        return of, 1 / (1 + k11) + 1 / (1 + k22), root, distribution

    @wide
    def dual(self, k11, k12, k22):
        """Return E[u v Phi(u) Phi(v)]."""
        of, inverses, root, distribution = self._parts(k11, k12, k22)
        inner = (of.minor + of.cross**2 * inverses) / (2 * jnp.pi * root)
        return inner * of.up1 * of.up2 + k12 * distribution

    @wide
    def dual_derivative(self, k11, k12, k22):
        """Return the derivative of `dual` in k12."""
        of, inverses, root, distribution = self._parts(k11, k12, k22)
        slope = inverses + (of.h1**2 / root) * (of.h2**2 / root)
        return of.cross / (2 * jnp.pi * root) * slope + distribution


@dataclass(frozen=True)
class Cos(Activation):
    """`cos(frequency * x + phase)`: the two parameters b1 and b2 of the template paper."""

    frequency: float = 1.0
    phase: float = 0.0

    def __call__(self, x):
        """Return cos(frequency x + phase)."""
        return jnp.cos(self.frequency * x + self.phase)

    def _waves(self, k11, k12, k22):
        b2 = self.frequency**2
        minus = jnp.exp(-b2 * ((k11 - k12) + (k22 - k12)) / 2)
        plus = jnp.exp(-b2 * ((k11 + k12) + (k22 + k12)) / 2)
        return minus, plus

    @wide
    def dual(self, k11, k12, k22):
        """Return E[cos(b1 u + b2) cos(b1 v + b2)] by the sum and difference angles."""
        minus, plus = self._waves(k11, k12, k22)
        return (minus + jnp.cos(2 * self.phase) * plus) / 2

    @wide
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
class Identity(Activation):
    """`x`: a linear network."""

    def __call__(self, x):
        """Return x."""
        return x

    @wide
    def dual(self, k11, k12, k22):
        """Return k12."""
        return k12 + 0 * (k11 + k22)

    @wide
    def dual_derivative(self, k11, k12, k22):
        """Return 1."""
        return jnp.ones_like(k11 + k12 + k22)


NAMES: dict[str, Activation] = {
    "relu": Relu(),
    "erf": Erf(),
    "gelu": Gelu(),
    "cos": Cos(),
    "identity": Identity(),
}


def activation(name: "str | Duals") -> Duals:
    """Return the activation of that name, or the object itself if it has the two duals.

    **Raises:** `ValueError` for an unknown name or an object without the two dual functions.
    """
    if isinstance(name, str):
        if name in NAMES:
            return NAMES[name]
        raise ValueError(
            f"unknown activation {name!r}; known are {', '.join(map(repr, NAMES))}."
            f"{nearest(name, NAMES)}"
        )
    if isinstance(name, Duals) and not isinstance(name, type):
        return name
    if isinstance(name, type) and issubclass(name, Duals):
        raise ValueError(
            f"an activation is an object, and {name.__name__} is a class: write {name.__name__}()"
        )
    raise ValueError(
        f"an activation is one of {', '.join(map(repr, NAMES))} or an object with the methods "
        f"dual(k11, k12, k22) and dual_derivative(k11, k12, k22), got {name!r}; "
        "activations.Quadrature(phi) makes one from any function"
    )

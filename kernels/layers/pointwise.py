"""Layers that act on each token alone: linear maps, activations, norms."""

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from flax import nnx

from theorykit.kernels import activations, recursion
from theorykit.kernels.inputs import number
from theorykit.kernels.layers.base import Layer
from theorykit.kernels.layers.weights import Weight
from theorykit.kernels.parameters import parameters
from theorykit.kernels.recursion import State


@parameters("sigma_w", "sigma_b")
@dataclass(frozen=True)
class Dense(Layer):
    """`sigma_w z W / sqrt(D) + sigma_b b`."""

    sigma_w: Any = 1.0
    sigma_b: Any = 0.0
    fresh: ClassVar[bool] = True

    def __post_init__(self):
        number("sigma_w", self.sigma_w)
        number("sigma_b", self.sigma_b)

    def carry(self, z, at):
        """Return the state after the map; its weights add the NNGP to the NTK."""
        w2, b2 = self.sigma_w**2, self.sigma_b**2
        nngp = w2 * z.nngp + b2
        ntk = None if z.ntk is None else nngp + w2 * z.ntk
        return State(nngp, ntk, w2 * z.var1 + b2, w2 * z.var2 + b2)

    def module(self, size, rngs):
        """Return the map."""
        return _Dense(rngs, size.width, float(self.sigma_w), float(self.sigma_b))


class _Dense(nnx.Module):
    def __init__(self, rngs: nnx.Rngs, width: int, sigma_w: float, sigma_b: float):
        self.weight = Weight(rngs, (width, width), width)
        self.bias = nnx.Param(jax.random.normal(rngs.params(), (width,)))
        self.sigma_w, self.sigma_b = sigma_w, sigma_b

    def __call__(self, z, mask):
        return self.sigma_w * z @ self.weight() + self.sigma_b * self.bias[...]


@parameters()
@dataclass(frozen=True)
class Activation(Layer):
    """An activation, applied to each entry."""

    name: Any = "relu"
    reads_gaussian: ClassVar[bool] = True

    def __post_init__(self):
        activations.activation(self.name)

    def gaussian(self, before):
        """Return False."""
        return False

    def carry(self, z, at):
        """Return the dual, and the NTK times the dual of the derivative."""
        phi: Any = activations.activation(self.name)
        ntk = None
        if z.ntk is not None:
            ntk = z.ntk * phi.dual_derivative(z.var1, z.nngp, z.var2)
        var1, var2 = (phi.dual(v, v, v) for v in (z.var1, z.var2))
        return State(phi.dual(z.var1, z.nngp, z.var2), ntk, var1, var2)

    def module(self, size, rngs):
        """Return the function."""
        return _Apply(_function(self.name))


class _Apply(nnx.Module):
    def __init__(self, function: Any):
        self.function = function

    def __call__(self, z, mask):
        return self.function(z)


def _function(name: Any) -> Any:
    phi = activations.activation(name)
    if not callable(phi):
        raise ValueError(f"a finite network needs an activation that is a function, got {phi!r}")
    return phi


@parameters("sigma_w", "sigma_b")
@dataclass(frozen=True)
class MLP(Layer):
    """`sigma_w phi(h) W / sqrt(D) + sigma_b b`; h is z, or `z V / sqrt(D)` if it is `hidden`."""

    activation: Any = "relu"
    hidden: bool = True
    sigma_w: Any = 1.0
    sigma_b: Any = 0.0
    fresh: ClassVar[bool] = True

    def __post_init__(self):
        activations.activation(self.activation)
        Dense(self.sigma_w, self.sigma_b)

    @property
    def reads_gaussian(self) -> bool:  # type: ignore[override]
        """Whether the activation acts on the tokens themselves."""
        return not self.hidden

    def carry(self, z, at):
        """Return the state after one or two maps."""
        z = Dense().carry(z, at) if self.hidden else z
        phi: Any = activations.activation(self.activation)
        return recursion.mlp(z, phi, self.sigma_w, self.sigma_b)

    def module(self, size, rngs):
        """Return the perceptron."""
        scales = float(self.sigma_w), float(self.sigma_b)
        return _MLP(rngs, size.width, _function(self.activation), self.hidden, *scales)


class _MLP(nnx.Module):
    def __init__(self, rngs, width: int, function: Any, hidden: bool, *scales: float):
        self.first = Weight(rngs, (width, width), width) if hidden else None
        self.last, self.function = _Dense(rngs, width, *scales), function

    def __call__(self, z, mask):
        return self.last(self.function(z if self.first is None else z @ self.first()), mask)


@parameters("sigma_w")
@dataclass(frozen=True)
class GatedMLP(Layer):
    """`sigma_w (phi(z U / sqrt(D)) o z V / sqrt(D)) W / sqrt(D)`, as in gated linear units."""

    activation: Any = "gelu"
    sigma_w: Any = 1.0
    fresh: ClassVar[bool] = True

    def __post_init__(self):
        activations.activation(self.activation)
        number("sigma_w", self.sigma_w)

    def carry(self, z, at):
        """Return the state: gate and value are independent, so that products of kernels remain."""
        phi: Any = activations.activation(self.activation)
        gate = phi.dual(z.var1, z.nngp, z.var2)
        w2 = self.sigma_w**2
        nngp, ntk = w2 * gate * z.nngp, None
        if z.ntk is not None:
            # Gate and value are linear maps of z, with the tangent kernel S + W each.
            below = z.nngp + z.ntk
            slope = phi.dual_derivative(z.var1, z.nngp, z.var2)
            ntk = nngp + w2 * below * (slope * z.nngp + gate)
        var1, var2 = (w2 * phi.dual(v, v, v) * v for v in (z.var1, z.var2))
        return State(nngp, ntk, var1, var2)

    def module(self, size, rngs):
        """Return the gated perceptron."""
        return _Gated(rngs, size.width, _function(self.activation), float(self.sigma_w))


class _Gated(nnx.Module):
    def __init__(self, rngs, width: int, function: Any, sigma_w: float):
        self.gate, self.value, self.last = (Weight(rngs, (width, width), width) for _ in range(3))
        self.function, self.sigma_w = function, sigma_w

    def __call__(self, z, mask):
        return self.sigma_w * (self.function(z @ self.gate()) * (z @ self.value())) @ self.last()


@parameters()
@dataclass(frozen=True)
class LayerNorm(Layer):
    """Tokens of mean 0 and variance 1 over the width."""

    centred: ClassVar[bool] = True
    reads_gaussian: ClassVar[bool] = True

    def carry(self, z, at):
        """Return correlations: Gaussian tokens have mean 0 already."""
        return recursion.layer_norm(z)

    def module(self, size, rngs):
        """Return the norm."""
        return _Norm(self.centred)


@parameters()
@dataclass(frozen=True)
class RMSNorm(LayerNorm):
    """Tokens of mean square 1 over the width; at infinite width the same as `LayerNorm`."""

    centred: ClassVar[bool] = False


class _Norm(nnx.Module):
    def __init__(self, centred: bool):
        self.centred = centred

    def __call__(self, z, mask):
        z = z - z.mean(-1, keepdims=True) if self.centred else z
        return z * jax.lax.rsqrt(jnp.mean(z**2, -1, keepdims=True) + 1e-12)

"""Layers that treat each token alone: linear maps, activations, perceptrons, norms."""

from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp

from theorykit.kernels import activations, recursion
from theorykit.kernels.inputs import number
from theorykit.kernels.layers.base import Factored, TokenLayer
from theorykit.kernels.parameters import parameters
from theorykit.kernels.recursion import State


@parameters("sigma_w", "sigma_b")
@dataclass(frozen=True)
class Dense(TokenLayer):
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

    def build(self, sizes, rngs):
        """Return the map."""
        from theorykit.kernels.layers import finite

        return finite.Dense(rngs, sizes, float(self.sigma_w), float(self.sigma_b))


@parameters()
@dataclass(frozen=True)
class Activation(TokenLayer):
    """An activation, applied to each entry.

    **Fields:** `function`, by name, or an `activations.Activation`.
    """

    function: Any = "relu"
    reads_gaussian: ClassVar[bool] = True
    weights: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self):
        activations.activation(self.function)

    def gaussian(self, before):
        """Return False."""
        return False

    def carry(self, z, at):
        """Return the dual, and the NTK times the dual of the derivative."""
        phi: Any = activations.activation(self.function)
        ntk = None
        if z.ntk is not None:
            ntk = z.ntk * phi.dual_derivative(z.var1, z.nngp, z.var2)
        var1, var2 = (phi.dual(v, v, v) for v in (z.var1, z.var2))
        return State(phi.dual(z.var1, z.nngp, z.var2), ntk, var1, var2)

    def build(self, sizes, rngs):
        """Return the function."""
        from theorykit.kernels.layers import finite

        return finite.Apply(self.function)


@parameters("sigma_w", "sigma_b")
@dataclass(frozen=True)
class MLP(TokenLayer):
    """`sigma_w phi(h) W / sqrt(D) + sigma_b b`; h is `z V / sqrt(D)` if it is `hidden`, else z.

    **Fields:** `activation`, by name or an `activations.Activation`; `hidden`, whether there are
    two matrices; `sigma_w`, `sigma_b`, real scalars.
    """

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
        phi = activations.activation(self.activation)
        return recursion.mlp(z, phi, self.sigma_w, self.sigma_b)

    def build(self, sizes, rngs):
        """Return the perceptron; it has as many hidden units as the network is wide."""
        from theorykit.kernels.layers import finite

        scales = float(self.sigma_w), float(self.sigma_b)
        return finite.MLP(rngs, sizes, self.activation, self.hidden, *scales)


@parameters("sigma_w")
@dataclass(frozen=True)
class GatedMLP(TokenLayer):
    """`sigma_w (phi(z U / sqrt(D)) o z V / sqrt(D)) W / sqrt(D)`, a gated linear unit.

    GLU Variants Improve Transformer (Shazeer, 2020), without biases.
    """

    activation: Any = "gelu"
    sigma_w: Any = 1.0
    fresh: ClassVar[bool] = True

    def __post_init__(self):
        activations.activation(self.activation)
        number("sigma_w", self.sigma_w)

    def carry(self, z, at):
        """Return the state: gate and value are independent, so that products of kernels remain."""
        phi: Any = activations.activation(self.activation)
        w2, gate = self.sigma_w**2, phi.dual(z.var1, z.nngp, z.var2)
        nngp, ntk = w2 * gate * z.nngp, None
        if z.ntk is not None:
            # Gate and value are linear maps of z, with the tangent kernel S + W each.
            slope = phi.dual_derivative(z.var1, z.nngp, z.var2)
            ntk = nngp + w2 * (z.nngp + z.ntk) * (slope * z.nngp + gate)
        var1, var2 = (w2 * phi.dual(v, v, v) * v for v in (z.var1, z.var2))
        return State(nngp, ntk, var1, var2)

    def build(self, sizes, rngs):
        """Return the gated perceptron."""
        from theorykit.kernels.layers import finite

        return finite.GatedMLP(rngs, sizes, self.activation, float(self.sigma_w))


@parameters()
@dataclass(frozen=True)
class RMSNorm(TokenLayer):
    """Tokens of mean square 1 over the width, without gain."""

    odd: ClassVar[bool] = True
    weights: ClassVar[tuple[str, ...]] = ()

    def carry(self, z, at):
        """Return correlations."""
        return recursion.layer_norm(z)

    def through(self, z, at):
        """Return the wanted tokens; a factor is normalised where it is."""
        if not isinstance(z, Factored) or at.rows is not None:
            return super().through(z, at)
        var = jnp.sum(z.f**2, -1, keepdims=True)
        normed = jnp.where(var <= 0, 0.0, z.f / jnp.sqrt(jnp.where(var <= 0, 1.0, var)))
        return z._replace(f=normed)

    def build(self, sizes, rngs):
        """Return the norm."""
        from theorykit.kernels.layers import finite

        return finite.Norm(centred=False)


@parameters()
@dataclass(frozen=True)
class LayerNorm(RMSNorm):
    """Tokens of mean 0 and variance 1 over the width, without gain.

    Gaussian tokens have mean 0 already, so that its kernels are those of `RMSNorm`.
    """

    reads_gaussian: ClassVar[bool] = True

    def build(self, sizes, rngs):
        """Return the norm."""
        from theorykit.kernels.layers import finite

        return finite.Norm(centred=True)

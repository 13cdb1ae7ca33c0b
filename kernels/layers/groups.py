"""The NTK of groups of parameters: which share of each weight's summand is counted.

An NTK is a sum over weights, and every layer carries it on linearly. So the NTK of some of the
weights is obtained by leaving out the summands of the others where they arise.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from theorykit.common.arguments import function
from theorykit.kernels.layers.base import Factored, Layer, TokenLayer, taken
from theorykit.kernels.parameters import parameters


def paths(net: Layer) -> list[tuple]:
    """Return where the weights of a description are, as paths in its modules."""
    found: list[tuple] = []

    def look(layer: Layer, path: tuple) -> Layer:
        found.extend((*path, *filter(None, [name])) for name in layer.weights)
        return layer

    net.each(look, ())
    return found


def name(path: tuple) -> str:
    """Return the name that a group has by default."""
    return ".".join(map(str, path))


def names(net: Layer, groups: bool | Callable[[tuple], str] | None) -> tuple[str, ...] | None:
    """Return the group of each weight, or None if no groups are wanted.

    **Raises:** `ValueError` for anything but True or a function, or if the function names no group.
    """
    if not groups:
        return None
    given: Any = name if groups is True else groups
    call = function("groups", given, "True, or a function of the path of a weight")
    found = tuple(call(path) for path in paths(net))
    for path, group in zip(paths(net), found, strict=True):
        if not isinstance(group, str):
            raise ValueError(f"groups names each weight, but {path} is called {group!r}")
    return found


def counted(net: Layer, shares: Float[Array, " weights"]) -> Any:
    """Return a description in whose NTK a share of each weight's summand counts; see `paths`."""
    rest = iter(shares)

    def made(layer: Layer, path: tuple) -> Layer:
        return Counted(layer, {n: next(rest) for n in layer.weights}) if layer.weights else layer

    return net.each(made, ())


@parameters("layer", "shares")
@dataclass(frozen=True)
class Counted(TokenLayer):
    """A layer in whose NTK a share of each summand counts.

    **Fields:** `layer`; `shares`, by the names of its `weights`.
    """

    layer: Any
    shares: dict[str, Any]
    fresh = property(lambda self: self.layer.fresh)
    reads_gaussian = property(lambda self: self.layer.reads_gaussian)
    odd = property(lambda self: self.layer.odd)
    mixes = property(lambda self: self.layer.mixes)
    draws = property(lambda self: self.layer.draws)

    def gaussian(self, before):
        """Return what the layer says."""
        return self.layer.gaussian(before)

    def enter(self, x: Any, mask: Any, dtype: Any) -> Factored:
        """Return the tokens of an embedding."""
        z = self.layer.enter(x, mask, dtype)
        return z._replace(share=jnp.broadcast_to(self.shares[""], z.f.shape[-1:]))

    def carry(self, z, at):
        """Return the state after the layer."""
        return self._counted(z, self.layer.carry(z, at), at)

    def through(self, z, at):
        """Return the wanted tokens after the layer."""
        out = self.layer.through(z, at)
        if isinstance(out, Factored):
            old = z.f.shape[-1]  # further columns are those of the layer's own weights
            share: Any = out.share
            return out._replace(share=share.at[old:].multiply(self.shares[""]))
        return self._counted(z if self.mixes else taken(z, at), out, at)

    def _counted(self, z: Any, out: Any, at: Any) -> Any:
        ntk = out.ntk
        for weight, summand in self.layer.own(z, out, at).items():
            ntk = ntk - (1 - self.shares[weight]) * summand
        return out._replace(ntk=ntk)

    def build(self, sizes, rngs):
        """Return the module of the layer."""
        return self.layer.build(sizes, rngs)

"""Layers made of layers."""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from flax import nnx

from theorykit.kernels.inputs import number
from theorykit.kernels.layers.base import Layer, Setting, Size
from theorykit.kernels.parameters import parameters
from theorykit.kernels.recursion import State, add


@parameters("layers")
@dataclass(frozen=True)
class Serial(Layer):
    """Layers one after the other."""

    layers: tuple[Layer, ...]

    def __post_init__(self):
        for layer in self.layers:
            if not isinstance(layer, Layer):
                raise ValueError(f"serial puts layers one after the other, got {layer!r}")
        if (wrong := self._misplaced(True)) is not None:
            raise ValueError(
                f"{wrong!r} reads Gaussian tokens, as linear maps put them out, but an activation "
                "comes before it: put Dense, MLP or Attention between them"
            )

    def _misplaced(self, gaussian: bool) -> Layer | None:
        """Return the first layer that reads Gaussian tokens where there are others, or None."""
        for layer in self.layers:
            if layer.reads_gaussian and not gaussian:
                return layer
            gaussian = layer.gaussian(gaussian)
        return None

    @property
    def fresh(self) -> bool:  # type: ignore[override]
        """Whether the last layer is."""
        return bool(self.layers) and self.layers[-1].fresh

    @property
    def reads_gaussian(self) -> bool:  # type: ignore[override]
        """Whether a layer does, before which there is no linear map."""
        return self._misplaced(False) is not None

    def gaussian(self, before):
        """Return what is left after the last layer."""
        for layer in self.layers:
            before = layer.gaussian(before)
        return before

    def carry(self, z, at):
        """Return the state after the last layer."""
        for i, layer in enumerate(self.layers):
            z = hide(layer.carry(z, at.child(i)), at)
        return z

    def module(self, size, rngs):
        """Return the modules, one after the other."""
        return _Serial([layer.module(size, rngs) for layer in self.layers])


def serial(*layers: Layer) -> Serial:
    """Return layers one after the other.

    **Raises:** `ValueError` for what is no layer; where a layer that reads Gaussian tokens comes
    after one that does not put them out.
    """
    return Serial(layers)


@parameters("scale", "branch")
@dataclass(frozen=True)
class Residual(Layer):
    """`z + scale * branch(z)`."""

    branch: Layer
    scale: Any = 1.0

    def __post_init__(self):
        if not isinstance(self.branch, Layer):
            raise ValueError(f"residual is around a layer, got {self.branch!r}")
        number("scale", self.scale)
        _independent(self.branch)

    @property
    def reads_gaussian(self) -> bool:  # type: ignore[override]
        """Whether the branch does."""
        return self.branch.reads_gaussian

    def gaussian(self, before):
        """Return whether both summands are Gaussian."""
        return before and self.branch.gaussian(before)

    def carry(self, z, at):
        """Return the sum of the two states: their weights are independent."""
        return add(z, _scaled(self.branch.carry(z, at.child(0)), self.scale))

    def module(self, size, rngs):
        """Return the module."""
        return _Residual(self.branch.module(size, rngs), self.scale)


def residual(branch: Layer, scale: Any = 1.0) -> Residual:
    """Return `z + scale * branch(z)`; the branch ends with weights of its own."""
    return Residual(branch, scale)


@parameters("branches")
@dataclass(frozen=True)
class Parallel(Layer):
    """The sum of branches that read the same tokens."""

    branches: tuple[Layer, ...]

    def __post_init__(self):
        if not self.branches or not all(isinstance(b, Layer) for b in self.branches):
            raise ValueError(f"parallel sums layers, one at least, got {self.branches!r}")
        for branch in self.branches:
            _independent(branch)

    fresh = True

    @property
    def reads_gaussian(self) -> bool:  # type: ignore[override]
        """Whether a branch does."""
        return any(branch.reads_gaussian for branch in self.branches)

    def carry(self, z, at):
        """Return the sum of the states."""
        first, *rest = (b.carry(z, at.child(i)) for i, b in enumerate(self.branches))
        for other in rest:
            first = add(first, other)
        return first

    def module(self, size, rngs):
        """Return the module."""
        return _Parallel([branch.module(size, rngs) for branch in self.branches])


def parallel(*branches: Layer) -> Parallel:
    """Return the sum of branches, each of which ends with weights of its own."""
    return Parallel(branches)


def _independent(branch: Layer) -> None:
    if not branch.fresh:
        raise ValueError(
            "a summand ends with weights of its own, such as Dense, MLP or Attention, so that it "
            f"is independent of the others, got {branch!r}"
        )


def _scaled(z: State, scale: Any) -> State:
    times = lambda k: None if k is None else scale**2 * k
    return State(*(times(k) for k in z))


def hide(z: State, at: Setting) -> State:
    """Zero the padded tokens of a state."""
    real = at.mask[:, :, None, None] & at.mask
    ntk = None if z.ntk is None else z.ntk * real
    return State(z.nngp * real, ntk, z.var1 * at.mask[:, :, None, None], z.var2 * at.mask)


class _Serial(nnx.Module):
    def __init__(self, layers: list[nnx.Module]):
        self.layers = nnx.List(layers)

    def __call__(self, z, mask):
        for layer in self.layers:
            z = layer(z, mask)
        return z


class _Residual(nnx.Module):
    def __init__(self, branch: nnx.Module, scale: float):
        self.branch, self.scale = branch, float(scale)

    def __call__(self, z, mask):
        return z + self.scale * self.branch(z, mask)


class _Parallel(nnx.Module):
    def __init__(self, branches: list[nnx.Module]):
        self.branches = nnx.List(branches)

    def __call__(self, z, mask):
        return jnp.sum(jnp.stack([branch(z, mask) for branch in self.branches]), 0)


__all__ = ["Parallel", "Residual", "Serial", "Size", "parallel", "residual", "serial"]

"""What a layer of a description is: one thing, read at infinite and at finite width."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import jax
from flax import nnx
from jaxtyping import Array, Bool

from theorykit.kernels.plan import Plan
from theorykit.kernels.recursion import State


class Setting(NamedTuple):
    """What all layers of one estimate share.

    **Fields:** `mask`, (n, T), true at real tokens; `key`, the random key of the layer; `plan`, how
    many draws there are and which kernels are wanted.
    """

    mask: Bool[Array, "inputs tokens"]
    key: Any
    plan: Plan

    def child(self, number: int) -> "Setting":
        """Return the setting of a layer inside, with a key of its own."""
        return self._replace(key=jax.random.fold_in(self.key, number))


class Size(NamedTuple):
    """Width, heads and size of a head of a finite network."""

    width: int
    heads: int
    head_size: int


class Layer(ABC):
    """A map of tokens to tokens: how kernels go through it, and the module that it becomes.

    **Fields** (of the class):

    - `fresh`: the output is a linear map, with weights of its own, of what the layer has computed.
      Then it is independent of the input given its covariance, and may be added to it.
    - `reads_gaussian`: kernels are right for Gaussian tokens only: an activation, a norm.
    """

    fresh: ClassVar[bool] = False
    reads_gaussian: ClassVar[bool] = False

    @abstractmethod
    def carry(self, z: State, at: Setting) -> State:
        """Return the state after the layer, of (n, T, n, T) kernels; padding does not matter."""

    @abstractmethod
    def module(self, size: Size, rngs: nnx.Rngs) -> nnx.Module:
        """Return the layer of a finite network: a function of (T, D) tokens and a (T,) mask."""

    def gaussian(self, before: bool) -> bool:
        """Return whether tokens are Gaussian after the layer, given whether they were before."""
        return self.fresh or before

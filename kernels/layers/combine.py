"""Layers made of layers."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import jax

from theorykit.common.precision import highest
from theorykit.kernels.inputs import number
from theorykit.kernels.layers import maps
from theorykit.kernels.layers.base import Layer, Setting, TokenLayer, taken
from theorykit.kernels.layers.network import Description
from theorykit.kernels.layers.tokens import Embed, Readout
from theorykit.kernels.parameters import parameters
from theorykit.kernels.recursion import State, add


@parameters("layers")
@dataclass(frozen=True)
class Serial(TokenLayer, Description):
    """Layers one after the other; see `serial`."""

    layers: tuple[Layer, ...]

    def __post_init__(self):
        for layer in self.layers:
            _checked(layer, "serial puts layers one after the other")
        flat = [k for a in self.layers for k in (a.layers if isinstance(a, Serial) else (a,))]
        object.__setattr__(self, "layers", tuple(flat))
        for i, layer in enumerate(flat):
            if (isinstance(layer, Embed) and i) or (
                isinstance(layer, Readout) and i < len(flat) - 1
            ):
                raise ValueError(f"Embed comes first and Readout last, got {layer!r} as layer {i}")
        if (wrong := self._misplaced(True)) is not None:
            raise ValueError(
                f"{wrong!r} reads Gaussian tokens, as linear maps produce them, but an activation "
                "comes before it: put Dense, MLP or Attention between them"
            )

    def _misplaced(self, gaussian: bool) -> Layer | None:
        """Return the first layer that needs Gaussian tokens but does not get them, or None."""
        for layer in self.layers:
            if layer.reads_gaussian and not gaussian:
                return layer
            gaussian = layer.gaussian(gaussian)
        return None

    @property
    def fresh(self) -> bool:  # type: ignore[override]
        """Whether the last layer that is not `odd` is fresh."""
        return next((layer.fresh for layer in reversed(self.layers) if not layer.odd), False)

    def between(self) -> "Serial":
        """Return the layers without the first and the last."""
        return Serial(self.layers[1:-1])

    @property
    def reads_gaussian(self) -> bool:  # type: ignore[override]
        """Whether a layer without a linear map before it does."""
        return self._misplaced(False) is not None

    @property
    def mixes(self) -> bool:  # type: ignore[override]
        """Whether a layer does."""
        return any(layer.mixes for layer in self.layers)

    @property
    def draws(self) -> int:  # type: ignore[override]
        """The total over all layers."""
        return sum(layer.draws for layer in self.layers)

    def gaussian(self, before):
        """Return what is left after the last layer."""
        for layer in self.layers:
            before = layer.gaussian(before)
        return before

    def carry(self, z, at):
        """Return the state after the last layer; none of them mixes."""
        for layer in self.layers:
            z = layer.carry(z, at)  # type: ignore[attr-defined]
        return z

    def through(self, z, at):
        """Return the wanted tokens; after the last layer that mixes, the others are dropped."""
        through = lambda layer, z, at: layer.through(z, at)
        return self.walk(z, at, through, lambda layer, z, at: layer.carry(z, at), taken)

    def walk(self, z: Any, at: Setting, through: Any, carry: Any, taken: Any) -> Any:
        """Return what comes of `through` for the layers to the last that mixes, then of `carry`.

        **Arguments:** `through`, `carry`: functions of a layer, what enters it, and the setting;
        `taken`: of what enters and the setting, where no layer mixes.
        """
        whole, last = at.whole(), max((i for i, a in enumerate(self.layers) if a.mixes), default=-1)
        if at.rows is None:
            last = len(self.layers) - 1
        for layer in self.layers[: max(last, 0)]:
            z, whole = through(layer, z, whole), whole.after(layer.draws)
        if last < 0:
            z = taken(z, at)
        else:
            z = through(self.layers[last], z, at.after(whole.number - at.number))
        for layer in self.layers[last + 1 :]:
            z = carry(layer, z, at)
        return z

    def each(self, made, path):
        """Return the layers, each with its parts replaced."""
        parts = [a.each(made, (*path, "layers", i)) for i, a in enumerate(self.layers)]
        return Serial(tuple(parts))

    def build(self, sizes, rngs):
        """Return the modules, one after the other."""
        from theorykit.kernels.layers import finite

        return finite.Serial([layer.build(sizes, rngs) for layer in self.layers])


def serial(*layers: Layer) -> Serial:
    """Return layers one after the other; a serial among them counts as its layers.

    With `Embed` first and `Readout` last it is a whole network, and has `kernel` and `module`.

    **Raises:** `ValueError` for anything but a layer; where a layer that needs Gaussian tokens
    comes after one that does not produce them; for an `Embed` or `Readout` in between.
    """
    return Serial(layers)


@parameters("scale", "branch")
@dataclass(frozen=True)
class Residual(TokenLayer):
    """`z + scale * branch(z)`."""

    branch: Layer
    scale: Any = 1.0

    def __post_init__(self):
        _checked(self.branch, "residual takes a layer")
        number("scale", self.scale)
        _independent([self.branch])

    @property
    def reads_gaussian(self) -> bool:  # type: ignore[override]
        """Whether the branch does."""
        return self.branch.reads_gaussian

    @property
    def mixes(self) -> bool:  # type: ignore[override]
        """Whether the branch does."""
        return self.branch.mixes

    @property
    def draws(self) -> int:  # type: ignore[override]
        """The number in the branch."""
        return self.branch.draws

    def gaussian(self, before):
        """Return whether both summands are Gaussian."""
        return before and self.branch.gaussian(before)

    def carry(self, z, at):
        """Return the sum of the two states: their weights are independent."""
        return add(z, _scaled(self.branch.carry(z, at), self.scale))  # type: ignore[attr-defined]

    def through(self, z, at):
        """Return the wanted tokens of the sum."""
        branch = taken(self.branch.through(z, at), at.whole())
        return add(taken(z, at), _scaled(branch, self.scale))

    def each(self, made, path):
        """Return the sum, with the parts of the branch replaced."""
        return replace(self, branch=self.branch.each(made, (*path, "branch")))

    def build(self, sizes, rngs):
        """Return the module."""
        from theorykit.kernels.layers import finite

        return finite.Residual(self.branch.build(sizes, rngs), float(self.scale))


def residual(branch: Layer, scale: Any = 1.0) -> Residual:
    """Return `z + scale * branch(z)`.

    **Arguments:** `branch`, a layer that ends with weights of its own; `scale`, a real scalar.

    **Raises:** `ValueError` for another branch.
    """
    return Residual(branch, scale)


@parameters("branches")
@dataclass(frozen=True)
class Parallel(TokenLayer):
    """The sum of branches that read the same tokens: a fan-out, and a fan-in by addition."""

    branches: tuple[Layer, ...]
    fresh = True

    def __post_init__(self):
        if not self.branches:
            raise ValueError("parallel sums one or more layers, got none")
        for branch in self.branches:
            _checked(branch, "parallel sums layers")
        _independent(self.branches)

    @property
    def reads_gaussian(self) -> bool:  # type: ignore[override]
        """Whether a branch does."""
        return any(branch.reads_gaussian for branch in self.branches)

    @property
    def mixes(self) -> bool:  # type: ignore[override]
        """Whether a branch does."""
        return any(branch.mixes for branch in self.branches)

    @property
    def draws(self) -> int:  # type: ignore[override]
        """The total over all branches."""
        return sum(branch.draws for branch in self.branches)

    def gaussian(self, before):
        """Return whether all branches produce Gaussian tokens."""
        return all(branch.gaussian(before) for branch in self.branches)

    def carry(self, z, at):
        """Return the sum of the states."""
        return _sum(branch.carry(z, at) for branch in self.branches)  # type: ignore[attr-defined]

    def through(self, z, at):
        """Return the wanted tokens of the sum."""
        found = []
        for branch in self.branches:
            found.append(taken(branch.through(z, at), at.whole()))
            at = at.after(branch.draws)
        return _sum(found)

    def each(self, made, path):
        """Return the sum, with the parts of the branches replaced."""
        parts = [a.each(made, (*path, "branches", i)) for i, a in enumerate(self.branches)]
        return Parallel(tuple(parts))

    def build(self, sizes, rngs):
        """Return the module."""
        from theorykit.kernels.layers import finite

        return finite.Parallel([branch.build(sizes, rngs) for branch in self.branches])


def parallel(*branches: Layer) -> Parallel:
    """Return the sum of branches that read the same tokens.

    **Raises:** `ValueError` for a branch that does not end with weights of its own.
    """
    return Parallel(branches)


def _checked(layer: Any, said: str) -> None:
    if not isinstance(layer, Layer):
        raise ValueError(f"{said}, got {layer!r}")
    if jax.tree_util.all_leaves([layer]):
        raise ValueError(
            f"a layer is a pytree, but {type(layer).__name__} is not: put @parameters() of "
            "theorykit.kernels.parameters above its @dataclass(frozen=True)"
        )


def _independent(branches: Iterable[Layer]) -> None:
    for branch in branches:
        if not branch.fresh:
            raise ValueError(
                "a summand ends with weights of its own, such as Dense, MLP or Attention, so that "
                f"it is independent of the others, got {branch!r}"
            )


def _sum(states: Iterable[State]) -> State:
    first, *rest = states
    for other in rest:
        first = add(first, other)
    return first


@highest
def _scaled(z: State, scale: Any) -> State:
    times: Any = lambda k: None if k is None else scale**2 * k
    return State(times(z.nngp), times(z.ntk), times(z.var1), times(z.var2))


# Feature maps -------------------------------------------------------------------------------------


@maps.carry.register
def _(layer: Serial, z, at):
    for one in layer.layers:
        z = maps.carry(one, z, at)
    return z


@maps.through.register
def _(layer: Serial, z, at):
    return layer.walk(z, at, maps.through, maps.carry, maps.taken)


@maps.carry.register
def _(layer: Residual, z, at):
    branch = maps.each(maps.carry(layer.branch, z, at), lambda k: layer.scale * k)
    return maps.summed([z, branch], at)


@maps.through.register
def _(layer: Residual, z, at):
    branch = maps.each(maps.through(layer.branch, z, at), lambda k: layer.scale * k)
    return maps.summed([maps.taken(z, at), branch], at)


@maps.carry.register
def _(layer: Parallel, z, at):
    return maps.summed([maps.carry(branch, z, at) for branch in layer.branches], at)


@maps.through.register
def _(layer: Parallel, z, at):
    found = []
    for branch in layer.branches:
        found.append(maps.through(branch, z, at))
        at = at.after(branch.draws)
    return maps.summed(found, at)

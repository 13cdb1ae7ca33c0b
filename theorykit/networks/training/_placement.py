"""Where arrays live: on one device, or spread over a mesh."""

from dataclasses import dataclass
from typing import Any

import jax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Shaped


@dataclass(frozen=True)
class Placement:
    """A mesh with the axes "data" and "seed", or None for the default device.

    **Raises:** `ValueError` for anything else.
    """

    mesh: Mesh | None = None

    def __post_init__(self) -> None:
        """Check the mesh."""
        if self.mesh is None:
            return
        if not isinstance(self.mesh, Mesh):
            raise ValueError(f"mesh is a jax.sharding.Mesh, not {type(self.mesh).__name__}.")
        if set(self.mesh.axis_names) != {"data", "seed"}:
            raise ValueError(f'a mesh has the axes "data" and "seed", got {self.mesh.axis_names}.')
        # A mesh made with explicit axes would ask for a sharding of every operation.
        object.__setattr__(self, "mesh", Mesh(self.mesh.devices, self.mesh.axis_names))

    def check(self, seeds: int, batches: dict[str, int]) -> None:
        """Raise a `ValueError` unless seeds and batches divide over the devices."""
        shape = self.shape or {"seed": 1, "data": 1}
        if seeds % shape["seed"]:
            raise ValueError(
                f'{seeds} seeds do not divide over the {shape["seed"]} devices of the axis "seed".'
            )
        for name, count in batches.items():
            if count % shape["data"]:
                raise ValueError(
                    f"{name} of {count} examples does not divide over the {shape['data']} devices "
                    'of the axis "data".'
                )

    @property
    def shape(self) -> dict[str, int] | None:
        """How many devices each axis has."""
        return None if self.mesh is None else dict(self.mesh.shape)

    @property
    def seed_axis(self) -> str | None:
        """The name that `jax.vmap` over seeds takes as `spmd_axis_name`."""
        return None if self.mesh is None else "seed"

    def along(self, *axes: str) -> NamedSharding | None:
        """Return the sharding of an array whose first axes are these; none: a copy everywhere."""
        return None if self.mesh is None else NamedSharding(self.mesh, PartitionSpec(*axes))

    def put_seeds(self, tree: Any) -> Any:
        """Put arrays with an entry for each seed on the devices of the seeds."""
        return jax.device_put(tree, self.along("seed"))

    def put_data(self, tree: Any, seed_axis: int | None) -> Any:
        """Put data on the devices: by seed if each has its own, else by example where they divide.

        **Arguments:** `seed_axis`: 0 if the first axis is that of seeds, None without it.
        """
        if self.mesh is None:
            return tree
        if seed_axis == 0:
            return self.put_seeds(tree)
        by_example = lambda a: self.along("data") if self._divides(a) else self.along()
        return jax.tree.map(lambda a: jax.device_put(a, by_example(a)), tree)

    def split(self, examples: Shaped[Array, "examples ..."]) -> Shaped[Array, "examples ..."]:
        """Spread traced examples over the devices of "data", where they divide."""
        if self.mesh is None or not self._divides(examples):
            return examples
        return jax.lax.with_sharding_constraint(examples, self.along("data"))

    def _divides(self, array: Array) -> bool:
        return self.mesh is not None and len(array) % self.mesh.shape["data"] == 0

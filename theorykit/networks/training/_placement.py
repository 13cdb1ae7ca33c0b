"""Where arrays live: on one device, or spread over a mesh, which several processes may share."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
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
        own, there = jax.process_index(), {d.process_index for d in self.mesh.devices.flat}
        if there not in ({own}, set(range(jax.process_count()))):
            raise ValueError(
                f"the mesh has devices of the processes {sorted(there)}; it has those of process "
                f"{own} alone, which this is, or of all {jax.process_count()}."
            )

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
    def several(self) -> bool:
        """Whether the mesh has devices of other processes, which then do the same as this one."""
        return self.mesh is not None and self.mesh.is_multi_process

    @property
    def seed_axis(self) -> str | None:
        """The name that `jax.vmap` over seeds takes as `spmd_axis_name`."""
        return None if self.mesh is None else "seed"

    def along(self, *axes: str) -> NamedSharding | None:
        """Return the sharding of an array whose first axes are these; none: a copy everywhere."""
        return None if self.mesh is None else NamedSharding(self.mesh, PartitionSpec(*axes))

    def put_seeds(self, tree: Any) -> Any:
        """Put arrays with an entry for each seed on the devices of the seeds.

        Without a mesh, those of a fit over several devices come to the default one.
        """
        if self.mesh is None:
            here = jnp.zeros(()).sharding
            spread = lambda a: isinstance(a, jax.Array) and len(a.sharding.device_set) > 1
            return jax.tree.map(lambda a: jax.device_put(a, here) if spread(a) else a, tree)
        where = self.along("seed")
        return jax.tree.map(lambda a: self._put(a, where), tree)

    def put_data(self, tree: Any, seed_axis: int | None) -> Any:
        """Put data on the devices: by seed if each has its own, else by example where they divide.

        **Arguments:** `seed_axis`: 0 if the first axis is that of seeds, None without it.
        """
        if self.mesh is None:
            return tree
        if seed_axis == 0:
            return self.put_seeds(tree)
        by_example = lambda a: self.along("data") if self._divides(a) else self.along()
        return jax.tree.map(lambda a: self._put(a, by_example(a)), tree)

    def copier(self, like: Any) -> Callable[[Any], Any]:
        """Return a compiled function that copies arrays like these.

        The copies stay where the arrays are; arrays spread over several processes are copied whole
        to each of them, on its first device.
        """
        where = self.along() if self.several else None
        copy = jax.jit(lambda tree: jax.tree.map(jnp.copy, tree), out_shardings=where)
        run = copy.lower(like).compile()
        if not self.several:
            return run
        return lambda tree: jax.tree.map(lambda a: a.addressable_data(0), run(tree))

    def split(self, examples: Shaped[Array, "examples ..."]) -> Shaped[Array, "examples ..."]:
        """Spread traced examples over the devices of "data", where they divide."""
        if self.mesh is None or not self._divides(examples):
            return examples
        return jax.lax.with_sharding_constraint(examples, self.along("data"))

    def _put(self, a: Any, where: NamedSharding | None) -> Array:
        if not self.several:
            return jax.device_put(a, where)
        if jnp.issubdtype(a.dtype, jax.dtypes.prng_key):
            data = self._put(jax.random.key_data(a), where)
            impl: Any = jax.random.key_impl(a)
            return jax.random.wrap_key_data(data, impl=impl)
        # Each process has all of it, as `check_same` has ensured, so none has to ask the others.
        assert where is not None
        held = np.asarray(a)
        return jax.make_array_from_callback(held.shape, where, lambda part: held[part])

    def _divides(self, array: Array) -> bool:
        return self.mesh is not None and len(array) % self.mesh.shape["data"] == 0

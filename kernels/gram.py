"""Large Gram matrices: in tiles, on disk, or over a mesh of devices."""

from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh

from theorykit.common.arguments import as_path, one_of, size
from theorykit.common.keys import as_key
from theorykit.common.precision import highest
from theorykit.common.spelling import spelt
from theorykit.kernels import over_mesh, stored, tileable, tiles
from theorykit.kernels.draws import SAMPLERS
from theorykit.kernels.inputs import wanted
from theorykit.kernels.plan import DRAWS
from theorykit.kernels.progress import bar
from theorykit.kernels.result import Kernel
from theorykit.kernels.stored import Stored
from theorykit.kernels.tileable import Network
from theorykit.kernels.transformer import Joint


@spelt
@highest
def gram(
    network: Network,
    x: Any,
    x_test: Any = None,
    *,
    store: Any = None,
    mesh: Mesh | None = None,
    tile: int | None = None,
    key: Any = None,
    draws: int = 1024,
    replicates: int = 8,
    get: tuple[str, ...] | str = ("nngp", "ntk"),
    mask1: Any = None,
    mask2: Any = None,
    draw: str = "auto",
    sampler: str = "independent",
    progress: bool | None = None,
) -> Any:
    """Return the Gram matrix of a network, computed tile by tile from draws that all tiles share.

    The numbers follow from the key and from `tile`; whether they are on disk, in memory or on many
    devices changes nothing but rounding:

        k = gram(network, x, x_test, store="gram", key=key, get="nngp")
        gp_posterior(k.train.nngp, y, k.cross.nngp, k.test.nngp, noise=0.1)

    A store keeps each tile as soon as it is computed, and only the upper half of the matrix. After
    a kill, the same call goes on where it stopped and gives the same bits; once all tiles are
    there, it only opens them.

    **Arguments:**

    - `network`: an `InfiniteTransformer` or a description, read at "last" or as the "mean". A
      description may draw scores only directly after its embedding, positions and norms: joint
      draws further up come from the covariance of all inputs, which only `kernel` has.
    - `x`: (P, T, d) inputs, or (P, T) token ids; an array, or anything with a shape and a dtype
      that is sliced like one, such as `numpy.memmap` or a zarr array, and then read tile by tile.
    - `x_test`: inputs of the same kind; the kernels of both come from the same draws.
    - `store`: a folder for the tiles (needs `theorykit[store]`).
    - `mesh`: devices to compute on, of one axis (rows) or two (rows, columns); inputs that are
      spread over devices by a `NamedSharding` have its mesh.
    - `tile`: inputs in a tile; None: as many as take about 256 MiB, and on a mesh no more than a
      device has rows or columns.
    - `mask1`, `mask2`: (P, T), (P*, T*) booleans, true at real tokens.
    - `draw`: "joint", for descriptions and for one layer of softmax attention, whose Gram matrices
      are positive semidefinite; "pairwise" or "conditional"; "auto": joint where possible.
    - `key`, `draws`, `replicates`, `get`, `sampler`, `progress`: as for the network.

    **Returns:** a `Kernel`, or with `x_test` a `Joint`, with `smallest_eigenvalue` None. Its
    matrices are numpy's; with `store` they are `Stored`: slices are read from disk, and `ridge` and
    `gp_posterior` solve with them; with `mesh` they are spread over it, rows and columns.

    **Raises:** `ValueError` as the network; for a store that holds something else or runs out of
    space; for a mesh that does not divide the inputs; for joint draws in several layers.
    """
    network = tileable.checked(network)
    get = wanted(get)
    how = tiles.How(
        size("draws", draws),
        size("replicates", replicates),
        get,
        tileable.drawn(network, one_of("draw", draw, DRAWS)),
        one_of("sampler", sampler, SAMPLERS),
    )
    exact = tileable.exact(network)
    key = None if exact else as_key(key)
    named = [("x", tileable.lazy_tokens(network, "x", x), _mask("mask1", mask1))]
    if x_test is not None:
        lazy = tileable.lazy_tokens(network, "x_test", x_test)
        named.append(("x_test", lazy, _mask("mask2", mask2)))
    elif mask2 is not None:
        raise ValueError("mask2 belongs to x_test, but x_test was not given")
    rank = lambda tokens, features: tileable.rank_of(network, features, tokens)
    usual = lambda tokens, features: tileable.usual_tile(
        network, how.draw, tokens, rank(tokens, features), "ntk" in get
    )
    mesh = over_mesh.mesh_of(mesh, x, x_test)
    most = over_mesh.side(mesh, sum(part.shape[0] for _, part, _ in named if part.shape))
    inputs = tiles.laid(named, tile, lambda tokens, features: min(most, usual(tokens, features)))
    tileable.check_rank(network, inputs, rank(inputs.tokens, inputs.parts[0].shape[2]))
    if mesh is not None and store is not None:
        raise ValueError(
            "a matrix is kept in a store or spread over a mesh: give store or mesh, not both"
        )
    run = tileable.block(network, how)
    if mesh is not None:
        values = over_mesh.computed(run, how.names(exact), inputs, key, mesh)
        whole = lambda array, rows, columns: array[slice(*rows), slice(*columns)]
    elif store is not None:
        run = jax.jit(run, static_argnames="whole")
        path = as_path("store", store)
        values = stored.computed(network, how, inputs, key, path, run, progress)
        whole = lambda array, rows, columns: Stored(array, inputs.tile, rows, columns)
    else:
        run = jax.jit(run, static_argnames="whole")
        values = _in_memory(run, how.names(exact), inputs, key, progress)
        whole = lambda array, rows, columns: array[slice(*rows), slice(*columns)]
    return _result(values, whole, how, exact, [p.shape[0] for p in inputs.parts])


def _mask(name: str, mask: Any) -> Any:
    """Return a mask, unread, or None."""
    return None if mask is None else tiles.lazy(name, mask, "buif")


def _in_memory(run: Any, names: Any, inputs: tiles.Set, key: Any, progress: bool | None) -> dict:
    """Return the whole matrices, which are symmetric to the last bit."""
    found = {name: np.empty((inputs.total,) * 2, inputs.dtype) for name in names}
    work = tiles.steps(inputs.tiles)
    with bar("tiles", len(work), progress) as tick:
        for step in work:
            for (down, across), values in tiles.computed_step(
                run, key, inputs, step, names, inputs.dtype
            ):
                for name, value in values.items():
                    found[name][down, across] = value
                    found[name][across, down] = value.T
            tick.replicate()
    return found


def _result(values: dict, cut: Any, how: tiles.How, exact: bool, counts: list[int]) -> Any:
    n, total = counts[0], sum(counts)

    def kernel(rows: tuple[int, int], columns: tuple[int, int]) -> Kernel:
        fields: dict[str, Any] = {name: cut(a, rows, columns) for name, a in values.items()}
        if exact:
            none = lambda k: np.broadcast_to(np.zeros((), k.dtype), k.shape)
            fields |= {f"{name}_stderr": none(k) for name, k in fields.items()}
        return Kernel(
            **fields,
            draws=0 if exact else how.draws,
            replicates=1 if exact else how.replicates,
            draw="exact" if exact else how.draw,
        )

    train, test = (0, n), (n, total)
    if len(counts) == 1:
        return kernel(train, train)
    return Joint(kernel(train, train), kernel(test, train), kernel(test, test))

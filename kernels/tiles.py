"""A Gram matrix in square tiles: how each is computed, and in which order.

All tiles see the same score draws. A tile is the kernel between two sets of inputs of one size, so
that the network draws the same numbers for each; in the first layer they do not depend on which
inputs these are, and deeper ones draw for each pair of inputs by itself.
"""

import hashlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from theorykit.common.arguments import as_array, size
from theorykit.common.errors import explain
from theorykit.kernels.inputs import computed, floating

VALUES = ("nngp", "ntk", "nngp_stderr", "ntk_stderr")


class Set(NamedTuple):
    """Inputs that are read tile by tile: training inputs, and test inputs after them.

    **Fields:** `parts`: arrays, or what is sliced like one; `masks`: of the same parts; `tokens`,
    `dtype`, of all of them; `tile`: inputs in a tile; `contents`: hashes that the tiles must still
    have whenever they are read, or none, if they have not been read before.
    """

    parts: tuple[Any, ...]
    masks: tuple[Any, ...]
    tokens: int
    dtype: Any
    tile: int
    contents: tuple[bytes, ...] = ()

    @property
    def total(self) -> int:
        """How many inputs there are."""
        return sum(part.shape[0] for part in self.parts)

    @property
    def tiles(self) -> int:
        """How many tiles they make, of which the last may be short."""
        return -(-self.total // self.tile)

    def read(
        self, start: int, stop: int
    ) -> tuple[Float[np.ndarray, "inputs tokens features"], Bool[np.ndarray, "inputs tokens"]]:
        """Return inputs and their mask, short ones padded, zero where padded.

        **Raises:** `ValueError` for an input without a real token, NaN or infinity at a real token,
        or inputs on a disk that cannot be read.
        """
        found, before = [], 0
        for part, mask in zip(self.parts, self.masks, strict=True):
            here = slice(max(start - before, 0), max(stop - before, 0))
            first = before + here.start
            before += part.shape[0]
            try:
                x = np.asarray(part[here], computed(self.dtype))
                real = np.ones(x.shape[:2], bool) if mask is None else np.asarray(mask[here])
            except Exception as error:  # whatever a damaged file makes its library say
                last = first + here.stop - here.start
                raise ValueError(
                    f"inputs {first} to {last} cannot be read: {explain(error)}"
                ) from error
            _check_values(x, real, first)
            short = self.tokens - x.shape[1]
            x = np.pad(np.where(real[..., None], x, 0), ((0, 0), (0, short), (0, 0)))
            found.append((x, np.pad(real, ((0, 0), (0, short)))))
        xs, reals = zip(*found, strict=True)
        return np.concatenate(xs), np.concatenate(reals)

    def tile_at(self, i: int) -> tuple[np.ndarray, np.ndarray]:
        """Return a tile; a short one is filled up with its first input.

        **Raises:** `ValueError` as `read`, and for inputs that are no longer what they were.
        """
        at = self.bounds(i)
        x, real = self.read(at.start, at.stop)
        if self.contents and content(x, real) != self.contents[i]:
            raise ValueError(
                f"inputs {at.start} to {at.stop} have changed since the first look at them, and a "
                "matrix is of one set of inputs; take them as they were, or a new folder"
            )
        fill = lambda a: np.concatenate(
            [a, np.broadcast_to(a[:1], (self.tile - len(a), *a[0].shape))]
        )
        return fill(x), fill(real)

    def bounds(self, i: int) -> slice:
        """Return where a tile's inputs stand in the set."""
        return slice(i * self.tile, min((i + 1) * self.tile, self.total))


def content(x: np.ndarray, real: np.ndarray) -> bytes:
    """Return a hash of inputs and their mask."""
    found = hashlib.sha256(x.tobytes())
    found.update(real.tobytes())
    return found.digest()


def _check_values(x: np.ndarray, real: np.ndarray, first: int) -> None:
    wrong = ~np.isfinite(x).all(2) & real
    if wrong.any():
        i, a = np.argwhere(wrong)[0]
        raise ValueError(
            f"inputs are finite at real tokens, but token {a} of input {first + i} is not"
        )
    if not real.any(1).all():
        empty = first + int(np.argmin(real.any(1)))
        raise ValueError(f"every input needs a real token, but all of input {empty} is padding")


class How(NamedTuple):
    """What is asked of the network, for all tiles alike.

    **Fields:** as for `InfiniteTransformer.__call__`.
    """

    draws: int
    replicates: int
    get: tuple[str, ...]
    draw: str
    sampler: str

    def names(self, exact: bool) -> tuple[str, ...]:
        """Return the values that are computed; a standard error takes two replicates."""
        errors = self.replicates > 1 and not exact
        return tuple(
            n for n in VALUES if n[:4].strip("_") in self.get and (errors or n in self.get)
        )


Block = Callable[..., tuple[Array, ...]]


class Step(NamedTuple):
    """A piece of work: two tiles, and whether their own tiles come with that between them."""

    i: int
    j: int
    whole: bool

    @property
    def places(self) -> list[tuple[int, int]]:
        """The tiles that it computes, by their row and column of tiles."""
        if not self.whole:
            return [(self.i, self.j)]
        own = [(self.i, self.i)]
        return [*own, (self.i, self.j), (self.j, self.j)] if self.j > self.i else own


def steps(tiles: int) -> list[Step]:
    """Return what makes the upper half of a matrix: pairs of tiles as wholes, then the others.

    On the diagonal the network must know that rows and columns are the same inputs.
    """
    wholes = [Step(i, min(i + 1, tiles - 1), True) for i in range(0, tiles, 2)]
    done = {(s.i, s.j) for s in wholes}
    rest = [Step(i, j, False) for i in range(tiles) for j in range(i + 1, tiles)]
    return wholes + [s for s in rest if (s.i, s.j) not in done]


def computed_step(
    run: Block, key: Any, inputs: Set, step: Step, names: tuple[str, ...], dtype: Any
) -> Iterator[tuple[tuple[slice, slice], dict[str, np.ndarray]]]:
    """Yield where in the matrix the tiles of a step stand, and their values by name.

    **Raises:** `ValueError` for what overflowed.
    """
    n = inputs.tile
    first, second = inputs.tile_at(step.i), inputs.tile_at(step.j)
    values = [np.asarray(v) for v in run(key, *first, *second, whole=step.whole)]
    head, rest = slice(n), slice(n, None)
    for i, j in step.places:
        at = inputs.bounds(i), inputs.bounds(j)
        down, across = (rest if step.whole and k > step.i else head for k in (i, j))
        cut = [
            v[down, across][: at[0].stop - at[0].start, : at[1].stop - at[1].start] for v in values
        ]
        found = {name: v.astype(dtype) for name, v in zip(names, cut, strict=True)}
        for name, v in found.items():
            if not np.isfinite(v).all() and not name.endswith("stderr"):
                raise ValueError(
                    f"the {name} is beyond the range of {np.dtype(dtype)}: smaller inputs or "
                    "scales, or a wider dtype, would be right"
                )
        yield at, found


def laid(parts: list[tuple[str, Any, Any]], tile: Any, usual: Callable[[int, int], int]) -> Set:
    """Return inputs as a set, their shapes checked and nothing read.

    **Arguments:** `parts`: name, inputs and mask of each; `usual`: how many inputs a tile has, from
    tokens and features.

    **Raises:** `ValueError` for shapes, dtypes or a tile that do not fit.
    """
    for name, x, mask in parts:
        if getattr(x, "ndim", len(x.shape)) != 3 or 0 in x.shape:
            raise ValueError(
                f"{name} has shape (inputs, tokens, features), none of them zero; got {x.shape}"
            )
        if x.shape[2] != parts[0][1].shape[2]:
            raise ValueError(
                "x and x_test need the same number of features, got "
                f"{parts[0][1].shape[2]} and {x.shape[2]}"
            )
        if mask is not None and (tuple(mask.shape) != tuple(x.shape[:2]) or mask.dtype != bool):
            raise ValueError(
                f"the mask of {name} holds booleans in shape {tuple(x.shape[:2])} (inputs, "
                f"tokens); got {mask.dtype} in shape {mask.shape}"
            )
    xs, masks = tuple(x for _, x, _ in parts), tuple(m for *_, m in parts)
    tokens, features = max(x.shape[1] for x in xs), xs[0].shape[2]
    count = sum(x.shape[0] for x in xs)
    n = min(count, usual(tokens, features) if tile is None else size("tile", tile))
    return Set(xs, masks, tokens, floating(*xs), n)


def lazy(name: str, x: Any, kinds: str = "uif") -> Any:
    """Return an array, or what is sliced like one, unread.

    **Raises:** `ValueError` for anything without such numbers.
    """
    try:
        kind = "f" if jnp.issubdtype(x.dtype, jnp.floating) else np.dtype(x.dtype).kind
        sliced = hasattr(x, "__getitem__") and len(x.shape) > 0
    except (AttributeError, TypeError):
        sliced = False
    if not sliced:
        return as_array(name, x, kinds)
    if kind not in kinds:
        return as_array(name, np.asarray(x[:0]), kinds)
    if isinstance(x, jax.core.Tracer):
        raise ValueError(f"{name} is read tile by tile, and cannot be traced; call the network")
    return x


class Ids:
    """Token ids that are read tile by tile, as vectors of one feature, and checked then."""

    ndim = 3

    def __init__(self, name: str, ids: Any, count: int):
        """Keep what is sliced like an array of shape (inputs, tokens)."""
        self.name, self.ids, self.count = name, ids, count
        self.shape, self.dtype = (*ids.shape, 1), ids.dtype

    def __getitem__(self, at: Any) -> Int[np.ndarray, "inputs tokens one"]:
        ids = np.asarray(self.ids[at])
        if ids.size and not 0 <= ids.min() <= ids.max() < self.count:
            raise ValueError(
                f"token ids of {self.name} lie between 0 and {self.count - 1}, got {ids.min()} to "
                f"{ids.max()}"
            )
        return ids[..., None]

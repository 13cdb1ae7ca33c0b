"""A Gram matrix on disk, in tiles, and matrices that are read from it block by block."""

import contextlib
import hashlib
import itertools
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import jax
import numpy as np
from jaxtyping import Float

from theorykit.common.arguments import shown
from theorykit.common.errors import explain
from theorykit.common.folders import Folder, write_atomically, writing
from theorykit.common.hashes import program_hash
from theorykit.kernels import tileable, tiles
from theorykit.kernels.progress import bar
from theorykit.kernels.tileable import Network
from theorykit.kernels.tiles import Block, How, Set, Step

HEADER, DONE = "gram.json", "done"
OWN = (DONE, "zarr.json", *tiles.VALUES)
SPARE = 2**20  # bytes beside the tiles
LONG = 80  # most characters shown of what differs


@dataclass(frozen=True, eq=False)
class Stored:
    """A block of a symmetric matrix on disk; slicing it, or `numpy.asarray`, reads it.

    **Fields:** `array`: of the whole matrix, its upper tiles alone written; `tile`: their size;
    `rows`, `columns`: where this block lies in it, (start, stop).
    """

    array: Any
    tile: int
    rows: tuple[int, int]
    columns: tuple[int, int]

    ndim = 2

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.rows[1] - self.rows[0], self.columns[1] - self.columns[0]

    @property
    def dtype(self) -> np.dtype:
        """The dtype on disk."""
        return np.dtype(self.array.dtype)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"Stored(shape={self.shape}, dtype={self.dtype})"

    def __getitem__(self, at: Any) -> Float[np.ndarray, "..."]:
        both = at if isinstance(at, tuple) else (at,)
        rows, columns = (*both, slice(None), slice(None))[:2]
        if not isinstance(rows, slice) or not isinstance(columns, slice):
            raise ValueError(f"a stored matrix is read by slices, k[a:b, c:d], got {shown(at)}")
        (r0, r1, dr), (c0, c1, dc) = rows.indices(self.shape[0]), columns.indices(self.shape[1])
        if dr < 1 or dc < 1:
            raise ValueError(f"slices of a stored matrix go forward, got {shown(at)}")
        found = np.empty((max(r1 - r0, 0), max(c1 - c0, 0)), self.dtype)
        for down, across, values in self.parts((r0, r1), (c0, c1)):
            found[down.start - r0 : down.stop - r0, across.start - c0 : across.stop - c0] = values
        return found[::dr, ::dc]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Float[np.ndarray, "r c"]:
        found = self[:, :]
        return found if dtype is None else found.astype(dtype)

    def parts(
        self, rows: tuple[int, int] | None = None, columns: tuple[int, int] | None = None
    ) -> Iterator[tuple[slice, slice, Float[np.ndarray, "r c"]]]:
        """Yield the block tile by tile: its rows, its columns, counted in the block, and values."""
        (r0, r1), (c0, c1) = rows or (0, self.shape[0]), columns or (0, self.shape[1])
        for down in self._cuts(self.rows[0] + r0, self.rows[0] + r1):
            for across in self._cuts(self.columns[0] + c0, self.columns[0] + c1):
                above = down[0] // self.tile <= across[0] // self.tile
                one, two = (down, across) if above else (across, down)
                values = self._read(one, two)
                values = values if above else values.T
                i, j = self.rows[0], self.columns[0]
                yield slice(down[0] - i, down[1] - i), slice(across[0] - j, across[1] - j), values

    def upper(self) -> Iterator[tuple[slice, slice, Float[np.ndarray, "r c"]]]:
        """Yield the parts on the diagonal and above it, of a block that is square and symmetric."""
        for down in self._cuts(*self.rows):
            for across in self._cuts(down[0], self.rows[1]):
                values = self._read(down, across)
                i = self.rows[0]
                yield slice(down[0] - i, down[1] - i), slice(across[0] - i, across[1] - i), values

    def __matmul__(self, b: Any) -> Float[np.ndarray, "..."]:
        """Return the product, summed in float64; each tile is read once and used in both places."""
        b = np.asarray(b, np.float64)
        found = np.zeros((self.shape[0], *b.shape[1:]))
        if self.rows != self.columns:
            for down, across, values in self.parts():
                found[down] += values.astype(np.float64) @ b[across]
            return found
        for down, across, values in self.upper():
            wide = values.astype(np.float64)
            found[down] += wide @ b[across]
            if down.start != across.start:
                found[across] += wide.T @ b[down]
        return found

    def _read(
        self, rows: tuple[int, int], columns: tuple[int, int]
    ) -> Float[np.ndarray, "rows columns"]:
        """Return a part of one tile.

        **Raises:** `ValueError` for a tile that does not match its checksum, or is missing.
        """
        try:
            found = np.asarray(self.array[slice(*rows), slice(*columns)])
            if np.isnan(found).all():  # zarr's fill value; no kernel that is computed is NaN
                raise FileNotFoundError("it is lost")
            return found
        except Exception as error:  # whatever a damaged file makes zarr say
            i, j = rows[0] // self.tile, columns[0] // self.tile
            raise ValueError(
                f"tile ({i}, {j}) of {self.array.store_path} is damaged ({explain(error)}); call "
                "kernels.gram again with the same arguments, which computes it anew"
            ) from error

    def diagonal(self) -> Float[np.ndarray, " rows"]:
        """Return the diagonal of a block that has the same rows and columns."""
        return np.concatenate([np.diagonal(self[slice(*a), slice(*a)]) for a in self._own_cuts()])

    def _own_cuts(self) -> list[tuple[int, int]]:
        return [(a - self.rows[0], b - self.rows[0]) for a, b in self._cuts(*self.rows)]

    def _cuts(self, start: int, stop: int) -> list[tuple[int, int]]:
        edges = [start, *range((start // self.tile + 1) * self.tile, stop, self.tile), stop]
        return [(a, b) for a, b in itertools.pairwise(edges) if a < b]


def computed(
    network: Network,
    how: How,
    inputs: Set,
    key: Any,
    path: Path,
    run: Block,
    progress: bool | None,
) -> dict[str, Any]:
    """Return the arrays of the Gram matrix at `path`, after computing what is not there yet.

    **Raises:** `ValueError` for a store that holds something else, is in use, or runs out of space.
    """
    names = how.names(tileable.exact(network))
    try:
        kind = np.dtype(inputs.dtype).newbyteorder("=")
        if kind.name not in ("float16", "float32", "float64"):
            raise TypeError
    except TypeError:
        raise ValueError(
            f"a store keeps float16, float32 or float64, got inputs of {inputs.dtype}"
        ) from None
    whole, contents = _content(inputs)
    inputs = inputs._replace(contents=contents)
    facts = _facts(network, how, inputs, key, run) | {"values of the inputs": whole}
    work = tiles.steps(inputs.tiles)
    done: set[int] = set()
    said = ("kernel", "writing")
    at = Folder(path, (HEADER, facts), own=OWN, work=said, differs=_differs, readable=True)
    with at, _room(at.path, len(work), done):
        arrays = _arrays(at.path, "a" if at.locked else "r", names, inputs, kind)
        done |= _done(at.path / DONE, work, arrays)
        left = [k for k in range(len(work)) if k not in done]
        if left and not at.locked:
            raise ValueError(
                f"{at.path} can only be read, and {len(left)} of {len(work)} pieces are not there; "
                "call where it can be written"
            )
        if left:
            share = len(left) / len(work)
            _check_room(at.path, share * len(names) * inputs.total**2 * kind.itemsize / 2)
            with bar("tiles", len(left), progress) as tick, (at.path / DONE).open("ab") as log:
                for k in left:
                    step = tiles.computed_step(run, key, inputs, work[k], names, kind)
                    for (down, across), values in step:
                        for name, value in values.items():
                            arrays[name][down, across] = value
                    done.add(k)
                    log.write(b"%d\n" % k)
                    log.flush()
                    os.fsync(log.fileno())
                    tick.replicate()
    return arrays


def _facts(network: Any, how: How, inputs: Set, key: Any, run: Block) -> dict[str, Any]:
    """Return what the numbers depend on: that a store must agree with."""
    n = inputs.tile
    x = jax.ShapeDtypeStruct((n, inputs.tokens, inputs.parts[0].shape[2]), _wide(inputs))
    mask = jax.ShapeDtypeStruct((n, inputs.tokens), bool)
    program = jax.make_jaxpr(run)(key, x, mask, x, mask)
    return {
        "network": re.sub(r" at 0x[0-9a-f]+", "", repr(network)),
        "key": None if key is None else np.asarray(jax.random.key_data(key)).tolist(),
        "options": how._asdict(),
        "inputs": [part.shape[0] for part in inputs.parts],
        "tile": n,
        "dtype": str(np.dtype(inputs.dtype)),
        "checksums": "crc32c",
        "version of the computation": program_hash(program),
    }


def _differs(name: str, was: Any, now: Any) -> str | None:
    if name in ("values of the inputs", "version of the computation"):
        return f"with other {name}"
    was, now = _apart(str(was), str(now))
    return f"with {name} {was}, this one has {name} {now}"


def _apart(was: str, now: str) -> tuple[str, str]:
    """Return two texts, shortened so that the place where they begin to differ is visible."""
    if max(len(was), len(now)) <= LONG:
        return was, now
    same = next((i for i, (a, b) in enumerate(zip(was, now, strict=False)) if a != b), len(was))
    start = max(0, min(same - LONG // 4, max(len(was), len(now)) - LONG))
    cut = lambda s: ("... " * (start > 0) + s[start : start + LONG]).strip()
    more = lambda s: " ..." if len(s) > start + LONG else ""
    return cut(was) + more(was), cut(now) + more(now)


def _wide(inputs: Set) -> Any:
    return inputs.tile_at(0)[0].dtype


def _content(inputs: Set) -> tuple[str, tuple[bytes, ...]]:
    """Return a hash of all inputs, which are read and checked here once, and those of the tiles."""
    bounds = map(inputs.bounds, range(inputs.tiles))
    contents = tuple(tiles.content(*inputs.read(at.start, at.stop)) for at in bounds)
    return hashlib.sha256(b"".join(contents)).hexdigest()[:16], contents


def _done(log: Path, work: list[Step], arrays: dict[str, Any]) -> set[int]:
    """Return the numbers of the steps whose tiles are all there and match their checksums.

    Anything else in the log is dropped: half a line, or a step whose tile was cut, changed or lost.
    """
    if not log.exists():
        return set()

    def intact(array: Any, i: int, j: int) -> bool:
        try:
            return (log.parent / array.name.strip("/") / "c" / str(i) / str(j)).is_file() and bool(
                array.blocks[i, j].size
            )
        except Exception:  # whatever a damaged file makes zarr say
            return False

    found = log.read_bytes()
    lines = found.rpartition(b"\n")[0].split()
    said = sorted({int(line) for line in lines if line.isdigit() and int(line) < len(work)})
    done = [
        k for k in said if all(intact(a, *at) for a in arrays.values() for at in work[k].places)
    ]
    kept = [f"{k}\n" for k in done]
    if sorted(found.splitlines(keepends=True)) != sorted(line.encode() for line in kept):
        with writing(log.parent):
            write_atomically(log, "".join(kept))
    return set(done)


def _arrays(
    path: Path, mode: Literal["a", "r"], names: tuple[str, ...], inputs: Set, dtype: np.dtype
) -> dict[str, Any]:
    """Open the arrays of a store; mode "a" makes them where they are not there yet, "r" reads."""
    try:
        import zarr
        import zarr.codecs
    except ImportError:
        raise ValueError(
            'a store is written by zarr, which is not installed: pip install "theorykit[store]"'
        ) from None

    shape, chunks = (inputs.total,) * 2, (inputs.tile,) * 2
    try:
        group = zarr.open_group(str(path), mode=mode, zarr_format=3)
        make = lambda name: group.create_array(
            name,
            shape=shape,
            chunks=chunks,
            dtype=dtype,
            compressors=[zarr.codecs.Crc32cCodec()],
            fill_value=np.nan,
        )
        return {name: group[name] if name in group else make(name) for name in names}
    except (ValueError, KeyError, TypeError) as error:  # what zarr says of a damaged header
        raise ValueError(
            f"{path} cannot be read as a zarr group ({explain(error)}); take a new folder"
        ) from error


def _free(path: Path) -> int:
    return shutil.disk_usage(path).free


def _check_room(path: Path, needed: float) -> None:
    free = _free(path)
    if needed + SPARE > free:
        raise ValueError(
            f"the tiles and their log take {(needed + SPARE) / 2**20:,.1f} MiB, and {path} has "
            f"{free / 2**20:,.1f} MiB left"
        )


@contextlib.contextmanager
def _room(path: Path, total: int, done: set[int]) -> Iterator[None]:
    """Say in a sentence that what is written has found no room; what was written stays."""
    try:
        yield
    except OSError as error:
        raise ValueError(
            f"{path} cannot be written ({error.strerror}): {len(done)} of {total} pieces are kept; "
            "call again once it can"
        ) from error

"""A folder with the last two checkpoints of a fit, and the configuration that they belong to.

    config.json     what the numbers depend on
    checkpoints/    Orbax: a folder for each step, renamed into place when all of it is written
    history.json    the history, when the fit is over
    lock            one process at a time

A checkpoint holds the state of all seeds and the history up to it. It is written while the next
chunk runs. A chunk that ends before the previous checkpoint is written gets none, unless it is the
last. Of several processes that train together, only the first has the folder.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Shaped

from theorykit.common.folders import Folder
from theorykit.networks.training._history import History
from theorykit.networks.training._state import State
from theorykit.networks.training._together import agreed, is_first

Saved = Shaped[Array | np.ndarray, "..."]


class Checkpoints(Folder):
    """An open folder; a context manager.

    **Arguments:** `path`: a new or empty folder, or an earlier fit's; `config`: compared with the
    earlier fit's.

    **Raises:** `ValueError` if another process has the folder open, it belongs to another
    configuration, or it holds something else.
    """

    def __init__(self, path: str | Path, config: Mapping[str, Any]):
        super().__init__(
            path,
            ("config.json", config),
            own=["checkpoints", "history.json"],
            work=("fit", "training"),
            differs=_another,
        )
        try:
            import orbax.checkpoint as ocp  # takes seconds

            self._args = ocp.args
            # In a thread of its own, where a Ctrl-C cannot interrupt Orbax half way.
            self._writer = ThreadPoolExecutor(1)
            self._writing: Future | None = None
            checkpoints = self.path / "checkpoints"
            checkpoints.mkdir(exist_ok=True)
            options = ocp.CheckpointManagerOptions(
                max_to_keep=2,
                enable_async_checkpointing=False,
                cleanup_tmp_directories=True,
                create=False,
                multiprocessing_options=_alone(ocp.options.MultiprocessingOptions),
            )
            self._manager = ocp.CheckpointManager(checkpoints, options=options, item_names=("fit",))
        except BaseException:
            super().close()
            raise

    def newest(self, like: State) -> tuple[int, State, list[Saved]] | None:
        """Return step, state and history of the newest checkpoint that can be read, or None.

        **Arguments:** `like`: a state of the same structure.

        **Raises:** `ValueError` if there are checkpoints and none can be read.
        """
        steps = sorted(self._manager.all_steps(), reverse=True)
        for place, step in enumerate(steps):
            try:
                args = self._args.Composite(fit=self._args.StandardRestore())
                saved = self._manager.restore(step, args=args)["fit"]
                state = _unflatten(saved["state"], like)
            except Exception as error:  # whatever a damaged file makes Orbax say
                damage = error
                continue
            for damaged in steps[:place]:  # they will be made again
                self._manager.delete(damaged)
            return step, state, saved["history"]
        if steps:
            raise ValueError(
                f"no checkpoint in {self.path} can be read ({damage}); take a new folder."
            ) from damage
        return None

    def busy(self) -> bool:
        """Return whether a checkpoint is being written."""
        return self._writing is not None and not self._writing.done()

    def save(self, step: int, state: State, history: Sequence[Saved]) -> None:
        """Begin to write a checkpoint, once the previous one is written.

        **Arguments:** `step`: how many steps were made; `history`: arrays with an entry for each
        chunk.
        """
        tree = {"state": _flatten(state), "history": [np.array(a) for a in history]}
        args = self._args.Composite(fit=self._args.StandardSave(tree))
        self.finish()
        self._writing = self._writer.submit(self._manager.save, step, args=args, force=True)

    def finish(self) -> None:
        """Wait until what was begun is on the disk.

        **Raises:** `ValueError` if it cannot be written.
        """
        if self._writing is not None:
            begun, self._writing = self._writing, None
            try:
                begun.result()
            except Exception as error:  # whatever a full disk makes Orbax say
                why = " ".join(str(error).split())[:300]
                raise ValueError(
                    f"no checkpoint can be written in {self.path} ({why}); those before are kept, "
                    "and the same call goes on from the last one once there is room."
                ) from error

    def end(self, history: History) -> None:
        """Finish, and write the history of a fit that is over."""
        self.finish()
        history.save(self.path / "history.json")

    def close(self) -> None:
        """Finish, and release the folder."""
        try:
            self._writer.shutdown()
            self._manager.close()
        finally:
            super().close()


def _alone(options: Any) -> Any:
    """Return options that stop Orbax waiting for other processes, which know nothing of it."""
    own = jax.process_index()
    if jax.process_count() == 1:
        return options()
    name = f"process_{own}"
    return options(primary_host=own, active_processes={own}, barrier_sync_key_prefix=name)


class Shared:
    """The folder of several processes: like `Checkpoints`, which only the first of them has.

    All of them call the same methods, and all raise what the first one raises.
    """

    def __init__(self, path: str | Path, config: Mapping[str, Any]):
        self._own: Any = None

        def opened() -> None:
            self._own = Checkpoints(path, config)

        agreed(opened)

    def newest(self, like: State) -> tuple[int, State, list[Saved]] | None:
        """Return what the first process has read."""

        def read() -> tuple[int, list[Saved], list[Saved]] | None:
            found = self._own.newest(like)
            if found is None:
                return None
            step, state, history = found
            return step, [*_flatten(state)], history

        found = agreed(read)
        return found and (found[0], _unflatten(found[1], like), found[2])

    def busy(self) -> bool:
        """Return whether a checkpoint is being written."""
        return agreed(lambda: self._own.busy())

    def save(self, step: int, state: State, history: Sequence[Saved]) -> None:
        """Begin to write a checkpoint."""
        agreed(lambda: self._own.save(step, state, history))

    def finish(self) -> None:
        """Wait until what was begun is on the disk."""
        agreed(lambda: self._own.finish())

    def end(self, history: History) -> None:
        """Finish, and write the history of a fit that is over."""
        agreed(lambda: self._own.end(history))

    def close(self) -> None:
        """Release the folder without telling the other processes: an error may be ending them."""
        if is_first() and self._own is not None:
            self._own.close()


def _another(name: str, was: Any, now: Any) -> str | None:
    """Return the message for a fit other than the folder's."""
    if name == "steps" and isinstance(was, int) and now > was:
        return (
            f"of {was} steps, this one has {now} (to train on, call fit with steps={was}, which "
            f"returns at once, and give what it returns as start= of a fit of {now - was} steps)"
        )
    if name != "program":
        return None
    return "with another program (make, task, optimizer, stop or a library is not what it was)"


def _is_key(leaf: Array | jax.ShapeDtypeStruct) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _impl(dtype: Any) -> str:
    """Return the name of the generator whose keys have this dtype."""
    made = lambda name: jax.eval_shape(lambda: jax.random.key(0, impl=name)).dtype
    return next(name for name in ("threefry2x32", "rbg", "unsafe_rbg") if made(name) == dtype)


def _flatten(state: State) -> list[np.ndarray]:
    """Return a state's arrays as copies on the host."""
    leaves = jax.tree.leaves(state)
    raw = [jax.random.key_data(leaf) if _is_key(leaf) else leaf for leaf in leaves]
    return [np.array(leaf) for leaf in raw]


def _unflatten(leaves: list[Saved], like: State) -> State:
    shapes, tree = jax.tree.flatten(like)
    wrap = lambda leaf, shape: (
        jax.random.wrap_key_data(jnp.asarray(leaf), impl=_impl(shape.dtype))
        if _is_key(shape)
        else np.asarray(leaf, shape.dtype)
    )
    return jax.tree.unflatten(tree, [wrap(a, s) for a, s in zip(leaves, shapes, strict=True)])

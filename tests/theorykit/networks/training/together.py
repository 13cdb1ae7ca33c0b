"""Fits over a mesh of four devices: of one process, which keeps them, or of two, which compare.

python together.py FOLDER                     one process of four devices
python together.py FOLDER ADDRESS NUMBER      one of two processes of two devices
"""

import pickle
import sys
from pathlib import Path

import jax
import numpy as np
import optax
import pytest
from flax import nnx
from problems import Tiny, small

from theorykit.networks import training

FOLDER = Path(sys.argv[1])
TWO = len(sys.argv) > 2
if TWO:
    jax.distributed.initialize(sys.argv[2], 2, int(sys.argv[3]))
FIRST = jax.process_index() == 0
assert len(jax.devices()) == 4
assert len(jax.local_devices()) == (2 if TWO else 4)


def over(**shape):
    return jax.sharding.Mesh(np.array(jax.devices()).reshape(*shape.values()), tuple(shape))


class Dropped(Tiny):
    """A network with random numbers of its own, so that keys are part of the state."""

    def __init__(self, rngs):
        super().__init__(rngs)
        self.dropout = nnx.Dropout(0.2, rngs=rngs)

    def __call__(self, x):
        return self.dropout(super().__call__(x))


SHARED = dict(seeds=4, batch=8, steps=12, every=4)
X, Y = np.arange(8).reshape(8, 1) % 5, np.ones((8, 1, 5), "f4")
FITS = {
    "data": dict(mesh=over(data=4, seed=1)),
    "seeds": dict(
        mesh=over(data=1, seed=4),
        make=Dropped,
        problem=training.OnData(X, Y, minibatch=4),
        stop=training.reaches("loss", 0.5, below=True),
    ),
}


def numbers(fit):
    """All numbers of a fit, as this process has them."""
    wide = lambda a: (
        jax.random.key_data(a) if jax.dtypes.issubdtype(a.dtype, jax.dtypes.prng_key) else a
    )
    return [*map(np.asarray, map(wide, jax.tree.leaves(fit.state))), *fit.history.values.values()]


fits = {name: small(**SHARED | options) for name, options in FITS.items()}
fits["start"] = small(**SHARED | FITS["data"], start=fits["data"])
assert fits["data"].network(3)(X[0]).shape == (1, 5)
assert (fits["data"].stopped_at == -1).all()
found = {name: numbers(fit) for name, fit in fits.items()}

# A fit that one process began and paused goes on in two, to the numbers of one that never paused.
KEPT = SHARED | dict(steps=40, folder=FOLDER / "fit", mesh=over(data=2, seed=2))
if not TWO:
    with pytest.raises(training.Paused):
        small(**KEPT, seconds=0)
    found["kept"] = numbers(small(**KEPT | dict(folder=FOLDER / "whole")))
    (FOLDER / "found").write_bytes(pickle.dumps(found))
    sys.exit()
with pytest.raises(training.Paused):
    small(**KEPT, seconds=0)
with pytest.raises(training.Paused) as paused:  # the first one's clock counts
    small(**KEPT, seconds=0 if FIRST else 1e9)
assert paused.value.step == 24, paused.value.step
found["kept"] = numbers(small(**KEPT))
again = numbers(small(**KEPT))  # nothing is left to do
for name, one in pickle.loads((FOLDER / "found").read_bytes()).items():
    for a, b in zip(found[name], one, strict=True):
        if name in ("data", "start"):  # four parts of a sum, in another order
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
        else:
            assert np.array_equal(a, b), name
assert all(map(np.array_equal, again, found["kept"]))

# What goes wrong is one sentence in both.
for options, said in (
    (dict(steps=41), "with steps 40|of 40 steps, this one has 41"),
    (dict(folder=FOLDER / "found"), "cannot be the folder of a fit"),
    (dict(key=0 if FIRST else 1), r"process (1 calls|1 of 2 calls fit with key \[0, 1\], the)"),
    (dict(seconds=1.0 if FIRST else None), "process 1 (of 2 )?calls fit with"),
    (dict(folder=FOLDER / "new", optimizer=optax.sgd(np.inf)), "not finite after step"),
    (
        dict(mesh=jax.sharding.Mesh(np.array(jax.devices()[:2]).reshape(1, 2), ("data", "seed"))),
        "mesh has devices" if not FIRST else "nothing",
    ),
):
    if said != "nothing":
        with pytest.raises(ValueError, match=said):
            small(**KEPT | options)
print("the same numbers")

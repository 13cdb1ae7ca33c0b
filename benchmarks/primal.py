"""Ridge regression on features: time and memory against the number of inputs.

    python benchmarks/primal.py [--inputs 2000 20000 100000] [--units 1024] [--folder DIR]

Each number of inputs has a process of its own, which fits `kernels.primal_ridge` to inputs on disk
that are read in chunks, on the features of one-layer softmax attention and an MLP of random hidden
units, and predicts at 1,000 others. `peak_mib` is the most memory that the process held at any
time, the libraries and what it has compiled included, and `base_mib` what it held after a fit to
one chunk; of the file there is never more than a chunk. `exponent` is the least-squares slope of
the logarithms, with the least and the largest slope between neighbours in brackets. `apart` is how
far the predictions of the first 500 inputs are from those of `ridge` with the Gram matrix of the
same features.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from _alone import alone, fitted, peak
from _timing import report

OPTIONS = dict(tokens=16, features=8, draws=64, units=1024, chunk=1000, ridge=0.1)
TEST, DENSE = 1000, 500


class OnDisk:
    """Inputs in a file, of which a slice is read where it is asked for, and nothing else."""

    dtype = np.dtype(np.float32)

    def __init__(self, path: Path, shape: tuple[int, ...]):
        """Keep where they are."""
        self.path, self.shape = path, shape

    def __getitem__(self, at: slice) -> Any:
        start, stop, _ = at.indices(self.shape[0])
        each = int(np.prod(self.shape[1:]))
        read = np.fromfile(
            self.path, self.dtype, max(stop - start, 0) * each, offset=4 * start * each
        )
        return read.reshape(-1, *self.shape[1:])


def made(path: Path, n: int, at: argparse.Namespace) -> tuple[OnDisk, Any]:
    """Return inputs that were written in parts, and their targets."""
    rng, targets = np.random.default_rng(0), []
    with path.open("wb") as file:
        for i in range(0, n, at.chunk):
            size = (min(at.chunk, n - i), at.tokens, at.features)
            part = rng.normal(size=size).astype(np.float32)
            part.tofile(file)
            targets.append(target(part))
    return OnDisk(path, (n, at.tokens, at.features)), np.concatenate(targets)


def target(x: Any) -> Any:
    """Return the sign of the sum of the tokens' first features."""
    return np.sign(x[:, :, 0].sum(1))


def one(at: argparse.Namespace) -> dict[str, Any]:
    """Return the seconds and memory of one regression, in this process."""
    import jax

    from theorykit import kernels

    n = at.inputs[0]
    x, y = made(Path(at.folder) / "x", n, at)
    other = np.random.default_rng(1).normal(size=(TEST, at.tokens, at.features)).astype(np.float32)
    network = kernels.InfiniteTransformer()
    drawn = dict(key=jax.random.key(0), draws=at.draws, units=at.units)
    how = dict(ridge=at.ridge, chunk=at.chunk, progress=False, **drawn)
    kernels.primal_ridge(network, x[: at.chunk], y[: at.chunk], **how).predict(other)
    base, begun = peak(), time.perf_counter()
    fit = kernels.primal_ridge(network, x, y, **how)
    fitted = time.perf_counter()
    predicted = fit.predict(other)
    done, most = time.perf_counter(), peak()
    few = kernels.primal_ridge(network, x[:DENSE], y[:DENSE], **how).predict(other)
    phi, cross = (np.asarray(network.features(a, **drawn), float) for a in (x[:DENSE], other))
    dense = cross @ phi.T @ np.linalg.solve(phi @ phi.T + at.ridge * np.eye(DENSE), y[:DENSE])
    return dict(
        inputs=n,
        fit_seconds=fitted - begun,
        predict_seconds=done - fitted,
        base_mib=base,
        peak_mib=most,
        grown_mib=most - base,
        input_mib=x.path.stat().st_size / 2**20,
        accuracy=float((np.sign(predicted) == target(other)).mean()),
        residual=fit.residual,
        condition=fit.condition,
        apart=float(np.abs(few - dense).max() / np.abs(dense).max()),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, nargs="+", default=[2000, 20000, 100000])
    for name, value in OPTIONS.items():
        parser.add_argument(f"--{name}", type=type(value), default=value)
    parser.add_argument("--folder", help="where inputs are written, one number of them at a time")
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    at = parser.parse_args()
    if at.alone:
        print(json.dumps(one(at)))
        return
    options = {name: getattr(at, name) for name in OPTIONS}
    rows = alone(__file__, at.inputs, at.folder, options)
    found = fitted(rows, "fit_seconds", "peak_mib")
    report("primal", exponent=found, rows=rows, **options)


if __name__ == "__main__":
    main()

"""Gram matrices on disk: time and memory against the number of inputs.

    python benchmarks/tiles.py [--inputs 1250 2500 5000 10000 20000] [--draws 32] [--folder DIR]

Each number of inputs has a process of its own, which writes the NNGP of one-layer softmax attention
in tiles (`kernels.gram(..., store=)`), standard errors included, and then solves a ridge regression
from them by conjugate gradients. `peak_mib` is the most memory that the process held at any time,
the libraries included, and `base_mib` what it held before. `exponent` is the least-squares slope of
the logarithms, with the least and the largest slope between neighbours in brackets; `grown_mib` is
`peak_mib` less `base_mib`. 20,000 inputs are a matrix of 1.6 GB of float32; it is to run in 2 GiB
(`fits`).
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from _alone import alone, fitted, peak
from _timing import report

INPUTS = [1250, 2500, 5000, 10_000, 20_000]
LIMIT = 2048  # MiB


def one(at: argparse.Namespace) -> dict[str, Any]:
    """Return the seconds and memory of one Gram matrix, in this process."""
    import jax

    from theorykit import kernels

    n = at.inputs[0]
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, at.tokens, at.features)).astype(np.float32)
    y = np.sign(x[:, -1, 0] * x[:, 0, 0])
    network, key = kernels.InfiniteTransformer(), jax.random.key(0)
    how = dict(key=key, draws=at.draws, replicates=2, get="nngp")
    network(x[:64], **how)
    base, begun = peak(), time.perf_counter()
    k = kernels.gram(network, x, store=at.folder, progress=False, **how)
    written, between = time.perf_counter(), peak()
    found = kernels.ridge(k.nngp, y, k.nngp[:100], ridge=at.ridge, tolerance=1e-6)
    return dict(
        inputs=n,
        gram_seconds=written - begun,
        solve_seconds=time.perf_counter() - written,
        base_mib=base,
        gram_peak_mib=between,
        peak_mib=peak(),
        grown_mib=peak() - base,
        disk_mib=sum(p.stat().st_size for p in Path(at.folder).rglob("*") if p.is_file()) / 2**20,
        residual=found.residual,
        condition=float(found.condition),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, nargs="+", default=INPUTS)
    parser.add_argument("--tokens", type=int, default=16)
    parser.add_argument("--features", type=int, default=8)
    parser.add_argument("--draws", type=int, default=32)
    parser.add_argument("--ridge", type=float, default=0.1)
    parser.add_argument("--folder", help="where stores are written, one at a time")
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    at = parser.parse_args()
    if at.alone:
        print(json.dumps(one(at)))
        return
    options = dict(tokens=at.tokens, features=at.features, draws=at.draws, ridge=at.ridge)
    rows = alone(__file__, at.inputs, at.folder, options)
    fits = {row["inputs"]: row["peak_mib"] < LIMIT for row in rows}
    found = fitted(rows, "gram_seconds", "solve_seconds", "peak_mib", "grown_mib", "disk_mib")
    report("tiles", exponent=found, fits=fits, rows=rows, **options)


if __name__ == "__main__":
    main()

"""Convergence of finite transformers to their kernels with width, at initialisation and trained.

    python benchmarks/widths.py [--widths 4 8 16 32] [--seeds 16384] [--trained-seeds 128]
        [--parts initial trained] [--plot FOLDER]

Width n: D = d_k = H = n, NTK parameterisation. `initial`: two inputs of two tokens, so that the
infinite-width kernels come from quadrature; depth 1 and 2, two activations, causal and not, with
readout from the mean over tokens. `bias` is the distance of the mean over networks, corrected for
noise, and `spread` the root mean square distance of a network to the mean, in the Frobenius norm
relative to the kernel. `trained`: induction heads and sorting as regressions, 12 inputs at one
length; full-batch gradient descent against the NTK predictor after the same number of steps, on new
inputs of the same length and on longer ones. `single` is the distance of one network (initial
outputs subtracted), `bias` that of the mean.
"""

import argparse
import functools
import itertools
import time
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from _timing import report

from theorykit.kernels import InfiniteTransformer, Kernel, oracle
from theorykit.networks import compare, tasks
from theorykit.networks.nets import Transformer

X = np.array([[[1.0, 0.2], [-0.5, 0.8]], [[0.6, -1.1], [0.3, 0.9]]], np.float32)
TASKS = {"induction": tasks.InductionHead(4), "sorting": tasks.Sorting(8)}
LENGTHS = {"induction": (4, 4, 8), "sorting": (2, 2, 4)}  # trained, tested, tested


def network(width: int, rngs: Any, **options: Any) -> Transformer:
    return Transformer(width=width, heads=width, head_size=width, rngs=rngs, **options)


def line(curve: compare.Curve) -> dict[str, Any]:
    exponent = curve.exponent
    return dict(
        values=curve.values.tolist(),
        stderr=curve.stderr.tolist(),
        resolved=curve.resolved.tolist(),
        exponent=exponent.value,
        interval=[exponent.low, exponent.high],
        excludes_zero=bool(exponent.high < 0),
    )


def initial(at: argparse.Namespace, key: Any) -> dict[str, Any]:
    found = {}
    for depth, activation, causal in itertools.product((1, 2), ("relu", "erf"), (False, True)):
        options = dict(depth=depth, activation=activation, causal=causal, readout="mean")
        quadrature = lambda x1, x2=None, options=options: Kernel(
            *oracle.kernel(InfiniteTransformer(**options), x1, x2, order=24)[:2]
        )
        make = functools.partial(network, features=2, **options)
        gap = compare.kernels(make, quadrature, X, widths=at.widths, seeds=at.seeds, key=key)
        name = f"depth {depth}, {activation}{', causal' if causal else ''}"
        names = ("nngp_bias", "nngp_spread", "ntk_bias", "ntk_spread")
        found[name] = {n: line(getattr(gap, n)) for n in names}
        drawn(gap, at.plot, name)
    return found


def trained(at: argparse.Namespace, key: Any) -> dict[str, Any]:
    found = {}
    for name, task in TASKS.items():
        length, *tested = LENGTHS[name]
        x, y = tasks.regression(task, jax.random.key(1), 12, length)
        scale = jnp.sqrt(x.shape[-1])  # tokens of size one after the embedding
        make = functools.partial(network, features=x.shape[-1], activation="erf")
        kernel = functools.partial(
            InfiniteTransformer(activation="erf"), key=key, draws=8192, sampler="sobol"
        )
        for n in tested:
            x_test, _ = tasks.regression(task, jax.random.key(2), 8, n)
            gap = compare.gradient_descent(
                make,
                kernel,
                scale * x,
                y,
                scale * x_test,
                steps=(10, 100),
                widths=at.widths,
                seeds=at.trained_seeds,
                key=key,
            )
            lengths = f"{name}, trained at {length}, tested at {n}"
            for steps, bias, single in zip(gap.steps, gap.bias, gap.single, strict=True):
                found[f"{lengths}, {steps} steps"] = dict(bias=line(bias), single=line(single))
            drawn(gap, at.plot, lengths)
    return found


def drawn(gap: Any, folder: Path | None, name: str) -> None:
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        gap.plot(folder / f"{name.replace(', ', '-').replace(' ', '_')}.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--widths", type=int, nargs="+", default=[4, 8, 16, 32])
    parser.add_argument("--seeds", type=int, default=16384)
    parser.add_argument("--trained-seeds", type=int, default=128)
    parser.add_argument("--parts", nargs="+", default=["initial", "trained"])
    parser.add_argument("--plot", type=Path, help="folder for plots (needs matplotlib)")
    at = parser.parse_args()
    key, results = jax.random.key(0), {}
    for part, run in (("initial", initial), ("trained", trained)):
        if part in at.parts:
            start = time.perf_counter()
            results[part] = run(at, key)
            results[f"{part}_seconds"] = time.perf_counter() - start
    report("widths", widths=at.widths, seeds=at.seeds, trained_seeds=at.trained_seeds, **results)


if __name__ == "__main__":
    main()

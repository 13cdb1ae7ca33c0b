"""Performance on an accelerator: one Markdown table, in at most eight minutes.

    python benchmarks/accelerator.py [--small] [--minutes 8] [--file TABLE.md]

For anyone with a GPU or a TPU. It runs on JAX's default device and names it.

- Kernels of every mechanism in float32, compared with the CPU in float64 on the same Sobol points:
  the largest difference, relative to the largest entry, and the same for the CPU in float32.
- The Gram matrix of one-token features: its time relative to a matrix product of its size, both in
  full precision; the product's rate; and its rate at the backend's default precision.
- Training: steps per second, compared with PyTorch if it can be imported, and the time of 16 seeds
  together over 16 in turn.
- Finite networks against their kernel: the bias of the NTK at each width.

A part starts only while a quarter of the time is left. `--small` does the same at CPU sizes, to
check that it runs; its numbers mean nothing.
"""

import argparse
import functools
import importlib.util
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import train
from _timing import alternate, spread

import theorykit
from theorykit.common.devices import on_cpu
from theorykit.kernels import InfiniteTransformer, attention
from theorykit.networks import compare
from theorykit.networks.nets import Transformer


class Row(NamedTuple):
    """A row of the table."""

    what: str
    sizes: str
    found: str


class Sizes(NamedTuple):
    """The sizes of all parts."""

    inputs: int  # of kernels that are compared
    rows: int  # of the Gram matrix
    draws: int
    steps: int
    batch: int
    length: int
    widths: tuple[int, ...]
    seeds: int
    rounds: int


FULL = Sizes(32, 8192, 256, 400, 64, 64, (16, 32, 64, 128, 256), 64, 5)
SMALL = Sizes(4, 128, 16, 4, 4, 8, (4, 8), 4, 2)

FORMS = {
    "features": dict(readout="last"),
    "joint draws": dict(readout="mean", causal=True),
    "pairwise draws": dict(readout="mean", residual=True, layer_norm=True),
}


def kernels(at: Sizes) -> Iterator[Row]:
    x = np.random.default_rng(0).normal(size=(at.inputs, 8, 6))
    for name in attention.NAMES:
        for form, options in FORMS.items():
            net = InfiniteTransformer(attention=name, **options)
            draw = "pairwise" if form.startswith("pairwise") else "joint"
            if attention.NAMES[name].exact and draw == "pairwise":
                continue
            run = functools.partial(
                net, key=jax.random.key(0), draws=512, replicates=2, sampler="sobol", draw=draw
            )
            with on_cpu():
                single = run(x.astype(np.float32))
                with jax.enable_x64(True):
                    exact = run(x)
            here = run(x.astype(np.float32))
            found = []
            for each in ("nngp", "ntk"):
                right = np.asarray(getattr(exact, each))
                off = lambda k, each=each, right=right: (
                    np.abs(np.asarray(getattr(k, each), float) - right).max() / np.abs(right).max()
                )
                found.append(f"{each} {off(here):.1e} (CPU {off(single):.1e})")
            yield Row(
                f"{name}, {form}: off by", f"{at.inputs} inputs of 8 tokens", ", ".join(found)
            )


def gram(at: Sizes) -> Iterator[Row]:
    tokens, features = 32, 64
    key = jax.random.key(0)
    x = jax.random.normal(key, (at.rows, tokens, features), jnp.float32)
    a = jax.random.normal(key, (at.rows, at.draws * features), jnp.float32)
    product = lambda precision: jax.jit(lambda a: jnp.dot(a, a.T, precision=precision))
    full, default = product("highest"), product("default")
    how = dict(key=key, draws=at.draws, replicates=1, get="nngp", draw="joint", progress=False)
    seconds = alternate(
        {
            "kernel": lambda: InfiniteTransformer()(x, **how).nngp,
            "product": lambda: full(a),
            "default": lambda: default(a),
        },
        at.rounds,
    )
    flops = 2 * at.rows**2 * at.draws * features
    rate = lambda name: f"{flops / min(seconds[name]) / 1e12:.3g} TFLOP/s"
    share = spread([p / k for p, k in zip(seconds["product"], seconds["kernel"], strict=True)])
    sizes = f"{at.rows} inputs of {tokens} tokens over {features} features, {at.draws} draws"
    between = f"{share['median']:.2f} ({share['min']:.2f} to {share['max']:.2f})"
    yield Row("Gram: product's time over the kernel's", sizes, between)
    rates = f"{rate('product')} (default precision {rate('default')})"
    yield Row("matrix product of that size", sizes, rates)


def training(at: Sizes) -> Iterator[Row]:
    has_torch = importlib.util.find_spec("torch") is not None
    options = argparse.Namespace(
        steps=at.steps, batch=at.batch, length=at.length, rounds=at.rounds, threads=0,
        torch=has_torch, torch_path=None, torch_device=torch_device() if has_torch else "cpu",
    )  # fmt: skip
    sizes = f"two layers, width 128, {at.batch} sequences of {at.length} tokens, float32"
    found = train.steps(options)
    said = f"{found['steps_a_second']['median']:.3g}"
    if has_torch:
        theirs, ratio = found["torch_steps_a_second"]["median"], found["ratio"]["median"]
        said += f" (PyTorch on {options.torch_device} {theirs:.3g}: ratio {ratio:.2f})"
    else:
        said += " (PyTorch is not installed)"
    yield Row("training: steps per second", sizes, said)
    ratio = train.seeds(options)["ratio_training"]
    yield Row(
        "16 seeds together over 16 in turn",
        f"width 64, {at.batch} sequences of {at.length} tokens",
        f"{ratio['median']:.2f} ({ratio['min']:.2f} to {ratio['max']:.2f}) of the time",
    )


def torch_device() -> str:
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def widths(at: Sizes) -> Iterator[Row]:
    x = np.random.default_rng(0).normal(size=(4, 4, 3)).astype(np.float32)
    make = lambda width, rngs: Transformer(
        width=width, heads=width, head_size=width, features=3, readout="mean", rngs=rngs
    )
    net = functools.partial(
        InfiniteTransformer(readout="mean"), key=jax.random.key(0), draws=4096, sampler="sobol"
    )
    begun = time.perf_counter()
    gap = compare.kernels(make, net, x, widths=at.widths, seeds=at.seeds, key=0)
    seconds = time.perf_counter() - begun
    bias = gap.ntk_bias
    found = [f"{v:.3g} ± {e:.1g}" for v, e in zip(bias.values, bias.stderr, strict=True)]
    yield Row(
        f"bias of the NTK at widths {', '.join(map(str, at.widths))}",
        f"{at.seeds} networks, width = heads = head size",
        f"{', '.join(found)}; {seconds:.0f} s",
    )


PARTS: dict[str, Callable[[Sizes], Iterator[Row]]] = {
    "gram": gram, "training": training, "widths": widths, "kernels": kernels,
}  # fmt: skip


LAST = 0.75
"""The share of the time after which no part starts, since none takes longer than the rest."""


def table(rows: list[Row], seconds: float) -> str:
    """Return the table, with the device's name at its head."""
    device = jax.devices()[0]
    head = (
        f"`python benchmarks/accelerator.py` on {jax.device_count()} x {device.device_kind} "
        f"({device.platform}), theorykit {theorykit.__version__}, JAX {jax.__version__}, "
        f"{seconds:.0f} s\n\n| what | sizes | found |\n|---|---|---|\n"
    )
    return head + "".join(f"| {' | '.join(row)} |\n" for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true", help="sizes for a CPU: does it run?")
    parser.add_argument("--minutes", type=float, default=8.0, help="for all of it")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--file", type=Path, help="where to write the table as well")
    at = parser.parse_args()
    rows: list[Row] = []
    begun = time.perf_counter()
    late = lambda share: time.perf_counter() - begun > share * 60 * at.minutes
    for name in at.parts:
        if late(LAST):
            rows.append(Row(name, "", "left out: no time left"))
            continue
        for row in PARTS[name](SMALL if at.small else FULL):
            rows.append(row)
            print(" | ".join(row), flush=True)
            if late(1.0):
                break
    text = table(rows, time.perf_counter() - begun)
    print(f"\n{text}")
    if at.file is not None:
        at.file.write_text(text)


if __name__ == "__main__":
    main()

"""Training: steps per second compared with PyTorch, many seeds together, and overhead.

    python benchmarks/train.py [--part steps|seeds|outside|all] [--torch] [--rounds 3]

- `steps`: a two-layer network of width 128 with 4 heads, float32, Adam, on batches of 64 sequences
  of 64 tokens. With `--torch` it takes turns with the same network in PyTorch, which must be
  importable, for example from another environment (`--torch-path V/lib/python3.11/site-packages`,
  made by `uv venv V && uv pip install --python V torch`).
- `seeds`: 16 networks of width 64 together against 16 fits in turn: whole calls, and training only,
  without the compilation in each call.
- `outside`: the share of a fit's time spent outside compiled code.
"""

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from _timing import report, spread

from theorykit.networks import nets, training

VOCABULARY = 64


class Sample(NamedTuple):
    """One example."""

    x: Any
    target: Any
    weight: Any


class Sums:
    """The sum of each symbol and the one before it, which is cheap to sample."""

    def sample(self, key: Any, length: int) -> Sample:
        """Return one example."""
        x = jax.random.randint(key, (length,), 0, VOCABULARY)
        return Sample(x, (x + jnp.roll(x, 1)) % VOCABULARY, jnp.ones(length))

    def loss(self, outputs: Any, sample: Sample) -> Any:
        """Return the cross entropy."""
        return optax.softmax_cross_entropy_with_integer_labels(outputs, sample.target).mean()

    def metrics(self, outputs: Any, sample: Sample) -> dict[str, Any]:
        """Return the accuracy."""
        return {"accuracy": (outputs.argmax(-1) == sample.target).mean()}


def network(width: int, length: int) -> Callable:
    return lambda rngs: nets.Transformer(
        width=width,
        heads=4,
        depth=2,
        vocabulary=VOCABULARY,
        outputs=VOCABULARY,
        readout="tokens",
        positions="learned",
        max_tokens=length,
        parameterisation="standard",
        norm="layer",
        residual=True,
        mlp="two",
        activation="gelu",
        rngs=rngs,
    )


def trained(at: argparse.Namespace, width: int, seeds: Any, steps: int, every: int) -> Any:
    make = network(width, at.length)
    problem = training.OnTask(Sums(), length=at.length, batch=at.batch)
    options = dict(steps=steps, every=every, seeds=seeds, progress=False)
    return training.fit(make, problem, optax.adam(1e-3), **options)


# In PyTorch -----------------------------------------------------------------------------------


def torch_steps(at: argparse.Namespace) -> Callable[[int], float]:
    """Return a function: number of steps -> seconds, of the same network in PyTorch."""
    if at.torch_path:
        sys.path.append(at.torch_path)
    try:
        import torch
        from torch import nn
        from torch.nn import functional as F
    except ImportError:
        sys.exit("--torch needs PyTorch, which is not importable here; see --torch-path in --help.")

    torch.manual_seed(0)
    if at.threads:
        torch.set_num_threads(at.threads)
    heads, width = 4, 128

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv = nn.Linear(width, 3 * width, bias=False)
            self.out = nn.Linear(width, width, bias=False)
            self.expand = nn.Linear(width, 4 * width)
            self.shrink = nn.Linear(4 * width, width)
            self.norm = nn.LayerNorm(width, elementwise_affine=False)

        def forward(self, z):
            b, t, _ = z.shape
            qkv = self.qkv(self.norm(z)).view(b, t, 3, heads, width // heads)
            q, k, v = qkv.permute(2, 0, 3, 1, 4)
            mixed = F.scaled_dot_product_attention(q, k, v)
            z = z + self.out(mixed.transpose(1, 2).reshape(b, t, width))
            return z + self.shrink(F.gelu(self.expand(self.norm(z))))

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(VOCABULARY, width)
            self.positions = nn.Parameter(torch.randn(at.length, width))
            self.blocks = nn.Sequential(Block(), Block())
            self.norm = nn.LayerNorm(width, elementwise_affine=False)
            self.head = nn.Linear(width, VOCABULARY, bias=False)

        def forward(self, x):
            return self.head(self.norm(self.blocks(self.embedding(x) + self.positions)))

    device = torch.device(at.torch_device)
    model = Network().to(device)
    adam = torch.optim.Adam(model.parameters(), lr=1e-3)

    def run(steps: int) -> float:
        begun = time.perf_counter()
        for _ in range(steps):
            x = torch.randint(VOCABULARY, (at.batch, at.length), device=device)
            y = (x + x.roll(1, 1)) % VOCABULARY
            loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
            adam.zero_grad()
            loss.backward()
            adam.step()
        loss.item()  # wait for the device
        return time.perf_counter() - begun

    run(2)
    return run


# The parts ------------------------------------------------------------------------------------


def steps(at: argparse.Namespace) -> dict[str, Any]:
    run = torch_steps(at) if at.torch else None
    ours, theirs = [], []
    for _ in range(at.rounds):
        ours.append(at.steps / trained(at, 128, 1, at.steps, at.steps).seconds.total)
        if run is not None:
            theirs.append(at.steps / run(at.steps))
    found = {"steps_a_second": spread(ours)}
    if theirs:
        ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
        found |= {"torch_steps_a_second": spread(theirs), "ratio": spread(ratios)}
    return found


def seeds(at: argparse.Namespace) -> dict[str, Any]:
    found: dict[str, list[float]] = {}
    for _ in range(at.rounds):
        for name, numbers in {"together": range(16), "one": [0]}.items():
            begun = time.perf_counter()
            seconds = trained(at, 64, numbers, at.steps, at.steps).seconds.total
            found.setdefault(f"{name}_call", []).append(time.perf_counter() - begun)
            found.setdefault(f"{name}_training", []).append(seconds)
    ratios = {}
    for part in ("call", "training"):
        # All sixteen fits do the same work, so take sixteen times the time of one.
        pairs = zip(found[f"together_{part}"], found[f"one_{part}"], strict=True)
        ratios[f"ratio_{part}"] = spread([a / (16 * b) for a, b in pairs])
    return {**{name: spread(values) for name, values in found.items()}, **ratios}


def outside(at: argparse.Namespace) -> dict[str, Any]:
    shares = []
    for _ in range(at.rounds):
        seconds = trained(at, 64, 1, at.steps, 10).seconds
        shares.append(1 - seconds.inside / seconds.total)
    return {"share_outside": spread(shares), "steps_a_chunk": 10}


PARTS = {"steps": steps, "seeds": seeds, "outside": outside}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", choices=[*PARTS, "all"], default="all")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--length", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--torch", action="store_true", help="take turns with PyTorch")
    parser.add_argument("--torch-path", help="site-packages with torch, if it is elsewhere")
    parser.add_argument("--torch-device", default="cpu", help="where PyTorch trains")
    parser.add_argument("--threads", type=int, default=0, help="for PyTorch; 0 is its default")
    at = parser.parse_args()
    chosen = PARTS if at.part == "all" else {at.part: PARTS[at.part]}
    found = {name: part(at) for name, part in chosen.items()}
    report("train", options=vars(at), **found)


if __name__ == "__main__":
    main()

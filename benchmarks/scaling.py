"""Exponents of work and time in tokens, inputs and draws, for joint and pairwise draws.

    python benchmarks/scaling.py [--tokens 8 16 32] [--inputs 4 8 16] [--draws 128 256 512]

One quantity varies while the other two stay at their second value. Each exponent is the
least-squares slope of log(work) against log(quantity); `local` are the slopes between neighbouring
values, which show where a lower-order term still matters. The work of one call is counted in three
ways:

- `plan`: the multiplications estimated by `plan.forms`, from which "auto" chooses a form;
- `products`: those of the matrix products in the traced computation, with the bodies of loops
  counted as often as they run (nothing elementwise, so no softmax and no random numbers);
- `xla`: FLOPs by JAX's `cost_analysis` of the lowered computation, elementwise ones included. XLA
  counts the body of a loop once. Pairs, and blocks of draws, are loops: `looped` says that some
  loop runs more than once; then the `xla` exponent leaves out its further runs.

`seconds` are medians over rounds, with sizes alternated; `time` is the exponent fitted in each
round and its spread. Small sizes are dominated by overhead and caches, so it may be below the
others.
"""

import argparse
import itertools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from _timing import alternate, report, spread

from theorykit import kernels
from theorykit.kernels.plan import Plan, forms


def products(jaxpr: Any) -> tuple[float, bool]:
    """Return multiplications of matrix products, and whether any loop runs more than once."""
    total, looped = 0.0, False
    for equation in jaxpr.eqns:
        name, params = equation.primitive.name, equation.params
        if name == "dot_general":
            (contracted, _), _ = params["dimension_numbers"]
            left = equation.invars[0].aval.shape
            total += equation.outvars[0].aval.size * math.prod(left[k] for k in contracted)
        if name == "while":
            raise NotImplementedError("a loop of unknown length")
        times = params["length"] if name == "scan" else 1
        for inner in jax.tree.leaves(list(params.values()), is_leaf=lambda p: hasattr(p, "eqns")):
            inner = getattr(inner, "jaxpr", inner)
            if hasattr(inner, "eqns"):
                work, loops = products(inner)
                total += times * work
                looped |= loops or (times > 1 and work > 0)
    return total, looped


def slope(sizes: list[int], values: list[float]) -> float:
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def exponent(sizes: list[int], values: list[float]) -> dict[str, Any]:
    """Return the fitted slope and those between neighbours."""
    local = [slope(sizes[k : k + 2], values[k : k + 2]) for k in range(len(sizes) - 1)]
    return dict(slope=slope(sizes, values), local=local)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=int, nargs="+", default=[8, 16, 32])
    parser.add_argument("--inputs", type=int, nargs="+", default=[4, 8, 16])
    parser.add_argument("--draws", type=int, nargs="+", default=[128, 256, 512])
    parser.add_argument("--features", type=int, default=16)
    parser.add_argument("--depth", type=int, default=1)
    parser.add_argument("--readout", choices=("last", "mean", "tokens"), default="tokens")
    parser.add_argument("--nngp", action="store_true", help="NNGP alone, without the NTK")
    parser.add_argument("--forms", nargs="+", default=["joint", "pairwise"])
    parser.add_argument("--rounds", type=int, default=3)
    at = parser.parse_args()
    varied = {"tokens": at.tokens, "inputs": at.inputs, "draws": at.draws}
    if min(map(len, varied.values())) < 2:
        parser.error("an exponent takes at least two values of each quantity")

    key = jax.random.key(0)
    net = kernels.InfiniteTransformer(depth=at.depth, readout=at.readout)
    get = ("nngp",) if at.nngp else ("nngp", "ntk")
    base = {name: sizes[1] for name, sizes in varied.items()}
    cases = {tuple((base | {name: v}).values()) for name in varied for v in varied[name]}
    contestants, work = {}, {}
    for form, (t, p, draws) in itertools.product(at.forms, sorted(cases)):
        x = jax.random.normal(key, (p, t, at.features), jnp.float32)
        how = dict(key=key, draws=draws, replicates=1, get=get, draw=form, progress=False)
        run = lambda x, how=how: net(x, **how)[: len(get)]
        plan = Plan(draws, 1, not at.nngp, form, "independent")
        traced = jax.jit(run).trace(x)
        counted, looped = products(traced.jaxpr.jaxpr)
        case = form, t, p, draws
        contestants[case] = lambda run=run, x=x: run(x)
        work[case] = dict(
            plan=forms(net, plan, p, p * (p + 1) // 2, t, at.features)[1],
            products=counted,
            xla=traced.lower().cost_analysis()["flops"],
            looped=looped,
        )
    seconds = alternate(contestants, at.rounds)

    results: dict[str, dict] = {}
    for form, (name, sizes) in itertools.product(at.forms, varied.items()):
        line = [(form, *(base | {name: v}).values()) for v in sizes]
        counts = {w: [work[case][w] for case in line] for w in ("plan", "products", "xla")}
        rounds = [[seconds[case][r] for case in line] for r in range(at.rounds)]
        medians = [spread(seconds[case])["median"] for case in line]
        results.setdefault(form, {})[name] = dict(
            **{w: exponent(sizes, values) for w, values in counts.items()},
            looped=any(work[case]["looped"] for case in line),
            time=spread([slope(sizes, r) for r in rounds])
            | {"local": exponent(sizes, medians)["local"]},
            counts=counts,
            seconds=medians,
        )
    report("scaling", **vars(at) | {"forms": results}, base=base)


if __name__ == "__main__":
    main()

"""Time to reach 1% relative RMS error of a small NNGP Gram matrix, by four estimators.

    python benchmarks/montecarlo.py [--inputs 8] [--tokens 8] [--features 8] [--target 0.01]

`joint` and `sobol` are ours (independent and Sobol draws), `conditional` the two-step sampler of
the capture paper's appendix D, and `networks` is `nt.monte_carlo_kernel_fn` on a finite network
with the same limit, built from stax: embedding, softmax attention, ReLU, two dense layers. Its
attention has an output projection that the reference network lacks; the NNGP is the same with it.
`networks` has as many outputs as its width, over which neural-tangents averages, to its advantage;
`scalar` is the same with one output, like the reference network.

The error is |K - K*| / |K*| (Frobenius, root mean square over estimates); K* is a long Sobol run in
float64, whose own error is `truth_error`. For the first three, `error` is measured at `counts`
draws, `draws` is where the fitted power law `error ~ draws^-power` meets the target, and the time
and `error_there` are measured at that number. Networks are too slow for that: `variance` is the
relative variance of the kernel of one network, `draws = variance / target^2` is what their average
would need without bias, and the time for this many is extrapolated from the measured seconds per
network. `bias` is the distance of the mean network from K* beyond its noise (zero if within the
noise), with resolution `bias_resolution`; if it exceeds the target, no number of networks is
enough. `scale` is the component of the mean network along K*, which is 1 without bias and shows
that the limit is the same. Narrower networks are cheaper for the same noise but further from the
limit: vary `--width`, `--heads` and `--head-size` to find the best choice.

Compilation is outside every time. `against_joint` are the times of the others over `joint`'s
within a round, `against_sobol` over `sobol`'s.
"""

import argparse
import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from _timing import alternate, report, spread

from theorykit import kernels

OURS = {
    "joint": {"draw": "joint"},
    "sobol": {"draw": "joint", "sampler": "sobol"},
    "conditional": {"draw": "conditional"},
}


def stax_network(width: int, heads: int, head_size: int, outputs: int) -> tuple[Any, Any]:
    """Return `init_fn` and `apply_fn` of the reference network, one block, last token."""
    from theorykit.kernels.tangents import stax

    attend = stax.GlobalSelfAttention(width, head_size, width, heads, linear_scaling=False)
    tokens_init, tokens = stax.serial(stax.Dense(width), attend)[:2]
    last_init, last = stax.serial(stax.Relu(), stax.Dense(width), stax.Dense(outputs))[:2]

    # neural-tangents compiles the evaluation of a network, not its initialisation.
    @partial(jax.jit, static_argnums=1)
    def init(key, shape):
        one, two = jax.random.split(key)
        shape, below = tokens_init(one, shape)
        shape, above = last_init(two, (shape[0], shape[2]))
        return shape, (below, above)

    return init, lambda params, x, **kw: last(params[1], tokens(params[0], x, **kw)[:, -1], **kw)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=8)
    parser.add_argument("--features", type=int, default=8)
    parser.add_argument("--target", type=float, default=0.01)
    parser.add_argument("--counts", type=int, nargs="+", default=[64, 512])
    parser.add_argument("--repeats", type=int, default=32, help="estimates at each count")
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--heads", type=int, default=32)
    parser.add_argument("--head-size", type=int, default=256)
    parser.add_argument("--networks", type=int, default=16, help="networks in a round")
    parser.add_argument("--rounds", type=int, default=5)
    return parser.parse_args()


class Truth:
    """The kernel that all methods estimate, from a long run in float64."""

    def __init__(self, net: kernels.InfiniteTransformer, x: jax.Array):
        long = dict(draws=2**15, replicates=8, get="nngp", draw="joint", sampler="sobol")
        with jax.enable_x64(True):
            k = net(np.asarray(x, float), key=jax.random.key(1), progress=False, **long)
            self.value, stderr = np.asarray(k.nngp), np.asarray(k.nngp_stderr)
        self.size = np.linalg.norm(self.value)
        self.error_of_its_own = np.linalg.norm(stderr) / self.size

    def error(self, estimates: Any) -> float:
        """Return the root mean square of the estimates' relative errors."""
        off = np.asarray(estimates, float) - self.value
        return float(np.sqrt((off**2).sum((-2, -1)).mean())) / self.size


def ours(net: kernels.InfiniteTransformer, x: jax.Array, name: str, draws: int, seed: int) -> Any:
    """Return one estimate by one of our methods."""
    how = dict(draws=draws, replicates=1, get="nngp", progress=False, **OURS[name])
    return net(x, key=jax.random.key(seed), **how).nngp


def draws_to_target(estimate: Any, truth: Truth, at: argparse.Namespace) -> dict:
    """Return the errors at the counts, and the number of draws from the fitted power law."""
    error = lambda n: truth.error([estimate(n, 2 + seed) for seed in range(at.repeats)])
    errors = [error(n) for n in at.counts]
    slope, offset = np.polyfit(np.log(at.counts), np.log(errors), 1)
    draws = max(1, math.ceil(math.exp((math.log(at.target) - offset) / slope)))
    return dict(error=errors, power=-slope, draws=draws, error_there=error(draws))


def finite(network: tuple[Any, Any], x: jax.Array, networks: int, drawn: list) -> Any:
    """Draw finite networks and collect their kernels."""
    from theorykit.kernels.tangents import nt

    last = jnp.zeros(())
    use = jax.random.key_data(jax.random.key(100 + len(drawn)))
    estimator = nt.monte_carlo_kernel_fn(*network, use, range(1, networks + 1))
    for n, mean in enumerate(estimator(x, None, "nngp"), 1):
        drawn.append(n * mean - last)
        last = n * mean
    return last


def networks_to_target(
    drawn: list, seconds: list[float], truth: Truth, at: argparse.Namespace
) -> dict:
    """Return the noise and bias of finite networks, and the number needed for a given error."""
    k = np.asarray(drawn, float)
    variance = k.var(0, ddof=1).sum() / truth.size**2
    noise = variance / len(k)
    bias2 = np.sum((k.mean(0) - truth.value) ** 2) / truth.size**2 - noise
    along = np.sum(k * truth.value, (-2, -1)) / truth.size**2
    draws = max(1, math.ceil(variance / at.target**2))
    groups = [2**p for p in range(8) if 2**p * 8 <= len(k)]
    mean = lambda g: k[: len(k) // g * g].reshape(-1, g, *truth.value.shape).mean(1)
    return dict(
        measured=len(k),
        error={g: truth.error(mean(g)) for g in groups},
        variance=variance,
        bias=math.sqrt(max(bias2, 0.0)),
        bias_resolution=math.sqrt(noise),
        scale=along.mean(),
        scale_stderr=along.std(ddof=1) / math.sqrt(len(k)),
        draws=draws,
        seconds_each=spread([s / at.networks for s in seconds]),
        extrapolated_by=draws / at.networks,
    )


def against(seconds: dict[str, list[float]], name: str) -> dict:
    """Return the others' times over this one's, within a round."""
    pairs = {other: zip(seconds[other], seconds[name], strict=True) for other in seconds}
    return {other: spread([o / s for o, s in p]) for other, p in pairs.items() if other != name}


def main() -> None:
    at = arguments()
    x = jax.random.normal(jax.random.key(0), (at.inputs, at.tokens, at.features), jnp.float32)
    net = kernels.InfiniteTransformer()
    truth = Truth(net, x)
    results: dict[str, dict] = {}
    contestants: dict[str, Any] = {}
    for name in OURS:
        estimate = partial(ours, net, x, name)
        results[name] = draws_to_target(estimate, truth, at)
        contestants[name] = partial(estimate, results[name]["draws"], 0)
    drawn: dict[str, list] = {"networks": [], "scalar": []}
    for name, outputs in (("networks", at.width), ("scalar", 1)):
        network = stax_network(at.width, at.heads, at.head_size, outputs)
        contestants[name] = partial(finite, network, x, at.networks, drawn[name])

    seconds = alternate(contestants, at.rounds)
    for name, each in drawn.items():
        results[name] = networks_to_target(each, seconds[name], truth, at)
        seconds[name] = [s * results[name]["extrapolated_by"] for s in seconds[name]]
    for name, s in seconds.items():
        results[name]["seconds_to_target"] = spread(s)
    report(
        "montecarlo",
        **vars(at),
        truth_error=truth.error_of_its_own,
        methods=results,
        against_joint=against(seconds, "joint"),
        against_sobol=against(seconds, "sobol"),
    )


if __name__ == "__main__":
    main()

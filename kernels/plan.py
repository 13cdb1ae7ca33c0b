"""What is to be computed, and which draws are cheapest for it."""

import math
from dataclasses import dataclass, replace
from typing import Any

from theorykit.common.devices import platform
from theorykit.kernels.attention import mechanism

DRAWS = ("auto", "joint", "pairwise", "conditional")
WHOLE = 2**26  # entries of a covariance of all tokens that "auto" will hold at once
BLOCK = 2**23  # entries of a block of joint draws
PAIR_BLOCK = 2**18  # entries of a block of a pair's draws
IN_CACHE = 2**18  # entries worked on at a time: few enough for caches, enough for all cores
WORTH = 1.25  # how much more joint draws may cost: their matrices are positive semidefinite
AT_ONCE = 1e11  # multiplications of a replicate that runs as one compiled computation: some seconds


@dataclass(frozen=True)
class Plan:
    """How a kernel is to be estimated; see `InfiniteTransformer.__call__` for the fields.

    For features: `units`, the number of hidden units that are drawn; `inputs`, the size of the set
    that these inputs are a part of, None if they are all of it.
    """

    draws: int
    replicates: int
    ntk: bool
    draw: str
    sampler: str
    rank: int | None = None
    exact: bool = False
    units: int | None = None
    inputs: int | None = None

    def without_draws(self) -> "Plan":
        """Return the plan for an attention whose step is exact."""
        return replace(self, draws=1, replicates=1, draw="joint", rank=None, exact=True)

    def blocks(self, entries: int, limit: int) -> tuple[int, int]:
        """Return (number of blocks, draws in each) if a draw takes `entries`."""
        blocks = -(-self.draws // max(1, limit // entries))
        return blocks, -(-self.draws // blocks)


def parts(size: int, entries: int) -> int:
    """Return in how many equal parts a block of draws is worked on, if a draw takes `entries`.

    What is made of a part stays in a core's cache. The block's draws do not depend on it.
    """
    return math.gcd(size, -(-size * entries // IN_CACHE)) if platform() == "cpu" else 1


def forms(
    net: Any, plan: Plan, n: int, pairs: int, t: int, r: int
) -> tuple[tuple[str, ...], float]:
    """Return the form of the draws in each layer, and the multiplications of a replicate.

    A layer is joint (one set of scores for all inputs) or pairwise. Joint layers come first:
    once pairs are drawn apart they stay apart, each carrying its own covariance.

    **Arguments:**

    - `net`: the network.
    - `plan`: what is wanted.
    - `n`: inputs, rows and columns together.
    - `pairs`: pairs wanted.
    - `t`: tokens per input.
    - `r`: columns of the embedding's factor.
    """
    chosen: list[str] = []
    kept = mechanism(net.attention).cost(t)
    total = 0.0
    for layer in range(net.depth):
        top = layer == net.depth - 1
        rows = 1 if top and net.readout == "last" else t
        step = (6 if layer == 0 else 12) * rows * t * t * kept if plan.ntk else 2 * rows * t * t
        rank = r if layer == 0 else n * t
        joint: float = n * rows * rank * (rank + t)
        if rows == 1 and not plan.ntk:
            joint += pairs * rank
        else:
            joint += (pairs if top else n * (n + 1) // 2) * step
        # A factorisation is sequential: about 20 times slower than a product of its size.
        joint += 20 * n * t * rank * rank / plan.draws if layer else 0
        rank = min(r, 2 * t) if layer == 0 else 2 * t
        # Scores of the second input, and both variances; pairs of one set share the first's scores.
        own = rows * rank * (rank + t) + (2 * rows * t if top else 4 * t * t * t)
        own += 0 if pairs == n * (n + 1) // 2 else 2 * rows * t * t
        pairwise = pairs * (step + own)
        if plan.draw != "auto":
            form = plan.draw
        elif (chosen and chosen[-1] == "pairwise") or (not top and (n * t) ** 2 > WHOLE):
            form = "pairwise"
        else:
            form = "pairwise" if WORTH * pairwise < joint else "joint"
        chosen.append(form)
        total += plan.draws * (joint if form == "joint" else pairwise)
    return tuple(chosen), total

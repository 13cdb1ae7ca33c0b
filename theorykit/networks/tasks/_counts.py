"""SimpleTask, ModPTask and the in-context k-gram (quantitative paper, section 6 and appendix C)."""

import abc
import dataclasses
import math
from typing import Any

import jax
import jax.numpy as jnp
from jax import random
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from theorykit.common.arguments import positive, whole
from theorykit.networks.tasks._base import Sample, Task


class PrefixTask(Task):
    """A function of counts, predicted after every token: regression on all prefixes at once.

    The target of a sample of length N is (N, outputs), the function of each of its N prefixes, with
    weight 0 where it is 0/0. So one sample trains all lengths T <= N.
    """

    def loss(self, outputs: Float[Array, "tokens outputs"], sample: Sample) -> Float[Array, ""]:
        """Return the squared error, summed over outputs, a mean over prefixes with nonzero weight.

        It is 0 for a sample in which no prefix has weight.
        """
        counted = self.errors(outputs, sample) * sample.weight
        return counted.sum() / jnp.maximum(sample.weight.sum(), 1)

    def metrics(
        self, outputs: Float[Array, "tokens outputs"], sample: Sample
    ) -> dict[str, Float[Array, ""]]:
        """Return `last`, the squared error on the whole sample, 0 if its target is 0/0."""
        return {"last": self.errors(outputs, sample)[-1] * sample.weight[-1]}

    def errors(
        self, outputs: Float[Array, "tokens outputs"], sample: Sample
    ) -> Float[Array, " tokens"]:
        """Return the squared error at every prefix, (tokens,)."""
        return ((outputs - sample.target) ** 2).sum(-1)

    @property
    def options(self) -> dict[str, Any]:
        """Options for `nets.LocalTransformer` on this task."""
        return dict(vocabulary=self.symbols, outputs=self.outputs, readout="tokens")

    @property
    @abc.abstractmethod
    def symbols(self) -> int:
        """The size of the alphabet."""

    @property
    def outputs(self) -> int:
        """The number of outputs of the network."""
        return 1

    def problem(
        self, key: PRNGKeyArray, length: int
    ) -> tuple[Float[Array, "tokens symbols"], Float[Array, ""]]:
        """Return one-hot tokens (T, symbols) and the (first) number to predict at the end."""
        x, target, _ = self.sample(key, length)
        return jax.nn.one_hot(x, self.symbols), target[-1, 0]


def so_far(values: Float[Array, "tokens n"]) -> Float[Array, "tokens n"]:
    """Return the running sums of values (T, n), by one matrix product, which compiles quickly."""
    return jnp.tri(len(values), dtype=values.dtype) @ values


def mean(hits: Float[Array, "*n"], seen: Float[Array, "*#n"]) -> Float[Array, "*n"]:
    """Return hits / seen, or 0 where nothing was seen."""
    return hits / jnp.maximum(seen, 1)


@dataclasses.dataclass(frozen=True)
class SimpleTask(PrefixTask):
    """sin(omega (c_0 - c_1) / (c_0 + c_1)) for the counts of the symbols 0 and 1 among 0, 1, 2.

    Tokens are independent, with probabilities drawn uniformly from the simplex for each sample.

    **Arguments:** `omega`, positive.

    **Raises:** `ValueError` for any other omega.
    """

    omega: float = 2.0
    smallest = 1

    def __post_init__(self):
        object.__setattr__(self, "omega", positive("omega", self.omega))

    @property
    def symbols(self) -> int:
        """Three."""
        return 3

    def draw(self, key: PRNGKeyArray, length: int) -> Sample:
        """Return T tokens and the function of each prefix."""
        u = random.uniform(key, (2 + length,))
        x = (u[2:, None] > jnp.sort(u[:2])).sum(-1)  # gaps between uniform cuts: the simplex
        counts = so_far(jax.nn.one_hot(x, 3))
        seen = counts[:, 0] + counts[:, 1]
        z = mean(counts[:, 0] - counts[:, 1], seen)
        return Sample(x, jnp.sin(self.omega * z)[:, None], (seen > 0).astype(z.dtype))


@dataclasses.dataclass(frozen=True)
class ModPTask(PrefixTask):
    """The mean of the bits at positions t = k mod p, counted from 1.

    Bits are independent; each of the p classes of positions has its own probability, uniform on [0,
    1], so other classes carry no information.

    **Arguments:** `period`, p; `index`, k, taken mod p.

    **Raises:** `ValueError` for a period below 1; for a length without a position = k mod p.
    """

    period: int = 5
    index: int = 0
    smallest = 1

    def __post_init__(self):
        object.__setattr__(self, "period", whole("period", self.period))
        object.__setattr__(self, "index", whole("index", self.index, 0))

    def check(self, length: int) -> None:
        """Raise a `ValueError` if no position of an example of this length is k mod p."""
        super().check(length)
        if length < (first := (self.index - 1) % self.period + 1):
            raise ValueError(
                f"the first position = {self.index} mod {self.period} is {first}, beyond the "
                f"length {length}."
            )

    @property
    def symbols(self) -> int:
        """Two."""
        return 2

    @property
    def options(self) -> dict[str, Any]:
        """Options for `nets.LocalTransformer`, with encodings of period p."""
        return super().options | dict(period=self.period)

    def counts(self, length: int) -> Bool[Array, " length"]:
        """Return which positions count, (T,) bool."""
        return jnp.arange(1, length + 1) % self.period == self.index % self.period

    def draw(self, key: PRNGKeyArray, length: int) -> Sample:
        """Return T bits and, for each prefix, the mean of those that count."""
        u, p = random.uniform(key, (self.period + length,)), self.period
        x = (u[p:] < u[jnp.arange(1, length + 1) % p]).astype(int)
        counts = self.counts(length)
        hits, seen = so_far(jnp.stack([counts * x, counts], 1).astype(u.dtype)).T
        return Sample(x, mean(hits, seen)[:, None], (seen > 0).astype(u.dtype))


@dataclasses.dataclass(frozen=True)
class InContextKGram(PrefixTask):
    """How often each symbol has followed the last k - 1 symbols so far (Definition 5.4, repaired).

    The symbol after k - 1 others follows a law that is drawn uniformly from the simplex for each
    context and sample; the first k - 1 symbols are uniform. Then the last k symbols are copied to a
    random earlier place, ending at i = k ... T - k without an overlap, so that they occur.

    **Arguments:** `symbols`, S; `order`, k.

    **Raises:** `ValueError` for fewer than two symbols, an order below 2, S^k of 2^31 or more, a
    length below 2k.
    """

    symbols: int = 3
    order: int = 2

    def __post_init__(self):
        object.__setattr__(self, "symbols", whole("symbols", self.symbols, 2))
        object.__setattr__(self, "order", whole("order", self.order, 2))
        if self.order * math.log2(self.symbols) >= 31:
            raise ValueError(
                f"{self.order}-grams over {self.symbols} symbols are too many to index: "
                "symbols^order must be below 2^31."
            )

    def check(self, length: int) -> None:
        """Raise a `ValueError` if there is no room for a copy of the last symbols."""
        super().check(length)
        if length < 2 * self.order:
            raise ValueError(
                f"a {self.order}-gram needs a length of {2 * self.order} or more, not {length}."
            )

    @property
    def outputs(self) -> int:
        """One share per symbol."""
        return self.symbols

    @property
    def options(self) -> dict[str, Any]:
        """Options for `nets.LocalTransformer`: k - 1 heads that look back, then one."""
        return super().options | dict(heads=(self.order - 1, 1), reach=self.order - 1)

    def draw(self, key: PRNGKeyArray, length: int) -> Sample:
        """Return T symbols and, for each prefix, shares of what followed its last k - 1 before."""
        S, k, contexts = self.symbols, self.order, self.symbols ** (self.order - 1)
        u = random.uniform(key, (2 + contexts * (S - 1) + length - k + 1,))
        cuts = jnp.sort(u[2 : 2 + contexts * (S - 1)].reshape(contexts, S - 1))

        def step(context: Array, u: Array) -> tuple[Array, Array]:
            symbol = (u > cuts[context]).sum()
            return (context * S + symbol) % contexts, symbol

        first = (u[0] * contexts).astype(int)
        start = first // S ** jnp.arange(k - 2, -1, -1) % S
        _, rest = jax.lax.scan(step, first, u[2 + contexts * (S - 1) :])
        x = jnp.concatenate([start, rest])
        place = (u[1] * (length - 2 * k + 1)).astype(int)
        x = jax.lax.dynamic_update_slice(x, x[length - k :], (place,))
        target, seen = self.following(x)
        return Sample(x, target, (seen > 0).astype(target.dtype))

    def following(
        self, x: Int[Array, " tokens"]
    ) -> tuple[Float[Array, "tokens symbols"], Float[Array, " tokens"]]:
        """Return, for each prefix of x (T,), the shares (T, S) of symbols after its last k - 1.

        Also return how often those k - 1 symbols occurred before, (T,).
        """
        S, k, T = self.symbols, self.order, len(x)
        padded = jnp.pad(x, (k - 1, 0))
        now = sum(padded[n + 1 : n + 1 + T] * S ** (k - 2 - n) for n in range(k - 1))
        before, t = jnp.pad(now, (1, 0))[:T], jnp.arange(T)
        whole = (t >= k - 2)[:, None] & (t >= k - 1)[None, :]  # there are k - 1 symbols so far
        same = whole & (now[:, None] == before[None, :]) & (t[:, None] >= t[None, :])
        counts = same.astype(float) @ jax.nn.one_hot(x, S)
        seen = counts.sum(-1)
        return mean(counts, seen[:, None]), seen

"""The eight algorithmic tasks of the limit paper (App. E.2): SOS, an input, SEP, its answer, EOS.

Loss and accuracy count the answer and EOS. Where the text leaves the distribution open, it follows
the authors' published code; docs/languages.md lists these readings.
"""

import abc
import dataclasses
from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jax import random
from jaxtyping import Array, Float, Int, PRNGKeyArray

from theorykit.common.arguments import size
from theorykit.networks.tasks._base import Sample
from theorykit.networks.tasks._lengths import AnyLength, span

Count = Int[Array, ""] | int
"""A number of tokens, which may be traced."""

Instance = tuple[Int[Array, " size"], Int[Array, " most"], Count]
"""An input, its answer (padded), and the length of the answer."""


class Algorithmic(AnyLength):
    """Write the answer after the input: next-token prediction of `SOS input SEP answer EOS`.

    Token ids: the symbols from 0, then SOS, SEP and EOS. LEN is the length of the input. Inputs are
    all tokens except EOS, targets all except SOS.
    """

    smallest: ClassVar[int] = 1
    symbols: ClassVar[tuple[str, ...]]

    @property
    def start(self) -> int:
        """The id of SOS."""
        return len(self.symbols)

    @property
    def separator(self) -> int:
        """The id of SEP."""
        return len(self.symbols) + 1

    @property
    def end(self) -> int:
        """The id of EOS."""
        return len(self.symbols) + 2

    @property
    def options(self) -> dict[str, Any]:
        """Options for `nets.Transformer`: ids in, scores of all tokens out at each token."""
        size = len(self.symbols) + 3
        return dict(vocabulary=size, outputs=size, readout="tokens", causal=True)

    @abc.abstractmethod
    def solution(self, ids: Sequence[int]) -> list[int]:
        """Return the answer to an input, in plain Python, as the reference."""

    @abc.abstractmethod
    def most(self, length: int) -> int:
        """Return the length of the longest answer to inputs of this length."""

    @abc.abstractmethod
    def instance(self, key: PRNGKeyArray, length: Count, size: int) -> Instance:
        """Return an input (size,), its answer (most,) and the answer's length."""

    def tokens(self, length: int) -> int:
        """Return LEN + 2 and the length of the longest answer."""
        return length + 2 + self.most(length)

    def padded(self, key: PRNGKeyArray, length: Count, size: int) -> Sample:
        """Return one example with an input of this length, padded to inputs of `size`."""
        given, answer, m = self.instance(key, length, size)
        p = jnp.arange(self.tokens(size) + 1)
        at = lambda symbols, place: (
            jnp.take(symbols, place, mode="clip") if symbols.shape[0] else jnp.zeros_like(place)
        )
        whole = jnp.select(
            [p == 0, p <= length, p == length + 1, p < length + 2 + m, p == length + 2 + m],
            [self.start, at(given, p - 1), self.separator, at(answer, p - length - 2), self.end],
            0,
        )
        counts = (p[1:] > length + 1) & (p[1:] <= length + 2 + m)
        return Sample(whole[:-1], whole[1:], jnp.where(counts, 1.0, 0.0))

    def problem(
        self, key: PRNGKeyArray, length: int
    ) -> tuple[Float[Array, "tokens symbols"], Float[Array, ""]]:
        """Return one-hot `SOS input SEP`, and +1 if the id of the answer's last symbol is odd."""
        x, target, weight = self.sample(key, length)
        last = target[jnp.argmax(jnp.cumsum(weight)) - 1]
        sign = jnp.where(last % 2 == 1, 1.0, -1.0)
        return jax.nn.one_hot(
            x[: self.tokens(length) - self.most(length)], len(self.symbols) + 3
        ), sign


def below(u: Float[Array, "*shape"], n: Count) -> Int[Array, "*shape"]:
    """Map a uniform number to an integer below n; fewer random calls compile faster."""
    return jnp.minimum((u * n).astype(int), n - 1)


def arranged(u: Float[Array, " size"], ones: Int[Array, ""], length: Count) -> Int[Array, " size"]:
    """Return bits with `ones` ones at random places among the first `length`, from uniform numbers.

    Bits are drawn in order, each a one with probability the share of ones that are left.
    """

    def bit(left, at):
        place, u = at
        one = (u * (length - place) < left) & (place < length)
        return left - one, one.astype(int)

    return jax.lax.scan(bit, ones, (jnp.arange(len(u)), u))[1]


def unequal(u: Float[Array, " draws"], length: Count) -> tuple[Int[Array, " size"], Int[Array, ""]]:
    """Return bits without a tie, and the more frequent one; the number of ones is uniform."""
    even = (length + 1) % 2
    ones = below(u[0], length + 1 - even)
    ones = ones + even * (ones >= length // 2)
    return arranged(u[1:], ones, length), (2 * ones > length).astype(int)


def majority(ids: Sequence[int]) -> int:
    """Return the most frequent id.

    **Raises:** `ValueError` if it is not unique.
    """
    first, *others = Counter(ids).most_common(2)
    if others and others[0][1] == first[1]:
        raise ValueError(f"{list(ids)} has no unique majority.")
    return first[0]


@dataclasses.dataclass(frozen=True)
class BinaryMajority(Algorithmic):
    """Name the more frequent bit. The number of ones is uniform; ties are excluded."""

    symbols: ClassVar[tuple[str, ...]] = ("0", "1")

    def most(self, length: int) -> int:
        """Return 1."""
        return 1

    def instance(self, key: PRNGKeyArray, length: Count, size: int) -> Instance:
        """Return bits and the more frequent one."""
        bits, answer = unequal(random.uniform(key, (1 + size,)), length)
        return bits, answer[None], 1

    def solution(self, ids: Sequence[int]) -> list[int]:
        """Return the more frequent bit."""
        return [majority(ids)]


@dataclasses.dataclass(frozen=True)
class BinaryMajorityInterleave(Algorithmic):
    """Name the more frequent bit of each of three interleaved sequences.

    LEN is a multiple of 3.
    """

    symbols: ClassVar[tuple[str, ...]] = ("0", "1")
    smallest: ClassVar[int] = 3

    def lengths(self, low: int, high: int) -> list[int]:
        """Return the multiples of 3."""
        return [n for n in super().lengths(low, high) if n % 3 == 0]

    def most(self, length: int) -> int:
        """Return 3."""
        return 3

    def instance(self, key: PRNGKeyArray, length: Count, size: int) -> Instance:
        """Return interleaved bits and three answers."""
        u = random.uniform(key, (3, 1 + (size + 2) // 3))
        bits, answers = jax.vmap(lambda u: unequal(u, length // 3))(u)
        return bits.T.ravel()[:size], answers, 3

    def solution(self, ids: Sequence[int]) -> list[int]:
        """Return the three more frequent bits."""
        return [majority(ids[i::3]) for i in range(3)]


@dataclasses.dataclass(frozen=True)
class Majority(Algorithmic):
    """Name the most frequent of 26 letters; letters are independent, given that there is no tie."""

    symbols: ClassVar[tuple[str, ...]] = tuple("abcdefghijklmnopqrstuvwxyz")

    def most(self, length: int) -> int:
        """Return 1."""
        return 1

    def instance(self, key: PRNGKeyArray, length: Count, size: int) -> Instance:
        """Return letters, redrawn until one is strictly the most frequent, and that letter."""
        count = len(self.symbols)
        inside = jnp.arange(size) < length

        def drawn(key):
            letters = random.randint(key, (size,), 0, count)
            return letters, jnp.zeros(count, int).at[letters].add(inside)

        tied = lambda carry: (carry[2] == carry[2].max()).sum() > 1

        def again(carry):
            key = random.split(carry[0], 1)[0]
            return key, *drawn(key)

        _, letters, counts = jax.lax.while_loop(tied, again, (key, *drawn(key)))
        return letters, counts.argmax()[None], 1

    def solution(self, ids: Sequence[int]) -> list[int]:
        """Return the most frequent letter."""
        return [majority(ids)]


@dataclasses.dataclass(frozen=True)
class _Numbers(Algorithmic):
    """An input of distinct numbers below `vocabulary`.

    **Raises:** `ValueError` for a length above the vocabulary.
    """

    vocabulary: int = 150

    def __post_init__(self):
        size("vocabulary", self.vocabulary)

    @property
    def symbols(self) -> tuple[str, ...]:  # type: ignore[override]
        """The numbers as text."""
        return tuple(map(str, range(self.vocabulary)))

    def lengths(self, low: int, high: int) -> list[int]:
        """Return the lengths up to the vocabulary."""
        low, high = span(low, high)
        return super().lengths(low, min(high, self.vocabulary))

    def most(self, length: int) -> int:
        """Return LEN."""
        return length

    def _numbers(self, key: PRNGKeyArray, size: int) -> Int[Array, " size"]:
        numbers = jnp.argsort(random.uniform(key, (self.vocabulary,)))
        return jnp.pad(numbers, (0, max(size - self.vocabulary, 0)))[:size]


@dataclasses.dataclass(frozen=True)
class Sort(_Numbers):
    """Sort distinct numbers."""

    def instance(self, key: PRNGKeyArray, length: Count, size: int) -> Instance:
        """Return distinct numbers, unsorted and sorted."""
        numbers = self._numbers(key, size)
        inside = jnp.arange(size) < length
        return numbers, jnp.sort(jnp.where(inside, numbers, self.vocabulary)), length

    def solution(self, ids: Sequence[int]) -> list[int]:
        """Return the numbers in order."""
        return sorted(ids)


@dataclasses.dataclass(frozen=True)
class UniqueCopy(_Numbers):
    """Copy distinct numbers."""

    def instance(self, key: PRNGKeyArray, length: Count, size: int) -> Instance:
        """Return distinct numbers, twice."""
        numbers = self._numbers(key, size)
        return numbers, numbers, length

    def solution(self, ids: Sequence[int]) -> list[int]:
        """Return the numbers."""
        return list(ids)


@dataclasses.dataclass(frozen=True)
class RepeatCopy(Algorithmic):
    """Copy a string over two symbols, which are independent and uniform."""

    symbols: ClassVar[tuple[str, ...]] = ("a", "b")

    def most(self, length: int) -> int:
        """Return LEN."""
        return length

    def instance(self, key: PRNGKeyArray, length: Count, size: int) -> Instance:
        """Return random symbols, twice."""
        given = random.bernoulli(key, shape=(size,)).astype(int)
        return given, given, length

    def solution(self, ids: Sequence[int]) -> list[int]:
        """Return the symbols."""
        return list(ids)


@dataclasses.dataclass(frozen=True)
class Parity(Algorithmic):
    """Say whether the number of ones, which is uniform, is even (e) or odd (o)."""

    symbols: ClassVar[tuple[str, ...]] = ("0", "1", "e", "o")
    smallest: ClassVar[int] = 0

    def most(self, length: int) -> int:
        """Return 1."""
        return 1

    def instance(self, key: PRNGKeyArray, length: Count, size: int) -> Instance:
        """Return bits and e or o."""
        u = random.uniform(key, (1 + size,))
        ones = below(u[0], length + 1)
        return arranged(u[1:], ones, length), (2 + ones % 2)[None], 1

    def solution(self, ids: Sequence[int]) -> list[int]:
        """Return e or o."""
        return [2 + sum(ids) % 2]


@dataclasses.dataclass(frozen=True)
class Addition(Algorithmic):
    """Add two binary numbers: `SOS 101+10 = 111 EOS`, with "=" in place of SEP.

    LEN counts both operands, "+" and "=". The length of the first operand is uniform from 1 to LEN
    - 3, so that the second has at least one digit (the paper prints LEN - 2); digits are uniform.
    The sum is written without leading zeros.
    """

    symbols: ClassVar[tuple[str, ...]] = ("0", "1", "+")
    smallest: ClassVar[int] = 4

    def most(self, length: int) -> int:
        """Return LEN - 2, one digit more than the longest operand."""
        return length - 2

    def tokens(self, length: int) -> int:
        """Return 2 LEN - 1, since LEN includes "="."""
        return length + 1 + self.most(length)

    def padded(self, key: PRNGKeyArray, length: Count, size: int) -> Sample:
        """Return one example whose operands, "+" and "=" have this length, padded to `size`."""
        return super().padded(key, length - 1, size)

    def instance(self, key: PRNGKeyArray, length: Count, size: int) -> Instance:
        """Return two operands with "+" between, `length` tokens without "=", and their sum."""
        u = random.uniform(key, (1 + size,))
        first, p = 1 + below(u[0], length - 2), jnp.arange(size)
        given = jnp.where(p == first, 2, below(u[1:], 2))
        a = jnp.where(p < first, given[first - 1 - p], 0)  # lowest digit first
        b = jnp.where(p < length - first - 1, given[length - 1 - p], 0)

        def add(carry, digits):
            total = carry + digits[0] + digits[1]
            return total // 2, total % 2

        _, digits = jax.lax.scan(add, jnp.zeros((), given.dtype), (a, b))
        m = jnp.where(digits.any(), size - jnp.argmax(digits[::-1]), 1)
        return given, digits[jnp.maximum(m - 1 - p, 0)], m

    def solution(self, ids: Sequence[int]) -> list[int]:
        """Return the digits of the sum of the numbers before and after "+"."""
        first, second = "".join(self.symbols[i] for i in ids).split("+")
        return [int(digit) for digit in f"{int(first, 2) + int(second, 2):b}"]


ALGORITHMIC: dict[str, Algorithmic] = {
    "bin_majority": BinaryMajority(),
    "bin_majority_interleave": BinaryMajorityInterleave(),
    "majority": Majority(),
    "sort": Sort(),
    "unique_copy": UniqueCopy(),
    "repeat_copy": RepeatCopy(),
    "parity": Parity(),
    "addition": Addition(),
}
"""The tasks of Table 3 of the limit paper, by the names of the authors' published figures."""

"""The protocol of Theorem 12: the bits that Alice sends to Bob about her half of the input.

Alice groups positions that Bob's queries cannot tell apart: those with equal keys and, near the end
of her half, equal distances. She sends each group as its key, its size and the sum of its values.
The paper groups by rounded keys, which loses information that the rounding of the logits needs.
Here keys are exact, so Bob's activations are exact too, and the number of bits shows how many
groups there are.
"""

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Integer

from theorykit.common.arguments import instance
from theorykit.subjects.limit import _exact as exact_
from theorykit.subjects.limit import _integers as exactly
from theorykit.subjects.limit._exact import Fractions, Run
from theorykit.subjects.limit._transformer import Head, Layer, Transformer


@dataclasses.dataclass(frozen=True, eq=False)
class Group:
    """Positions of Alice's that no query of Bob's tells apart, in one head.

    **Fields:** `distance`: N - j where a positional function may see it, else None; `key`: K y_j;
    `count`: the number of positions; `total`: the sum of V y_j over them. Vectors are integers: a
    common denominator, then the numerators.
    """

    distance: int | None
    key: tuple[int, ...]
    count: int
    total: tuple[int, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class Exchange:
    """One run of the protocol.

    **Fields:** `message`: Alice's message, a string of 0 and 1; `groups`: for every layer and head;
    `bob`: y^(0), ..., y^(L) at Bob's positions, each (1, N, d), computed from the message and his
    half alone.
    """

    message: str
    groups: tuple[tuple[tuple[Group, ...], ...], ...]
    bob: tuple[Fractions, ...]

    @property
    def bits(self) -> int:
        """The length of the message."""
        return len(self.message)


def communicate(transformer: Transformer, string: Sequence[str]) -> Exchange:
    """Run the protocol on `$` and a string: Alice has the first half, Bob the second.

    **Raises:** `ValueError` for an odd number of symbols including `$`, a transformer that is not
    LOCAL (Bob would need unbounded distances), or anything that `exact` refuses.
    """
    instance("transformer", transformer, Transformer, "a limit.Transformer")
    if transformer.locality is None:
        raise ValueError("the protocol needs a LOCAL transformer: positional functions of `Local`.")
    x = np.array([transformer.encode(string)])
    if x.shape[1] % 2:
        raise ValueError(
            f"the number of symbols must be even to split into two halves, not {x.shape[1]}."
        )
    half = x.shape[1] // 2
    groups = tuple(_alice(transformer, x[:, :half], x.shape[1]))
    message = "".join(_written(groups))
    received = _read(transformer, message)
    return Exchange(message, received, _bob(transformer, x[:, half:], half, received))


def _alice(
    transformer: Transformer, x: Integer[np.ndarray, "1 half"], length: int
) -> Iterator[tuple[tuple[Group, ...], ...]]:
    """Yield the groups of each layer, one tuple per head, from the first half alone."""
    run: Run = exact_.run(transformer, x, 0, length)
    for layer, y in zip(transformer.layers, run.layers, strict=False):
        yield tuple(tuple(_grouped(transformer, head, y)) for head in layer.heads)


def _grouped(transformer: Transformer, head: Head, y: Fractions) -> Iterator[Group]:
    bits, half = transformer.bits, y.numerators.shape[1]
    keys, values = exact_.apply(head.K, y, bits), exact_.apply(head.V, y, bits)
    reach = len(head.phi.values) if head.phi is not None else 0  # type: ignore[attr-defined]
    found: dict[tuple[int | None, tuple[int, ...]], list[int]] = {}
    for j in range(half):
        back = half - 1 - j  # N - j, with j counted from 1
        key = (int(keys.denominators[0, j, 0]), *map(int, keys.numerators[0, j]))
        found.setdefault((back if back < reach else None, key), []).append(j)
    for (distance, key), places in found.items():
        total = values[:, places[:1]]
        for j in places[1:]:
            total = total + values[:, [j]]
        sums = (int(total.denominators[0, 0, 0]), *map(int, total.numerators[0, 0]))
        yield Group(distance, key, len(places), sums)


def _bob(
    transformer: Transformer,
    x: Integer[np.ndarray, "1 half"],
    half: int,
    groups: Sequence[Sequence[Sequence[Group]]],
) -> tuple[Fractions, ...]:
    """Return Bob's activations from his half and the groups."""
    y = exact_.embedded(transformer, x, np.arange(half, half + x.shape[1]))
    found = [y]
    for layer, per_head in zip(transformer.layers, groups, strict=True):
        total = y
        for head, received in zip(layer.heads, per_head, strict=True):
            total = total + _attend(transformer, head, y, half, received)
        y = exact_.feed(transformer, layer, total)
        found.append(y)
    return tuple(found)


def _attend(
    transformer: Transformer, head: Head, y: Fractions, half: int, groups: Sequence[Group]
) -> Fractions:
    """Return the output of a head at Bob's positions."""
    bits, n = transformer.bits, y.numerators.shape[1]
    his = range(half + 1, half + n + 1)
    far = -len(transformer.alphabet) - half - n  # a key so far away that phi is 0
    hers = [half - g.distance if g.distance is not None else far for g in groups]
    keys = _stacked([g.key for g in groups], exact_.apply(head.K, y, bits))
    values = _stacked([g.total for g in groups], exact_.apply(head.V, y, bits))
    a = exact_.logits(transformer, head, y, keys, exact_.phis(head, his, [*hers, *his])[None])
    mask = np.concatenate([np.ones((n, len(groups)), int), np.tril(np.ones((n, n), int))], 1)
    w = exact_.weights(transformer, a, mask, half + n)
    count = np.array([g.count for g in groups] + [1] * n)
    return exact_.average(w, values, count)


def _stacked(received: Sequence[tuple[int, ...]], own: Fractions) -> Fractions:
    """Return the received vectors and Bob's own, (1, groups + n, d)."""
    below = np.array([[v[0]] for v in received], object)[None]
    above = np.array([v[1:] for v in received], object).reshape(1, len(received), -1)
    return Fractions(
        exactly.narrow(np.concatenate([above, own.numerators.astype(object)], 1)),
        exactly.narrow(np.concatenate([below, own.denominators.astype(object)], 1)),
    )


# The message ----------------------------------------------------------------------------------


def _written(groups: Sequence[Sequence[Sequence[Group]]]) -> Iterator[str]:
    """Yield the message: integers in Elias's gamma code, which is self-delimiting."""
    for layer in groups:
        for head in layer:
            yield _gamma(len(head))
            for g in head:
                yield _gamma(0 if g.distance is None else g.distance + 1)
                yield _gamma(g.count)
                for vector in (g.key, g.total):
                    yield from (_gamma(2 * abs(v) - (v > 0)) for v in vector)


def _gamma(value: int) -> str:
    """Return the code of an integer 0, 1, 2, ...: 2 floor(log2(value + 1)) + 1 bits."""
    digits = bin(value + 1)[2:]
    return "0" * (len(digits) - 1) + digits


class _Reader:
    def __init__(self, message: str):
        self.message, self.at = message, 0

    def integer(self) -> int:
        one = self.message.index("1", self.at)
        end = 2 * one - self.at + 1
        value, self.at = int(self.message[one:end], 2) - 1, end
        return value

    def signed(self) -> int:
        value = self.integer()
        return (value + 1) // 2 if value % 2 else -(value // 2)

    def vector(self, size: int) -> tuple[int, ...]:
        return tuple(self.signed() for _ in range(size + 1))


def _read(transformer: Transformer, message: str) -> tuple[tuple[tuple[Group, ...], ...], ...]:
    """Decode the groups from a message."""
    reader = _Reader(message)

    def group(head: Head) -> Group:
        distance = reader.integer() - 1
        count = reader.integer()
        key, total = reader.vector(len(head.K)), reader.vector(len(head.V))
        return Group(None if distance < 0 else distance, key, count, total)

    def heads(layer: Layer) -> Iterator[tuple[Group, ...]]:
        for head in layer.heads:
            yield tuple(group(head) for _ in range(reader.integer()))

    return tuple(tuple(heads(layer)) for layer in transformer.layers)

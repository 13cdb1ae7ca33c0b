"""The transformer of the limit paper (section 2) and its Limit Transformer (Definition 2).

One class serves for both: without a context it is a Limit Transformer.

Parameters are float arrays, and every float is taken as the exact dyadic fraction that it is. So
the same object runs in exact arithmetic (`exact`) and in JAX (`forward`).
"""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Bool, Float, Float64, Int, Real

from theorykit.common.arguments import (
    affordable,
    as_alphabet,
    as_array,
    flag,
    function,
    instance,
    integers,
    listed,
    one_of,
    reals,
    shown,
    size,
    whole,
)

Scaling = Literal["length", "suffix", "none"]

SOS = "$"
"""The start symbol. If an alphabet contains it, it comes first, and every input begins with it."""


@dataclasses.dataclass(frozen=True)
class Local:
    """A translation-invariant local function: phi(j, i) = values[i - j], and 0 beyond.

    `j` is the key position and `i >= j` the query position, as in eq. (6).
    """

    values: tuple[float, ...]

    def __post_init__(self):
        found = _row("values", self.values)
        object.__setattr__(self, "values", tuple(found.tolist()))

    def __call__(
        self, j: Int[np.ndarray, "*#places"], i: Int[np.ndarray, "*#places"]
    ) -> Float64[np.ndarray, "*places"]:
        """Return the value at integer positions."""
        far = integers("i", i) - integers("j", j)
        table = np.array([*self.values, 0.0])
        return np.where(far >= 0, table[np.clip(far, 0, len(self.values))], 0.0)


Phi = Callable[
    [Int[np.ndarray, "*#places"], Int[np.ndarray, "*#places"]], Real[np.ndarray, "*places"]
]
"""A positional function phi(j, i) on integer arrays. LOCAL requires a `Local`."""


@dataclasses.dataclass(frozen=True, eq=False)
class Head:
    """One attention head.

    **Fields:** `K`, `Q`: (r, d), for any r (zero rows are left out; r = 0 is uniform attention);
    `V`: (d, d); `phi`: a positional function that a Limit Transformer adds to the logits.
    """

    K: Float[np.ndarray, "r d"]
    Q: Float[np.ndarray, "r d"]
    V: Float[np.ndarray, "_ d"]
    phi: Phi | None = None

    def __post_init__(self):
        for what in ("K", "Q", "V"):
            object.__setattr__(self, what, _matrix(what, getattr(self, what)))
        if self.phi is not None:
            function("phi", self.phi, "None, a limit.Local or a function phi(j, i)")

    @property
    def KQ(self) -> Float[np.ndarray, "d d"]:
        """K^T Q."""
        return self.K.T @ self.Q


@dataclasses.dataclass(frozen=True, eq=False)
class Layer:
    """Heads and an MLP of m hidden units, y + B psi(A y + b).

    **Fields:** `heads`; `A`: (m, d); `B`: (d, m); `b`: (m,); `heaviside`: (m,), which units are
    Heaviside (1 at 0 and above) instead of ReLU. The paper's A and B are (d, d); any missing units
    are 0.
    """

    heads: tuple[Head, ...]
    A: Float[np.ndarray, "m d"]
    B: Float[np.ndarray, "d m"]
    b: Float[np.ndarray, " m"]
    heaviside: Bool[np.ndarray, " m"]

    def __post_init__(self):
        if not isinstance(self.heads, tuple | list) or not all(
            isinstance(head, Head) for head in self.heads
        ):
            raise ValueError(f"heads are a tuple of limit.Head, got {shown(self.heads)}.")
        object.__setattr__(self, "heads", tuple(self.heads))
        for what in ("A", "B"):
            object.__setattr__(self, what, _matrix(what, getattr(self, what)))
        object.__setattr__(self, "b", _row("b", self.b))
        if as_array("heaviside", self.heaviside).dtype != bool:
            raise ValueError(
                f"heaviside holds True or False for each unit, got {shown(self.heaviside)}."
            )
        object.__setattr__(self, "heaviside", np.asarray(self.heaviside))


@dataclasses.dataclass(frozen=True, eq=False)
class Transformer:
    """A causal transformer, finite or a Limit Transformer.

    **Fields:**

    - `alphabet`: the symbols, `"$"` first (the quantitative paper has none).
    - `E`: (symbols, d), token embeddings; `U`: (outputs, d), the unembedding.
    - `positions`: (n, d). With a `context` N = n, the encodings p_1 ... p_N; with infinite context,
      one period: p_i = positions[(i - 1) % n].
    - `layers`; `context`: N(T), or None for infinity.
    - `precision`: fractional bits of logits and of exponentials, or None for no rounding.
    - `scaling`: `"length"`, exp(log|x| a) for all logits, eq. (3); `"suffix"`, the quantitative
      paper's (its section 3.3): log i times phi alone; `"none"`.
    - `shift`: whether the largest logit is subtracted before exponentials are rounded (the
      quantitative paper). Without it all weights can round to zero, and attention is undefined.

    **Raises:** `ValueError` for shapes that do not fit, parameters that are not finite, anything
    but layers in `layers`, a context below 1, a precision below 0, or an unknown scaling.
    """

    alphabet: tuple[str, ...]
    E: Float[np.ndarray, "symbols d"]
    positions: Float[np.ndarray, "n d"]
    layers: tuple[Layer, ...]
    U: Float[np.ndarray, "outputs d"]
    context: int | None = None
    precision: int | None = 8
    scaling: Scaling = "length"
    shift: bool = False

    def __post_init__(self):
        for what, least in (("context", 1), ("precision", 0)):
            if (value := getattr(self, what)) is not None:
                object.__setattr__(self, what, whole(what, value, least))
        one_of("scaling", self.scaling, get_args(Scaling))
        object.__setattr__(self, "shift", flag("shift", self.shift))
        object.__setattr__(self, "alphabet", as_alphabet(self.alphabet))
        for what in ("E", "positions", "U"):
            object.__setattr__(self, what, _matrix(what, getattr(self, what)))
        if not isinstance(self.layers, tuple | list) or not all(
            isinstance(layer, Layer) for layer in self.layers
        ):
            raise ValueError(f"layers are a tuple of limit.Layer, got {shown(self.layers)}.")
        object.__setattr__(self, "layers", tuple(self.layers))
        d = self.width
        for what, array, shape in [
            ("E", self.E, (len(self.alphabet), d)),
            ("positions", self.positions, (self.context or len(self.positions), d)),
            ("U", self.U, (len(self.U), d)),
        ]:
            _shaped(what, array, shape)
        for number, layer in enumerate(self.layers, 1):
            m, where = len(layer.b), f"of layer {number}"
            _shaped(f"b {where}", layer.b, (m,))
            _shaped(f"A {where}", layer.A, (m, d))
            _shaped(f"B {where}", layer.B, (d, m))
            _shaped(f"heaviside {where}", layer.heaviside, (m,))
            for head in layer.heads:
                _shaped(f"V {where}", head.V, (d, d))
                _shaped(f"K {where}", head.K, (len(head.K), d))
                _shaped(f"Q {where}", head.Q, head.K.shape)
        if SOS in self.alphabet[1:]:
            raise ValueError(
                f"an alphabet is {SOS!r} and distinct symbols, not {shown(self.alphabet)}."
            )

    @property
    def width(self) -> int:
        """The width d."""
        return self.E.shape[1]

    @property
    def depth(self) -> int:
        """The number of layers L."""
        return len(self.layers)

    @property
    def heads(self) -> int:
        """The largest number of heads in a layer, H."""
        return max((len(layer.heads) for layer in self.layers), default=0)

    @property
    def period(self) -> int | None:
        """The smallest Delta with p_i = p_(i + Delta); None if there is none (PERIODIC)."""
        table = self.positions
        if self.context is None:
            return next(
                n for n in range(1, len(table) + 1) if (np.roll(table, -n, 0) == table).all()
            )
        return next(
            (n for n in range(1, self.context) if (table[n:] == table[:-n]).all()), self.context
        )

    @property
    def locality(self) -> int | None:
        """The smallest tau with phi(j, i) = 0 for i > j + tau; None if not LOCAL (Definition 3).

        Only `Local` functions count as local; for others no finite check can decide it.
        """
        reach = 0
        for phi in (h.phi for layer in self.layers for h in layer.heads):
            if phi is not None and not isinstance(phi, Local):
                return None
            nonzero = np.flatnonzero(phi.values) if phi is not None else ()
            reach = max(reach, int(max(nonzero, default=0)))
        return reach

    @property
    def nope(self) -> bool:
        """Whether positions are unused: all encodings and positional functions are zero."""
        phis = (h.phi for layer in self.layers for h in layer.heads)
        silent = all(p is None or (isinstance(p, Local) and not any(p.values)) for p in phis)
        return silent and not self.positions.any()

    @property
    def parameters(self) -> list[Float[np.ndarray, "..."]]:
        """All parameter arrays, including the values of positional functions."""
        found = [self.E, self.positions, self.U]
        for layer in self.layers:
            found += [layer.A, layer.B, layer.b]
            for head in layer.heads:
                found += [head.K, head.Q, head.V]
                if isinstance(head.phi, Local):
                    found.append(np.asarray(head.phi.values))
        return found

    @functools.cached_property
    def bits(self) -> int:
        """The fractional bits that the parameters need."""
        return max(map(fractional_bits, self.parameters))

    def encode(self, string: Sequence[str], offset: int = 0) -> list[int]:
        """Return `$` and the symbols of a string as indices into the alphabet.

        **Raises:** `ValueError` for a symbol outside the alphabet, an offset below 0, or an input
        that is longer than the context.
        """
        places = {s: k for k, s in enumerate(self.alphabet) if s != SOS}
        instance("a string", string, Sequence, "text or a sequence of symbols")
        offset = whole("offset", offset, 0)
        if unknown := [s for s in string if not isinstance(s, str) or s not in places]:
            raise ValueError(f"{shown(unknown[0])} is not in the alphabet {listed(places)}.")
        start = [0] if self.alphabet[0] == SOS else []
        length = len(start) + len(string)
        if self.context is not None and length + offset > self.context:
            raise ValueError(
                f"{length} symbols at offset {offset} exceed the context of {self.context}."
            )
        return [*start, *(places[s] for s in string)]

    def encodings(self, length: int, offset: int = 0) -> Float[np.ndarray, "{length} d"]:
        """Return p_(1 + offset) ... p_(length + offset)."""
        length, offset = size("length", length, 0), size("offset", offset, 0)
        affordable("these encodings", length * self.width, 2**30)
        if self.context is not None and length + offset > self.context:
            raise ValueError(
                f"{length} symbols at offset {offset} exceed the context of {self.context}."
            )
        places = np.arange(offset, offset + length)
        return self.positions[places if self.context is not None else places % len(self.positions)]


def fractional_bits(array: Float[np.ndarray, "..."]) -> int:
    """Return the least p for which all entries are multiples of 2^-p.

    **Raises:** `ValueError` for an entry that is not finite.
    """
    array = reals("array", array)
    below = [Fraction(float(v)).denominator.bit_length() - 1 for v in np.unique(array)]
    return max(below, default=0)


Unit = tuple[dict[int, float], float, bool, dict[int, float]]
"""A hidden unit: input weights by dimension, bias, whether Heaviside, output weights."""


def mlp(
    d: int, units: Sequence[Unit] = ()
) -> tuple[
    Float[np.ndarray, "m d"],
    Float[np.ndarray, "d m"],
    Float[np.ndarray, " m"],
    Bool[np.ndarray, " m"],
]:
    """Return A, B, b and heaviside of a layer of width d from its hidden units."""
    d, m = size("d", d), len(instance("units", units, tuple | list, "hidden units, in a list"))
    affordable("this layer", 2 * d * m, 2**28)
    A, B, b = np.zeros((m, d)), np.zeros((d, m)), np.zeros(m)
    heaviside = np.zeros(m, bool)
    for k, (reads, bias, step, writes) in enumerate(units):
        for dim, weight in reads.items():
            A[k, dim] += weight
        for dim, weight in writes.items():
            B[dim, k] += weight
        b[k], heaviside[k] = bias, step
    return A, B, b, heaviside


def _matrix(what: str, given: Any) -> Float64[np.ndarray, "rows columns"]:
    array = reals(what, given)
    if array.ndim != 2:
        raise ValueError(f"{what} is a matrix, got an array of shape {array.shape}.")
    return array


def _row(what: str, given: Any) -> Float64[np.ndarray, " entries"]:
    array = reals(what, given)
    if array.ndim != 1:
        raise ValueError(f"{what} is a row of numbers, got an array of shape {array.shape}.")
    return array


def _shaped(what: str, array: np.ndarray, shape: tuple[int, ...]) -> None:
    if array.shape != shape:
        raise ValueError(f"{what} has the shape {shape}, not {array.shape}.")

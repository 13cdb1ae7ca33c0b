"""Positions in the scores of attention, where only the offset of two tokens counts.

The score of token a at token c is `turned product + shift(c - a)`. Both enter kernels through
functions of offsets: a turned product multiplies the covariance of two scores, and their tangent
kernel, by a positive definite g((c - a) - (e - b)); a shift that is trained adds one to the latter.
The derivation is in docs/mathematics.md.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from theorykit.common.arguments import number as one_number
from theorykit.common.arguments import size
from theorykit.kernels import draws, recursion
from theorykit.kernels.attention import Tokens
from theorykit.kernels.inputs import number
from theorykit.kernels.parameters import parameters


class Offsets(ABC):
    """How the scores of tokens use their offset. Those of T tokens are -(T - 1), ..., T - 1.

    **Fields** (of the class): `trained`, whether `shifts` are weights: normals, one per offset.
    """

    trained: bool = False

    def turning(self, offset: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        """Return g of differences of offsets: positive definite, 1 at 0."""
        return np.ones_like(offset)

    def shifts(
        self, key: Any, count: int, draws_each: int, tokens: int, dtype: Any
    ) -> Callable[[Any], Float[Array, "draws offsets"]] | None:
        """Return a function of a block's number that gives what its draws add at each offset."""
        return None

    @abstractmethod
    def build(self, sizes: Any, rngs: Any) -> Any:
        """Return a module with `turned`, of queries or keys, and `shift`, of T tokens."""

    def waves(self, tokens: int) -> Float[np.ndarray, "offsets waves"]:
        """Return functions w_m of the offset with g(u - v) = sum_m w_m(u) w_m(v)."""
        at = np.arange(1 - tokens, tokens)
        values, vectors = np.linalg.eigh(self.turning((at[:, None] - at).astype(float)))
        kept = values > 1e-10 * values[-1]
        return vectors[:, kept] * np.sqrt(values[kept])


@parameters()
@dataclass(frozen=True)
class RoPE(Offsets):
    """Queries and keys are turned by angles that grow with the position (Su et al., 2021).

    Entries come in pairs, and pair f of a token at t is turned by t / base^(f / frequencies). All
    frequencies have the same number of pairs: a finite network's heads have a size that is a
    multiple of 2 frequencies. g(u) is the mean of cos(u / base^(f / frequencies)).

    **Fields:** `base`, a positive number; `frequencies`.
    """

    base: float = 10_000.0
    frequencies: int = 16

    def __post_init__(self):
        size("frequencies", self.frequencies)
        one_number("base", self.base, "a positive number", lambda v: v > 0)

    def angles(self) -> Float[np.ndarray, " frequencies"]:
        """Return the angle of one step for each frequency."""
        return float(self.base) ** -(np.arange(self.frequencies) / self.frequencies)

    def turning(self, offset):
        """Return the mean of the cosines."""
        return np.cos(offset[..., None] * self.angles()).mean(-1)

    def build(self, sizes, rngs):
        """Return the rotation."""
        from theorykit.kernels.layers import finite

        if sizes.head_size % (2 * self.frequencies):
            raise ValueError(
                f"RoPE of {self.frequencies} frequencies turns heads whose size is a multiple of "
                f"{2 * self.frequencies}, got head_size {sizes.head_size}"
            )
        return finite.Rotary(np.tile(self.angles(), sizes.head_size // (2 * self.frequencies)))


@parameters()
@dataclass(frozen=True)
class ALiBi(Offsets):
    """A head subtracts its slope times the distance of two tokens (Press et al., 2022).

    Heads take the slopes in turn. So the number of heads of a finite network is a multiple of the
    number of slopes, and at infinite width each slope has the same share of the heads.

    **Fields:** `slopes`, numbers; those of the paper for eight heads if not given.
    """

    slopes: tuple[float, ...] = tuple(2.0**-h for h in range(1, 9))

    def __post_init__(self):
        if not isinstance(self.slopes, tuple | list) or not len(self.slopes):
            raise ValueError(f"slopes are one or more numbers, got {self.slopes!r}")
        slopes = tuple(float(number("a slope", s)) for s in self.slopes)
        object.__setattr__(self, "slopes", slopes)

    def shifts(self, key, count, draws_each, tokens, dtype):
        """Return the shifts of draws that take the slopes in turn, from a random one on."""
        slopes, far = jnp.asarray(self.slopes, dtype), jnp.abs(jnp.arange(1 - tokens, tokens))
        start = jax.random.randint(key, (), 0, len(self.slopes))

        def block(b):
            at = (start + b * draws_each + jnp.arange(draws_each)) % len(self.slopes)
            return -slopes[at][:, None] * far.astype(dtype)

        return block

    def build(self, sizes, rngs):
        """Return the shifts."""
        from theorykit.kernels.layers import finite

        if sizes.heads % len(self.slopes):
            raise ValueError(
                f"ALiBi of {len(self.slopes)} slopes takes a multiple of {len(self.slopes)} heads, "
                f"got {sizes.heads}"
            )
        return finite.Sloping(np.tile(self.slopes, sizes.heads // len(self.slopes)))


@parameters("scale")
@dataclass(frozen=True)
class RelativeBias(Offsets):
    """A head adds a weight of its own for each offset, N(0, scale^2) (Raffel et al., 2020).

    **Fields:** `scale`, a real scalar; `most`, how many tokens a finite network can take.
    """

    scale: Any = 1.0
    most: int = 64
    trained = True

    def __post_init__(self):
        number("scale", self.scale)
        size("most", self.most)

    def shifts(self, key, count, draws_each, tokens, dtype):
        """Return normals."""
        source = draws.blocks(key, count, (draws_each, 2 * tokens - 1), dtype)
        return lambda b: self.scale * source(b)

    def build(self, sizes, rngs):
        """Return the weights."""
        from theorykit.kernels.layers import finite

        return finite.RelativeBias(rngs, sizes, self.most, float(self.scale))


@dataclass(frozen=True)
class Untrained(Offsets):
    """The offsets of another, with weights that are not trained."""

    of: Offsets

    def turning(self, offset):
        """Return those of the other."""
        return self.of.turning(offset)

    def shifts(self, key, count, draws_each, tokens, dtype):
        """Return those of the other."""
        return self.of.shifts(key, count, draws_each, tokens, dtype)

    def build(self, sizes, rngs):
        """Return the module of the other."""
        return self.of.build(sizes, rngs)


def as_offsets(given: Any) -> Offsets | None:
    """Return what was given, positions in the scores or None.

    **Raises:** `ValueError` for anything else.
    """
    if given is None or isinstance(given, Offsets):
        return given
    raise ValueError(
        f"positions of an attention are RoPE(), ALiBi(), RelativeBias() or None, got {given!r}; "
        "those that are added to tokens are layers, Positions() and Sinusoids()"
    )


class Drawn(NamedTuple):
    """A block of draws: (B, q, r) normals, (B, m, q, r) of m waves, and shifts (B, 2T - 1)."""

    u: Float[Array, "draws ..."]
    shift: Float[Array, "draws offsets"] | None


def scores(
    drawn: Drawn,
    f: Float[Array, "inputs tokens rank"],
    f_rows: Float[Array, "inputs rows rank_rows"],
    rows: Int[Array, "inputs rows"],
    scale: Any,
    waves: Float[np.ndarray, "offsets waves"] | None,
) -> Float[Array, "inputs rows draws tokens"]:
    """Return score draws: `scale sum_m w_m(c - a) F_rows U_m F'`, and the shift at c - a."""
    t = f.shape[1]
    at = jnp.arange(t) - rows[:, :, None] + t - 1  # (n, R, T)
    if waves is None:
        out = recursion.scores(f, f_rows, drawn.u, scale)
    else:

        def add(total, wave):
            w, u = wave
            return total + w[at][:, :, None] * recursion.scores(f, f_rows, u, scale), None

        each = jnp.asarray(waves.T, f.dtype), jnp.moveaxis(drawn.u, 1, 0)
        n, k = rows.shape
        start = jnp.zeros((n, k, drawn.u.shape[0], t), f.dtype) + 0 * (f.sum() + drawn.u.sum())
        out, _ = jax.lax.scan(add, start, each)
    if drawn.shift is None:
        return out
    return out + jnp.moveaxis(drawn.shift[:, at], 0, 2)


def step(
    rows1: Any,
    rows2: Any,
    tokens: Tokens,
    scale2: Any,
    waves: Float[np.ndarray, "offsets waves"],
    shift2: Any,
    apart: Int[Array, "rows1 rows2"],
) -> tuple[Float[Array, "rows1 rows2"], Float[Array, "rows1 rows2"]]:
    """Carry a pair of inputs through attention with positions in its scores; cf. `rows.step`.

    **Arguments:**

    - `rows1`, `rows2`, `tokens`, `scale2`: as there.
    - `waves`: (2T - 1, m), of which g is made.
    - `shift2`: square of the scale of trained shifts; None where there are none.
    - `apart`: b - a for token a of the rows and b of the columns.

    **Returns:** NNGP and NTK.
    """
    s, w = tokens.nngp, tokens.ntk
    t = s.shape[0]
    # g((k - a) - (l - b)) = g((k - l) - (a - b)), for tokens k and l that are looked at.
    of = jnp.asarray(waves, s.dtype)
    across = of[jnp.arange(t)[:, None] - jnp.arange(s.shape[1]) + t - 1]  # (T1, T2, m)
    here = jnp.moveaxis(of[t - 1 - apart], -1, 0)  # (m, R1, R2)
    m = of.shape[1]
    own = [s] if w is None else [s, w]
    fields = [*own, *(v * across[..., i] for v in own for i in range(m))]
    if shift2 is not None:
        fields += [jnp.eye(t, s.shape[1], -d, dtype=s.dtype) for d in range(1 - t, t)]
    out, q = rows1.moments(rows2, fields)
    split = len(own)
    parts = [jnp.sum(here * q[split + i * m : split + (i + 1) * m], 0) for i in range(split)]
    s_rows = tokens.nngp_rows
    w_rows = s_rows if tokens.ntk_rows is None else tokens.ntk_rows
    ntk = out[0] + out[split - 1]
    ntk = ntk + scale2 * ((2 * s_rows + w_rows) * parts[0] + s_rows * parts[-1])
    if shift2 is not None:
        shifted = q[split * (1 + m) :]
        ntk = ntk + shift2 * jnp.take_along_axis(shifted, (t - 1 - apart)[None], 0)[0]
    return out[0], ntk

"""Self-attention as a layer of a description."""

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from theorykit.kernels import draws, features
from theorykit.kernels.attention import Exact, Mechanism, Settled, Tokens, mechanism
from theorykit.kernels.attention.rows import packed, second
from theorykit.kernels.blocks import average, factor_of
from theorykit.kernels.devices import varying
from theorykit.kernels.inputs import number
from theorykit.kernels.layers import offsets
from theorykit.kernels.layers.base import (
    Factored,
    Layer,
    Memory,
    Setting,
    hidden,
    key_of,
    untrained,
)
from theorykit.kernels.layers.masks import as_mask, seen
from theorykit.kernels.layers.offsets import Drawn, as_offsets
from theorykit.kernels.parameters import parameters
from theorykit.kernels.plan import BLOCK
from theorykit.kernels.recursion import State, again, between, fill, in_parts, steepness


@parameters("scale")
@dataclass(frozen=True)
class Attention(Layer):
    """`sum_h A_h (z W_v) / sqrt(D H)`, with A the weights of scores `scale q k' / sqrt(d_k)`.

    **Fields:**

    - `of`: "softmax", "identity", or a mechanism of `kernels.attention`.
    - `scale`: a real scalar, of the scores.
    - `mask`: which token sees which: None, "causal", (T, T) booleans, or an object of
      `layers.masks`.
    - `positions`: how scores use offsets: None, `RoPE`, `ALiBi` or `RelativeBias`.
    - `projection`: values have the size of a head, and an output map takes them back to the width.
      That map adds one more summand to the NTK.

    **Raises:** `ValueError` for anything else; for positions with a mechanism that does not draw
    its scores.
    """

    of: Any = "softmax"
    scale: Any = 1.0
    mask: Any = None
    positions: Any = None
    projection: bool = False
    fresh: ClassVar[bool] = True

    def __post_init__(self):
        attends = mechanism(self.of)
        number("scale", self.scale)
        object.__setattr__(self, "mask", as_mask(self.mask))
        if as_offsets(self.positions) is not None and attends.exact:
            raise ValueError(
                f"positions are in the scores, which {attends!r} does not draw: add them to the "
                "tokens, by Positions() or Sinusoids()"
            )

    @property
    def draws(self) -> int:  # type: ignore[override]
        """1, or 0 for a mechanism that is exact."""
        return 0 if mechanism(self.of).exact else 1

    @property
    def weights(self) -> tuple[str, ...]:  # type: ignore[override]
        """Those of queries, keys and values, and of what else there is."""
        trained = self.positions is not None and self.positions.trained
        more = [("output", self.projection), ("positions", trained)]
        return ("query", "key", "value", *(name for name, there in more if there))

    def sees(self, at: Setting) -> Bool[Array, "inputs tokens sources"]:
        """Return which token sees which."""
        return seen(self.mask, at.mask)

    def memory(self, at: Setting) -> Memory | None:
        """Return the tokens that are looked at, None for those that attend."""
        return None

    def through(self, z, at):
        """Return the wanted tokens after the layer, from joint draws of the whole set."""
        heads, memory = Heads.of(self, z, at), self.memory(at)
        gram = jnp.einsum("iar,ibr->iab", heads.f, heads.f)
        var = jnp.take_along_axis(jnp.sum(heads.f_asks**2, -1), heads.rows, 1)
        real = at.mask if memory is None else memory.mask
        at.notes.append((heads.left, steepness(heads.attends, self.scale, gram, var, real)))
        if isinstance(heads.attends, Exact):
            y = heads.exactly(heads.attends, at)
        else:
            y = heads.one_token(at) if heads.reads_one(at) else heads.every(at)
        ntk = y.ntk if y.ntk is None or not self.projection else y.ntk + y.nngp
        return y._replace(ntk=ntk)

    def own(self, z, out, at):
        """Return the summands; queries and keys have the same one, see docs/mathematics.md."""
        memory = self.memory(at)
        if memory is not None:
            at = at._replace(memory=memory._replace(z=untrained(memory.z)))
        at, z = at._replace(notes=[]), untrained(z)
        found: dict[str, Any] = {
            name: out.nngp for name in ("value", "output") if name in self.weights
        }
        scores = self.through(z, at).ntk
        if "positions" in self.weights:
            fixed = replace(self, positions=offsets.Untrained(self.positions))
            found["positions"] = scores - (scores := fixed.through(z, at).ntk)
        scores = (scores - out.nngp * (1 + self.projection)) / 2
        return {"query": scores, "key": scores, **found}

    def build(self, sizes, rngs):
        """Return the heads."""
        from theorykit.kernels.layers import finite

        return finite.Attention(
            rngs, sizes, mechanism(self.of), float(self.scale), self.mask, self.projection,
            None if self.positions is None else self.positions.build(sizes, rngs),
        )  # fmt: skip


@dataclass(frozen=True)
class Heads:
    """An attention layer on a set of inputs.

    **Fields:**

    - `layer`; `attends`, its mechanism.
    - `asks`: the tokens that attend, `z`: those that are looked at; most often the same. None where
      NNGP and NTK are both `f f'`.
    - `f_asks`, (n, T, q), and `f`, (n, S, r): their factors; `left`, the trace left out of them.
    - `rows`, (n, R): the tokens that attend; `sees`, (n, R, S); `waves`, see `offsets`.
    """

    layer: Attention
    attends: Mechanism
    asks: State | None
    z: State | None
    f_asks: Float[Array, "inputs tokens rank_asks"]
    f: Float[Array, "inputs sources rank"]
    left: Any
    rows: Int[Array, "inputs wanted"]
    sees: Bool[Array, "inputs wanted sources"]
    waves: Any

    @staticmethod
    def of(layer: Attention, z: State | Factored, at: Setting) -> "Heads":
        """Return the layer where `z` enters."""
        memory, own = layer.memory(at), layer.sees(at)
        asks, f_asks, left = _factored(z, at.mask, at.plan.rank)
        h, f = asks, f_asks
        if memory is not None:
            h, f, more = _factored(memory.z, memory.mask, at.plan.rank)
            left = jnp.maximum(left, more)
        n, t = at.mask.shape
        rows = jnp.broadcast_to(jnp.arange(t), (n, t)) if at.rows is None else at.rows
        sees = own if at.rows is None else jnp.take_along_axis(own, rows[:, :, None], 1)
        waves = None if layer.positions is None else layer.positions.waves(t)
        attends = mechanism(layer.of)
        left = jnp.zeros_like(left) if attends.exact else left  # no factor is needed
        return Heads(layer, attends, asks, h, f_asks, f, left, rows, sees, waves)

    def reads_one(self, at: Setting) -> bool:
        """Return whether features make the layer: one token is wanted of each input.

        Features for the NTK are matrices, worth it while they are smaller than the tokens.
        """
        (_, t, r), plan = self.f.shape, at.plan
        tangent = self.z is None and self.layer.positions is None and r * r <= 16 * t * t
        one = at.rows is not None and self.rows.shape[1] == 1
        return one and (not plan.ntk or tangent)

    def source(self, at: Setting) -> tuple[Any, int, int]:
        """Return a function that gives a block of draws, the number of blocks, and their size."""
        key, plan, (n, t, r) = key_of(at), at.plan, self.f.shape
        n, kept = plan.inputs or n, self.attends.cost(t) if plan.ntk else 1
        if self.reads_one(at):
            entries = n * (max(r * r, t * kept) if plan.ntk else max(r, t))
            count, size = plan.blocks(entries, features.BLOCK)
        else:
            count, size = plan.blocks(n * self.rows.shape[1] * max(t * kept, r), BLOCK)
        q = self.f_asks.shape[-1]
        shape: tuple[int, ...] = (q, r)
        if self.waves is not None:
            shape = (self.waves.shape[1], q, r)
        normals = draws.blocks(key, count, (size, *shape), self.f.dtype, plan.sampler)
        shift = None
        if self.layer.positions is not None:
            # Blocks fold their number into the key: this one is none of them.
            shift = self.layer.positions.shifts(
                jax.random.fold_in(key, 2**32 - 1), count, size, at.mask.shape[1], self.f.dtype
            )
        return lambda b: Drawn(normals(b), None if shift is None else shift(b)), count, size

    def scores(self, drawn: Drawn, i: int = 0, j: int | None = None) -> Array:
        """Return the scores of inputs i to j - 1."""
        f, rows = self.f[i:j], self.rows[i:j]
        f_rows = jnp.take_along_axis(self.f_asks[i:j], rows[:, :, None], 1)
        return offsets.scores(drawn, f, f_rows, rows, self.layer.scale, self.waves)

    def weights(self, drawn: Any, slopes: bool) -> Any:
        """Return the `Rows` of all inputs."""
        sees = self.sees[:, :, None]
        if self.attends.exact:
            own = jnp.sum(self.f**2, -1) if self.z is None else jnp.einsum("iaia->ia", self.z.nngp)
            return self.attends.settled(own[:, None, None], sees)
        return self.attends.rows(self.scores(drawn), sees, slopes)

    def exactly(self, attends: Exact, at: Setting) -> State:
        """Return the state after a layer that has a closed form."""
        a, ntk = self.weights(None, False).weights[:, :, 0], at.plan.ntk
        one, two = at.sides()
        (_, k), (n, t, r) = self.rows.shape, self.f.shape
        closed = partial(attends.closed, scale2=self.layer.scale**2)
        linear = isinstance(attends, Settled)
        one_token = self.asks is None and k == 1 and r * r <= 16 * t * t
        if self.z is None and (linear or one_token):
            # A V A' is a Gram matrix if V is f f', and also if it is the square of f f'.
            vectors: Any = {1: jnp.einsum("ias,isr->iar", a, self.f)}
            if not linear:
                vectors[2] = packed(second(a, self.f))
            asks = jnp.take_along_axis(self.f_asks, self.rows[:, :, None], 1)
            whole = lambda k: jnp.einsum("iar,jbr->iajb", k[one], k[two])
            own = lambda k: jnp.sum(k**2, -1)

            def from_vectors(product, ntk):
                tokens = Tokens(self.f, None, product(asks), None)
                return closed(lambda *v: product(vectors[len(v)]), tokens, ntk=ntk)

            nngp, tangent = from_vectors(whole, ntk)
            return self.state(nngp, tangent, from_vectors(own, False)[0], at)

        def between(i):
            """Return NNGP and NTK between an input and all columns."""
            rows: Any = lambda k: (
                None if k is None else jnp.take_along_axis(k[self.rows[i]], self.rows[two][None], 2)
            )
            asks = _across(self.asks, self.f_asks, i, two)
            tokens = Tokens(*_across(self.z, self.f, i, two), *map(rows, asks))
            through = lambda *v: jnp.einsum("as,sju,jbu->ajb", a[i], math.prod(v), a[two])
            return closed(through, tokens, ntk=ntk)

        def variances(i):
            s, asks = _between(self.z, self.f, i, i)[0], _between(self.asks, self.f_asks, i, i)[0]
            through = lambda *v: jnp.einsum("as,su,au->a", a[i], math.prod(v), a[i])
            tokens = Tokens(s, None, jnp.diagonal(asks)[self.rows[i]], None)
            return closed(through, tokens, ntk=False)[0]

        nngp, tangent = jax.lax.map(again(between), one)
        return self.state(nngp, tangent, jax.lax.map(again(variances), jnp.arange(n)), at)

    def state(self, nngp: Array, ntk: Array | None, var: Array, at: Setting) -> State:
        """Return the state whose inputs have the variances `var`, (n, R)."""
        one, two = at.sides()
        if one is two:
            # Equal to the variances to the last bit: the angle of equal tokens is 0.
            nngp = (nngp + nngp.transpose(2, 3, 0, 1)) / 2
            ntk = None if ntk is None else (ntk + ntk.transpose(2, 3, 0, 1)) / 2
            var = jnp.einsum("iaia->ia", nngp)
        return State(nngp, ntk, var[one][:, :, None, None], var[two])

    def one_token(self, at: Setting) -> State:
        """Return the state after the layer of one token of each input, from features."""
        plan, n1 = at.plan, at.n1
        n = self.f.shape[0]
        source, count, size = self.source(at)

        def block(b, total):
            drawn = source(b)

            def panel(i, j):
                s = self.scores(drawn, i, j)[:, 0]
                return features.features(self.attends, s, self.f[i:j], self.sees[i:j, 0], plan.ntk)

            return features.add_block(total, panel, n, n1, plan.ntk)

        start = varying(features.empty(n, n1, self.f.dtype, plan.ntk), self.f)
        total = jax.lax.fori_loop(0, count, again(block), start)
        gram, score, own = features.means(total, count * size, n, n1)
        one, two = at.sides()
        ntk = None
        if score is not None:
            # NNGP and NTK are one before the layer: S_out + S_out + (3 S + S) o Q(S).
            row = jnp.take_along_axis(self.f_asks, self.rows[:, :, None], 1)[:, 0]
            ntk = 2 * gram + 4 * self.layer.scale**2 * (row[one] @ row[two].T) * score
        wide: Any = lambda k: None if k is None else k[:, None, :, None]
        return State(wide(gram), wide(ntk), own[one][:, None, None, None], own[two][:, None])

    def every(self, at: Setting) -> State:
        """Return the state after the layer of the wanted tokens."""
        plan, f = at.plan, self.f
        n, k = self.rows.shape
        square = at.rows is None or at.n1 == n
        source, count, size = self.source(at)
        one, two = at.sides()
        if plan.ntk:
            grid = [g.ravel() for g in jnp.meshgrid(one, two, indexing="ij")]
            pairs = jnp.triu_indices(n) if square else grid

        def block(b):
            a = self.weights(source(b), plan.ntk)
            if not plan.ntk:
                # Features: S_out = Phi Phi' / N with Phi = A F, one product for all pairs.
                phi = jnp.einsum("ianc,icr->ianr", a.weights, f).reshape(n, k, -1)
                nngp = jnp.einsum("iaf,jbf->iajb", phi[one], phi[two]) / size
                return nngp, None, jnp.sum(phi**2, -1) / size
            nngp, ntk = between(partial(self.pair, ntk=plan.ntk), a, *pairs)
            itself = partial(self.pair, ntk=False)
            own = again(lambda of: jnp.diagonal(itself(of[0], of[0], of[1], of[1])[0]))
            if square:
                whole = fill(nngp, n)
                own_var = jnp.einsum("iaia->ia", whole)
                return whole, None if ntk is None else fill(ntk, n), own_var
            laid = lambda v: v.reshape(one.size, two.size, k, k).transpose(0, 2, 1, 3)
            own_var = jax.lax.map(own, (a, jnp.arange(n)))
            return laid(nngp), None if ntk is None else laid(ntk), own_var

        zero = jnp.zeros((one.size, k, two.size, k), f.dtype)
        start = zero, zero if plan.ntk else None, jnp.zeros((n, k), f.dtype)
        nngp, ntk, var = average(block, varying(start, f), count)
        return self.state(nngp, ntk, var, at)

    def pair(self, rows1: Any, rows2: Any, i: Any, j: Any, ntk: bool) -> tuple[Array, Array | None]:
        """Return NNGP and NTK between the wanted tokens of two inputs, from their `Rows`."""
        r1, r2 = self.rows[i], self.rows[j]
        s, w = _between(self.z, self.f, i, j)
        s_asks, w_asks = s, w
        if self.f_asks is not self.f:
            s_asks, w_asks = _between(self.asks, self.f_asks, i, j)
        at_rows: Any = lambda k: None if k is None else k[r1][:, r2]
        tokens = Tokens(s, w, at_rows(s_asks), at_rows(w_asks))
        scale2, positions = self.layer.scale**2, self.layer.positions
        if positions is None or not ntk:
            return in_parts(self.attends, rows1, rows2, tokens, scale2, ntk)
        shift2 = positions.scale**2 if positions.trained else None
        apart = r2 - r1[:, None]
        return offsets.step(rows1, rows2, tokens, scale2, self.waves, shift2, apart)


def _factored(
    z: State | Factored, mask: Bool[Array, "inputs tokens"], rank: int | None
) -> tuple[State | None, Float[Array, "inputs tokens rank"], Any]:
    """Return the state of tokens, None where `f f'` is both of its kernels; f; the trace left."""
    if isinstance(z, Factored):
        return None if z.share is None else z.state(), z.f, jnp.zeros((), z.f.dtype)
    h = hidden(z, mask)
    return h, *factor_of(h, None, rank)


def _between(
    z: State | None, f: Float[Array, "inputs tokens rank"], i: Any, j: Any
) -> tuple[Float[Array, "tokens tokens"], Float[Array, "tokens tokens"] | None]:
    """Return NNGP and NTK between two inputs; None stands for an NTK that is the NNGP."""
    if z is None:
        return f[i] @ f[j].T, None
    return z.nngp[i, :, j], None if z.ntk is None else z.ntk[i, :, j]


def _across(
    z: State | None, f: Float[Array, "inputs tokens rank"], i: Any, two: Any
) -> tuple[Float[Array, "tokens others tokens"], Float[Array, "tokens others tokens"] | None]:
    """Return NNGP and NTK between an input and others, as `_between`."""
    if z is None:
        return jnp.einsum("sr,jur->sju", f[i], f[two]), None
    return z.nngp[i][:, two], None if z.ntk is None else z.ntk[i][:, two]

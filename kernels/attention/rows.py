"""Rows of attention weights, how they move with their scores, and the layer that follows from both.

A row `a` of weights is a function of its scores `s`, and all that a tangent kernel needs of it is
the Jacobian `J_ck = d a_c / d s_k`. Each class here is one form of it:

| class | Jacobian | attention |
|---|---|---|
| `Shares` | diag(a) - a a' | softmax |
| `Ratio` | diag(b) - a b' | a_c = g(s_c) / (constant + sum_k g(s_k)), b = g' / that sum |
| `Separate` | diag(b) | a_c = g(s_c), with b = g' |
| `General` | any matrix | whatever automatic differentiation finds |
| `Fixed` | 0 | weights that do not depend on scores |

Their arrays are (..., N, T): draws, and the tokens that are looked at.
"""

from typing import Any, NamedTuple, Protocol

import jax.numpy as jnp
import numpy as np
from jax.ad_checkpoint import checkpoint_name
from jaxtyping import Array, ArrayLike, Float

from theorykit.common.precision import highest

KEPT = "sums over draws"  # what a gradient keeps of a pair, see `recursion.again`


class Tokens(NamedTuple):
    """What enters an attention layer, for one pair of inputs.

    **Fields:**

    - `nngp`: (T1, T2) covariance of the tokens.
    - `ntk`: (T1, T2); `None` stands for "the same as `nngp`", as it is after the embedding.
    - `nngp_rows`, `ntk_rows`: their (R1, R2) entries at the tokens whose output is wanted.
    """

    nngp: Float[Array, "tokens1 tokens2"]
    ntk: Float[Array, "tokens1 tokens2"] | None
    nngp_rows: Float[Array, "rows1 rows2"]
    ntk_rows: Float[Array, "rows1 rows2"] | None


class Rows(Protocol):
    """Rows of weights in every draw, and how they move; a pytree of arrays."""

    @property
    def weights(self) -> Float[Array, "*batch draws tokens"]:
        """The weights `a`."""
        ...

    def moments(
        self, other: Any, fields: list[Float[Array, "tokens1 tokens2"]]
    ) -> tuple[Float[Array, "fields rows1 rows2"], Float[Array, "fields rows1 rows2"]]:
        """Return the means over draws of `A1 V A2'` and of `Q(V)`, for each field V.

        With S the first of the fields, Q(V)_ab = sum_kl (J1' S J2)_kl V_kl, where J1 and J2 are the
        Jacobians of rows a and b. Rows are (R, N, T).
        """
        ...

    def features(
        self, f: Float[Array, "inputs tokens rank"], phi: Float[Array, "inputs draws rank"]
    ) -> Float[Array, "inputs draws features"]:
        """Return the features `F' J F` of one row of each input, of which Q(F F') is the Gram.

        `f` is the factor of the tokens and `phi` is `F' a`. Rows are (n, N, T).
        """
        ...


@highest
def step(
    rows1: Any, rows2: Any, tokens: Tokens, scale2: Float[ArrayLike, ""], ntk: bool
) -> tuple[Float[Array, "rows1 rows2"], Float[Array, "rows1 rows2"] | None]:
    """Carry a pair of inputs through one attention layer, averaged over N draws of the weights.

    With `A_i` the weights in a draw, `o` the elementwise product, `S` the NNGP and `W` the NTK of
    the tokens that enter,

        S_out = E[A1 S A2']
        W_out = S_out + E[A1 W A2'] + (2 S + W) o E[Q(S)] + S o E[Q(W)].

    The summands of W_out come from the value weights, from the layers below by way of the values,
    and from the scores: query and key weights give 2 S o E[Q(S)], the layers below give the rest.
    Q(V)_ab is what the two Jacobians leave of V, see `Rows`.

    **Arguments:**

    - `rows1`, `rows2`: `Rows` of (R1, N, T1) and (R2, N, T2) arrays.
    - `tokens`: what enters the layer.
    - `scale2`: square of the score scale, a scalar.
    - `ntk`: whether the NTK is wanted too.

    **Returns:** (R1, R2) NNGP, and NTK or None.
    """
    s, w = tokens.nngp, tokens.ntk
    if not ntk:
        return _values(rows1.weights, s, rows2.weights), None
    out, q = rows1.moments(rows2, [s] if w is None else [s, w])
    q = scale2 * checkpoint_name(q, KEPT)  # as small as what is returned: not computed twice
    s_rows = tokens.nngp_rows
    w_rows = s_rows if tokens.ntk_rows is None else tokens.ntk_rows
    return out[0], out[0] + out[-1] + (2 * s_rows + w_rows) * q[0] + s_rows * q[-1]


class Shares(NamedTuple):
    """Weights that sum to one, and whose slopes are they themselves: J = diag(a) - a a'."""

    weights: Float[Array, "*batch draws tokens"]

    def moments(self, other, fields):
        """See `Rows`; Q(V) = A1 (S o V) A2' - (A1 S o A1 V) A2' - A1 (A2 S' o A2 V')' + M_S o M_V.

        Here M_V = A1 V A2', in each draw. Draws come first: a row of all fields is then a row of
        the products, with nothing to transpose between them.
        """
        # Q sees fields up to a shift of rows and columns, so it is given centred ones: what would
        # cancel in its four products is taken out before rounding, and put back in the values.
        fields, shifts = zip(*map(_centred, fields), strict=True)
        s, k = fields[0], len(fields)
        a1, a2 = (rows.weights.transpose(1, 0, 2) for rows in (self, other))
        (n, r1), r2 = a1.shape[:2], a2.shape[1]
        # One product for all fields: narrow ones run at half the rate.
        wide = lambda a, fields: (a @ jnp.concatenate(fields, 1)).reshape(n, len(a[0]), k, -1)
        left, right = wide(a1, fields), wide(a2, [v.T for v in fields])
        # Field by field: broadcasts would be summed over in a derivative, which is slow on CPUs.
        times_first = lambda x: jnp.stack([x[:, :, 0] * x[:, :, i] for i in range(k)], 2)
        moved = wide(a1, [s * v for v in fields]) - times_first(left)
        flat = lambda x: x.reshape(n, -1, x.shape[-1])
        beside = lambda x: jnp.einsum("nie,nbe->nib", flat(x), a2).reshape(n, r1, k, r2)
        values = beside(left)
        crossed = jnp.einsum("nae,nie->nai", a1, flat(times_first(right)))
        # A product with ones: XLA's sum over the leading axis is several times slower on CPUs.
        total = lambda x: (jnp.ones(n, x.dtype) @ x.reshape(n, -1)).reshape(x.shape[1:])
        out = total(values).transpose(1, 0, 2)
        q = total(beside(moved) + times_first(values)).transpose(1, 0, 2)
        q = q - total(crossed).reshape(r1, r2, k).transpose(2, 0, 1)
        mean1, mean2 = a1.mean(0), a2.mean(0)
        sees1, sees2 = mean1.sum(-1)[:, None], mean2.sum(-1)  # 1, or 0 for a row without tokens
        out = out / n + jnp.stack(
            [
                (mean1 @ rows)[:, None] * sees2 + sees1 * (mean2 @ columns)
                for rows, columns in shifts
            ]
        )
        return out, q / n

    def features(self, f, phi):
        """See `Rows`."""
        return packed(second(self.weights, f) - phi[..., :, None] * phi[..., None, :])


class Ratio(NamedTuple):
    """Values of a function over their sum and a constant: J = diag(b) - a b'."""

    weights: Float[Array, "*batch draws tokens"]
    slopes: Float[Array, "*batch draws tokens"]

    def moments(self, other, fields):
        """See `Rows`; the four products of `Shares` with a or b where they differ."""
        (a1, b1), (a2, b2) = self, other
        s, n = fields[0], a1.shape[1]
        mean1, mean2 = _times(a1, s), _times(a2, s.T)
        means = jnp.einsum("ane,bne->nab", mean1, a2)

        def q(v):
            slope1, slope2 = _times(b1, v), _times(b2, v.T)
            inner = _flat(_times(b1, s * v) - mean1 * slope1) @ _flat(b2).T
            both = jnp.einsum("nab,ane,bne->ab", means, slope1, b2, optimize=[(1, 2), (0, 1)])
            return inner - _flat(b1) @ _flat(mean2 * slope2).T + both

        out = jnp.stack([_values(a1, v, a2) for v in fields])
        return out, jnp.stack([q(v) for v in fields]) / n

    def features(self, f, phi):
        """See `Rows`."""
        moved = jnp.einsum("nbt,ntr->nbr", self.slopes, f)
        whole = second(self.slopes, f) - phi[..., :, None] * moved[..., None, :]
        return whole.reshape(*whole.shape[:2], -1)


class Separate(NamedTuple):
    """Each weight depends on its own score only: J = diag(b)."""

    weights: Float[Array, "*batch draws tokens"]
    slopes: Float[Array, "*batch draws tokens"]

    def moments(self, other, fields):
        """See `Rows`; Q(V) = B1 (S o V) B2'."""
        (a1, b1), (a2, b2) = self, other
        out = jnp.stack([_values(a1, v, a2) for v in fields])
        return out, jnp.stack([_values(b1, fields[0] * v, b2) for v in fields])

    def features(self, f, phi):
        """See `Rows`."""
        return packed(second(self.slopes, f))


class General(NamedTuple):
    """Weights with a Jacobian of entries d a_c / d s_k, at T times the cost of the others."""

    weights: Float[Array, "*batch draws tokens"]
    jacobian: Float[Array, "*batch draws tokens tokens"]

    def moments(self, other, fields):
        """See `Rows`; J1' S and J2 V' are multiplied over all draws at once."""
        s, n = fields[0], self.weights.shape[1]
        moved = jnp.einsum("anck,ce->anke", self.jacobian, s)
        q = [
            jnp.einsum("anke,bnke->ab", moved, jnp.einsum("bnel,kl->bnke", other.jacobian, v))
            for v in fields
        ]
        out = jnp.stack([_values(self.weights, v, other.weights) for v in fields])
        return out, jnp.stack(q) / n

    def features(self, f, phi):
        """See `Rows`."""
        moved = jnp.einsum("nbck,nks->nbcs", self.jacobian, f)
        whole = jnp.einsum("ncr,nbcs->nbrs", f, moved)
        return whole.reshape(*whole.shape[:2], -1)


class Fixed(NamedTuple):
    """Weights that no score moves: J = 0."""

    weights: Float[Array, "*batch draws tokens"]

    def moments(self, other, fields):
        """See `Rows`; Q(V) = 0."""
        out = jnp.stack([_values(self.weights, v, other.weights) for v in fields])
        return out, jnp.zeros_like(out)

    def features(self, f, phi):
        """See `Rows`."""
        return jnp.zeros((*phi.shape[:2], 0), phi.dtype)


def _times(a: Float[Array, "rows draws t1"], k: Float[Array, "t1 t2"]) -> Float[Array, "..."]:
    return (a.reshape(-1, a.shape[-1]) @ k).reshape(*a.shape[:2], -1)


def _flat(a: Float[Array, "rows draws tokens"]) -> Float[Array, "rows long"]:
    return a.reshape(a.shape[0], -1)


def _values(
    a1: Float[Array, "rows1 draws t1"], v: Float[Array, "t1 t2"], a2: Float[Array, "rows2 draws t2"]
) -> Float[Array, "rows1 rows2"]:
    """Return the mean over draws of `A1 V A2'`."""
    return _flat(_times(a1, v)) @ _flat(a2).T / a1.shape[1]


def _centred(
    field: Float[Array, "t1 t2"],
) -> tuple[Float[Array, "t1 t2"], tuple[Float[Array, " t1"], Float[Array, " t2"]]]:
    """Return `field - rows - columns` with small entries, and the rows and columns taken out."""
    rows = field.mean(1)
    columns = (field - rows[:, None]).mean(0)
    return field - rows[:, None] - columns, (rows, columns)


def second(
    a: Float[Array, "inputs draws tokens"], f: Float[Array, "inputs tokens rank"]
) -> Float[Array, "inputs draws rank rank"]:
    """Return `F' diag(a) F`."""
    return jnp.einsum("nbt,ntr,nts->nbrs", a, f, f, optimize=[(0, 1), (0, 1)])


def packed(second: Float[Array, "inputs draws rank rank"]) -> Float[Array, "inputs draws pairs"]:
    """Return the upper halves of symmetric matrices, such that inner products stay."""
    n, _, r, _ = second.shape
    i, j = np.triu_indices(r)
    weight = jnp.asarray(np.where(i == j, 1.0, np.sqrt(2.0)), second.dtype)
    return second.reshape(n, -1, r * r)[..., i * r + j] * weight

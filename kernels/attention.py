"""Attention as a kernel sees it: weights from scores, and one layer of NNGP and NTK.

There are two mechanisms, softmax and identity, and `mechanism` refuses others: the features of a
one-token readout and the oracle have the derivatives of these two built in, so that another one
would get a wrong NTK.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Bool, Float

from theorykit.common.precision import highest


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


@runtime_checkable
class Attention(Protocol):
    """What a kernel recursion asks of an attention mechanism."""

    exact: ClassVar[bool]  # the step needs no draws: `weights` ignores its scores

    def weights(
        self, scores: Float[Array, "*batch tokens"], allowed: Bool[Array, "..."]
    ) -> Float[Array, "*batch tokens"]:
        """Return the weights of (..., T) scores, zero where not `allowed`."""
        ...

    def step(
        self,
        a1: Float[Array, "rows1 draws tokens1"],
        a2: Float[Array, "rows2 draws tokens2"],
        tokens: Tokens,
        scale2: Float[ArrayLike, ""],
        ntk: bool,
    ) -> tuple[Float[Array, "rows1 rows2"], Float[Array, "rows1 rows2"] | None]:
        """Return NNGP and NTK after the layer; see `Softmax.step`."""
        ...


@dataclass(frozen=True)
class Softmax:
    """`A = softmax(scores)` over the allowed tokens."""

    exact: ClassVar[bool] = False

    def weights(self, scores, allowed):
        """Return the softmax over allowed tokens; a row that may see none is zero."""
        scores = jnp.where(allowed, scores, -jnp.inf)
        top = jnp.max(scores, -1, keepdims=True)
        e = jnp.exp(scores - jax.lax.stop_gradient(jnp.where(top == -jnp.inf, 0.0, top)))
        total = jnp.sum(e, -1, keepdims=True)
        return e / jnp.where(total > 0, total, 1.0)

    @highest
    def step(self, a1, a2, tokens, scale2, ntk):
        """One attention layer for a pair of inputs, averaged over N draws of the weights.

        With `A_i` the weights in a draw, `o` the elementwise product, `S` the NNGP and `W`
        the NTK of the tokens that enter,

            S_out = E[A1 S A2']
            W_out = S_out + E[A1 W A2'] + (2 S + W) o E[Q(S)] + S o E[Q(W)],
            Q(V)  = A1 (S o V) A2' - ((A1 S) o (A1 V)) A2'
                    - A1 ((S A2') o (V A2')) + (A1 S A2') o (A1 V A2').

        The summands of W_out come from the value weights, from the layers below by way of
        the values, and from the scores: query and key weights give 2 S o E[Q(S)], the
        layers below give the rest. Q(V)_ab is what the two softmax Jacobians leave of V.

        **Arguments:**

        - `a1`, `a2`: (R1, N, T1), (R2, N, T2) weights.
        - `tokens`: what enters the layer.
        - `scale2`: square of the score scale, a scalar.
        - `ntk`: whether the NTK is wanted too.

        **Returns:** (R1, R2) NNGP, and NTK or None.
        """
        s, w = tokens.nngp, tokens.ntk
        r1, n, t1 = a1.shape
        r2, _, t2 = a2.shape
        # (draw, token) is one contracted axis of long products; nothing is transposed.
        flat1, flat2 = a1.reshape(r1, n * t1), a2.reshape(r2, n * t2)
        times = lambda a, k: (a.reshape(-1, a.shape[-1]) @ k).reshape(*a.shape[:2], -1)
        if not ntk:
            return times(a1, s).reshape(r1, -1) @ flat2.T / n, None

        # Q sees fields up to a shift of rows and columns, so it is given centred ones: what would
        # cancel in its four products is taken out before rounding, and put back in the values.
        fields, shifts = zip(*(_centred(v) for v in ([s] if w is None else [s, w])), strict=True)
        first = jnp.stack([times(a1, v) for v in fields])
        second = jnp.stack([times(a1, fields[0] * v) for v in fields])
        other = jnp.stack([times(a2, v.T) for v in fields])
        k = len(fields)
        summed = jnp.concatenate([first, second - first[:1] * first]).reshape(-1, n * t2) @ flat2.T
        out, q = summed.reshape(2, k, r1, r2)
        crossed = flat1 @ (other[:1] * other).reshape(-1, n * t1).T
        both = jnp.einsum("vane,bne->nvab", first, a2)
        # A product with ones: XLA's sum over the leading axis is several times slower on CPUs.
        squared = jnp.ones(n, both.dtype) @ (both[:, :1] * both).reshape(n, -1)
        q = q - crossed.reshape(r1, k, r2).transpose(1, 0, 2) + squared.reshape(k, r1, r2)
        q = q * (scale2 / n)
        mean1, mean2 = a1.mean(1), a2.mean(1)
        sees1, sees2 = mean1.sum(-1)[:, None], mean2.sum(-1)  # 1, or 0 for a row without tokens
        out = out / n + jnp.stack(
            [
                (mean1 @ rows)[:, None] * sees2 + sees1 * (mean2 @ columns)
                for rows, columns in shifts
            ]
        )
        s_rows = tokens.nngp_rows
        w_rows = s_rows if tokens.ntk_rows is None else tokens.ntk_rows
        return out[0], out[0] + out[-1] + (2 * s_rows + w_rows) * q[0] + s_rows * q[-1]


def _centred(
    field: Float[Array, "t1 t2"],
) -> tuple[Float[Array, "t1 t2"], tuple[Float[Array, " t1"], Float[Array, " t2"]]]:
    """Return `field - rows - columns` with small entries, and the rows and columns taken out."""
    rows = field.mean(1)
    columns = (field - rows[:, None]).mean(0)
    return field - rows[:, None] - columns, (rows, columns)


@dataclass(frozen=True)
class Identity:
    """`A = scores`, without a softmax: NNGP and NTK in closed form (Hron et al., 2020).

    Here E[A1_ac A2_be] = beta^2 S_ab S_ce over the tokens that a row may see, so
    `weights` only says which those are.
    """

    exact: ClassVar[bool] = True

    def weights(self, scores, allowed):
        """Return 1 where a row may see a token, else 0."""
        return jnp.broadcast_to(allowed, scores.shape).astype(scores.dtype)

    @highest
    def step(self, a1, a2, tokens, scale2, ntk):
        """As `Softmax.step`, exactly: Q(V)_ab is the sum of S_ce V_ce over visible c, e."""
        a1, a2 = a1[:, 0], a2[:, 0]
        s, s_rows = tokens.nngp, tokens.nngp_rows
        q_s = scale2 * a1 @ (s * s) @ a2.T
        out = s_rows * q_s
        if not ntk:
            return out, None
        w_rows = s_rows if tokens.ntk_rows is None else tokens.ntk_rows
        q_w = q_s if tokens.ntk is None else scale2 * a1 @ (s * tokens.ntk) @ a2.T
        return out, out + s_rows * q_w + (2 * s_rows + w_rows) * q_s + s_rows * q_w


NAMES: Mapping[str, Attention] = MappingProxyType({"softmax": Softmax(), "identity": Identity()})


def mechanism(attention: "str | Attention") -> Attention:
    """Return the mechanism of that name, or the object itself if it is one of them.

    **Raises:** `ValueError` for anything else; a class derived from one of them, too.
    """
    known = NAMES.get(attention) if isinstance(attention, str) else attention
    if known is not None and type(known) in {type(each) for each in NAMES.values()}:
        return known
    raise ValueError(
        f"attention is one of {', '.join(map(repr, NAMES))}, got {attention!r}; kernels of other "
        "mechanisms are not available, since their derivatives are not known"
    )

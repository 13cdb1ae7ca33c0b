"""Theorem 5.2 as a function: two-layer transformers of infinite precision on a random subset."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Integer, PRNGKeyArray, Real

from theorykit.common.arguments import affordable, as_array, finite, integers, numbered, shown, size
from theorykit.subjects import limit
from theorykit.subjects.limit import Transformer
from theorykit.subjects.simulation._margins import first_layer_constants, two_layers
from theorykit.subjects.simulation._one_layer import limit_transformer, readout, together
from theorykit.subjects.simulation._soft import SoftSimulation, Statistic, simulate_soft


def first_layer(
    f: Transformer,
    w: Integer[Array | np.ndarray, "*batch suffix"],
    mu: Float[Array | np.ndarray, "*batch symbols"],
    i: Real[Array | np.ndarray, "*#batch"] | int,
) -> Float[Array | np.ndarray, "*batch d"]:
    """Return q_f(w, mu, i), (..., d): y_i^(1) from the suffix and the shares so far (Lemma B.1).

    Works under `jit`, `vmap` and `grad` in mu; numpy in, numpy out. Powers of i are divided by the
    largest one, and logits are relative to the largest of any symbol that occurs.

    **Arguments:** `w`: (..., tau + 1) symbols in order, -1 before the string begins; `mu`: (...,
    symbols) shares; `i`: (...), the position, from 1.

    **Raises:** `ValueError` for a transformer without layers, invalid symbols, or shares that are
    not one per symbol; if not traced, for shares that are not finite or positions below 1.
    """
    limit_transformer(f, "f")
    if not f.layers:
        raise ValueError("f must have at least one layer.")
    w, mu, i = as_array("w", w, "iu"), as_array("mu", mu, "f"), as_array("i", i)
    symbols = len(f.alphabet)
    numbered(w, symbols, -1)
    numbered(w[..., -1:], symbols)
    if not w.shape[-1] or mu.shape[-1:] != (symbols,):
        raise ValueError(
            f"w has at least one symbol and mu a share for each of {symbols} symbols, got "
            f"arrays of shape {w.shape} and {mu.shape}."
        )
    if isinstance(mu, np.ndarray):
        finite("mu", mu)
    if isinstance(i, np.ndarray) and not (np.isfinite(i) & (i >= 1)).all():
        raise ValueError(f"positions i are counted from 1, got {shown(i)}.")
    xp: Any = np if isinstance(mu, np.ndarray) else jnp
    number = lambda a: xp.asarray(a, mu.dtype)
    i = number(i)[..., None]
    token, log_i = w[..., -1], xp.log(i)
    Y = number(f.E)[token]
    back = w.shape[-1]
    for head in f.layers[0].heads:
        values = head.phi.values if isinstance(head.phi, limit.Local) else ()
        phi = number(np.array([*values, *[0.0] * back])[:back][::-1])
        top = max(1.0, *values) if values else 1.0
        logits = number((f.E @ head.KQ @ f.E.T).T)[token]  # of a query, (..., key)
        there = xp.where(w >= 0, xp.take_along_axis(logits, xp.maximum(w, 0), -1), -xp.inf)
        seen = xp.where(mu > 0, logits, -xp.inf)
        largest = xp.maximum(seen.max(-1), there.max(-1))[..., None]
        # The logit of a symbol that does not occur may be far larger, and has a slope in mu.
        weight = xp.exp(xp.minimum(logits - largest, 80))
        VE = number(f.E @ head.V.T)
        far = xp.exp((1 - top) * log_i) * weight * mu
        extra = xp.exp((phi - top) * log_i) - xp.exp(-top * log_i)
        near = extra * xp.exp(there - largest)
        N = far @ VE + (near[..., None] * VE[w]).sum(-2)
        Y = Y + N / (far.sum(-1, keepdims=True) + near.sum(-1, keepdims=True))
    return _feed(f, 0, Y, xp)


def _feed(f: Transformer, layer: int, Y: Any, xp: Any) -> Any:
    l = f.layers[layer]
    number = lambda a: xp.asarray(a, Y.dtype)
    inside = Y @ number(l.A).T + number(l.b)
    hidden = xp.where(l.heaviside, number(inside >= 0), xp.maximum(inside, 0))
    return Y + hidden @ number(l.B).T


def windows(
    x: Integer[np.ndarray, "*batch T"], symbols: int, tau: int
) -> tuple[Integer[np.ndarray, "*batch T {tau}+1"], Float[np.ndarray, "*batch T {symbols}"]]:
    """Return suffixes (..., T, tau + 1) and shares (..., T, symbols) on strings (..., T).

    **Raises:** `ValueError` for the empty string, invalid symbols, or a negative tau.
    """
    symbols, tau, x = size("symbols", symbols), size("tau", tau, 0), as_array("x", x)
    numbered(x, symbols)
    x = integers("x", x)
    if not x.shape[-1]:
        raise ValueError("a string must have at least one symbol, got the empty string.")
    affordable("windows", x.size * (tau + 1 + symbols), 2**30)
    T = x.shape[-1]
    padded = np.concatenate([np.full((*x.shape[:-1], tau), -1), x], -1)
    w = np.lib.stride_tricks.sliding_window_view(padded, tau + 1, axis=-1)
    seen = np.cumsum(x[..., None] == np.arange(symbols), -2)
    return w, seen / np.arange(1, T + 1)[:, None]


def soft_output(f: Transformer, x: Sequence[str]) -> Float[np.ndarray, " outputs"]:
    """Return the last output of a two-layer transformer, (outputs,), in time linear in |x|.

    It equals `limit.forward`, and is computed through Lemma B.1.

    **Raises:** `ValueError` for another kind of transformer, a symbol outside the alphabet, or the
    empty string, which has no last position.
    """
    two_layers(f)
    return last_outputs(f, np.array(f.encode(x), int))


def last_outputs(
    f: Transformer, x: Integer[np.ndarray, "*batch T"]
) -> Float[np.ndarray, "*batch outputs"]:
    """Return the last outputs, (..., outputs), of two layers on strings of integers, (..., T).

    **Raises:** `ValueError` for another kind of transformer, invalid symbols, or the empty string.
    """
    two_layers(f)
    w, mu = windows(x, len(f.alphabet), f.locality or 0)
    y = first_layer(f, w, mu, np.arange(1, w.shape[-2] + 1))
    head = f.layers[1].heads[0]
    a = np.einsum("...td,de,...e->...t", y, head.KQ, y[..., -1, :])
    weight = np.exp(a - a.max(-1, keepdims=True))
    mean = np.einsum("...t,...td->...d", weight / weight.sum(-1, keepdims=True), y)
    return readout(f, y[..., -1, :] + mean @ head.V.T)


def statistics(
    f: Transformer,
    w: Integer[np.ndarray, "T suffix"],
    mu: Float[np.ndarray, "T symbols"],
    i: int,
) -> Statistic:
    """Return the function (w, mu) -> (p_{f,1}, p_{f,2}) of the proof of Theorem 5.2.

    They are the weight exp(q_f(w, mu, T)^T K2^T Q2 q_f(last)) of a position in the second layer,
    and this weight times q_f / G_f, both divided by the largest weight.

    **Arguments:** `w`, `mu`: at all positions of x, in order; `i`: T.
    """
    KQ, G = f.layers[1].heads[0].KQ, first_layer_constants(f)[0]
    y = first_layer(f, w, mu, np.full(len(w), i))
    direction = KQ @ y[-1]
    top = float((y @ direction).max())

    def p(w: Int[Array, " suffix"], mu: Float[Array, " symbols"]) -> Float[Array, " m"]:
        q = first_layer(f, w, mu, i)
        weight = jnp.exp(q @ jnp.asarray(direction, q.dtype) - top)
        return jnp.concatenate([weight[None], weight * q / G])

    return p


@dataclasses.dataclass(frozen=True, eq=False)
class TwoLayerSimulation:
    """A string that simulates another for two-layer transformers.

    **Fields:** `string`: z, of the same kind as x; `difference`: |f(x) - f(z)| and
    |g(x) - g(z)|; `soft`: the subset and the errors of the averages.
    """

    string: Any
    difference: tuple[float, float]
    soft: SoftSimulation


def simulate_two_layers(
    f: Transformer,
    g: Transformer,
    x: Sequence[str],
    n: int,
    key: PRNGKeyArray,
    candidates: int = 64,
) -> TwoLayerSimulation:
    """Return a string of about n symbols on which f and g differ little from x (Theorem 5.2).

    Lemma 5.3 for the shares of symbols and the numerators and denominators of both second layers,
    each scaled to at most about 1.

    **Raises:** `ValueError` as `simulate_soft`, or for transformers outside Definition 5.1.
    """
    for name, t in (("f", f), ("g", g)):
        two_layers(t, name)
    tau, size = together(f, g)[1], len(f.alphabet)
    symbols = np.array(f.encode(x), int)
    if len(symbols) <= tau:
        raise ValueError(f"a string must be longer than tau = {tau}; this one has {len(symbols)}.")
    w, mu = windows(symbols, size, tau)
    parts = [statistics(t, w, mu, len(symbols)) for t in (f, g)]

    def p(w: Int[Array, " suffix"], mu: Float[Array, " symbols"]) -> Float[Array, " m"]:
        token = (w[-1] == jnp.arange(size)).astype(mu.dtype)
        return jnp.concatenate([token, *(part(w, mu) for part in parts)])

    soft = simulate_soft(p, symbols, n, key, symbols=size, tau=tau, candidates=candidates)
    gaps = [last_outputs(t, symbols) - last_outputs(t, soft.string) for t in (f, g)]
    z = [f.alphabet[s] for s in soft.string]
    return TwoLayerSimulation(
        string="".join(z) if isinstance(x, str) else z,
        difference=tuple(float(np.linalg.norm(v)) for v in gaps),  # type: ignore[arg-type]
        soft=soft,
    )

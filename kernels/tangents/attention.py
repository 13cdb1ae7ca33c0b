"""Softmax attention as a layer of neural-tangents."""

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from theorykit.common.arguments import one_of, size
from theorykit.common.keys import as_key
from theorykit.common.precision import highest
from theorykit.kernels import draws as score_draws
from theorykit.kernels.attention import mechanism as as_mechanism
from theorykit.kernels.layers.masks import as_mask, seen
from theorykit.kernels.pairs import Layer, Pair, Queries, attend_pairs
from theorykit.kernels.parameters import parameters
from theorykit.kernels.plan import Plan
from theorykit.kernels.recursion import State, fill
from theorykit.kernels.tangents.loading import stax


@stax.layer
@stax.supports_masking(remask_kernel=True)
def SoftmaxAttention(
    n_chan_out: int,
    n_chan_key: int,
    n_chan_val: int,
    n_heads: int,
    *,
    key: Any = None,
    draws: int = 1024,
    sampler: str = "independent",
    attention: Any = "softmax",
    mask: Any = None,
    W_key_std: Any = 1.0,
    W_value_std: Any = 1.0,
    W_query_std: Any = 1.0,
    W_out_std: Any = 1.0,
    b_std: Any = None,
    batch_axis: int = 0,
    channel_axis: int = -1,
) -> Any:
    """Return softmax attention with independent queries and keys, for `stax.serial`.

    The network is that of `stax.GlobalSelfAttention(linear_scaling=False)`, and so are the names of
    its arguments. neural-tangents has no kernel for it; here each pair of inputs has its own draws
    of the scores (`docs/kernels.md`), and an entry of a kernel depends on these two inputs only.

    `kernel_fn` takes and returns neural-tangents' `Kernel`, with NNGP and NTK; they are Monte-Carlo
    averages. It takes a `key` too, which is then mixed with those of all such layers: run it with
    several keys, and their spread gives the standard error.

    **Arguments:**

    - `n_chan_out`, `n_chan_key`, `n_chan_val`: channels of outputs, keys and values.
    - `n_heads`: number of heads.
    - `key`: a random key or a seed. Give each layer its own. Not needed for a mechanism without
      draws.
    - `draws`, `sampler`: score draws of a pair, and how they are drawn, as for
      `kernels.InfiniteTransformer`.
    - `attention`: "softmax", "identity", or a mechanism of `kernels.attention`.
    - `mask`: which token sees which: None, "causal", (T, T) booleans, or an object of
      `kernels.layers`. Tokens are the places of all spatial axes, in the order of a reshape.
    - `W_query_std`, `W_key_std`: their product is the scale of the scores.
    - `W_value_std`, `W_out_std`, `b_std`: standard deviations; None is no bias.
    - `batch_axis`, `channel_axis`: of the inputs.

    **Returns:** `(init_fn, apply_fn, kernel_fn)`. Masked inputs are supported (`mask_constant`).

    **Raises:** `ValueError` for sizes below 1, no key where scores are drawn, or what is no
    mechanism, mask or sampler; in `kernel_fn`, for `diagonal_batch=False`.
    """
    widths = [
        size(name, value)
        for name, value in dict(
            n_chan_out=n_chan_out, n_chan_key=n_chan_key, n_chan_val=n_chan_val, n_heads=n_heads
        ).items()
    ]
    heads = _Heads(as_mechanism(attention), W_query_std * W_key_std)
    plan = Plan(
        draws=size("draws", draws),
        replicates=1,
        ntk=True,
        draw="pairwise",
        sampler=one_of("sampler", sampler, score_draws.SAMPLERS),
    )
    if heads.attention.exact:
        own, plan = jax.random.key(0), plan.without_draws()
    elif key is None:
        raise ValueError(
            "the kernels of this layer are Monte-Carlo averages: give key=jax.random.key(0), or "
            "another"
        )
    else:
        own = as_key(key)
    which = as_mask(mask)
    axes = batch_axis, channel_axis
    values = W_value_std * W_out_std

    def init_fn(rng, input_shape):
        out, of_key, of_value, count = widths
        place, channels = channel_axis % len(input_shape), input_shape[channel_axis]
        shapes = [
            (count, channels, of_key),
            (count, channels, of_key),
            (count, channels, of_value),
            (count, of_value, out),
            (out,),
        ]
        keys = jax.random.split(rng, len(shapes))
        weights = [jax.random.normal(k, s) for k, s in zip(keys, shapes, strict=True)]
        output_shape = (*input_shape[:place], out, *input_shape[place + 1 :])
        return output_shape, tuple(weights if b_std is not None else weights[:-1])

    def apply_fn(params, inputs, mask=None, **kwargs):
        query, key, value, output, *bias = params
        x = jnp.moveaxis(inputs, axes, (0, -1))
        spatial = x.shape[1:-1]
        x = x.reshape(len(x), -1, x.shape[-1])
        real = _real(mask, inputs.shape, axes)
        of_head = lambda w: jnp.einsum("ntc,hcd->nhtd", x, w) / math.sqrt(x.shape[-1])
        scores = heads.attention.products(of_head(query), of_head(key))
        scores = heads.score_scale * scores / math.sqrt(query.shape[-1])
        weights = heads.attention.weights(scores, seen(which, real)[:, None])
        mixed = jnp.einsum("nhac,nhce->nhae", weights, of_head(value))
        out = jnp.einsum("nhae,hed->nad", mixed, output)
        out = values * out / math.sqrt(output.shape[0] * output.shape[1])
        if bias:
            out = out + b_std * bias[0]
        return jnp.moveaxis(out.reshape(len(out), *spatial, -1), (0, -1), axes)

    @stax.requires(
        batch_axis=batch_axis,
        channel_axis=channel_axis,
        diagonal_spatial=stax.Diagonal(input=stax.Bool.NO),
    )
    def kernel_fn(k, *, key=None, **kwargs):
        if not k.diagonal_batch:
            raise ValueError(
                "SoftmaxAttention keeps the covariance of each input with itself only: call "
                "kernel_fn without diagonal_batch=False"
            )
        k = k.reverse() if k.is_reversed else k
        drawn = own if key is None else jax.random.fold_in(as_key(key), jax.random.bits(own))
        mask2 = k.mask1 if k.cov2 is None else k.mask2
        sees1 = seen(which, _real(k.mask1, k.shape1, axes))
        sees2 = seen(which, _real(mask2, k.shape2, axes))
        ntk = k.ntk
        if ntk is not None and ntk.ndim == 0:
            ntk = jnp.zeros_like(k.nngp)  # of inputs, which have no weights
        before = _Tokens(_flat(k.cov1, 1), _flat(k.cov2, 1), _flat(k.nngp, 2), _flat(ntk, 2))
        asked = replace(plan, ntk=ntk is not None)
        after = _through(heads, before, sees1, sees2, drawn, asked)
        spatial = k.nngp.shape[2::2]
        bias = 0.0 if b_std is None else b_std**2
        out: Any = lambda v: None if v is None else _zipped(values**2 * v + bias, spatial)
        cov1, cov2, nngp, ntk = map(out, after)
        return k.replace(cov1=cov1, cov2=cov2, nngp=nngp, ntk=ntk, is_gaussian=True)

    def mask_fn(mask, input_shape):
        return jnp.all(mask, channel_axis, keepdims=True)

    return init_fn, apply_fn, kernel_fn, mask_fn


@parameters("score_scale")
@dataclass(frozen=True)
class _Heads:
    """What the draws of a pair ask of a network."""

    attention: Any
    score_scale: Any


class _Tokens(NamedTuple):
    """The fields of neural-tangents' kernel, with all spatial axes as one axis of T tokens.

    **Fields:** `cov1`, (n1, T, T); `cov2`, (n2, T, T), or None where the inputs are the first ones;
    `nngp`, (n1, n2, T, T); `ntk`, the same, or None.
    """

    cov1: Float[Array, "inputs1 tokens tokens"]
    cov2: Float[Array, "inputs2 tokens tokens"] | None
    nngp: Float[Array, "inputs1 inputs2 tokens tokens"]
    ntk: Float[Array, "inputs1 inputs2 tokens tokens"] | None


@partial(jax.jit, static_argnames="plan")
@highest
def _through(
    heads: _Heads,
    z: _Tokens,
    sees1: Bool[Array, "inputs1 tokens tokens"],
    sees2: Bool[Array, "inputs2 tokens tokens"],
    key: Any,
    plan: Plan,
) -> _Tokens:
    """Return the kernels after the layer and its output weights, each of norm 1."""
    n1, n2, t = z.nngp.shape[:3]
    shape = 2 * t, 2 * t
    layer = Layer.drawn(heads.attention, t, shape, plan, key, z.nngp.dtype, first=False, top=True)
    every = jnp.arange(t)

    def pair(s11, s12, s22, w12, see1, see2, same):
        own = [State(s, None, jnp.diagonal(s)[:, None], jnp.diagonal(s)) for s in (s11, s22)]
        h = Pair(State(s12, w12, own[0].var1, own[1].var2), *own)
        f: Any = None
        if not heads.attention.exact:
            # Of both inputs at once: an entry must not depend on which of them comes first.
            f, _ = score_draws.factor(jnp.block([[s11, s12], [s12.T, s22]]))
            f = f[:t], f[t:]
        each = plan if w12 is not None else replace(plan, ntk=False)
        queries = Queries((every, every), (see1, see2), jnp.asarray(0), same)
        alone = lambda tree: jax.tree.map(lambda k: k[None], tree)
        out = attend_pairs(heads, each, layer, alone(h), alone(f), alone(queries))
        # The last summand of the NTK is that of the output weights.
        return out.nngp[0], None if out.ntk is None else (out.ntk + out.nngp)[0]

    def itself(of):
        s, see = of
        return pair(s, s, s, None, see, see, jnp.asarray(True))[0]

    def between(ij):
        i, j = ij
        own2 = z.cov1 if z.cov2 is None else z.cov2
        w = None if z.ntk is None else z.ntk[i, j]
        same = (i == j) if z.cov2 is None else jnp.asarray(False)
        return pair(z.cov1[i], z.nngp[i, j], own2[j], w, sees1[i], sees2[j], same)

    if z.cov2 is None:
        values = jax.lax.map(between, jnp.triu_indices(n1))
        whole: Any = lambda v: None if v is None else fill(v, n1).transpose(0, 2, 1, 3)
        nngp, ntk = map(whole, values)
        on = jnp.arange(n1)
        return _Tokens(nngp[on, on], None, nngp, ntk)
    grid = [g.ravel() for g in jnp.meshgrid(jnp.arange(n1), jnp.arange(n2), indexing="ij")]
    values = jax.lax.map(between, tuple(grid))
    nngp, ntk = jax.tree.map(lambda v: v.reshape(n1, n2, t, t), values)
    cov1, cov2 = (jax.lax.map(itself, of) for of in ((z.cov1, sees1), (z.cov2, sees2)))
    return _Tokens(cov1, cov2, nngp, ntk)


def _real(
    mask: Bool[Array, "..."] | None, shape: tuple[int, ...], axes: tuple[int, int]
) -> Bool[Array, "inputs tokens"]:
    """Return which tokens are there, from neural-tangents' mask: true where an entry is not."""
    batch, channel = (a % len(shape) for a in axes)
    places = [shape[batch], *(s for a, s in enumerate(shape) if a not in (batch, channel))]
    if mask is None:
        return jnp.ones((places[0], math.prod(places[1:])), bool)
    gone = jnp.moveaxis(jnp.all(mask, channel, keepdims=True), (batch, channel), (0, -1))[..., 0]
    return ~jnp.broadcast_to(gone, places).reshape(places[0], -1)


def _flat(cov: Float[Array, "..."] | None, batch: int) -> Any:
    """Return covariances (..., T, T) of (..., H, H, W, W, ...); `batch` axes come first."""
    if cov is None:
        return None
    first, second = range(batch, cov.ndim, 2), range(batch + 1, cov.ndim, 2)
    t = math.prod(cov.shape[a] for a in first)
    return cov.transpose(*range(batch), *first, *second).reshape(*cov.shape[:batch], t, t)


def _zipped(
    cov: Float[Array, "*inputs tokens tokens"], spatial: tuple[int, ...]
) -> Float[Array, "..."]:
    """Return (..., H, H, W, W, ...) covariances of (..., T, T)."""
    batch, many = cov.ndim - 2, len(spatial)
    both = [
        batch + a for pair in zip(range(many), range(many, 2 * many), strict=True) for a in pair
    ]
    return cov.reshape(*cov.shape[:batch], *spatial, *spatial).transpose(*range(batch), *both)

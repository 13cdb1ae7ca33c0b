"""Runs the recursion: replicates, their mean and error, progress."""

import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from theorykit.common.devices import platform
from theorykit.kernels import draws
from theorykit.kernels.attention import mechanism
from theorykit.kernels.blocks import embedded, joint_block, joint_top, normed_factor
from theorykit.kernels.devices import varying
from theorykit.kernels.features import feature_top
from theorykit.kernels.inputs import Inputs, known
from theorykit.kernels.moments import Moments, standard_error
from theorykit.kernels.pairs import grouped, pairwise, ranks
from theorykit.kernels.plan import AT_ONCE, Plan, forms
from theorykit.kernels.progress import bar
from theorykit.kernels.recursion import fill
from theorykit.kernels.result import Kernel

CHUNKS = 20  # parts that a long list of pairs is done in, for the progress bar
VALUES = ("nngp", "ntk", "nngp_stderr", "ntk_stderr")
SEEN = 16  # draws that must be seen before the spread of replicates shows how rare they are
SPECTRUM = 1024  # most rows for which the smallest eigenvalue is computed


def compiled(f: Callable[..., Any], *static: str) -> Callable[..., Any]:
    """Return `f` compiled, on a CPU by the compiler's first level of optimisation.

    Small problems run for a moment and would compile for seconds: that level takes a third of the
    time. Large ones are a tenth faster by it. It cannot be asked for inside another computation.
    """
    inside = jax.jit(f, static_argnames=static)
    options = {"xla_backend_optimization_level": "1"}
    quick = jax.jit(f, static_argnames=static, compiler_options=options)

    return lambda *args: (quick if _alone(args) else inside)(*args)


def _alone(args: Any) -> bool:
    """Return whether a call is a computation of its own, on a CPU."""
    return known(args) and platform() == "cpu"


_block = compiled(joint_block, "plan", "first")
_top = compiled(joint_top, "plan", "first")
_pairs = compiled(pairwise, "plan", "layers", "form")


def placed(net: Any) -> bool:
    """Whether the network has learned positions."""
    return not (known(net.positions) and float(net.positions) == 0.0)


def embed(
    net: Any,
    x: Float[Array, "inputs tokens features"],
    mask: Bool[Array, "inputs tokens"],
    positions: bool,
) -> Float[Array, "inputs tokens rank"]:
    """Return the factor (n, T, r) of the covariance `x x' / d + positions^2 I`."""
    n, t, d = x.shape
    f = x / math.sqrt(d)
    if positions:
        eye = jnp.broadcast_to(jnp.eye(t, dtype=f.dtype), (n, t, t)) * mask[..., None]
        f = jnp.concatenate([f, net.positions * eye], -1)
    if f.shape[-1] > n * t:
        flat = f.reshape(n * t, -1)
        f = draws.factor(flat @ flat.T)[0].reshape(n, t, n * t)
    return f


def estimate(net, x, mask, key, n1: int, plan: Plan, form: tuple[str, ...], positions: bool, tick):
    """Return one replicate: NNGP, NTK or None, the trace left out by factors, and the share.

    The share is that of the draws that contribute to the NTK, for rows and columns; see `share_of`.

    **Arguments:**

    - `net`: the network.
    - `x`: (n, T, d) rows and columns.
    - `mask`: (n, T).
    - `key`: random key of the replicate.
    - `n1`: number of rows; all inputs are both rows and columns if it is n.
    - `plan`: draws and what is wanted.
    - `form`: of the draws in each layer.
    - `positions`: whether there are learned positions.
    - `tick`: called with each finished piece of work.
    """
    n, t = mask.shape
    values: Any
    factor: Array | None
    f0 = embed(net, x, mask, positions)
    rank = f0.shape[-1]
    one_token = net.readout == "last" and form[-1] == "joint"
    # Features for the NTK are matrices, worth it while they are smaller than the tokens.
    fast = one_token and (not plan.ntk or (net.depth == 1 and rank**2 <= 16 * t * t))
    joint = sum(f == "joint" for f in form)
    layer_key = lambda layer: jax.random.fold_in(key, layer)
    factor, left = normed_factor(net, f0), jnp.zeros((), f0.dtype)
    steep = jnp.zeros(n, f0.dtype)
    z = embedded(f0, plan.ntk) if joint and not (fast and net.depth == 1) else None
    for layer in range(min(joint, net.depth - 1)):
        z, lost, own = _block(net, z, factor, mask, layer_key(layer), plan, layer == 0)
        factor, left, steep = None, jnp.maximum(left, lost), jnp.maximum(steep, own)
    key, first = layer_key(net.depth - 1), net.depth == 1
    if fast:
        state = f0 if first else z
        *grams, lost, own = feature_top(net, state, factor, mask, n1, key, plan, first, tick)
        steep = jnp.maximum(steep, own)
        i, j = np.indices((n, n) if n1 == n else (n1, n - n1), sparse=True)
        j = j if n1 == n else j + n1
        return *grams, jnp.maximum(left, lost), share_of(steep[i], steep[j], i == j)

    i, j = np.triu_indices(n) if n1 == n else np.indices((n1, n - n1)).reshape(2, -1)
    j = j if n1 == n else j + n1
    if joint == net.depth:
        at: Any = jnp.asarray(i), jnp.asarray(j)
        values, lost, own = _top(net, z, factor, mask, at, key, plan, first)
        left, steep = jnp.maximum(left, lost), jnp.maximum(steep, own)
        apart = jnp.stack([steep[i], steep[j]])
    else:
        groups, place, swapped = grouped(n1, ranks(x), t)
        count, size = groups.seconds.shape
        chunk = max(-(-64 // size), -(-count // CHUNKS)) if known(x, key, net, mask) else count
        parts = []
        for start in range(0, count, chunk):
            # The last chunk is filled up with a repeated group, so that all have one shape.
            take = np.arange(start, start + chunk) % count
            some = jax.tree.map(lambda k, take=take: jnp.asarray(k[take]), groups)
            part = _pairs(net, z, f0, mask, some, key, plan, net.depth - joint, form[-1])
            parts.append(tick(part))
        flat = lambda *p: jnp.concatenate(p).reshape(-1, *p[0].shape[2:])[place]
        *values, own = jax.tree.map(flat, *parts)
        turned = lambda k: jnp.where(swapped[:, None, None], k.transpose(0, 2, 1), k)
        values = jax.tree.map(lambda k: turned(k) if k.ndim == 3 else k, values)
        own = jnp.where(swapped[:, None], own[:, ::-1], own)
        apart = jnp.maximum(jnp.stack([steep[i], steep[j]]), own.T)
    share = share_of(apart[0], apart[1], i == j)
    grams, share = jax.tree.map(partial(assemble, n=n, n1=n1), (tuple(values), share))
    return *grams, left, share


def share_of(steep1: Any, steep2: Any, same: Any) -> Array:
    """Return the effective share of the draws that a tangent kernel's score terms come from.

    A softmax has a slope where two of its scores are nearly tied, a sigmoid where its score is near
    zero; the slope is a(1 - a) in both. Take two tokens whose scores differ by a normal variable
    with standard deviation `steep`, or one such score. The squared mean of a(1 - a) over its mean
    square is then 2.39 / steep, which is the share of the draws; for the square of a(1 - a), in a
    row with itself, it is 1.55 / steep. Rows of two inputs are taken to be independent, which makes
    ties rarest.
    """
    part = lambda c, steep: jnp.minimum(1.0, c / jnp.maximum(steep, c))
    return jnp.where(same, part(1.55, steep1), part(2.39, steep1) * part(2.39, steep2))


def _whole(net, x, mask, key, r, n1: int, plan: Plan, form: tuple[str, ...], positions: bool):
    key = jax.random.fold_in(key, r)
    return estimate(net, x, mask, key, n1, plan, form, positions, lambda done: done)


_one = compiled(_whole, "n1", "plan", "form", "positions")


def assemble(values: Float[Array, "pairs ..."], n: int, n1: int) -> Float[Array, "..."]:
    """Return the kernel matrix whose pairs are `values`."""
    if n1 < n:
        tokens = values.shape[1:]
        out = values.reshape(n1, n - n1, *tokens)
        return out.transpose(0, 2, 1, 3) if tokens else out
    if values.ndim == 3:
        return fill(values, n)
    return fill(values[:, None, None], n)[:, 0, :, 0]


def run(
    net: Any, inputs: Inputs, key: Array, plan: Plan, progress: bool | None, device: Any = None
) -> Kernel:
    """Return the mean of the replicates and its standard error, on a device that is named."""
    return on_device(lambda key: _run(net, inputs, key, plan, progress), key, device)


def on_device(kernel: Any, key: Array, device: Any) -> Kernel:
    """Return `kernel(key)`, on a device that is named."""
    if device is None:
        return kernel(key)
    with jax.default_device(device):
        # A committed key gives the same numbers as any other, but would not leave its device.
        found = kernel(None if key is None else jax.device_put(key, device))
        there = lambda a: jax.device_put(a, device) if isinstance(a, jax.Array) else a
        return jax.tree.map(there, found)


def typed(net: Any, dtype: Any) -> Any:
    """Return a network whose scales have this dtype, if they have a dtype of their own."""
    return jax.tree.map(lambda v: v.astype(dtype) if hasattr(v, "dtype") else v, net)


def _run(net: Any, inputs: Inputs, key: Array, plan: Plan, progress: bool | None) -> Kernel:
    net = typed(net, inputs.x.dtype)
    x, mask, n1, *_ = inputs
    n, t, d = x.shape
    positions = placed(net)
    pairs = n * (n + 1) // 2 if n1 == n else n1 * (n - n1)
    form, cost = forms(net, plan, n, pairs, t, d + t * positions)
    traced = not known(x, key, net, mask)
    if traced:
        net, x, mask, key = varying((net, x, mask, key), net, x, mask, key)

    each = replace(plan, replicates=1)  # another number of them must not recompile anything

    def one(r, tick):
        if traced or cost < AT_ONCE:
            return tick(_one(net, x, mask, key, r, n1, each, form, positions))
        now = jnp.asarray(x), jnp.asarray(mask), jax.random.fold_in(key, r)
        return estimate(net, *now, n1, each, form, positions, tick)

    kernel, rare = replicated(one, plan, traced, n1 == n, progress)
    kernel = kernel._replace(draw=", ".join(dict.fromkeys(form)))
    kernel = returned(kernel, inputs.dtype)
    if not traced:
        where = f"score_scale {float(net.score_scale):g}"
        report(kernel, rare, where, mechanism(net.attention).invariant)
    return restore(inputs, kernel) if net.readout == "tokens" else kernel


def replicated(
    one: Any, plan: Plan, traced: bool, square: bool, progress: bool | None
) -> tuple[Kernel, Any]:
    """Return the mean of the replicates and its standard error, and what is too rare to have one.

    **Arguments:**

    - `one`: a function of the replicate's number and of `tick`, which is called with each finished
      piece of work. It returns NNGP, NTK or None, the trace left out, and the `share` of draws.
    - `plan`: what is wanted.
    - `traced`: whether JAX is tracing.
    - `square`: whether rows and columns are the same inputs.
    - `progress`: as for `InfiniteTransformer`.
    """
    if traced:
        runs = jax.lax.map(lambda r: one(r, lambda done: done), jnp.arange(plan.replicates))
        *mean, left, share = jax.tree.map(lambda v: v.mean(0), runs)
        squares = jax.tree.map(lambda v, m: ((v - m) ** 2).sum(0), list(runs[:2]), mean)
        left = jnp.max(runs[2])
    else:
        with bar("kernel", plan.replicates, progress) as tick:
            *first, left, share = one(0, tick)
            found = Moments(first)
            tick.replicate()
            for r in range(1, plan.replicates):
                *value, lost, _ = one(r, tick)
                found, left = found.add(value), jnp.maximum(left, lost)
                tick.replicate()
        mean, squares = found.mean, found.squares
    stderr, smallest, rare = _errors(mean, squares, share, plan, square)
    kernel = Kernel(
        mean[0],
        mean[1],
        stderr[0],
        stderr[1],
        draws=0 if plan.exact else plan.draws,
        replicates=plan.replicates,
        smallest_eigenvalue=smallest,
        leftover=None if plan.rank is None else left,
    )
    return kernel, rare


def returned(kernel: Kernel, dtype: Any) -> Kernel:
    """Return a kernel with its values in a dtype."""
    return _each_value(lambda k: k.astype(dtype), kernel)


def _each_value(change: Any, kernel: Kernel) -> Kernel:
    """Return a kernel with its values changed: arrays, or dictionaries of them by group."""
    values: Any = {name: jax.tree.map(change, getattr(kernel, name)) for name in VALUES}
    return kernel._replace(**values)


def report(kernel: Kernel, rare: Any, where: str, invariant: bool) -> None:
    """Refuse a kernel that overflowed, and warn where an NTK depends on draws that were not seen.

    **Arguments:** `kernel`, `rare`: see `replicated`; `where`: names the score scale; `invariant`:
    whether its slopes are where scores are tied, see `Mechanism`.
    """
    for name in ("nngp", "ntk"):
        for values in jax.tree.leaves(getattr(kernel, name)):
            if bool(jnp.isfinite(values).all()):
                continue
            scale, _, size = where.partition(" ")
            known = f" ({scale} is {size})" if size else ""
            raise ValueError(
                f"the {name} is beyond the range of {values.dtype}: smaller inputs or scales"
                f"{known}, or a wider dtype, would be right"
            )
    if rare is not None and float(rare[0]) > 0:
        count, seen, needed = map(float, rare)
        which = "largest scores are nearly tied" if invariant else "scores are close to zero"
        warnings.warn(
            f"at {where} the NTK is carried by draws whose {which}, "
            f"of which about {seen:.2g} were seen in all, and has no error (inf) in {count:.0f} "
            f"of its entries; take {_at_least(needed):.2g} draws, a smaller score_scale, or "
            'get="nngp", which is not concerned',
            stacklevel=9,  # the caller of the network: see `run` here and in layers/network.py
        )


def _at_least(count: float) -> float:
    """Return a number of two digits that is no smaller."""
    unit = 10.0 ** (math.floor(math.log10(count)) - 1)
    return math.ceil(count / unit) * unit


@partial(jax.jit, static_argnames=("plan", "square"))
def _errors(mean, squares, share, plan: Plan, square: bool):
    """Return the standard errors, the smallest relative eigenvalue, and what is too rare.

    Where fewer than `SEEN` draws, and fewer than one in `SEEN`, contribute to the NTK, replicates
    that saw none of them agree with each other: the error of the NTK is infinite. Also returned are
    the number of entries that this concerns, the number of such draws at the worst of them, and the
    number of draws that would be enough.
    """
    if plan.exact:
        stderr = jax.tree.map(jnp.zeros_like, mean)
    elif plan.replicates == 1:
        stderr = [None, None]
    else:
        stderr = standard_error(squares, plan.replicates)
    rare = None
    if plan.ntk and not plan.exact:
        draws = plan.draws * plan.replicates
        few = (share < 1 / SEEN) & (draws * share < SEEN) & (draws >= SEEN)
        rare = jnp.stack([few.sum(), draws * share.min(), SEEN / share.min() / plan.replicates])
        lift = lambda e: jnp.where(few[:, None, :, None] if e.ndim == 4 else few, jnp.inf, e)
        stderr[1] = jax.tree.map(lift, stderr[1])
    kernels = jax.tree.leaves(mean)
    side = round(kernels[0].size ** 0.5)
    if not square or side > SPECTRUM:
        return stderr, None, rare
    grams = [jax.lax.stop_gradient(k).reshape(side, side) for k in kernels]
    values = [jnp.linalg.eigvalsh((k + k.T) / 2) for k in grams]
    largest = [jnp.where(v[-1] > 0, v[-1], 1.0) for v in values]
    ratios = [v[0] / top for v, top in zip(values, largest, strict=True)]
    return stderr, jnp.min(jnp.stack(ratios)), rare


def restore(inputs: Inputs, kernel: Kernel) -> Kernel:
    """Give token kernels back the lengths their inputs came with."""
    t = inputs.mask.shape[1]
    t1, t2 = inputs.lengths

    def fit(k):
        k = k[:, :t1, :, :t2]
        return jnp.pad(k, [(0, 0), (0, max(t1 - t, 0)), (0, 0), (0, max(t2 - t, 0))])

    return _each_value(fit, kernel)

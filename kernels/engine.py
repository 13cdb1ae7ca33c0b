"""Runs the recursion: replicates, their mean and error, progress."""

from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from theorykit.kernels import draws
from theorykit.kernels.blocks import embedded, joint_block, joint_top, normed_factor
from theorykit.kernels.features import feature_top
from theorykit.kernels.inputs import Inputs, known
from theorykit.kernels.moments import Moments, standard_error
from theorykit.kernels.pairs import pairwise
from theorykit.kernels.plan import AT_ONCE, Plan, forms
from theorykit.kernels.progress import bar
from theorykit.kernels.recursion import fill
from theorykit.kernels.result import Kernel

CHUNKS = 20  # parts that a long list of pairs is done in, for the progress bar
SPECTRUM = 1024  # rows up to which the smallest eigenvalue is looked for
_block = jax.jit(joint_block, static_argnames=("plan", "first"))
_top = jax.jit(joint_top, static_argnames=("plan", "first"))
_pairs = jax.jit(pairwise, static_argnames=("plan", "layers", "form"))


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
    f = x / np.sqrt(d)
    if positions:
        eye = jnp.broadcast_to(jnp.eye(t, dtype=f.dtype), (n, t, t)) * mask[..., None]
        f = jnp.concatenate([f, net.positions * eye], -1)
    if f.shape[-1] > n * t:
        flat = f.reshape(n * t, -1)
        f = draws.factor(flat @ flat.T)[0].reshape(n, t, n * t)
    return f


def estimate(net, x, mask, key, n1: int, plan: Plan, form: tuple[str, ...], positions: bool, tick):
    """Return one replicate: NNGP, NTK or None, and the trace left out by factors.

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
    one_token = net.readout == "last" and form[-1] == "joint" and not plan.exact
    # Features for the NTK are matrices, worth it while they are smaller than the tokens.
    fast = one_token and (not plan.ntk or (net.depth == 1 and rank**2 <= 16 * t * t))
    joint = sum(f == "joint" for f in form)
    layer_key = lambda layer: jax.random.fold_in(key, layer)
    factor, left = normed_factor(net, f0), jnp.zeros((), f0.dtype)
    z = embedded(f0, plan.ntk) if joint and not (fast and net.depth == 1) else None
    for layer in range(min(joint, net.depth - 1)):
        z, lost = _block(net, z, factor, mask, layer_key(layer), plan, layer == 0)
        factor, left = None, jnp.maximum(left, lost)
    key, first = layer_key(net.depth - 1), net.depth == 1
    if fast:
        state = f0 if first else z
        *grams, lost = feature_top(net, state, factor, mask, n1, key, plan, first, tick)
        return *grams, jnp.maximum(left, lost)

    i, j = np.triu_indices(n) if n1 == n else np.indices((n1, n - n1)).reshape(2, -1)
    j = j if n1 == n else j + n1
    if joint == net.depth:
        at: Any = jnp.asarray(i), jnp.asarray(j)
        values, lost = _top(net, z, factor, mask, at, key, plan, first)
        left = jnp.maximum(left, lost)
    else:
        chunk = max(64, -(-i.size // CHUNKS)) if known(x, key, net, mask) else i.size
        parts = []
        for start in range(0, i.size, chunk):
            # The last chunk is filled up with a repeated pair, so that all have one shape.
            at = tuple(jnp.asarray(k[np.arange(start, start + chunk) % i.size]) for k in (i, j))
            part = _pairs(net, z, f0, mask, at, key, plan, net.depth - joint, form[-1])
            parts.append(tick(part))
        values = jax.tree.map(lambda *p: jnp.concatenate(p)[: i.size], *parts)
    return *jax.tree.map(partial(assemble, n=n, n1=n1), tuple(values)), left


def _whole(net, x, mask, key, r, n1: int, plan: Plan, form: tuple[str, ...], positions: bool):
    key = jax.random.fold_in(key, r)
    return estimate(net, x, mask, key, n1, plan, form, positions, lambda done: done)


_static = ("n1", "plan", "form", "positions")
_inside = jax.jit(_whole, static_argnames=_static)
# Small problems run for a moment and would compile for seconds: on a CPU the compiler's first
# level of optimisation took a third of the time and gave code about as fast.
_quick = jax.jit(
    _whole, static_argnames=_static, compiler_options={"xla_backend_optimization_level": "1"}
)


def assemble(values: Float[Array, "pairs ..."], n: int, n1: int) -> Float[Array, "..."]:
    """Return the kernel matrix of which `values` are the pairs."""
    if n1 < n:
        tokens = values.shape[1:]
        out = values.reshape(n1, n - n1, *tokens)
        return out.transpose(0, 2, 1, 3) if tokens else out
    if values.ndim == 3:
        return fill(values, n)
    return fill(values[:, None, None], n)[:, 0, :, 0]


def run(net: Any, inputs: Inputs, key: Array, plan: Plan, progress: bool | None) -> Kernel:
    """Return the mean of the replicates and its standard error."""
    x, mask, n1, _ = inputs
    n, t, d = x.shape
    positions = placed(net)
    pairs = n * (n + 1) // 2 if n1 == n else n1 * (n - n1)
    form, cost = forms(net, plan, n, pairs, t, d + t * positions)
    traced = not known(x, key, net, mask)
    if plan.exact:
        key = jax.random.key(0)  # nothing that is drawn is looked at

    each = replace(plan, replicates=1)  # their number must not compile anything anew

    def one(r, tick):
        if traced or cost < AT_ONCE:
            whole = _inside if traced or jax.default_backend() != "cpu" else _quick
            return tick(whole(net, x, mask, key, r, n1, each, form, positions))
        now = jnp.asarray(x), jnp.asarray(mask), jax.random.fold_in(key, r)
        return estimate(net, *now, n1, each, form, positions, tick)

    if traced:
        runs = jax.lax.map(lambda r: one(r, lambda done: done), jnp.arange(plan.replicates))
        *mean, left = jax.tree.map(lambda v: v.mean(0), runs)
        square = jax.tree.map(lambda v, m: ((v - m) ** 2).sum(0), list(runs[:2]), mean)
        left = jnp.max(runs[2])
    else:
        with bar("kernel", plan.replicates, progress) as tick:
            *first, left = one(0, tick)
            found = Moments(first)
            tick.replicate()
            for r in range(1, plan.replicates):
                *value, lost = one(r, tick)
                found, left = found.add(value), jnp.maximum(left, lost)
                tick.replicate()
        mean, square = found.mean, found.squares
    rectangular_or_psd = n1 < n or form[-1] == "joint"
    stderr, smallest = _errors(mean, square, plan, not rectangular_or_psd)
    kernel = Kernel(
        mean[0],
        mean[1],
        stderr[0],
        stderr[1],
        draws=0 if plan.exact else plan.draws,
        replicates=plan.replicates,
        draw="exact" if plan.exact else ", ".join(dict.fromkeys(form)),
        smallest_eigenvalue=smallest,
        leftover=None if plan.rank is None else left,
    )
    return restore(inputs, kernel) if net.readout == "tokens" else kernel


@partial(jax.jit, static_argnames=("plan", "spectrum"))
def _errors(mean, square, plan: Plan, spectrum: bool):
    """Return the standard errors and, for `spectrum`, the smallest relative eigenvalue."""
    if plan.exact:
        stderr = jax.tree.map(jnp.zeros_like, mean)
    elif plan.replicates == 1:
        stderr = [None, None]
    else:
        stderr = standard_error(square, plan.replicates)
    kernels = [k for k in mean if k is not None]
    side = round(kernels[0].size ** 0.5)
    if not spectrum or side > SPECTRUM:
        return stderr, None
    grams = [k.reshape(side, side) for k in kernels]
    values = [jnp.linalg.eigvalsh((k + k.T) / 2) for k in grams]
    return stderr, jnp.min(jnp.stack([v[0] / v[-1] for v in values]))


def restore(inputs: Inputs, kernel: Kernel) -> Kernel:
    """Give token kernels back the lengths their inputs came with."""
    t = inputs.mask.shape[1]
    t1, t2 = inputs.lengths

    def fit(k):
        if k is None:
            return None
        k = k[:, :t1, :, :t2]
        return jnp.pad(k, [(0, 0), (0, max(t1 - t, 0)), (0, 0), (0, max(t2 - t, 0))])

    fields = ("nngp", "ntk", "nngp_stderr", "ntk_stderr")
    return kernel._replace(**{f: fit(getattr(kernel, f)) for f in fields})

"""Sharpness of a network: the trace of the loss Hessian, gradient norms, and both under noise.

The loss is the mean over inputs of the squared error summed over outputs, without a factor 1/2.
"""

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, PRNGKeyArray, Real, Shaped

from theorykit.common.arguments import as_array, finite, number, shown, size
from theorykit.common.keys import as_key

__all__ = [
    "Perturbed",
    "Trace",
    "gradient_norms",
    "hutchinson",
    "loss",
    "perturbed",
    "trace",
]

HELD = 2**12
"""Directions times inputs per batch, few enough to fit in the cache."""


Inputs = Shaped[ArrayLike, " inputs *shape"]
Targets = Real[ArrayLike, " inputs *outputs"]


class Trace(NamedTuple):
    """The trace of the loss Hessian.

    `value`, and `groups`, a dictionary by attribute of the network whose values add up to it. If
    the trace is exact, `stderr` and `group_stderr` are 0 and `draws` is None.
    """

    value: Float[Array, ""]
    groups: dict[str, Float[Array, ""]]
    stderr: Float[Array, ""]
    group_stderr: dict[str, Float[Array, ""]]
    draws: int | None


class Perturbed(NamedTuple):
    """Traces under Gaussian noise on all parameters.

    `sigmas` (S,), `traces` (functions, S, draws), `unperturbed` (functions,), and `losses`, the
    loss at the same points, (functions, S, draws).
    """

    sigmas: Float[np.ndarray, " sigmas"]
    traces: Float[np.ndarray, "functions sigmas draws"]
    unperturbed: Float[np.ndarray, " functions"]
    losses: Float[np.ndarray, "functions sigmas draws"]

    def excess(self, percentile: float = 100.0) -> Float[np.ndarray, " sigmas"]:
        """Return a percentile over functions of (mean trace over draws - unperturbed), (S,)."""
        number("a percentile", percentile, "a number from 0 to 100", lambda v: 0 <= v <= 100)
        return np.percentile(self.traces.mean(-1) - self.unperturbed[:, None], percentile, axis=0)


def loss(network: Any, x: Inputs, y: Targets) -> Float[Array, ""]:
    """Return the mean over inputs x (N, ...) of |network(x) - y|^2."""
    problem = _Problem(network, x, as_array("y", y))
    return _loss(problem.graph, problem.weights, problem.rest, problem.x, problem.y)


def trace(network: Any, x: Inputs, y: Targets | None = None) -> Trace:
    """Return the exact trace of the loss Hessian, by group of parameters.

    It takes one second derivative per parameter, forward over forward; no residual is assumed to be
    zero and nothing is random. The cost is about four forward passes per parameter and input.

    **Arguments:** `network`: an `nnx.Module` that maps one input to outputs; its `nnx.Param`s are
    the parameters. `x`: (N, ...) inputs; `y`: (N, ...) targets, or None for the network's own
    outputs, at which the loss is zero.

    **Raises:** `ValueError` for anything but a network, an empty batch, NaN or infinity, or targets
    that do not fit.
    """
    problem = _Problem(network, x, y)
    return problem.exact(problem.weights)


def hutchinson(
    network: Any, x: Inputs, y: Targets | None = None, *, key: PRNGKeyArray | int, draws: int = 64
) -> Trace:
    """Return an estimate of the trace from z' H z with random signs z, with standard errors.

    Arguments as for `trace`; `key`: a JAX key, or a seed; `draws`, the number of z, at least 2.
    Each costs one Hessian-vector product.
    """
    problem, draws = _Problem(network, x, y), size("draws", draws, 2)
    p, key = problem, as_key(key)
    samples = _hutchinson(p.graph, p.names, draws, p.weights, p.rest, p.x, p.y, key)
    error = lambda v: jnp.std(v, ddof=1) / math.sqrt(draws)
    groups = {k: v.mean() for k, v in samples.items()}
    total = sum(samples.values())
    errors = {k: error(v) for k, v in samples.items()}
    return Trace(total.mean(), groups, error(total), errors, draws)


def gradient_norms(network: Any, x: Inputs) -> dict[str, Float[Array, " inputs"]]:
    """Return the squared norm of the output's gradient at each input, (N,), by group.

    Several outputs are summed over. Twice the mean of the sum over groups is the Gauss-Newton part
    of the trace, which is all of it where the loss is zero (Theorem 13).
    """
    p = _Problem(network, x, None)
    return _gradients(p.graph, p.names, p.weights, p.rest, p.x)


def perturbed(
    networks: Any,
    x: Inputs,
    y: Targets | None = None,
    *,
    sigmas: Sequence[float] | Float[np.ndarray, " sigmas"],
    key: PRNGKeyArray | int,
    draws: int = 4,
) -> Perturbed:
    """Return exact traces at theta + sigma N(0, 1), over a mesh of sigmas.

    **Arguments:** `networks`: one network, or several of the same shape (one per function); `y`:
    None for each network's own outputs without noise; `sigmas`: above 0; the same draws are used
    for every sigma.

    **Raises:** `ValueError` for an empty list of networks, a sigma that is not positive, and as
    `trace`.
    """
    mesh = np.atleast_1d(np.asarray(as_array("sigmas", sigmas), float))
    if mesh.ndim != 1 or not mesh.size or not (np.isfinite(mesh) & (mesh > 0)).all():
        raise ValueError(f"sigmas are positive numbers, got {shown(sigmas)}.")
    draws, key = size("draws", draws), as_key(key)
    several = list(networks) if isinstance(networks, list | tuple) else [networks]
    if not several:
        raise ValueError("networks is one network or more, got none.")
    traces, losses, base = [], [], []
    for index, network in enumerate(several):
        problem = _Problem(network, x, y)
        base.append(float(problem.exact(problem.weights).value))
        rows: list[list[tuple[float, float]]] = []
        for sigma in mesh:
            rows.append([])
            for draw in range(draws):
                noise = jax.random.fold_in(jax.random.fold_in(key, index), draw)
                moved = _moved(problem.weights, noise, sigma)
                rows[-1].append((float(problem.exact(moved).value), float(problem.loss(moved))))
        table = np.array(rows)
        traces.append(table[..., 0])
        losses.append(table[..., 1])
    return Perturbed(mesh, np.array(traces), np.array(base), np.array(losses))


# Parts -------------------------------------------------------------------------------------------


class _Problem:
    """A network and its data, checked once."""

    def __init__(self, network: Any, x: Inputs, y: Targets | None):
        from flax import nnx

        if not isinstance(network, nnx.Module):
            raise ValueError(f"network is an nnx.Module, got {type(network).__name__}.")
        self.graph, self.weights, self.rest = nnx.split(network, nnx.Param, ...)
        self.x = jnp.asarray(as_array("x", x))
        if self.x.ndim < 1 or not len(self.x):
            raise ValueError(f"x holds inputs along its first axis, got shape {self.x.shape}.")
        paths = jax.tree_util.tree_leaves_with_path(self.weights)
        self.names = tuple(_group(path) for path, _ in paths)
        if not self.names:
            raise ValueError("the network has no parameters.")
        for leaf in jax.tree.leaves(self.weights):
            _refuse("the parameters", leaf)
        _refuse("x", self.x)
        shape = jax.eval_shape(
            lambda w, x: _outputs(self.graph, w, self.rest, x), self.weights, self.x
        ).shape
        if y is None:
            self.y = _forward(self.graph, self.weights, self.rest, self.x)
        else:
            y = as_array("y", y)
            _refuse("y", y)
            self.y = jnp.asarray(y)
            if self.y.shape not in (shape, shape[:1]) or math.prod(shape) != self.y.size:
                raise ValueError(f"y holds targets of shape {shape}, got {self.y.shape}.")
            self.y = self.y.reshape(shape)

    def exact(self, weights: Any) -> Trace:
        groups = _exact(self.graph, self.names, weights, self.rest, self.x, self.y)
        zero = jnp.zeros(())
        return Trace(sum(groups.values()), groups, zero, dict.fromkeys(groups, zero), None)

    def loss(self, weights: Any) -> Float[Array, ""]:
        return _loss(self.graph, weights, self.rest, self.x, self.y)


def _refuse(name: str, array: Any) -> None:
    if not isinstance(array, jax.core.Tracer):
        finite(name, array)


def _group(path: tuple) -> str:
    first = path[0]
    return str(getattr(first, "key", getattr(first, "name", first)))


def _outputs(
    graph: Any, weights: Any, rest: Any, x: Shaped[Array, " inputs *shape"]
) -> Float[Array, " inputs *outputs"]:
    from flax import nnx

    return jax.vmap(nnx.merge(graph, weights, rest))(x)


def _mean_square(
    graph: Any,
    weights: Any,
    rest: Any,
    x: Shaped[Array, " inputs *shape"],
    y: Real[Array, " inputs *outputs"],
) -> Float[Array, ""]:
    away = _outputs(graph, weights, rest, x) - y
    return jnp.sum(away**2) / x.shape[0]


_loss = jax.jit(_mean_square, static_argnums=0)
_forward = jax.jit(_outputs, static_argnums=0)


@jax.jit
def _moved(weights: Any, key: PRNGKeyArray, sigma: Float[Array, ""]) -> Any:
    leaves, tree = jax.tree.flatten(weights)
    noise = [
        jax.random.normal(jax.random.fold_in(key, i), leaf.shape, leaf.dtype)
        for i, leaf in enumerate(leaves)
    ]
    moved = [w + sigma.astype(w.dtype) * z for w, z in zip(leaves, noise, strict=True)]
    return jax.tree.unflatten(tree, moved)


@functools.partial(jax.jit, static_argnums=(0, 1))
def _exact(
    graph: Any,
    names: tuple[str, ...],
    weights: Any,
    rest: Any,
    x: Shaped[Array, " inputs *shape"],
    y: Real[Array, " inputs *outputs"],
) -> dict[str, Float[Array, ""]]:
    """Return the trace of each group: leaf by leaf, entry by entry."""
    leaves, tree = jax.tree.flatten(weights)
    found: dict[str, Array] = {}
    for k, (name, leaf) in enumerate(zip(names, leaves, strict=True)):

        def curvature(i, k=k, leaf=leaf):
            """Return the second derivative of the loss along entry i."""
            e = jax.nn.one_hot(i, leaf.size, dtype=leaf.dtype).reshape(leaf.shape)

            def along(t):
                moved = [w + t * e if j == k else w for j, w in enumerate(leaves)]
                return _mean_square(graph, jax.tree.unflatten(tree, moved), rest, x, y)

            first = lambda t: jax.jvp(along, (t,), (jnp.ones_like(t),))[1]
            zero = jnp.zeros((), leaf.dtype)
            return jax.jvp(first, (zero,), (jnp.ones_like(zero),))[1]

        # A divisor of the size, since a remainder would be compiled separately.
        most = max(1, HELD // x.shape[0])
        block = max(n for n in range(1, min(leaf.size, most) + 1) if leaf.size % n == 0)
        sums = jax.lax.map(curvature, jnp.arange(leaf.size), batch_size=block)
        found[name] = found.get(name, 0) + jnp.sum(sums)
    return found


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def _hutchinson(
    graph, names, draws, weights, rest, x, y, key
) -> dict[str, Float[Array, " {draws}"]]:
    """Return z' H z of every draw, split over groups: the expectation of each is its trace."""
    leaves, tree = jax.tree.flatten(weights)
    slope = jax.grad(lambda w: _mean_square(graph, w, rest, x, y))

    def one(i):
        keys = jax.random.split(jax.random.fold_in(key, i), len(leaves))
        z = [jax.random.rademacher(k, w.shape, w.dtype) for k, w in zip(keys, leaves, strict=True)]
        Hz = jax.tree.leaves(jax.jvp(slope, (weights,), (jax.tree.unflatten(tree, z),))[1])
        found: dict[str, Array] = {}
        for name, a, b in zip(names, z, Hz, strict=True):
            found[name] = found.get(name, 0) + jnp.vdot(a, b)
        return found

    return jax.lax.map(one, jnp.arange(draws))


@functools.partial(jax.jit, static_argnums=(0, 1))
def _gradients(graph, names, weights, rest, x) -> dict[str, Float[Array, " inputs"]]:
    def one(x):
        apply = lambda w: _outputs(graph, w, rest, x[None])[0].ravel()
        found: dict[str, Array] = {}
        rows = jax.tree.leaves(jax.jacrev(apply)(weights))
        for name, row in zip(names, rows, strict=True):
            found[name] = found.get(name, 0) + jnp.sum(row**2)
        return found

    few = x.shape[0] <= 256
    return jax.vmap(one)(x) if few else jax.lax.map(one, x, batch_size=256)

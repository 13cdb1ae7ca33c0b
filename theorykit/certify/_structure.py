"""Rules of the primitives that move entries about, or add them up."""

import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from flint import acb, acb_mat, arb, arb_mat
from jaxtyping import Shaped

from theorykit.certify._choice import (
    absolute,
    conjunction,
    disjunction,
    larger,
    ordered,
    smaller,
    third,
    truths,
)
from theorykit.certify._elementwise import each, exact
from theorykit.certify._machine import IN_NUMPY, Doubt, Machine, is_inexact, rule
from theorykit.certify._numbers import objects

# Shapes ------------------------------------------------------------------------------------


def moves(name: str, of: Callable[..., Any]) -> None:
    """Register a primitive that numpy has a function for."""
    rule(name)(lambda machine, eqn, *xs: of(eqn.params, *xs))
    IN_NUMPY.add(name)


def _broadcast(params, x, *_):
    shape, dims = params["shape"], params["broadcast_dimensions"]
    own = [1] * len(shape)
    for axis, d in enumerate(dims):
        own[d] = x.shape[axis]
    return np.broadcast_to(x.reshape(own), shape)


def _slice(params, x):
    strides = params["strides"] or (1,) * x.ndim
    spans = zip(params["start_indices"], params["limit_indices"], strides, strict=True)
    return x[tuple(slice(*span) for span in spans)]


moves("reshape", lambda p, x, *_: np.reshape(x, p["new_sizes"]))
moves("broadcast_in_dim", _broadcast)
moves("transpose", lambda p, x: np.transpose(x, p["permutation"]))
moves("squeeze", lambda p, x: np.squeeze(x, p["dimensions"]))
moves("expand_dims", lambda p, x: np.expand_dims(x, p["dimensions"]))
moves("slice", _slice)
moves("concatenate", lambda p, *xs: np.concatenate(xs, p["dimension"]))
moves("stack", lambda p, *xs: np.stack(xs, p.get("axis", p.get("dimension", 0))))
moves("tile", lambda p, x: np.tile(x, p["reps"]))
moves("rev", lambda p, x: np.flip(x, p["dimensions"]))


@rule("split")
def _split(machine, eqn, x):
    cuts = np.cumsum(eqn.params["sizes"])[:-1]
    return list(np.split(x, cuts, axis=eqn.params["axis"]))


@rule("unstack")
def _unstack(machine, eqn, x):
    rows = np.moveaxis(x, eqn.params.get("axis", eqn.params.get("dimension", 0)), 0)
    return [rows[k, ...] for k in range(len(rows))]  # arrays, also those of one number


@rule("iota")
def _iota(machine, eqn, *_):
    shape, axis = eqn.params["shape"], eqn.params["dimension"]
    own = [1] * len(shape)
    own[axis] = shape[axis]
    made = np.broadcast_to(np.arange(shape[axis]).reshape(own), shape)
    return made if exact(eqn) else machine.array(made.astype(float))


IN_NUMPY.update({"split", "unstack", "iota"})


def labelled(machine: Machine, eqn: Any, *xs: Any) -> np.ndarray:
    """Move entries wherever JAX moves integers: labels are sent through the primitive itself."""
    labels: list[np.ndarray] = []
    pool: list[np.ndarray] = []
    for x, atom in zip(xs, eqn.invars, strict=True):
        if not is_inexact(atom):
            if x.dtype == object:
                raise Doubt("an index depends on a comparison that could not be decided")
            labels.append(x)
            continue
        first = sum(len(part) for part in pool)
        labels.append(first + np.arange(x.size).reshape(x.shape))
        pool.append(x.reshape(-1))
    params = dict(eqn.params)
    if "fill_value" in params:
        params["fill_value"] = -1
    with jax.enable_x64(True):
        sent = np.asarray(eqn.primitive.bind(*map(jax.numpy.asarray, labels), **params))
    entries = np.concatenate(pool)
    made = entries[sent.ravel()].reshape(sent.shape)
    outside = sent < 0
    if outside.any():
        made[outside] = machine.number(_fill(eqn))
    return made


def _fill(eqn: Any) -> float:
    value = eqn.params.get("fill_value")
    return math.nan if value is None else float(value)


rule("gather", "dynamic_slice", "dynamic_update_slice", "scatter", "pad")(labelled)


def scattered(name: str, of: Callable[[Machine, Any, Any], Any]) -> None:
    """Register a scatter that combines what lands in one place."""
    rule(name)(lambda machine, *args: _scattered(functools.partial(of, machine), *args))


def _scattered(of, eqn, operand, indices, updates):
    """Where each update lands is found by sending a one through, update by update."""
    if indices.dtype == object:
        raise Doubt("an index depends on a comparison that could not be decided")
    params = {k: v for k, v in eqn.params.items() if not k.startswith("update_")}
    zeros, ones = np.zeros(operand.shape, int), np.eye(updates.size, dtype=int)
    with jax.enable_x64(True):
        send = jax.vmap(lambda u: jax.lax.scatter_add(zeros, indices, u, **params))
        landed = np.asarray(send(ones.reshape(updates.size, *updates.shape)))
    made, flat = operand.copy(), updates.reshape(-1)
    for k, *where in np.argwhere(landed):
        made[tuple(where)] = of(made[tuple(where)], flat[k])
    return made


scattered("scatter-add", lambda m, a, b: a + b)
scattered("scatter-mul", lambda m, a, b: a * b)
scattered("scatter-max", larger)
scattered("scatter-min", smaller)


# Sums and extremes -------------------------------------------------------------------------


def folded(x: np.ndarray, axes: tuple[int, ...], f: Callable[[Any, Any], Any]) -> np.ndarray:
    """Return f folded over these axes."""
    kept = [a for a in range(x.ndim) if a not in axes]
    size = math.prod(x.shape[a] for a in axes)
    rows = x.transpose(*kept, *axes).reshape(*(x.shape[a] for a in kept), size)
    made = np.empty(rows.shape[:-1], dtype=object)
    for where in np.ndindex(made.shape):
        made[where] = functools.reduce(f, rows[where])
    return made


def empty(x: np.ndarray, axes: tuple[int, ...]) -> bool:
    """Whether nothing is folded."""
    return math.prod(x.shape[a] for a in axes) == 0


@rule("reduce_sum")
def _reduce_sum(machine, eqn, x):
    axes = tuple(eqn.params["axes"])
    if exact(eqn):
        return np.sum(x, axis=axes)
    if not axes:
        return x
    if empty(x, axes):
        return objects(machine.number(0), eqn.outvars[0].aval.shape)
    return objects(np.add.reduce(x, axis=axes), eqn.outvars[0].aval.shape)


@rule("reduce_prod")
def _reduce_prod(machine, eqn, x):
    axes = tuple(eqn.params["axes"])
    if exact(eqn):
        return np.prod(x, axis=axes)
    if not axes:
        return x
    if empty(x, axes):
        return objects(machine.number(1), eqn.outvars[0].aval.shape)
    return objects(np.multiply.reduce(x, axis=axes), eqn.outvars[0].aval.shape)


def extreme(name: str, of: Callable[[Machine, Any, Any], Any], plain: Any) -> None:
    """Register a largest or smallest entry."""

    def reduce(machine, eqn, x):
        axes = tuple(eqn.params["axes"])
        if exact(eqn):
            return plain(x, axis=axes)
        if empty(x, axes):
            raise Doubt("there is no entry")
        ordered(eqn)
        return folded(x, axes, functools.partial(of, machine)) if axes else x

    rule(name)(reduce)
    IN_NUMPY.add(name)


extreme("reduce_max", larger, np.max)
extreme("reduce_min", smaller, np.min)
IN_NUMPY.update({"reduce_sum", "reduce_prod"})


def verdict(name: str, of: Callable[[Any, Any], Any], plain: Any) -> None:
    """Register a conjunction or disjunction over axes."""

    def reduce(machine, eqn, x):
        axes = tuple(eqn.params["axes"])
        if x.dtype != object:
            return plain(x, axis=axes)
        return truths(machine, folded(x, axes, lambda a, b: of(third(a), third(b))))

    rule(name)(reduce)
    IN_NUMPY.add(name)


verdict("reduce_and", conjunction, np.bitwise_and.reduce)
verdict("reduce_or", disjunction, np.bitwise_or.reduce)


def cumulative(name: str, of: Callable[[Machine, Any, Any], Any]) -> None:
    """Register a running sum, product or extreme."""

    def run(machine, eqn, x):
        axis = eqn.params["axis"]
        made = np.moveaxis(x, axis, 0).copy()
        made = made[::-1] if eqn.params["reverse"] else made
        step = np.frompyfunc(functools.partial(of, machine), 2, 1)
        for i in range(1, len(made)):
            made[i] = step(made[i - 1], made[i])
        return np.moveaxis(made[::-1] if eqn.params["reverse"] else made, 0, axis)

    rule(name)(run)


cumulative("cumsum", lambda m, a, b: a + b)
cumulative("cumprod", lambda m, a, b: a * b)
cumulative("cummax", larger)
cumulative("cummin", smaller)


def log_sum(machine: Machine, a: Any, b: Any) -> Any:
    """Return log(exp(a) + exp(b)), whatever their size."""
    return larger(machine, a, b) + (-absolute(machine, a - b)).exp().log1p()


cumulative("cumlogsumexp", log_sum)


def certainly_less(machine: Machine, a: Any, b: Any, what: str) -> bool:
    """Return a < b, or raise where that is open."""
    answer = machine.field.less(a, b)
    if answer is None:
        raise Doubt(f"{what} is not certain, two entries overlap")
    return answer


def first_of(machine: Machine, eqn: Any, x: np.ndarray, sign: int) -> np.ndarray:
    """Return the index of the largest (sign 1) or smallest entry, the first of equals."""
    (axis,) = eqn.params["axes"]
    rows = np.moveaxis(x, axis, -1)
    made = np.empty(rows.shape[:-1], dtype=int)
    for where in np.ndindex(made.shape):
        row, best = rows[where], 0
        for i in range(1, len(row)):
            pair = (row[best], row[i]) if sign > 0 else (row[i], row[best])
            if certainly_less(machine, *pair, "where the extreme lies"):
                best = i
        made[where] = best
    return made.astype(eqn.outvars[0].aval.dtype)


rule("argmax")(lambda machine, eqn, x: first_of(machine, eqn, x, 1))
rule("argmin")(lambda machine, eqn, x: first_of(machine, eqn, x, -1))


@rule("sort")
def _sort(machine, eqn, *xs):
    axis, keys = eqn.params["dimension"], eqn.params["num_keys"]
    ordered(eqn)
    columns = [np.moveaxis(x, axis, -1) for x in xs]
    made = [np.empty_like(c) for c in columns]

    def before(i, j):
        for column in here[:keys]:
            a, b = column[i], column[j]
            if column.dtype != object:
                if a != b:
                    return -1 if a < b else 1
            elif certainly_less(machine, a, b, "the order"):
                return -1
            elif machine.field.equal(a, b) is not True:
                return 1 if certainly_less(machine, b, a, "the order") else 0
        return 0

    for where in np.ndindex(columns[0].shape[:-1]):
        here = [c[where] for c in columns]
        order = sorted(range(len(here[0])), key=functools.cmp_to_key(before))
        for column, out in zip(here, made, strict=True):
            out[where] = column[order]
    return [np.moveaxis(m, -1, axis) for m in made]


@rule("top_k")
def _top_k(machine, eqn, x):
    """The largest entries, the first of equals first."""
    k, axis = eqn.params["k"], eqn.params.get("axis", -1)
    rows = np.moveaxis(x, axis, -1)
    places = np.empty((*rows.shape[:-1], k), dtype=eqn.outvars[1].aval.dtype)

    def before(row, i, j):
        if certainly_less(machine, row[j], row[i], "the order"):
            return -1
        return 1 if certainly_less(machine, row[i], row[j], "the order") else 0

    for where in np.ndindex(rows.shape[:-1]):
        key = functools.cmp_to_key(functools.partial(before, rows[where]))
        places[where] = sorted(range(rows.shape[-1]), key=key)[:k]
    found = np.take_along_axis(rows, places, -1)
    return [np.moveaxis(found, -1, axis), np.moveaxis(places, -1, axis)]


# Products ----------------------------------------------------------------------------------


@rule("dot_general")
def _dot_general(machine, eqn, x, y):
    (left, right), (batch_left, batch_right) = eqn.params["dimension_numbers"]
    x, y = (a if a.dtype == object else each(machine.number, a.astype(object)) for a in (x, y))
    x = _as_matrices(x, batch_left, left, last=True)
    y = _as_matrices(y, batch_right, right, last=False)
    batch = [product(machine, a, b) for a, b in zip(x, y, strict=True)]
    shape = eqn.outvars[0].aval.shape
    if not batch:
        return np.empty(shape, dtype=object)
    return np.stack(batch).reshape(shape)


def _as_matrices(x, batch, contracted, last):
    free = [a for a in range(x.ndim) if a not in batch and a not in contracted]
    sizes = [math.prod(x.shape[a] for a in axes) for axes in (batch, free, contracted)]
    order = [*batch, *free, *contracted] if last else [*batch, *contracted, *free]
    shape = (sizes[0], sizes[1], sizes[2]) if last else (sizes[0], sizes[2], sizes[1])
    return x.transpose(order).reshape(shape)


SMALL = 64
"""Multiplications below which flint's matrices are not worth making."""


def product(
    machine: Machine, a: Shaped[np.ndarray, "rows inner"], b: Shaped[np.ndarray, "inner columns"]
) -> Shaped[np.ndarray, "rows columns"]:
    """Return the matrix product of two object arrays."""
    (m, k), n = a.shape, b.shape[1]
    if not k or not m * n:
        return objects(machine.number(0), (m, n))
    if m * k * n > SMALL:
        kinds = {type(v) for v in (*a.flat, *b.flat)}
        if kinds == {arb}:
            return matrix(arb_mat(a.tolist()) * arb_mat(b.tolist()))
        if kinds <= {arb, acb}:
            return matrix(acb_mat(a.tolist()) * acb_mat(b.tolist()))
    made = np.empty((m, n), dtype=object)
    for i in range(m):
        for j in range(n):
            made[i, j] = functools.reduce(lambda s, t: s + t, map(_times, a[i], b[:, j]))
    return made


def _times(a: Any, b: Any) -> Any:
    return a * b


def matrix(m: Any) -> Shaped[np.ndarray, "rows columns"]:
    """Return a matrix of flint's as an object array."""
    return objects(m.entries(), (m.nrows(), m.ncols()))

"""Lipschitz constants: those of known functions, their false neighbours, kinks and jumps."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flint import arb

from theorykit.certify import (
    NotCertifiable,
    Work,
    as_norms,
    letters,
    lipschitz_everywhere,
    prove_lipschitz,
)
from theorykit.certify._norms import norm_of

softmax = jax.nn.softmax
INF = float("inf")
unit = letters((2,), low=Fraction(-1), high=Fraction(1))

# A function, the shape of its argument, norms, and its constant, which is the best.
BEST = {
    "softmax": (softmax, (3,), (2, 2), Fraction(1, 2)),
    "softmax, largest": (softmax, (3,), (INF, INF), Fraction(1, 2)),
    "softmax, entries": (softmax, (3,), (1, INF), Fraction(1, 4)),
    "tanh": (jnp.tanh, (2,), (2, 2), Fraction(1)),
    "sigmoid": (jax.nn.sigmoid, (2,), (INF, INF), Fraction(1, 4)),
    "relu": (jax.nn.relu, (2,), (2, 2), Fraction(1)),
    "relu twice": (lambda x: jax.nn.relu(x) + jax.nn.relu(-x), (2,), (1, 1), Fraction(1)),
    "absolute": (jnp.abs, (2,), (2, 2), Fraction(1)),
    "maximum": (jnp.max, (3,), (INF, INF), Fraction(1)),
    "logsumexp": (jax.nn.logsumexp, (3,), (INF, INF), Fraction(1)),
    "root": (lambda x: jnp.sqrt(1 + x * x), (2,), (2, 2), Fraction(1)),
    "square on a box": (lambda x: x * x, unit, (INF, INF), Fraction(2)),
    "sum": (lambda x: x.sum(), (4,), (2, 2), Fraction(2)),
    "clip": (lambda x: jnp.clip(x, -1, 1), (2,), (INF, INF), Fraction(1)),
    "wide": (lambda x: jnp.stack([x[0] + x[1], x[0], x[1]]), (2,), (1, 1), Fraction(2)),
    "behind stop_gradient": (lambda x: 3 * jax.lax.stop_gradient(x), (2,), (2, 2), Fraction(3)),
}


def everywhere(f, shape, norms, constant, work=2_000_000):
    try:
        found = lipschitz_everywhere(f, dict(x=shape), constant, norms, work=Work(work))
    except NotCertifiable:
        return False
    return bool(found)


@pytest.mark.parametrize("name", BEST)
def test_the_best_constant_is_proved_and_no_smaller_one(name):
    f, shape, norms, constant = BEST[name]
    assert everywhere(lambda x: f(x), shape, norms, constant)
    assert everywhere(lambda x: f(x), shape, norms, constant + 1)
    for less in (Fraction(1, 100), Fraction(1, 10**6)):
        assert not everywhere(lambda x: f(x), shape, norms, constant - less, 200_000)


# Slopes are enclosed one by one, and that of these three add up to at most 1 together only.
TOGETHER = {"maximum", "logsumexp"}


@pytest.mark.parametrize("name", sorted(set(BEST) - TOGETHER))
def test_the_same_on_a_box_with_some_room(name):
    f, shape, norms, constant = BEST[name]
    shape = shape if isinstance(shape, tuple) else shape.shape
    box = dict(x=(-np.ones(shape), np.ones(shape)))
    assert prove_lipschitz(lambda x: f(x), box, constant * Fraction(3, 2), norms, budget=100)
    near = (
        0.4 if name.startswith("softmax") else 0.7
    )  # on this box no slope is far from the largest
    assert not prove_lipschitz(lambda x: f(x), box, float(constant) * near, norms, budget=30)


JUMPS = {
    "sign": jnp.sign,
    "floor": lambda x: jnp.floor(x) * 1.0,
    "round": jnp.round,
    "step": lambda x: (x > 0) * 1.0,
    "where": lambda x: jnp.where(x > 0, x + 1, x),
    "a jump with slope zero": lambda x: jnp.where(x >= 0.25, 1.0, 0.0),
    "an integer": lambda x: x.astype(int) * 1.0,
    "argmax": lambda x: x[jnp.argmax(x)] + 5.0 * jnp.argmax(x),
    "remainder": lambda x: x % 0.5,
    "angle": lambda x: jnp.arctan2(x, -1.0),
    "pole": lambda x: 1 / x,
}


@pytest.mark.parametrize("name", JUMPS)
def test_what_may_jump_is_not_proved(name):
    f = JUMPS[name]
    assert not everywhere(lambda x: f(x), (2,), (INF, INF), 10**6)
    try:
        found = prove_lipschitz(lambda x: f(x), dict(x=(-ONES, ONES)), 1e6, (INF, INF), budget=60)
    except NotCertifiable:
        return
    assert not found
    assert found.left
    assert found.why


ONES = np.ones(2)


def test_a_root_at_zero_has_no_constant():
    f = lambda x: jnp.sqrt(x)
    shape = letters((), low=Fraction(0), high=Fraction(1))
    assert not everywhere(f, shape, (2, 2), 10**9)
    assert not prove_lipschitz(f, dict(x=(0, 1)), 1e6, budget=60)
    assert prove_lipschitz(f, dict(x=(0.25, 1)), 1.001)


def test_a_wrong_derivative_is_not_believed():
    @jax.custom_jvp
    def f(x):
        return 5 * x

    f.defjvp(lambda xs, ts: (5 * xs[0], 0.0 * ts[0]))
    assert not everywhere(lambda x: f(x), (2,), (2, 2), 4)
    assert everywhere(lambda x: f(x), (2,), (2, 2), 5)
    assert not prove_lipschitz(lambda x: f(x), dict(x=(-ONES, ONES)), 4, budget=20)


def test_one_argument_moves_and_others_do_not():
    f = lambda A, x: A @ x
    shapes = dict(A=letters((2, 2), low=Fraction(-1), high=Fraction(1)), x=(2,))
    found = lipschitz_everywhere(f, shapes, 2, (INF, INF), ["x"], work=Work(2_000_000))
    assert found
    assert not lipschitz_everywhere(f, shapes, Fraction(199, 100), (INF, INF), ["x"])
    assert not lipschitz_everywhere(f, shapes, 2, (INF, INF))
    box = dict(A=(-np.ones((2, 2)), np.ones((2, 2))), x=(-ONES, ONES))
    assert prove_lipschitz(f, box, 2.01, (INF, INF), ["x"], 10)
    assert not prove_lipschitz(f, box, 2.01, (INF, INF), budget=10)


@pytest.mark.parametrize("norms", [(p, q) for p in (1, 2, INF) for q in (1, 2, INF)])
def test_the_bound_on_a_norm_is_one(norms):
    rng = np.random.default_rng(0)
    length = lambda v, p: np.linalg.norm(v, p, axis=-1)
    for _ in range(10):
        A = rng.normal(size=(2, 3))
        balls = np.frompyfunc(lambda x: arb(float(x), 0.1), 1, 1)(A)
        bound = float(norm_of(balls, norms).upper())
        near = A + rng.uniform(-0.1, 0.1, size=(200, 2, 3))
        v = np.concatenate(
            [rng.normal(size=(200, 3)), np.sign(rng.normal(size=(50, 3))), np.eye(3)]
        )
        image = np.einsum("aij,vj->avi", near, v)
        assert (length(image, norms[1]) <= bound * length(v, norms[0]) + 1e-9).all()


@pytest.mark.parametrize("source", [2, INF])
def test_into_the_1_norm_all_entries_count(source):
    softmax = lambda x: jax.nn.softmax(x)
    assert everywhere(softmax, (3,), (source, 1), 2)
    assert not everywhere(softmax, (3,), (source, 1), Fraction(99, 100))  # two tokens need 1
    both = lambda x: jnp.stack([x[0] + x[1], x[0] + x[1]])
    assert everywhere(both, (2,), (source, 1), 4)  # from infinity 4 is the norm
    assert not everywhere(both, (2,), (source, 1), Fraction(399, 100))


@pytest.mark.parametrize("norms", [(3, 2), (2, True), "22", (1, 2, 2), None, 0.5, ([1], 2)])
def test_norms_are_named(norms):
    with pytest.raises(ValueError, match=r"each 1, 2 or infinity, as in .* not "):
        prove_lipschitz(lambda x: x, dict(x=(0, 1)), 1, norms)
    with pytest.raises(ValueError, match=r"each 1, 2 or infinity, as in .* not "):
        as_norms(norms)


def test_one_norm_stands_for_both():
    assert as_norms(2) == as_norms([2, 2.0]) == (2.0, 2.0)
    assert as_norms((1, float("inf"))) == (1.0, float("inf"))

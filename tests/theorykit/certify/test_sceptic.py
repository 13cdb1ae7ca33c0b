"""Hundreds of false statements near true ones: none may be proved.

Each family is a statement with numbers in it. With its own numbers it is true and proved; with one
of them moved, left out or turned, it is false, and so it must not be.
"""

import itertools
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.special import erf

from theorykit.certify import NotCertifiable, Work, exact, identical, letters, ordered

softmax = jax.nn.softmax
jacobian = lambda x: jnp.diag(softmax(x)) - jnp.outer(softmax(x), softmax(x))
unit = letters((), low=Fraction(0), high=Fraction(1))
positive = lambda *shape: letters(shape, low=Fraction(0), open=True)

IDENTITIES = {
    "square": ((1, 2, 1), dict(x=(), y=()), lambda c: lambda x, y: (
        (x + y) ** 2, c[0] * x**2 + c[1] * x * y + c[2] * y**2)),
    "softmax": ((1, 1), dict(x=(3,)), lambda c: lambda x: (
        jax.grad(lambda s: softmax(s)[0])(x)[1], -c[0] * softmax(x)[0] * softmax(c[1] * x)[1])),
    "hessian": ((1, 1), dict(x=(2,)), lambda c: lambda x: (
        jax.hessian(jax.nn.logsumexp)(x),
        c[0] * jnp.diag(softmax(x)) - c[1] * jnp.outer(softmax(x), softmax(x)))),
    "logsumexp": ((1, 1, 1), dict(x=(2,)), lambda c: lambda x: (
        jax.nn.logsumexp(x), c[0] * x[0] + jnp.log(c[1] + c[2] * jnp.exp(x[1] - x[0])))),
    "tanh": ((2, 1, 1), dict(x=()), lambda c: lambda x: (
        jnp.tanh(2 * x), c[0] * jnp.tanh(x) / (c[1] + c[2] * jnp.tanh(x) ** 2))),
    "sigmoid": ((1, 1), dict(x=()), lambda c: lambda x: (
        jax.grad(jax.nn.sigmoid)(x), c[0] * jax.nn.sigmoid(x) - c[1] * jax.nn.sigmoid(x) ** 2)),
    "angles": ((1, 1, 2), dict(x=(), y=()), lambda c: lambda x, y: (
        jnp.sin(x + 2 * y),
        c[0] * jnp.sin(x) * jnp.cos(2 * y) + c[1] * jnp.cos(x) * jnp.sin(c[2] * y))),
    "relu": ((1, 0.5, 0.5), dict(x=()), lambda c: lambda x: (
        c[0] * jax.nn.relu(x), c[1] * x + c[2] * jnp.abs(x))),
    "maximum": ((1, 1, 1), dict(x=(), y=()), lambda c: lambda x, y: (
        jnp.maximum(x, y) + c[0] * jnp.minimum(x, y), c[1] * x + c[2] * y)),
    "root": ((1, 1), dict(x=(), y=()), lambda c: lambda x, y: (
        jnp.sqrt(x**2 * (1 + y**2)), jnp.abs(c[0] * x) * jnp.sqrt(1 + c[1] * y**2))),
    "gelu": ((1, 1), dict(x=()), lambda c: lambda x: (
        jax.nn.gelu(x, approximate=False) - c[0] * jax.nn.gelu(-x, approximate=False), c[1] * x)),
    "erf": ((1, 2), dict(x=()), lambda c: lambda x: (erf(-2 * x), -c[0] * erf(c[1] * x))),
    "inverse": ((1, 1, 1), dict(A=(2, 2)), lambda c: lambda A: (
        jnp.linalg.inv(A @ A.T + c[0] * jnp.eye(2)) @ A,
        c[1] * A @ jnp.linalg.inv(A.T @ A + c[2] * jnp.eye(2)))),
    "determinant": ((1,), dict(A=(2, 2), B=(2, 2)), lambda c: lambda A, B: (
        jnp.linalg.det(A @ B), c[0] * jnp.linalg.det(A) * jnp.linalg.det(B))),
}  # fmt: skip

INEQUALITIES = {  # the number is the least, or the largest, with which it is true
    "mean": (2, -1, dict(x=(), y=()), lambda c: lambda x, y: (c * x * y, x * x + y * y)),
    "sigmoid": (Fraction(1, 4), 1, dict(x=()), lambda c: lambda x: (
        jax.nn.sigmoid(x) * (1 - jax.nn.sigmoid(x)), c)),
    "first": (2, 1, dict(x=(2,)), lambda c: lambda x: (
        jnp.abs(jax.grad(lambda s: softmax(s)[0])(x)).sum(), c * softmax(x)[0])),
    "entries": (Fraction(1, 4), 1, dict(x=(2,)), lambda c: lambda x: (jacobian(x), c)),
    "spectral": (Fraction(1, 2), 1, dict(x=(3,)), lambda c: lambda x: (
        jnp.linalg.norm(jacobian(x), 2), c)),
    "one norm": (Fraction(1, 2), 1, dict(x=(2,)), lambda c: lambda x: (
        jnp.abs(jacobian(x)).sum(0).max(), c)),
    "smooth": (2, 1, dict(x=(2,)), lambda c: lambda x: (
        jax.nn.logsumexp(x), x.max() + jnp.log(c))),
    "above": (1, -1, dict(x=(3,)), lambda c: lambda x: (
        x.max() + jnp.log(c), jax.nn.logsumexp(x))),
    "cauchy": (1, 1, dict(x=(2,), y=(2,)), lambda c: lambda x, y: (
        jnp.abs(x @ y), c * jnp.linalg.norm(x) * jnp.linalg.norm(y))),
    "triangle": (1, -1, dict(x=(), y=()), lambda c: lambda x, y: (
        c * jnp.abs(x + y), jnp.abs(x) + jnp.abs(y))),
    "parabola": (Fraction(1, 4), 1, dict(x=unit), lambda c: lambda x: (x * (1 - x), c)),
    "tanh": (1, 1, dict(x=()), lambda c: lambda x: (jnp.abs(jnp.tanh(x)), c)),
    "ridge": (Fraction(1, 4), 1, dict(k=letters((), low=Fraction(0)), r=positive()),
        lambda c: lambda k, r: (k / (k + r) ** 2, c / r)),
    "harmonic": (4, -1, dict(x=positive(2)), lambda c: lambda x: (c, x.sum() * (1 / x).sum())),
    "motzkin": (3, -1, dict(x=(), y=()), lambda c: lambda x, y: (
        c * x**2 * y**2, x**4 * y**2 + x**2 * y**4 + 1)),
    "relu": (1, 1, dict(x=(), y=()), lambda c: lambda x, y: (
        jnp.abs(jax.nn.relu(x) - jax.nn.relu(y)), c * jnp.abs(x - y))),
    "schur": (1, -1, dict(x=positive(3)), lambda c: lambda x: (
        c * (x[0] ** 2 * (x[1] + x[2]) + x[1] ** 2 * (x[0] + x[2]) + x[2] ** 2 * (x[0] + x[1])),
        (x**3).sum() + 3 * x.prod())),
}  # fmt: skip

STEPS = [Fraction(1, 10**k) for k in (1, 2, 3, 6, 9, 12)]

FALSE = [  # of another kind: a domain, an index, a root, a tie
    (identical, dict(x=()), lambda x: (jnp.sqrt(x * x), x)),
    (identical, dict(x=()), lambda x: (x / x, 1.0)),
    (identical, dict(x=()), lambda x: (jnp.sign(x) * x, x)),
    (identical, dict(x=()), lambda x: (jax.nn.relu(x), x)),
    (identical, dict(x=()), lambda x: (jnp.sign(x) ** 2, 1.0)),
    (identical, dict(x=()), lambda x: (jnp.exp(jnp.log(x)), x)),
    (identical, dict(x=()), lambda x: (jnp.where(x == 0, 1.0, x), x)),
    (identical, dict(x=()), lambda x: (jnp.where(x > 0, x, 0.0), jnp.abs(x))),
    (identical, dict(x=()), lambda x: ((x >= 0) * 1.0, (x > 0) * 1.0)),
    (identical, dict(x=()), lambda x: (jnp.arctan(jnp.tan(x)), x)),
    (identical, dict(x=()), lambda x: (float(np.sqrt(2.0)) * x, jnp.sqrt(2.0) * x)),
    (identical, dict(x=()), lambda x: (0.1 * x, exact("0.1") * x)),
    (identical, dict(x=(2,), x_1=()), lambda x, x_1: (jnp.exp(x[0]), jnp.exp(x_1))),
    (identical, dict(x=(2,), x_1=()), lambda x, x_1: (x[0], x_1)),
    (identical, {"x": (), "exp(x)": ()}, lambda **a: (jnp.exp(a["x"]), a["exp(x)"])),
    (identical, dict(A=(2, 2), B=(2, 2)), lambda A, B: (A @ B, B @ A)),
    (identical, dict(A=(2, 2)), lambda A: (jnp.linalg.inv(A) @ A, jnp.eye(2))),
    (identical, dict(x=(3,)), lambda x: (jnp.sort(x)[::-1], jnp.sort(x))),
    (identical, dict(x=(3,)), lambda x: (x[jnp.argmax(x)], x[0])),
    (identical, dict(x=(3,)), lambda x: (softmax(x), softmax(x[::-1]))),
    (ordered, dict(x=()), lambda x: (x, jnp.abs(x) - 1e-12)),
    (ordered, dict(x=()), lambda x: (x, x * x)),
    (ordered, dict(x=()), lambda x: (0, x)),
    (ordered, dict(x=()), lambda x: (1 / (x * x), 1e9)),
    (ordered, dict(x=(), y=()), lambda x, y: (jnp.maximum(x, y), x)),
    (ordered, dict(x=(3,)), lambda x: (jnp.median(x), x[1])),
    (ordered, dict(x=(2,)), lambda x: (softmax(x)[0], softmax(x)[1])),
    (ordered, dict(x=()), lambda x: (jnp.exp(x), 1 + x + x * x)),
    (ordered, dict(x=()), lambda x: (jnp.sin(x), jnp.cos(x) + 1.4142)),
    (ordered, dict(x=positive()), lambda x: (jnp.log(x), x - 1 - 1e-9)),
    (ordered, dict(x=positive()), lambda x: (jnp.sqrt(x), x)),
    (ordered, dict(x=positive()), lambda x: (1e-9, x)),
    (ordered, dict(x=unit, y=unit), lambda x, y: (x + y, 1 + x * y - 1e-9)),
    (ordered, dict(A=(2, 2)), lambda A: (jnp.linalg.norm(A), jnp.linalg.norm(A, 2))),
    (ordered, dict(A=(2, 2)), lambda A: (A[0, 1], jnp.linalg.eigvalsh(A + A.T)[0])),
    (ordered, dict(A=(3, 3)), lambda A: (jnp.linalg.eigvalsh(A @ A.T)[2], A[0] @ A[0])),
]  # fmt: skip


def proved(prove, statement, shapes):
    try:
        return bool(prove(statement, shapes, work=Work(400_000)))
    except NotCertifiable:
        return False


def moved(numbers):
    """Yield the numbers with one of them false: left out, turned, doubled, or a little off."""
    for k, c in enumerate(numbers):
        for new in (0, -c, 2 * c, c + 1e-9, c * (1 - 2**-40)):
            yield (*numbers[:k], new, *numbers[k + 1 :])


NEAR = [(name, c) for name, (numbers, _, _) in IDENTITIES.items() for c in moved(numbers)]
BEYOND = list(itertools.product(INEQUALITIES, STEPS))


def test_there_are_enough_of_them():
    assert len(NEAR) > 150
    assert len(BEYOND) > 100


@pytest.mark.parametrize("name", IDENTITIES)
def test_an_identity_is_proved_and_its_neighbours_are_not(name):
    numbers, shapes, statement = IDENTITIES[name]
    assert proved(identical, statement(numbers), shapes)
    for c in moved(numbers):
        if not (name == "root" and c[0] == -numbers[0]):  # |x| does not see a sign
            assert not proved(identical, statement(c), shapes), c


@pytest.mark.parametrize("name", INEQUALITIES)
def test_an_inequality_is_proved_and_its_neighbours_are_not(name):
    number, side, shapes, statement = INEQUALITIES[name]
    assert proved(ordered, statement(exact(number)), shapes)
    for step in STEPS:
        assert not proved(ordered, statement(exact(number - side * step)), shapes), step


@pytest.mark.parametrize(("prove", "shapes", "statement"), FALSE)
def test_a_false_statement_is_not_proved(prove, shapes, statement):
    assert not proved(prove, statement, shapes)


def test_the_false_ones_are_false():
    """Seen in floats, where they are far enough from true ones."""
    rng = np.random.default_rng(0)
    for name, (numbers, shapes, statement) in IDENTITIES.items():
        for c in moved(numbers):
            if any(abs(a - b) > 1e-3 for a, b in zip(c, numbers, strict=True)) and name != "root":
                with jax.enable_x64(True):
                    point = {k: jnp.asarray(rng.normal(size=(9, *s))) for k, s in shapes.items()}
                    of = statement(c)
                    left, right = jax.vmap(of)(*point.values())
                assert not (np.abs(np.asarray(left - right)) < 1e-6).all(), (name, c)

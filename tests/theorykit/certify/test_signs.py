"""Signs of polynomials: matrices that are positive definite at every point."""

import jax.numpy as jnp
import pytest

from theorykit.certify import NotCertifiable, Work, identical, letters
from theorykit.certify._ring import POSITIVE, Ring
from theorykit.certify._signs import definite

RING = Ring(["a", "b", "c", "k"], {}, Work())
RING.begin({3: POSITIVE})
A, B, C, K = RING.gens[:4]
ONE = RING.constant(1)


@pytest.mark.parametrize(
    ("matrix", "is_definite"),
    [
        ([[1 + A * A, A * B], [A * B, 1 + B * B]], True),
        ([[K + A * A, A * B], [A * B, K + B * B]], True),
        ([[ONE, 0 * A], [0 * A, K]], True),
        ([[2 + A * A + B * B, A * C + B], [A * C + B, 2 + C * C]], True),
        ([[1 + A * A, 2 * A * B], [2 * A * B, 1 + B * B]], False),  # 1 - 3 a^2 b^2 + ... < 0
        ([[A * A, A * B], [A * B, B * B]], False),  # singular
        ([[1 + A * A, A * B], [A * B, B * B]], False),  # zero at a = b = 0
        ([[1 - A * A, 0 * A], [0 * A, ONE]], False),
        ([[1 + A, 0 * A], [0 * A, ONE]], False),
        ([[1 + A * A, A * B], [-A * B, 1 + B * B]], False),  # definite, but not symmetric
    ],
)
def test_positive_definite(matrix, is_definite):
    assert definite(RING, matrix) is is_definite


def push_through(ridge, other=None):
    """Return F' (FF' + r)^-1 y = (F'F + r)^-1 F' y, for 4 rows and columns."""
    return lambda F, k, y: (
        F.T @ jnp.linalg.solve(F @ F.T + ridge(k) * jnp.eye(4), y),
        jnp.linalg.solve(F.T @ F + (other or ridge)(k) * jnp.eye(4), F.T @ y),
    )


def proved(statement):
    shapes = dict(F=(4, 4), k=letters((), low=0, open=True), y=(4,))
    try:
        return bool(identical(statement, shapes, work=Work(3_000_000)))
    except NotCertifiable:
        return False


def test_a_system_with_a_ridge_has_a_solution():
    assert proved(push_through(lambda k: k))


@pytest.mark.parametrize(
    "statement",
    [
        push_through(lambda k: k, lambda k: k * (1 + 2**-40)),
        push_through(lambda k: k - 1),
        push_through(lambda k: 0 * k),
        push_through(lambda k: -k),
    ],
)
def test_a_false_neighbour_is_not_proved(statement):
    assert not proved(statement)

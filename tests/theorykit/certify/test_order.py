"""Inequalities for all values: what must come out, and that certificates multiply out."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import pytest
from flint import fmpq

from theorykit.certify import NotCertifiable, Work, exact, letters, ordered
from theorykit.certify import _order as order
from theorykit.certify._ring import NONNEGATIVE, POSITIVE, REAL, Ring
from theorykit.certify._signs import certain
from theorykit.certify._squares import as_squares, by_program, factorised

softmax = jax.nn.softmax
weight = lambda x: softmax(x)[0]
jacobian = lambda x: jnp.diag(softmax(x)) - jnp.outer(softmax(x), softmax(x))
total = lambda d: jnp.abs(d).sum()
PLENTY = 5_000_000


def holds(sides, **shapes):
    return bool(ordered(sides, shapes, work=Work(PLENTY)))


@pytest.mark.parametrize("T", [2, 3, 4])
def test_the_first_derivative_of_a_softmax_weight(T):
    assert holds(lambda x: (total(jax.grad(weight)(x)), 2 * weight(x)), x=(T,))


@pytest.mark.parametrize("T", [2, 3, pytest.param(4, marks=pytest.mark.slow)])
def test_the_second_derivative_of_a_softmax_weight(T):
    assert holds(lambda x: (total(jax.hessian(weight)(x)), 6 * weight(x)), x=(T,))


@pytest.mark.parametrize("n", [2, 3, 4])
def test_the_jacobian_of_softmax_has_the_norm_one_half(n):
    assert holds(lambda x: (jnp.linalg.norm(jacobian(x), 2), 0.5), x=(n,))
    assert holds(lambda x: (jnp.linalg.eigvalsh(jacobian(x))[-1], 0.5), x=(n,))


@pytest.mark.parametrize("n", [2, 3, 8])
def test_the_maximum_is_smoothed_by_at_most_log_n(n):
    smooth = jax.nn.logsumexp
    assert holds(
        lambda x: (
            jnp.stack([x.max(), smooth(x)]),
            jnp.stack([smooth(x), x.max() + jnp.log(exact(n))]),
        ),
        x=(n,),
    )


def test_what_is_no_sum_of_squares_is_one_after_a_multiplier():
    found = ordered(lambda x, y: (3 * x**2 * y**2, x**4 * y**2 + x**2 * y**4 + 1), dict(x=(), y=()))
    assert found.lines[1].startswith("  (x^2 + y^2 + 1) * it = ")


def test_the_domain_is_put_to_use():
    unit = letters((), low=Fraction(0), high=Fraction(1))
    assert holds(lambda x, y: (x + y, 1 + x * y), x=unit, y=unit)
    with pytest.raises(NotCertifiable):
        ordered(lambda x: (jnp.sqrt(x), 1.0), dict(x=()))
    assert holds(lambda x: (jnp.sqrt(x), 1.0), x=unit)
    assert not holds(lambda x, y: (x + y, 1 + x * y), x=(), y=())


def test_a_proof_gives_up_when_it_has_cost_enough():
    steep = lambda x: (total(jax.hessian(weight)(x)), 6 * weight(x))
    with pytest.raises(NotCertifiable, match="exceeds its budget"):
        ordered(steep, dict(x=(6,)), work=Work(100_000))


def test_the_reason_for_a_failure_is_a_polynomial():
    found = ordered(lambda x: (x, x * x), dict(x=()))
    assert not found
    assert found.why == "x^2 - x >= 0 could not be shown."


# Certificates -----------------------------------------------------------------------------------


def ring(signs, count=3):
    made = Ring([f"x{i}" for i in range(count)], {}, Work())
    made.begin(signs)
    return made


def adds_up(squares, p):
    return sum(c * q * q for c, q in squares) == p


def test_squares_add_up():
    made = ring({0: REAL, 1: REAL, 2: REAL})
    x, y, z = made.gens[:3]
    for p in [x**2 - 2 * x * y + y**2, x**2 + x * y + y**2 + z**2 + z + 1, (x - y) ** 2 * 3]:
        squares = as_squares(made, p)
        assert adds_up(squares, p)
    p = x**4 + y**4 + z**4 - x**2 * y * z - y**2 * z * x - z**2 * x * y  # zero on the diagonal
    squares = by_program(made, p, [])
    assert adds_up(squares, p)
    assert as_squares(made, p - x**2) is None
    assert by_program(made, p - x**2 * fmpq(1, 10**6), []) is None


def test_what_is_not_negative_stands_before_a_square():
    made = ring({0: POSITIVE, 1: NONNEGATIVE})
    x, y = made.gens[:2]
    p = x * (y - 1) ** 2 + x**3 * y
    squares = by_program(made, p, [])
    assert adds_up(squares, p)
    assert by_program(ring({0: REAL, 1: REAL}), p, []) is None


def test_a_square_root_is_known_by_its_square():
    made = ring({0: REAL})
    x = made.gens[0]
    root = made.gens[made.letter("sqrt", x * x + 1, "1", "sqrt", POSITIVE, x * x + 1)]
    assert certain(made, root - x, strict=True)
    assert certain(made, root + x, strict=True)
    assert certain(made, root - x * fmpq(1001, 1000)) is None


@pytest.mark.parametrize(
    ("gram", "definite"),
    [([[2, 1], [1, 2]], True), ([[1, 1], [1, 1]], True), ([[1, 2], [2, 1]], False),
     ([[0, 1], [1, 0]], False), ([[0, 0], [0, 3]], True)],
)  # fmt: skip
def test_an_exact_factorisation_decides(gram, definite):
    rows = factorised([[fmpq(x) for x in row] for row in gram])
    assert (rows is not None) is definite
    if rows is not None:
        again = [
            [sum(d * v.get(i, 0) * v.get(j, 0) for d, v in rows) for j in (0, 1)] for i in (0, 1)
        ]
        assert again == gram


def test_a_wrong_decomposition_is_not_taken(monkeypatch):
    """What the solver says is never believed."""
    monkeypatch.setattr(order, "by_program", lambda *_: None)
    assert not holds(lambda x, y: (3 * x**2 * y**2, x**4 * y**2 + x**2 * y**4 + 1), x=(), y=())
    made = ring({0: REAL, 1: REAL})
    x, y = made.gens[:2]
    from theorykit.certify import _squares

    wrong = lambda p, parts, *_: [((parts[0].basis, [(fmpq(1), {0: fmpq(1)})]), 0)]
    monkeypatch.setattr(_squares, "rational_grams", wrong)
    assert by_program(made, x**2 + x * y + y**2, []) is None

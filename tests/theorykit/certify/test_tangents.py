"""Inequalities with logarithms and exponentials beside their arguments."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import pytest

from theorykit.certify import NotCertifiable, ordered
from theorykit.certify._everywhere import (
    Everywhere,
    as_leaves,
    as_program,
    letters,
    over_cases,
)
from theorykit.certify._ring import primitive
from theorykit.certify.steps import Quotient, below, certain, constant, exp

UP = dict(low=Fraction(0), open=True)


def entropy(u):
    p = u / u.sum()
    return -(p * jnp.log(p)).sum()


def divergence(u, v):
    p, q = u / u.sum(), v / v.sum()
    return (p * (jnp.log(p) - jnp.log(q))).sum()


# Both sides with a change c that makes them false, and the arguments.
TRUE = {
    "exp": (lambda x, c: (1 + (1 + c) * x, jnp.exp(x)), dict(x=letters(()))),
    "exp of a sum": (lambda x, y, c: (1 + x + y + c, jnp.exp(x + y)), dict(x=(), y=())),
    "exp below one": (lambda x, c: (1 - x + c, jnp.exp(-x)), dict(x=())),
    "log": (lambda x, c: (jnp.log(x) + c, x - 1), dict(x=letters((), **UP))),
    "log from below": (lambda x, c: (1 - 1 / x + c, jnp.log(x)), dict(x=letters((), **UP))),
    "x log x": (lambda x, c: (x - 1 + c, x * jnp.log(x)), dict(x=letters((), **UP))),
    "log of a ratio": (
        lambda x, y, c: (x - y + c, x * (jnp.log(x) - jnp.log(y))),
        dict(x=letters((), **UP), y=letters((), **UP)),
    ),
    "entropy of two": (
        lambda u, c: (entropy(u) + c, jnp.log(2.0)), dict(u=letters((2,), **UP))),
    "entropy of three": (
        lambda u, c: (entropy(u) + c, jnp.log(3.0)), dict(u=letters((3,), **UP))),
    "divergence": (
        lambda u, v, c: (c, divergence(u, v)),
        dict(u=letters((2,), **UP), v=letters((2,), **UP)),
    ),
    "entropy of a softmax": (
        lambda x, c: (
            -(jax.nn.softmax(x) * jax.nn.log_softmax(x)).sum() + c, jnp.log(3.0)),
        dict(x=(3,)),
    ),
    "divergence of two softmax": (
        lambda x, y, c: (
            c, (jax.nn.softmax(x) * (jax.nn.log_softmax(x) - jax.nn.log_softmax(y))).sum()),
        dict(x=(2,), y=(2,)),
    ),
    "a tangent of logsumexp": (
        lambda x, y, c: (
            jax.nn.logsumexp(x) + jax.nn.softmax(x) @ (y - x) + c, jax.nn.logsumexp(y)),
        dict(x=(2,), y=(2,)),
    ),
    "softplus": (lambda x, c: (x + c, jax.nn.softplus(x)), dict(x=())),
}  # fmt: skip


def at(name, c):
    sides, shapes = TRUE[name]
    try:
        return ordered(lambda **x: sides(**x, c=c), shapes)
    except NotCertifiable as error:
        return Everywhere(False, why=str(error))


@pytest.mark.parametrize("name", TRUE)
def test_what_holds_by_a_tangent_is_proved(name):
    found = at(name, 0.0)
    assert found, found.why


@pytest.mark.parametrize("name", TRUE)
@pytest.mark.parametrize("c", [1e-3, 2.0**-40])
def test_false_neighbours_are_not_proved(name, c):
    assert not at(name, c)


def test_the_proof_says_which_tangent():
    found = ordered(lambda x: (1 + x, jnp.exp(x)), dict(x=()))
    assert any("exp z >= 1 + z for z = x" in line for line in found.lines)
    found = ordered(lambda x: (jnp.log(x), x - 1), dict(x=letters((), **UP)))
    assert any("log z >= 1 - 1/z for z = (1) / (x)" in line for line in found.lines)


@pytest.mark.parametrize("name", [n for n in TRUE if n != "softplus"])  # that is by an exponential
def test_its_parts_multiply_out(name):
    """What a reader of the proof, such as `theorykit.export`, makes of it."""
    ring, seen = None, 0

    def judge(of, left, right):
        nonlocal ring
        ring = of
        return below(of, left, right)

    sides, shapes = TRUE[name]
    leaves = as_leaves(shapes)
    program = as_program(lambda **x: sides(**x, c=0.0), leaves)
    for case in over_cases(program, leaves, judge).tree:
        for reason in (goal.by for goal in case.goals if goal.by.rule == "tangents"):
            least = Quotient(ring, reason.of) / Quotient(ring, ring.constant(1) * reason.multiplier)
            for weight, exponents in reason.tangents:
                assert certain(ring, weight)
                z, value = constant(ring, 0), constant(ring, 1)
                for v, b, n in exponents:
                    assert exp(b) == v
                    z, value = z + b * n, value * v**n
                least -= Quotient(ring, weight) * (value - 1 - z)
            num = ring.reduced(least.cancelled().num)
            assert primitive(num)[0] == primitive(reason.parts[0].of)[0]
            seen += 1
    assert seen


def test_a_weight_without_a_sign_proves_nothing():
    assert not ordered(lambda x, y: (0.0 * x, y * (jnp.exp(x) - 1 - x)), dict(x=(), y=()))
    assert not ordered(lambda x, y: (y * jnp.log(x), y * (x - 1)), dict(x=letters((), **UP), y=()))

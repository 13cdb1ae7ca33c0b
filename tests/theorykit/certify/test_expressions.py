"""Random expressions, enclosed and evaluated by mpmath at four times the precision."""

import dataclasses
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from flint import arb
from mpmath import mp

from theorykit import certify
from theorykit.certify._enclose import Program
from theorykit.certify._machine import RULES, Machine, Unknown
from theorykit.certify._numbers import objects, precision

any_ = lambda *xs: True
small = lambda *xs: all(abs(x) < 9 for x in xs)
positive = lambda x, *_: 1e-3 < x < 1e3
nonzero = lambda x, *_: abs(x) > 1e-3
inside = lambda x: abs(x) < 0.999


@dataclasses.dataclass(frozen=True)
class Op:
    """An operation in JAX and in mpmath, and where it is used."""

    arity: int
    jax: Callable[..., Any]
    mp: Callable[..., Any]
    domain: Callable[..., bool] = any_


def stacked(f):
    return lambda *xs: f(jnp.stack(xs))


def mp_softmax(a, b, c):
    return mp.exp(a) / (mp.exp(a) + mp.exp(b) + mp.exp(c))


def mp_cube(x):
    return mp.cbrt(x) if x >= 0 else -mp.cbrt(-x)


def mp_rem(x, y):
    return x - y * int(x / y)


OPS = {
    "add": Op(2, jnp.add, lambda x, y: x + y),
    "sub": Op(2, jnp.subtract, lambda x, y: x - y),
    "mul": Op(2, jnp.multiply, lambda x, y: x * y),
    "div": Op(2, jnp.divide, lambda x, y: x / y, lambda x, y: nonzero(y)),
    "rem": Op(2, jax.lax.rem, mp_rem, lambda x, y: nonzero(y)),
    "neg": Op(1, jnp.negative, lambda x: -x),
    "exp": Op(1, jnp.exp, mp.exp, small),
    "exp2": Op(1, jnp.exp2, lambda x: mp.mpf(2) ** x, small),
    "expm1": Op(1, jnp.expm1, mp.expm1, small),
    "log": Op(1, jnp.log, mp.log, positive),
    "log1p": Op(1, jnp.log1p, mp.log1p, lambda x: x > -0.99),
    "tanh": Op(1, jnp.tanh, mp.tanh),
    "sinh": Op(1, jnp.sinh, mp.sinh, small),
    "cosh": Op(1, jnp.cosh, mp.cosh, small),
    "asinh": Op(1, jnp.arcsinh, mp.asinh),
    "acosh": Op(1, jnp.arccosh, mp.acosh, lambda x: x > 1.001),
    "atanh": Op(1, jnp.arctanh, mp.atanh, inside),
    "erf": Op(1, jax.lax.erf, mp.erf, small),
    "erfc": Op(1, jax.lax.erfc, mp.erfc, small),
    "erf_inv": Op(1, jax.lax.erf_inv, mp.erfinv, inside),
    "lgamma": Op(1, jax.lax.lgamma, mp.loggamma, positive),
    "digamma": Op(1, jax.lax.digamma, mp.digamma, positive),
    "sin": Op(1, jnp.sin, mp.sin),
    "cos": Op(1, jnp.cos, mp.cos),
    "tan": Op(1, jnp.tan, mp.tan, lambda x: abs(mp.cos(x)) > 0.01),
    "asin": Op(1, jnp.arcsin, mp.asin, inside),
    "acos": Op(1, jnp.arccos, mp.acos, inside),
    "atan": Op(1, jnp.arctan, mp.atan),
    "atan2": Op(2, jnp.arctan2, mp.atan2, lambda y, x: nonzero(y)),
    "sqrt": Op(1, jnp.sqrt, mp.sqrt, positive),
    "rsqrt": Op(1, jax.lax.rsqrt, lambda x: 1 / mp.sqrt(x), positive),
    "cbrt": Op(1, jnp.cbrt, mp_cube),
    "square": Op(1, jnp.square, lambda x: x**2),
    "cube": Op(1, lambda x: x**3, lambda x: x**3),
    "inverse": Op(1, lambda x: x**-2, lambda x: x**-2, nonzero),
    "pow": Op(2, jnp.power, lambda x, y: x**y, lambda x, y: positive(x) and small(y)),
    "logistic": Op(1, jax.nn.sigmoid, lambda x: 1 / (1 + mp.exp(-x)), small),
    "max": Op(2, jnp.maximum, max),
    "min": Op(2, jnp.minimum, min),
    "clip": Op(1, lambda x: jnp.clip(x, -1, 2), lambda x: min(max(x, mp.mpf(-1)), mp.mpf(2))),
    "where": Op(4, lambda a, b, x, y: jnp.where(a < b, x, y), lambda a, b, x, y: x if a < b else y),
    "abs": Op(1, jnp.abs, abs),
    "sign": Op(1, jnp.sign, mp.sign),
    "floor": Op(1, jnp.floor, mp.floor),
    "ceil": Op(1, jnp.ceil, mp.ceil),
    "round": Op(1, jnp.round, mp.nint),
    "third": Op(1, lambda x: certify.exact("1/3") * x, lambda x: x / 3),
    "dot": Op(4, lambda a, b, c, d: jnp.stack([a, b]) @ jnp.stack([c, d]),
              lambda a, b, c, d: a * c + b * d),
    "sum": Op(3, stacked(jnp.sum), lambda *xs: mp.fsum(xs)),
    "prod": Op(3, stacked(jnp.prod), lambda *xs: mp.fprod(xs)),
    "cumsum": Op(3, stacked(lambda x: jnp.cumsum(x)[1]), lambda a, b, c: a + b),
    "sort": Op(3, stacked(lambda x: jnp.sort(x)[1]), lambda *xs: sorted(xs)[1]),
    "largest": Op(3, stacked(jnp.max), max),
    "softmax": Op(3, stacked(lambda x: jax.nn.softmax(x)[0]), mp_softmax, small),
    "logsumexp": Op(3, stacked(jax.nn.logsumexp),
                    lambda *xs: mp.log(mp.fsum(map(mp.exp, xs))), small),
    "norm": Op(2, stacked(jnp.linalg.norm), mp.hypot, lambda x, y: nonzero(x)),
}  # fmt: skip

BITS, LEAVES, SIZE = 64, 6, 50


@dataclasses.dataclass
class Expressions:
    """Expressions, each of which applies an operation to arguments among those before it."""

    point: list[Fraction]
    steps: list[tuple[str, list[int]]]

    @classmethod
    def random(cls, seed: int) -> "Expressions":
        draw = random.Random(seed)
        point = [Fraction(draw.gauss(0, 2)) for _ in range(LEAVES // 2)]
        point += [Fraction(draw.randint(-40, 40), draw.randint(1, 19)) for _ in range(LEAVES // 2)]
        made = cls(point, [])
        with mp.workprec(100):
            values = [number(x) for x in point]
            while len(made.steps) < SIZE:
                name = draw.choice(list(OPS))
                args = [draw.randrange(len(values)) for _ in range(OPS[name].arity)]
                xs = [values[i] for i in args]
                if OPS[name].domain(*xs) and abs(y := OPS[name].mp(*xs)) < 1e4:
                    values.append(y)
                    made.steps.append((name, args))
        return made

    def jax(self, *xs):
        values = list(xs)
        for name, args in self.steps:
            values.append(OPS[name].jax(*(values[i] for i in args)))
        return values[len(xs) :]

    def mpmath(self, xs, bits):
        with mp.workprec(bits):
            values = [number(x) for x in xs]
            for name, args in self.steps:
                values.append(OPS[name].mp(*(values[i] for i in args)))
            return values[len(xs) :]


def number(x):
    return mp.mpf(x.numerator) / x.denominator


def program_of(made, like=0.0):
    return Program.trace(made.jax, [np.float64(like)] * len(made.point))


def enclosures(program, xs, bits):
    """Return a ball for each expression, or None where it cannot be certified."""
    with precision(bits):
        leaves = [objects(certify._numbers.ball(x), ()) for x in xs]
        outputs = Machine().closed(program.closed, leaves)
        balls = [None if isinstance(v, Unknown) else v.item() for v in outputs]
        return [b if b is not None and b.is_finite() else None for b in balls]


def inside_ball(ball, value, bits):
    """Whether a ball contains mpmath's value, which is itself right to about `bits`."""
    with mp.workprec(8 * bits):
        mid, radius = (mpmath.ldexp(*map(int, x.man_exp())) for x in (ball.mid(), ball.rad()))
        return abs(mid - value) <= radius + mp.ldexp(1 + abs(value), -bits)


def misses(made, program):
    """Return which enclosures at the point do not contain the value, and how many were certain."""
    balls = enclosures(program, made.point, BITS)
    values = made.mpmath(made.point, 4 * BITS)
    pairs = [(s, b, v) for s, b, v in zip(made.steps, balls, values, strict=True) if b is not None]
    return [s for s, b, v in pairs if not inside_ball(b, v, 3 * BITS)], len(pairs)


@pytest.fixture(scope="module")
def corpus():
    with jax.enable_x64(True):
        made = [Expressions.random(seed) for seed in range(2000 // SIZE)]
        return [(m, program_of(m)) for m in made]


def test_two_thousand_random_expressions_contain_the_value(corpus):
    outcomes = [misses(*both) for both in corpus]
    assert [m for missed, _ in outcomes for m in missed] == []
    assert sum(certain for _, certain in outcomes) > 0.85 * len(corpus) * SIZE
    used = {name for made, _ in corpus for name, _ in made.steps}
    assert used == set(OPS)


def test_the_radius_shrinks_as_the_bits_grow(corpus):
    full, certain = 0, 0  # a root at zero has half of the digits, floor at an integer none
    for made, program in corpus:
        several = [enclosures(program, made.point, bits) for bits in (64, 128, 256)]
        for a, b, c in zip(*several, strict=True):
            if a is not None:
                assert c.rad() <= b.rad() <= a.rad()
                certain += 1
                full += b.rad() <= a.rad() * 2.0**-60 and c.rad() <= b.rad() * 2.0**-120
    assert full > 0.97 * certain


def test_wide_balls_contain_the_values_at_their_points(corpus):
    draw, certain = random.Random(1), 0
    for made, program in corpus:
        width = Fraction(1, 2 ** draw.choice([4, 8, 12]))
        wide = [arb(float(x), float(width)) for x in made.point]
        balls = enclosures(program, wide, BITS)
        for _ in range(4):
            t = [draw.choice([-1, 1, draw.uniform(-1, 1)]) for _ in wide]
            xs = [
                Fraction(float(x)) + Fraction(s) * width for x, s in zip(made.point, t, strict=True)
            ]
            for k, (step, ball) in enumerate(zip(made.steps, balls, strict=True)):
                if ball is None:
                    continue
                certain += 1
                value = partial_value(made, xs, k)
                assert inside_ball(ball, value, 150), (step, ball, value)
    assert certain > 0.4 * 4 * SIZE * len(corpus)


def partial_value(made, xs, k, memo={}):  # noqa: B006 one evaluation a point
    """Return the value of expression k alone: others may leave their domain."""
    key = (id(made), *xs)
    if memo.get("key") != key:
        memo.clear()
        memo.update(key=key, values={i: number(x) for i, x in enumerate(xs)})
    values = memo["values"]

    def of(i):
        if i not in values:
            name, args = made.steps[i - len(xs)]
            values[i] = OPS[name].mp(*map(of, args))
        return values[i]

    with mp.workprec(200):
        return of(len(xs) + k)


def without_the_last(machine, eqn, x, y):
    return DOT(machine, eqn, x, np.where(np.arange(y.shape[0]) < 1, y, arb(0)))


DOT = RULES["dot_general"]


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("tanh", lambda m, e, x: objects(x.item().tanh() * (1 + arb(2) ** -40), ())),
        ("dot_general", without_the_last),
        ("log1p", lambda m, e, x: objects(abs(x.item()).log(), ())),
    ],
)
def test_a_wrong_rule_is_caught(corpus, monkeypatch, name, wrong):
    monkeypatch.setitem(RULES, name, wrong)
    caught = [m for both in corpus for m in misses(*both)[0]]
    assert {"dot_general": "dot"}.get(name, name) in {step for step, _ in caught}


def test_enclose_agrees_with_the_machine():
    made = Expressions.random(7)
    found = certify.enclose(lambda *xs: made.jax(*xs)[:5], *made.point, bits=BITS)
    for ball, value in zip(found, made.mpmath(made.point, 4 * BITS), strict=False):
        assert inside_ball(ball.array.item(), value, 3 * BITS)

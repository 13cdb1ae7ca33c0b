"""The normal form against float64: every rule, and random expressions."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.scipy.special import erf, erfc

from theorykit.certify import exact, identical
from theorykit.certify._enclose import Program
from theorykit.certify._functions import Finer
from theorykit.certify._machine import Machine, NotCertifiable
from theorykit.certify._normal import OWN, field_of
from theorykit.certify._quotients import Quotient
from theorykit.certify._ring import Ring, Work

FUNCTIONS = {
    "exp": math.exp, "log": math.log, "sqrt": math.sqrt, "abs": abs, "sin": math.sin,
    "cos": math.cos, "erf": math.erf, "atan": math.atan, "asinh": math.asinh, "asin": math.asin,
    "acos": math.acos, "cbrt": math.cbrt,
}  # fmt: skip


class Floats:
    """The values of a ring's letters at one point."""

    def __init__(self, ring, point):
        self.ring, self.point = ring, point

    def letter(self, i):
        if i < self.ring.count:
            return self.point[i]
        kind, of = self.ring.made[i]
        if kind in ("pi", "e"):
            return getattr(math, kind)
        if kind == "max":
            return max(map(self.number, of))
        if " of " in kind:  # an eigenvalue or singular value of a symmetric matrix
            n = math.isqrt(len(of))
            values = np.linalg.eigvalsh(np.reshape([self.number(q) for q in of], (n, n)))
            k = int(kind.split()[-3]) - 1
            return values[k] if kind.startswith("eigen") else sorted(abs(values))[::-1][k]
        return FUNCTIONS[kind](self.number(of))

    def polynomial(self, p):
        used = {i: self.letter(i) for i in self.ring.used(p)}
        return sum(
            float(c.p) / float(c.q) * math.prod(v ** int(m[i]) for i, v in used.items())
            for m, c in p.terms()
        )

    def number(self, q):
        if not isinstance(q, Quotient):
            return self.polynomial(q)
        return self.polynomial(q.num) / math.prod(
            self.polynomial(self.ring.factors[k]) ** e for k, e in q.den
        )


def normal(f, *shapes):
    """Return the ring, and the entries of f in it, of letters that are real numbers."""
    units = {}
    while True:
        try:
            return _normal(f, shapes, units)
        except Finer:  # exp(x / 2) came after exp(x)
            continue


def _normal(f, shapes, units):
    count = sum(math.prod(s) for s in shapes)
    ring = Ring([f"x{i}" for i in range(count)], units, Work())
    start, leaves = 0, []
    for s in shapes:
        array = np.empty(s, dtype=object)
        for where in np.ndindex(s):
            array[where] = Quotient(ring, ring.gens[start])
            start += 1
        leaves.append(array)
    like = [jax.ShapeDtypeStruct(s, np.float64) for s in shapes]
    program = Program.trace(lambda *xs: jnp.ravel(f(*xs)), like)
    (found,) = program.run(Machine(field=field_of(ring)), leaves)
    return ring, found


def agrees(f, *shapes, seed=0, points=3):
    ring, found = normal(f, *shapes)
    rng = np.random.default_rng(seed)
    with jax.enable_x64(True):
        for _ in range(points):
            args = [rng.normal(size=s) for s in shapes]
            there = Floats(ring, np.concatenate([a.ravel() for a in args]))
            expected = np.ravel(f(*map(jnp.asarray, args)))
            got = [there.number(q) for q in found]
            np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9)


spread = lambda x: x * x + 1
"""Positive, and never less than one."""
within = lambda x: x / jnp.sqrt(spread(x))
"""Between -1 and 1."""
exact_pi = lambda x: exact("pi") * x
symmetric = lambda A: A + A.T

RULES = {
    "exact": exact_pi,
    "exp": lambda x: jnp.exp(x - 2 * x[0]),
    "exp2": lambda x: jnp.exp2(3 * x),
    "expm1": jnp.expm1,
    "log": lambda x: jnp.log(6 * spread(x) / jnp.exp(x)),
    "log1p": lambda x: jnp.log1p(x * x),
    "logistic": jax.nn.sigmoid,
    "tanh": lambda x: jnp.tanh(x / 2),
    "sinh": jnp.sinh,
    "cosh": jnp.cosh,
    "sin": lambda x: jnp.sin(2 * x - x[0]),
    "cos": lambda x: jnp.cos(x / 3 + x[1]),
    "tan": lambda x: jnp.tan(x * 0),
    "sqrt": lambda x: jnp.sqrt(12 * spread(x) * (x - x[0]) ** 2),
    "rsqrt": lambda x: jax.lax.rsqrt(spread(x)),
    "cbrt": jnp.cbrt,
    "erf": lambda x: erf(-x),
    "erfc": lambda x: erfc(2 * x),
    "atan": jnp.arctan,
    "asinh": jnp.arcsinh,
    "acos": lambda x: jnp.arccos(within(x)),
    "asin": lambda x: jnp.arcsin(within(x)),
    "atan2": lambda x: jnp.arctan2(x, spread(x)),
    "abs": lambda x: jnp.abs(x * (x - 1) / spread(x)),
    "sign": lambda x: jnp.sign(-spread(x)),
    "max": lambda x: jnp.maximum(x, x**2 - 1),
    "min": lambda x: jnp.minimum(x, x[0]),
    "clamp": lambda x: jax.lax.clamp(-0.5, x, 0.5),
    "reduce_sum": jnp.sum,
    "reduce_max": jnp.max,
    "reduce_min": jnp.min,
    "sort": lambda x: jnp.sort(jnp.stack([spread(x[0]), -spread(x[1]), 0 * x[0]])),
    "pow": lambda x: spread(x) ** jnp.asarray(-1.5),
    "jit": lambda A: jnp.stack(jnp.linalg.slogdet(A @ A.T + jnp.eye(4))),
    "custom_linear_solve": lambda A: jnp.linalg.solve(A @ A.T + jnp.eye(3), A[0]),
    "eigh": lambda A: jnp.linalg.eigvalsh(symmetric(A)),
    "svd": lambda A: jnp.linalg.svd(symmetric(A), compute_uv=False),
}


@pytest.mark.parametrize("name", sorted(OWN))
def test_a_rule_gives_what_floats_give(name):
    shapes = dict.fromkeys(("custom_linear_solve", "eigh", "svd"), (3, 3)) | {"jit": (4, 4)}
    agrees(RULES[name], shapes.get(name, (3,)))


@pytest.mark.parametrize("n", [4, 5, 6])
def test_determinants_are_minors(n):
    """Of up to six rows; a neighbour of a true one is not proved."""
    det = jnp.linalg.det
    lemma = lambda c: lambda u: (det(jnp.eye(n) + jnp.outer(u, u)), c + u @ u)
    assert identical(lemma(1), dict(u=(n,)))
    assert not identical(lemma(1 + 2**-40), dict(u=(n,)))
    assert identical(lambda A: (det(jnp.tril(A)), jnp.prod(jnp.diag(A))), dict(A=(n, n)))
    assert not identical(lambda A: (det(A[:, np.array([1, 0, 2, 3])]), det(A)), dict(A=(4, 4)))


def test_a_function_that_is_called_det_is_not_one():
    def det(A):
        return A[0, 0]

    named = jax.jit(det)
    assert identical(lambda A: (named(A), A[0, 0]), dict(A=(4, 4)))
    assert not identical(lambda A: (named(A), jnp.linalg.det(A)), dict(A=(4, 4)))


def test_a_small_eigenvalue_has_a_form():
    agrees(lambda A: jnp.linalg.eigvalsh(symmetric(A)), (2, 2))


@pytest.mark.parametrize(
    "f",
    [
        jax.nn.softmax,
        jax.nn.logsumexp,
        jax.jacobian(jax.nn.softmax),
        jax.hessian(jax.nn.logsumexp),
        lambda x: jax.nn.gelu(x, approximate=False),
        lambda x: jax.nn.softmax(jnp.where(jnp.arange(3) < 2, x, -jnp.inf)),
        lambda x: (x - x.mean()) / jnp.sqrt(x.var() + 1e-5),
        jax.grad(lambda x: jnp.linalg.norm(jnp.exp(x))),
        lambda x: jnp.linalg.cholesky(jnp.outer(x, x) + jnp.eye(3)),
        lambda x: jnp.linalg.inv(jnp.outer(x, x) + jnp.eye(3)),
        lambda x: jnp.linalg.det(jnp.outer(x, x) + jnp.diag(x)),
    ],
)
def test_what_transformers_are_made_of(f):
    agrees(f, (3,))


UNARY = [
    jnp.exp, jnp.tanh, jnp.abs, jax.nn.relu, jax.nn.sigmoid, jax.nn.softplus, jnp.sin, jnp.cos,
    lambda x: jnp.sqrt(spread(x)), lambda x: jnp.log(spread(x)), lambda x: 1 / spread(x),
    lambda x: -x / 3, erf,
]  # fmt: skip
BINARY = [jnp.add, jnp.subtract, jnp.multiply, jnp.maximum, jnp.minimum]

expressions = st.recursive(
    st.sampled_from([lambda x, y: x, lambda x, y: y, lambda x, y: x * 0 + 2]),
    lambda inner: st.one_of(
        st.builds(lambda g, f: lambda x, y: g(f(x, y)), st.sampled_from(UNARY), inner),
        st.builds(
            lambda g, a, b: lambda x, y: g(a(x, y), b(x, y)), st.sampled_from(BINARY), inner, inner
        ),
    ),
    max_leaves=5,
)


@settings(max_examples=60, deadline=None)
@given(f=expressions, seed=st.integers(0, 99))
def test_random_expressions_have_the_value_that_floats_give(f, seed):
    try:
        normal(f, (), ())
    except NotCertifiable:  # it may be given up, and never be wrong
        return
    agrees(f, (), (), seed=seed, points=2)


@settings(max_examples=30, deadline=None)
@given(f=expressions, g=expressions, h=expressions)
def test_the_algebra_of_normal_forms(f, g, h):
    both = lambda x, y: jnp.stack(
        [
            (f(x, y) + g(x, y)) * h(x, y) - f(x, y) * h(x, y) - g(x, y) * h(x, y),
            (f(x, y) - g(x, y)) ** 2 - (g(x, y) - f(x, y)) ** 2,
            f(x, y) / spread(h(x, y)) * spread(h(x, y)) - f(x, y),
        ]
    )
    try:
        _, found = normal(both, (), ())
    except NotCertifiable:
        return
    assert all(q.is_zero() for q in found)

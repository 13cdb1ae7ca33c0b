"""Expressions over R: what JAX computes, as text; held against Python's numbers."""

import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from theorykit.certify import NotCertifiable, Program
from theorykit.export import NotExportable
from theorykit.export._reals import Real, definition, real, said, variables
from theorykit.export._rules import sides


def expressions(f, **shapes):
    """Return the expressions of a function's entries."""
    like = [jax.ShapeDtypeStruct(s, np.float64) for s in shapes.values()]
    program = Program.trace(lambda *xs: (jnp.ravel(f(*xs)), jnp.zeros(1)), like)
    return sides(program, variables(shapes, ()))[0]


def text(f, **shapes):
    """Return the text of a function of one entry."""
    (found,) = expressions(f, **shapes)
    return said(found, {})


@pytest.mark.parametrize(
    ("f", "wanted"),
    [
        (lambda x: x - (x - 1), "x - (x - 1)"),
        (lambda x: (x * 2) / (x + 1), "x * 2 / (x + 1)"),
        (lambda x: x / (x * 2), "x / (x * 2)"),
        (lambda x: -(x**2), "- x ^ 2"),
        (lambda x: (-x) ** 2, "(- x) ^ 2"),
        (lambda x: x ** (-1), "1 / x"),
        (lambda x: 0.5 * x, "1 / 2 * x"),
        (lambda x: x - 0.5, "x - 1 / 2"),
        (lambda x: x + -3.0, "x + - 3"),
        (lambda x: jnp.exp(-x), "exp (- x)"),
        (lambda x: jnp.log1p(x), "ln (1 + x)"),
        (lambda x: jnp.abs(jnp.sqrt(x)), "Rabs (sqrt x)"),
        (lambda x: jnp.maximum(x, 0.0), "Rmax x 0"),
        (lambda x: jnp.max(jnp.stack([x, 1 - x])), "Rmax x (1 - x)"),
        (lambda x: jax.nn.sigmoid(x), "1 / (1 + exp (- x))"),
        (lambda x: jax.grad(lambda x: x**3)(x), "3 * x ^ 2"),
    ],
)
def test_functions_read_as_they_are_written(f, wanted):
    assert text(f, x=()) == wanted


def test_what_is_used_twice_gets_a_name():
    (found,) = expressions(lambda x: jnp.exp(x) / (1 + jnp.exp(x)), x=())
    twice = definition("f", [found * found], ["x"])
    assert twice.startswith(
        "Definition f (x : R) : R :=\n  let t1 := exp x in\n  let t2 := t1 / (1 + t1) in"
    )
    assert twice.endswith("  t2 * t2.")


def test_one_expression_is_one_object():
    x = Real("variable", value="x")
    assert x * 2 + 1 is x * 2 + 1
    assert x + 0 is x
    assert (x * 0).value == 0


@given(st.fractions(-9, 9), st.fractions(-9, 9), st.sampled_from("+-*/"))
def test_constants_are_computed_exactly(a, b, sign):
    if sign == "/" and b == 0:
        return
    value = {"+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "/": lambda: a / b}[sign]()
    x, y = real(a), real(b)
    found = {"+": lambda: x + y, "-": lambda: x - y, "*": lambda: x * y, "/": lambda: x / y}[sign]()
    assert found.value == value


names = st.sampled_from(["x", "y"])
trees = st.recursive(
    st.one_of(names, st.integers(-3, 3).map(str)),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from("+-*/"), inner, inner), st.tuples(st.just("neg"), inner),
        st.tuples(st.just("^"), inner),
    ),
    max_leaves=8,
)  # fmt: skip


def built(tree, of):
    """Return an expression of a tree, or its value."""
    if isinstance(tree, str):
        return of(tree)
    op, *rest = tree
    a, *b = (built(r, of) for r in rest)
    if op == "neg":
        return -a
    if op == "^":
        return a**2
    return {"+": lambda: a + b[0], "-": lambda: a - b[0], "*": lambda: a * b[0],
            "/": lambda: a / (b[0] * b[0] + 1)}[op]()  # fmt: skip


@given(trees)
def test_the_text_means_what_the_expression_does(tree):
    """Python reads the text with its own precedence, but for a sign before a power or product."""
    at = {"x": Fraction(3, 7), "y": Fraction(-5, 2)}
    made = built(tree, lambda s: Real("variable", value=s) if s in at else real(int(s)))
    wanted = built(tree, lambda s: at[s] if s in at else Fraction(int(s)))
    python = said(made, {}).replace("^", "**")
    found = eval(_fractions(python), {"F": Fraction, **at})
    assert found == wanted


def _fractions(text):
    """Return Python text in which whole numbers are fractions."""
    import re

    return re.sub(r"(?<!\*\* )\b\d+", lambda m: f"F({m[0]})", text)


def test_arguments_name_variables_and_their_indices():
    x, S = variables({"a": (), "S": (2, 1)}, ())
    assert x.item().value == "a"
    assert [v.value for v in S.flat] == ["S_0_0", "S_1_0"]


@pytest.mark.parametrize(
    ("f", "group"),
    [
        (jax.lax.erf, "the sides use erf, which is not written for Rocq"),
        (jax.lax.lgamma, "the sides use lgamma, which is not written for Rocq"),
    ],
)
def test_a_function_that_rocq_lacks_is_named(f, group):
    with pytest.raises(NotExportable) as refused:
        expressions(f, x=())
    assert refused.value.group == group


@pytest.mark.parametrize(("value", "name"), [(jnp.inf, "infinity"), (jnp.nan, "NaN")])
@pytest.mark.parametrize("f", [lambda x, c: x + c, lambda x, c: 0 * (c - x), lambda x, c: c])
def test_what_is_no_number_is_refused_where_it_is_left(f, value, name):
    (found,) = expressions(lambda x: f(x, value), x=())
    with pytest.raises(NotExportable, match=f"a side has {name} for a constant"):
        said(found, {})


@pytest.mark.parametrize("value", [jnp.inf, jnp.nan])
@pytest.mark.parametrize(
    "f",
    [
        lambda x, c: jnp.where(jnp.isfinite(x + c), x, 1),
        lambda x, c: jnp.where(jnp.isnan(x - c), 1, x),
    ],
)
def test_a_choice_by_what_is_no_number_is_not_made(f, value):
    with pytest.raises(NotExportable):
        expressions(lambda x: f(x, value), x=())


def test_a_choice_by_numbers_is_made():
    assert text(lambda x: jnp.where(jnp.isfinite(x), x, jnp.nan), x=()) == "x"
    assert text(lambda x: jnp.where(jnp.isnan(x), jnp.nan, x), x=()) == "x"
    whole = "(x_0 - t1) ^ 2 + (x_1 - t1) ^ 2"
    found = expressions(lambda x: x.var(), x=(2,))
    assert definition("f", found, ["x_0", "x_1"]).endswith(f"\n  ({whole}) / 2.")


ROWS = [
    lambda x: jnp.linalg.solve(x, x[0]),
    lambda x: jnp.linalg.inv(x @ x.T + jnp.eye(len(x))),
    lambda x: jnp.linalg.solve(jnp.diag(x[0]), x[1]),
    lambda x: jnp.linalg.cholesky(x @ x.T + jnp.eye(len(x))),
    lambda x: jnp.linalg.eigvalsh((x + x.T)[:2, :2]),
    lambda x: jnp.linalg.eigh((x + x.T)[:1, :1])[0],
    lambda x: jnp.sort(x),
    lambda x: jnp.sort(x, axis=0),
]


@pytest.mark.parametrize("f", ROWS)
@pytest.mark.parametrize("n", [2, 3])
def test_matrices_have_the_values_that_jax_gives_them(f, n):
    x = np.random.default_rng(n).normal(size=(n, n))
    names = {v.value: x[where] for where, v in np.ndenumerate(variables({"x": (n, n)}, ())[0])}
    functions = {"sqrt": math.sqrt, "Rmin": min, "Rmax": max}

    def value(e):
        inner = [value(a) for a in e.args]
        if e.op in functions:
            return functions[e.op](*inner)
        if e.op == "^":
            return inner[0] ** e.value
        if e.op in ("variable", "number"):
            return names[e.value] if e.op == "variable" else float(e.value)
        return {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b,
                "/": lambda a, b: a / b, "neg": lambda a: -a}[e.op](*inner)  # fmt: skip

    with jax.enable_x64(True):
        wanted = np.ravel(f(jnp.array(x)))
    assert [value(e) for e in expressions(f, x=(n, n))] == pytest.approx(wanted, rel=1e-9)


def test_a_system_is_solved_by_cramer_and_falls_into_blocks():
    found = expressions(lambda x: jnp.linalg.solve(x, jnp.ones(2)), x=(2, 2))
    assert said(found[0], {}) == "(x_1_1 - x_0_1) / (x_0_0 * x_1_1 - x_0_1 * x_1_0)"
    apart = expressions(lambda x: jnp.linalg.solve(jnp.diag(x), jnp.ones(2)), x=(2,))
    assert [said(e, {}) for e in apart] == ["1 / x_0", "1 / x_1"]


@pytest.mark.parametrize(
    ("f", "name"),
    [
        (lambda x: jnp.linalg.solve(x, jnp.ones(7)), "custom_linear_solve"),
        (lambda x: jnp.linalg.eigvalsh(x), "eigh"),
        (lambda x: jnp.sort(x[0]), "sort"),
        (lambda x: x[0, jnp.argsort(x[0])], "sort"),
    ],
)
def test_what_would_be_too_long_to_read_is_named(f, name):
    with pytest.raises(NotExportable) as refused:
        expressions(f, x=(7, 7))
    assert refused.value.group == f"the sides use {name}, which is not written for Rocq"


def test_tanh_is_what_it_is():
    (found,) = expressions(jnp.tanh, x=())
    value = eval(said(found, {}), {"x": 0.3, "exp": math.exp})
    assert value == pytest.approx(math.tanh(0.3))


def test_a_complex_constant_is_refused_and_not_cut_short():
    with pytest.raises(NotCertifiable, match="not written as an exact real number"):
        real(np.complex128(1 + 2j))

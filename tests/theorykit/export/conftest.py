"""Claims of every kind that is exported, small enough to be read."""

import shutil

import pytest

from theorykit.claims import load

CLAIMS = '''
"""Claims to export."""
from fractions import Fraction

import jax
import jax.numpy as jnp

from theorykit import claim
from theorykit.certify import exact
from theorykit.checks import construction, everywhere, exhaustive, identity, inequality, on_box
from theorykit.checks.domains import inputs, interval, positive, psd, reals


@claim("mine.square", ref="Lemma 1", statement=r"(x + y)^2 = x^2 + 2 x y + y^2")
def square():
    """A binomial (*of "two"*). Control: without the factor 2."""
    return identity(
        lhs=lambda x, y: (x + y) ** 2,
        rhs=lambda x, y: x**2 + 2 * x * y + y**2,
        over=inputs(x=reals(), y=reals()),
        proof=everywhere(),
        control=dict(rhs=lambda x, y: x**2 + x * y + y**2),
    )


@claim("mine.vector", ref="Lemma 2", statement=r"2 x = x + x, R")
def vector():
    """Of vectors, at two sizes, and a tenth that is a float. Control: three times."""
    return identity(
        lhs=lambda x, R: 2 * x * R * 0.1,
        rhs=lambda x, R: (x + x) * R * 0.1,
        over=inputs(x=reals("n"), R=reals(), n=(2, 3, 4)),
        proof=everywhere(n=(2, 3)),
        control=dict(lhs=lambda x, R: 3 * x * R * 0.1),
    )


@claim("mine.box", ref="Lemma 3", statement=r"\\ln(e^x + e^y) \\le \\max(x, y) + 1")
def box():
    """On a box. Control: 1/2."""
    return inequality(
        lhs=lambda x, y: jnp.log(jnp.exp(x) + jnp.exp(y)),
        rhs=lambda x, y: jnp.maximum(x, y) + 1,
        over=inputs(x=interval(-1, 1), y=interval(-1, 1)),
        proof=on_box(),
        control=dict(rhs=lambda x, y: jnp.maximum(x, y) + 0.5),
    )


@claim("mine.pairs", ref="Lemma 4", statement=r"2 \\min(a, b) \\le a + b")
def pairs():
    """In whole numbers and fractions. Control: three times."""
    within = lambda k: lambda m: k * min(m) <= sum(m)
    return exhaustive(
        predicate=within(2),
        universe=[(a, Fraction(b, 2)) for a in range(-1, 3) for b in range(4)],
        control=dict(predicate=within(3)),
    )


@claim("mine.fails", ref="Lemma 5", statement=r"n^2 \\le 8", expect="refuted", falls="wording",
       consequence="None.")
def fails():
    """Not of 3. Control: n^2 <= 3."""
    return exhaustive(
        predicate=lambda n: n * n <= 8, universe=range(6),
        control=dict(predicate=lambda n: n * n <= 3),
    )


@claim("mine.falls", ref="Lemma 6", statement=r"e^x \\le 1 + x", expect="refuted", falls="wording",
       consequence="None.")
def falls():
    """It is the other way round. Control: x."""
    return inequality(
        lhs=lambda x: jnp.exp(x), rhs=lambda x: 1 + x, over=inputs(x=reals()),
        starts=2, steps=5, control=dict(rhs=lambda x: x),
    )


@claim("mine.differs", ref="Lemma 7", statement=r"\\sqrt{x^2} = x", expect="refuted",
       falls="wording", consequence="None.")
def differs():
    """Not below zero. Control: -1."""
    return identity(
        lhs=lambda x: jnp.stack([x, jnp.sqrt(x * x)]), rhs=lambda x: jnp.stack([x, x]),
        over=inputs(x=reals()), control=dict(rhs=lambda x: -1.0),
    )


@claim("mine.searched", ref="Lemma 8", statement=r"x \\le x + 1")
def searched():
    """Searched alone. Control: x - 1."""
    return inequality(
        lhs=lambda x: x, rhs=lambda x: x + 1 + 0 * jnp.floor(x), over=inputs(x=reals()),
        control=dict(rhs=lambda x: x - 1),
    )


@claim("mine.weak", ref="Lemma 12", statement=r"x \\le x + 1")
def weak():
    """On a box where the control is true. Control: twice x."""
    return inequality(
        lhs=lambda x: x, rhs=lambda x: x + 1, over=inputs(x=interval(-2, 2)),
        proof=on_box(x=(1, 2)), control=dict(rhs=lambda x: 2 * x),
    )


@claim("mine.squares", ref="Lemma 13", statement=r"2 x y \\le x^2 + y^2")
def squares():
    """For all reals. Control: three times."""
    return inequality(
        lhs=lambda x, y: 2 * x * y, rhs=lambda x, y: x**2 + y**2, over=inputs(x=reals(), y=reals()),
        control=dict(lhs=lambda x, y: 3 * x * y),
    )


@claim("mine.weights", ref="Lemma 14",
       statement=r"\\sum_k |\\partial A_1 / \\partial S_k| \\le 2 A_1")
def weights():
    """Derivatives of softmax, which JAX shifts by the maximum. Control: 1."""
    weight = lambda S: jax.nn.softmax(S)[0]
    return inequality(
        lhs=lambda S: jnp.abs(jax.grad(weight)(S)).sum(), rhs=lambda S: 2 * weight(S),
        over=inputs(S=reals("T"), T=(2, 3)), control=dict(rhs=lambda S: weight(S)),
    )


@claim("mine.curved", ref="Lemma 15",
       statement=r"\\sum_{k,l} |\\partial^2 A_1 / \\partial S_k \\partial S_l| \\le 6 A_1")
def curved():
    """Second derivatives. Control: 1."""
    weight = lambda S: jax.nn.softmax(S)[0]
    return inequality(
        lhs=lambda S: jnp.abs(jax.hessian(weight)(S)).sum(), rhs=lambda S: 6 * weight(S),
        over=inputs(S=reals("T"), T=(2,)), control=dict(rhs=lambda S: weight(S)),
    )


@claim("mine.smooth", ref="Lemma 16",
       statement=r"\\max x \\le \\ln \\sum e^x \\le \\max x + \\ln 3")
def smooth():
    """By the exponential of it. Control: without the logarithm of 3."""
    both = lambda x, more: (jnp.stack([x.max(), jax.nn.logsumexp(x)]),
                            jnp.stack([jax.nn.logsumexp(x), x.max() + more]))
    return inequality(
        lhs=lambda x: both(x, 0.0)[0], rhs=lambda x: both(x, jnp.log(exact(3)))[1],
        over=inputs(x=reals(3)), control=dict(rhs=lambda x: both(x, 0.0)[1]),
    )


@claim("mine.slope", ref="Lemma 17", statement=r"\\|J\\|_\\infty \\le \\tfrac12")
def slope():
    """The Jacobian of softmax, by the sums of its rows. Control: 1/4."""
    jacobian = lambda x: jnp.diag(jax.nn.softmax(x)) - jnp.outer(*2 * [jax.nn.softmax(x)])
    return inequality(
        lhs=lambda x: jnp.abs(jacobian(x)).sum(1).max(), rhs=lambda: exact("1/2"),
        over=inputs(x=reals("n"), n=(2, 3)), control=dict(rhs=lambda: exact("1/4")),
    )


@claim("mine.motzkin", ref="Lemma 18", statement=r"3 x^2 y^2 \\le x^4 y^2 + x^2 y^4 + 1")
def motzkin():
    """No sum of squares without a multiplier. Control: 4."""
    return inequality(
        lhs=lambda x, y: 3 * x**2 * y**2, rhs=lambda x, y: x**4 * y**2 + x**2 * y**4 + 1,
        over=inputs(x=reals(), y=reals()), control=dict(lhs=lambda x, y: 4 * x**2 * y**2),
    )


@claim("mine.means", ref="Lemma 19", statement=r"\\sqrt{x y} \\le (x + y) / 2")
def means():
    """On a half line and an interval. Control: a third."""
    return inequality(
        lhs=lambda x, y: jnp.sqrt(x * y), rhs=lambda x, y: (x + y) / 2,
        over=inputs(x=positive(), y=interval(1, 5)), control=dict(rhs=lambda x, y: (x + y) / 3),
    )


@claim("mine.shifted", ref="Lemma 20", statement=r"e^{x - \\ln \\sum e^x} = A")
def shifted():
    """By normal forms. Control: of twice the sum."""
    return identity(
        lhs=lambda x: jnp.exp(x - jax.nn.logsumexp(x)), rhs=lambda x: jax.nn.softmax(x),
        over=inputs(x=reals(3)), control=dict(rhs=lambda x: jax.nn.softmax(2 * x)),
    )


@claim("mine.grows", ref="Lemma 21", statement=r"1 + x \\le e^x")
def grows():
    """A tangent. Control: of twice the slope."""
    return inequality(
        lhs=lambda x: 1 + x, rhs=lambda x: jnp.exp(x), over=inputs(x=reals()),
        control=dict(lhs=lambda x: 1 + 2 * x),
    )


@claim("mine.slowly", ref="Lemma 22", statement=r"\\ln x \\le x - 1")
def slowly():
    """A tangent of the logarithm. Control: a tenth less."""
    return inequality(
        lhs=lambda x: jnp.log(x), rhs=lambda x: x - 1, over=inputs(x=positive()),
        control=dict(rhs=lambda x: x - exact("1.1")),
    )


@claim("mine.entropy", ref="Lemma 23", statement=r"H(p) \\le \\ln n")
def entropy():
    """Of a softmax. Control: a tenth less."""
    def entropy(x):
        p = jax.nn.softmax(x)
        return -(p * jnp.log(p)).sum()

    return inequality(
        lhs=entropy, rhs=lambda x: jnp.log(exact(x.size)), over=inputs(x=reals("n"), n=(2, 3)),
        control=dict(rhs=lambda x: jnp.log(exact(x.size)) - exact("0.1")),
    )


@claim("mine.divergence", ref="Lemma 24", statement=r"0 \\le \\sum_k p_k \\ln(p_k / q_k)")
def divergence():
    """Of two softmaxes. Control: at least a tenth."""
    def divergence(x, y):
        p, q = jax.nn.softmax(x), jax.nn.softmax(y)
        return (p * (jnp.log(p) - jnp.log(q))).sum()

    return inequality(
        lhs=lambda x, y: 0.0, rhs=divergence, over=inputs(x=reals("n"), y=reals("n"), n=(2,)),
        control=dict(lhs=lambda x, y: exact("0.1")),
    )


@claim("mine.young", ref="Lemma 25", statement=r"x y \\le x \\ln x - x + e^y")
def young():
    """Both at once. Control: with half the exponential."""
    return inequality(
        lhs=lambda x, y: x * y, rhs=lambda x, y: x * jnp.log(x) - x + jnp.exp(y),
        over=inputs(x=positive(), y=reals()),
        control=dict(rhs=lambda x, y: x * jnp.log(x) - x + jnp.exp(y) / 2),
    )


@claim("mine.line", ref="Lemma 26", statement=r"L(x) + \\nabla L(x) (y - x) \\le L(y)")
def line():
    """The tangent of the logarithm of a sum of exponentials. Control: with twice the slope."""
    L = jax.nn.logsumexp
    tangent = lambda x, y, c: L(x) + c * jax.nn.softmax(x) @ (y - x)
    return inequality(
        lhs=lambda x, y: tangent(x, y, 1), rhs=lambda x, y: L(y),
        over=inputs(x=reals("n"), y=reals("n"), n=(2,)),
        control=dict(lhs=lambda x, y: tangent(x, y, 2)),
    )


@claim("mine.spread", ref="Lemma 27", statement=r"\\mathrm{var}(x) \\le \\sum x^2 / n")
def spread():
    """JAX chooses NaN for the variance of no numbers. Control: half of it."""
    return inequality(
        lhs=lambda x: x.var(), rhs=lambda x: (x * x).mean(), over=inputs(x=reals(3)),
        control=dict(rhs=lambda x: (x * x).mean() / 2),
    )


@claim("mine.ridge", ref="Lemma 28", statement=r"(x x^T + k I) a = y")
def ridge():
    """Of a linear system's solution a. Control: without the ridge."""
    def back(x, y, k, c):
        K = jnp.outer(x, x)
        a = jnp.linalg.solve(K + k * jnp.eye(2), y)
        return K @ a + c * k * a

    return identity(
        lhs=lambda x, y, k: back(x, y, k, 1), rhs=lambda x, y, k: y,
        over=inputs(x=reals(2), y=reals(2), k=positive()),
        control=dict(lhs=lambda x, y, k: back(x, y, k, 0)),
    )


@claim("mine.factored", ref="Lemma 29", statement=r"L_{22}^2 = A_{22} - A_{12}^2 / A_{11}")
def factored():
    """Of Cholesky's factor L. Control: without the second term."""
    A = lambda b, s, t: jnp.array([[s, b], [b, b * b / s + t]])
    return identity(
        lhs=lambda b, s, t: jnp.linalg.cholesky(A(b, s, t))[1, 1] ** 2, rhs=lambda b, s, t: t,
        over=inputs(b=reals(), s=positive(), t=positive()),
        control=dict(rhs=lambda b, s, t: A(b, s, t)[1, 1]),
    )


@claim("mine.eigen", ref="Lemma 30", statement=r"\\max_i A_{ii} \\le \\lambda_2(A)")
def eigen():
    """Of a symmetric matrix. Control: the smaller eigenvalue."""
    values = lambda a, b, d: jnp.linalg.eigvalsh(jnp.array([[a, b], [b, d]]))
    return inequality(
        lhs=lambda a, b, d: jnp.maximum(a, d), rhs=lambda a, b, d: values(a, b, d)[1],
        over=inputs(a=reals(), b=reals(), d=reals()),
        control=dict(rhs=lambda a, b, d: values(a, b, d)[0]),
    )


@claim("mine.ordered", ref="Lemma 31", statement=r"x_{(1)} + x_{(2)} = x_1 + x_2")
def ordered():
    """Sorted numbers. Control: twice the smaller one."""
    return identity(
        lhs=lambda x: jnp.sort(x).sum(), rhs=lambda x: x.sum(), over=inputs(x=reals(2)),
        control=dict(lhs=lambda x: 2 * jnp.sort(x)[0]),
    )


@claim("mine.orbit", ref="Lemma 32", statement=r"f^{12}(x) \\le 1/2", expect="refuted",
       falls="wording", consequence="None.")
def orbit():
    """Of the logistic map f, which is long where it is written out. Control: 0."""
    def steps(x):
        for _ in range(12):
            x = jnp.maximum(4 * x * (1 - x), 0.0)
        return x

    return inequality(
        lhs=steps, rhs=lambda x: 0.5, over=inputs(x=interval(0.1, 0.9)), starts=4, steps=20,
        control=dict(rhs=lambda x: 0.0),
    )


@claim("mine.built", ref="Lemma 9", statement=r"1 = 1")
def built():
    """A construction. Control: 2."""
    return construction(build=lambda n: n, has=lambda n: n == 1, cases=[1],
                        control=dict(build=lambda n: 2))


@claim("mine.unproved", ref="Lemma 10", statement=r"x y \\le x y")
def unproved():
    """With equality inside, so that the box is left undecided. Control: less."""
    return inequality(
        lhs=lambda x, y: x * y, rhs=lambda x, y: y * x + (x - y) ** 2 + 0 * jnp.floor(x),
        over=inputs(x=interval(-1, 1), y=interval(-1, 1)), proof=on_box(budget=20),
        control=dict(rhs=lambda x, y: x * y - 1),
    )


@claim("mine.rounds", ref="Lemma 11", statement=r"n / 2 \\le n")
def rounds():
    """With floats. Control: twice."""
    return exhaustive(predicate=lambda n: n / 2 <= n, universe=range(3),
                      control=dict(predicate=lambda n: n / 2 >= n + 1))
'''


@pytest.fixture(scope="session")
def claims_file(tmp_path_factory):
    """The file of these claims."""
    file = tmp_path_factory.mktemp("claims") / "mine.py"
    file.write_text(CLAIMS)
    return file


@pytest.fixture(scope="session")
def claims(claims_file):
    """The claims by the last part of their ids."""
    return {c.id.removeprefix("mine."): c for c in load(claims_file)}


@pytest.fixture(scope="session")
def rocq():
    """Skips a test where Rocq is not installed."""
    if shutil.which("coqc") is None:
        pytest.skip("coqc is not installed")

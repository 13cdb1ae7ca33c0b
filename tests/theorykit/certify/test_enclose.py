"""Each primitive against JAX in float64, and what cannot be enclosed."""

import functools
from fractions import Fraction
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flint import acb, arb, arb_mat, ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax

from theorykit import certify
from theorykit.certify import Balls, NotCertifiable, enclose, exact
from theorykit.certify import _elementwise as elementwise
from theorykit.certify import _linalg as linalg
from theorykit.certify._machine import Machine
from theorykit.certify._numbers import at_least, at_most

R = np.random.default_rng(0)
x3, x4, y4 = R.normal(size=3), R.normal(size=4), R.normal(size=4)
m23, m34, m33 = R.normal(size=(2, 3)), R.normal(size=(3, 4)), R.normal(size=(3, 3))
spd = {n: (lambda a: a @ a.T + np.eye(n))(R.normal(size=(n, n))) for n in (1, 2, 3)}
square = {n: R.normal(size=(n, n)) for n in (1, 2, 3, 5)}
batch, t234 = R.normal(size=(2, 3, 3)), R.normal(size=(2, 3, 4))
halves = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 2.0, -3.2, 0.49])
wave = np.array([1 + 2j, -0.5 - 0.3j, 0.25j])
lu_pivots = np.array([[0.0, 2.0, 1.0], [-3.0, 1.0, 4.0], [3.0, 1.0, 1.0]])

dims = lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,))
gather = lambda mode: (
    lambda x: lax.gather(x, np.array([[2], [0], [7]]), dims, (1, 4), mode=mode, fill_value=-2.0)
)
ragged_scan = lambda reverse: (
    lambda x: lax.scan(
        lambda c, row: ((c[0] + 1, c[1] * row), (c[1] + row, c[0] % 2 == 0)),
        (jnp.int32(0), jnp.ones(4)),
        x,
        reverse=reverse,
    )
)
newton = lambda x: lax.while_loop(
    lambda s: s[0] < 6, lambda s: (s[0] + 1, (s[1] + x / s[1]) / 2), (0, x)
)[1]
triangle = lambda **how: lambda a, b: lax.linalg.triangular_solve(a, b, **how)


@jax.custom_vjp
def doubled_gradient(x):
    return jnp.sin(x)


doubled_gradient.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (2 * g * jnp.cos(x),))

SHAPES = {
    "reshape": (lambda x: x.reshape(4, 6), t234),
    "transpose": (lambda x: x.transpose(2, 0, 1), t234),
    "broadcast": (lambda x: jnp.broadcast_to(x[:, None], (3, 2)), x3),
    "squeeze, expand_dims": (lambda x: jnp.expand_dims(x[None], 2).squeeze(0), m23),
    "concatenate, stack": (lambda x: jnp.concatenate([x, jnp.stack([x[0], x[1]])], 1), m23),
    "split, unstack": (lambda x: (jnp.split(x, [1, 2], 1), jnp.unstack(x)), m34),
    "rev, strided slice": (lambda x: x[::-1, 1::2], m34),
    "tile, repeat, roll": (lambda x: (jnp.tile(x, 2), jnp.repeat(x, 2, 0), jnp.roll(x, 1)), m23),
    "iota, eye, tri": (lambda x: (x * jnp.arange(3), jnp.eye(3) @ x, jnp.tril(m33 * x)), x3),
    "kron, outer, diag": (lambda x: (jnp.kron(x, m23), jnp.outer(x[0], x[1]), jnp.diag(x)), m33),
    "gather, fill": (gather("fill"), m34),
    "gather, clip": (gather("clip"), m34),
    "indexing": (
        lambda x: (x[jnp.array([2, -1, 0])], x[1, 2], x[:, np.array([True, False, True, True])]),
        m34,
    ),
    "set, drop": (lambda x: x.at[jnp.array([0, 9])].set(x[1, 0], mode="drop"), m34),
    "scatter-add": (lambda x: x.at[jnp.array([0, 2, 0])].add(x), m34),
    "scatter-mul": (lambda x: x.at[jnp.array([0, 2, 0])].mul(x), m34),
    "scatter-max, scatter-min": (
        lambda x: (x.at[jnp.array([0, 0])].max(x[1:]), x.at[jnp.array([0, 0])].min(x[1:])),
        m34,
    ),
    "gradient of indexing": (jax.grad(lambda x: (x[jnp.array([0, 0, 2])] ** 2).sum()), m34),
    "dynamic_slice": (lambda x: lax.dynamic_slice(x, (1, 9), (2, 2)), m34),
    "dynamic_update_slice": (lambda x: lax.dynamic_update_slice(x, x[:1, :2], (1, 1)), m34),
    "pad": (lambda x: lax.pad(x, x[0], [(1, -1, 2)]), x4),
    "select_n": (lambda x: lax.select_n(jnp.array([0, 2, 1]), x, 2 * x, 3 * x), x3),
    "meshgrid, take": (lambda x: (jnp.meshgrid(x, x), jnp.take(x, 1), jnp.diff(x)), x3),
    "empty": (lambda x: (x.sum(1), x.prod(0), x.max(1), jnp.ones((0, 3)) @ x.T @ x), m34[:0, :3]),
}
REDUCTIONS = {
    "sum, prod, mean": (lambda x: (x.sum((0, 2)), x.prod(1), x.mean(), x.var(0)), t234),
    "max, min": (lambda x: (x.max((0, 2)), x.min(1), jnp.ptp(x)), t234),
    "argmax, argmin": (lambda x: (x.argmax(1), x.argmin(0), jnp.argmax(x)), t234),
    "ties": (lambda x: (jnp.argmax(x), jnp.argmin(x), jnp.argsort(x)), np.array([1.0, 2, 2, 1])),
    "and, or": (lambda x: ((x > 0).all(0), (x > 2).any(), jnp.all(x < 9), (x > 0).sum()), m34),
    "bitwise and, or": (
        lambda n: (jnp.bitwise_and.reduce(n), jnp.bitwise_or.reduce(n)),
        np.array([6, 3]),
    ),
    "cumsum, cumprod": (lambda x: (jnp.cumsum(x, 1), jnp.cumprod(x, 0)), m34),
    "cummax, cummin": (lambda x: (lax.cummax(x, 1), lax.cummin(x, 0, reverse=True)), m34),
    "cumlogsumexp": (lambda x: lax.cumlogsumexp(x, reverse=True), x4),
    "sort": (lambda x: (jnp.sort(x), jnp.argsort(x, 0), jnp.sort(x, descending=True)), m34),
    "sort of several keys": (
        lambda x: lax.sort((jnp.array([1, 0, 1, 0]), x, x[::-1]), num_keys=2),
        x4,
    ),
    "sort of ties": (
        lambda x: lax.sort((x, jnp.arange(4)), num_keys=1),
        np.array([1.0, 0.0, 1.0, 0.0]),
    ),
    "top_k": (lambda x: (lax.top_k(x, 2), lax.top_k(x[:, ::-1], 4)), np.round(m34) + 0.0),
    "median, quantile": (lambda x: (jnp.median(x), jnp.quantile(x, 0.3)), x4),
    "searchsorted, interp": (
        lambda x: (jnp.searchsorted(jnp.arange(3.0), x), jnp.interp(x, jnp.arange(3.0), x)),
        np.abs(x3),
    ),
    "einsum": (lambda x: jnp.einsum("bij,bkj,b->bik", x, x, x[:, 0, 0]), t234),
    "dot_general": (
        lambda x, y: lax.dot_general(x, y, (((2,), (1,)), ((0,), (0,)))),
        t234,
        R.normal(size=(2, 4, 5)),
    ),
    "products of matrices": (lambda x: (x @ x @ x.T, x @ x[0], jnp.arange(3) @ x), m33),
    "a product of flint's": (lambda x: x @ x.T, R.normal(size=(5, 6))),
}
ELEMENTWISE = {
    "round to even": (lambda x: (jnp.round(x), lax.round(x)), halves),
    "floor, ceil, trunc": (lambda x: (jnp.floor(x), jnp.ceil(x), jnp.trunc(x)), halves),
    "mod, divmod, fmod": (lambda x: (x % 0.4, x // 0.4, jnp.fmod(x, -0.4)), halves),
    "to integers": (lambda x: (x.astype(int), x.astype(bool)), halves),
    "clamp": (lambda x: (jnp.clip(x, -0.5, 0.3), lax.clamp(0.1, x, 0.1)), x4),
    "sign, abs": (lambda x: (jnp.sign(x), jnp.abs(x), jnp.sign(jnp.zeros(2))), x4),
    "relu and gradient": (lambda x: (jax.nn.relu(x), jax.vmap(jax.grad(jax.nn.relu))(x)), x4),
    "activations": (
        lambda x: [f(x) for f in (jax.nn.gelu, jax.nn.silu, jax.nn.softplus, jax.nn.elu)],
        x4,
    ),
    "powers": (
        lambda x: (x**5, x**-2, x**0.5, 2.0**x, x ** jnp.arange(4), jnp.float_power(x, 3)),
        np.abs(x4),
    ),
    "powers of zero": (lambda x: (x**0.5, x**0, x**3, jnp.sqrt(x), jnp.cbrt(x)), np.zeros(2)),
    "cbrt": (jnp.cbrt, np.array([-8.0, 0.0, 2.0])),
    "atan2": (jnp.arctan2, np.array([1.0, -1, 0, 0, 0]), np.array([-1.0, -1, -1, 0, 2])),
    "special": (
        lambda x: [f(jnp.abs(x)) for f in (lax.lgamma, lax.digamma, lax.erf, lax.erfc, jnp.sinc)],
        x4,
    ),
    "logaddexp, hypot, xlogy": (
        lambda x: (jnp.logaddexp(x, -x), jnp.hypot(x, 1.0), jax.scipy.special.xlogy(0.0, x)),
        x4,
    ),
    "isfinite, isnan": (lambda x: (jnp.isfinite(x), jnp.isnan(x), jnp.nan_to_num(x)), x4),
    "log of zero in a softmax": (
        lambda x: jax.nn.softmax(jnp.where(jnp.tri(3, dtype=bool), x, -jnp.inf)),
        m33,
    ),
    "integers": (lambda n, x: (n // 2 + n % 3, x * n, n > 2, jnp.bitwise_xor(n, 5)), 7, 0.5),
    "booleans": (lambda x: ((x > 0) & ~(x > 1) | (x < -1), (x > 0) == (x > 1)), x4),
    "complex": (
        lambda z: (z * z.conj(), jnp.abs(z), z.real, z.imag, jnp.exp(z) / z, jnp.sqrt(z), z**3),
        wave,
    ),
    "complex sign and parts": (lambda z: (jnp.sign(z), lax.complex(z.real, z.imag), z @ z), wave),
}
CONTROL = {
    "scan": (ragged_scan(False), m34),
    "scan in reverse": (ragged_scan(True), m34),
    "scan of nothing": (
        lambda x: lax.scan(lambda c, r: (c + 1, (c, r)), 5, x),
        np.zeros((0, 2)),
    ),
    "gradient of a scan": (jax.grad(lambda x: (ragged_scan(False)(x)[1][0] ** 2).sum()), m34),
    "fori_loop": (lambda x: lax.fori_loop(0, 4, lambda i, s: s * x + i, x), 0.3),
    "while_loop": (newton, 2.0),
    "map, associative_scan": (
        lambda x: (lax.map(jnp.sin, x), lax.associative_scan(jnp.add, x)),
        m34,
    ),
    "cond": (lambda x: lax.cond(x > 0, jnp.sin, lambda y: 2 * y, x), 0.3),
    "switch": (lambda i, x: lax.switch(i, [jnp.sin, jnp.cos, jnp.tanh], x), 9, 0.3),
    "vmapped cond": (jax.vmap(lambda x: lax.cond(x > 0, jnp.sin, jnp.cos, x)), x4),
    "custom_vjp": (lambda x: (doubled_gradient(x), jax.grad(doubled_gradient)(x)), 0.3),
    "checkpoint": (jax.grad(jax.checkpoint(lambda x: jnp.sin(x) * jnp.exp(x))), 0.3),
    "jit in jit": (jax.jit(lambda x: jax.jit(jnp.sin)(x) + jax.jit(jnp.cos)(x)), x3),
    "stop_gradient": (jax.grad(lambda x: (x * lax.stop_gradient(x)).sum()), x3),
    "custom_root": (
        jax.grad(
            lambda a: lax.custom_root(
                lambda x: x**2 - a, a, lambda f, x: newton(a), lambda g, y: y / g(1.0)
            )
        ),
        2.0,
    ),
    "hessian of logsumexp": (jax.hessian(jax.nn.logsumexp), x4),
    "hessian of softmax": (jax.hessian(jax.nn.softmax), x3),
    "third derivatives": (jax.jacfwd(jax.hessian(lambda x: jnp.prod(jnp.tanh(x)))), x3),
}
LINEAR = {
    **{
        f"{name} {n}": (f, a[n])
        for n in (1, 2, 3)
        for name, f, a in [
            ("cholesky", jnp.linalg.cholesky, spd),
            ("inv", jnp.linalg.inv, square),
            ("det", jnp.linalg.det, square),
            ("slogdet", jnp.linalg.slogdet, square),
            ("eigvalsh", jnp.linalg.eigvalsh, spd),
            ("svdvals", jnp.linalg.svdvals, square),
            ("nuclear norm", lambda a: jnp.linalg.norm(a, "nuc"), square),
            ("solve", lambda a: jnp.linalg.solve(a, jnp.ones(len(a))), square),
            ("gradient of logdet", jax.grad(lambda a: jnp.linalg.slogdet(a)[1]), square),
            ("gradient of cholesky", jax.jacfwd(jnp.linalg.cholesky), spd),
            ("gradient of solve", jax.grad(lambda a: jnp.linalg.solve(a, a[0]).sum()), square),
            ("hessian of inv", jax.hessian(lambda a: jnp.trace(jnp.linalg.inv(a))), spd),
        ]
    },
    "det of 5": (lambda a: (jnp.linalg.det(a), jnp.linalg.slogdet(a)), square[5]),
    "lu": (lax.linalg.lu, lu_pivots),
    "vmapped": (
        jax.vmap(lambda a, b: (jnp.linalg.solve(a, b), jnp.linalg.inv(a), jnp.linalg.det(a))),
        batch,
        m23,
    ),
    "cho_solve": (
        lambda a, b: jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(a, lower=True), b),
        spd[3],
        m34,
    ),
    "positive definite": (
        jax.grad(lambda a: jax.scipy.linalg.solve(a, a[0] ** 2, assume_a="pos").sum()),
        spd[3],
    ),
    "no matrices": (
        lambda a: (jnp.linalg.cholesky(a), jnp.linalg.inv(a), jnp.linalg.eigvalsh(a)),
        np.zeros((0, 2, 2)),
    ),
    "norms": (lambda a: (jnp.linalg.norm(a), jnp.trace(a), jnp.linalg.matrix_power(a, 3)), m33),
    **{
        f"triangular_solve {how}": (triangle(**how), square[3] + 3 * np.eye(3), m33)
        for left in (True, False)
        for lower in (True, False)
        for transposed in (True, False)
        for how in [dict(left_side=left, lower=lower, transpose_a=transposed, unit_diagonal=lower)]
    },
}
TABLE = SHAPES | REDUCTIONS | ELEMENTWISE | CONTROL | LINEAR


def near(found, plain):
    """Whether float64 lies close by the enclosure, which is narrow; integers are equal."""
    assert found.shape == plain.shape
    if not isinstance(found, Balls):
        assert found.dtype == plain.dtype
        np.testing.assert_array_equal(found, plain)
        return
    assert found.radius < 1e-30
    numbers = np.vectorize(complex, otypes=[complex])(found.array)
    np.testing.assert_allclose(numbers, np.asarray(plain), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", TABLE)
def test_float64_lies_close_by(name):
    f, *args = TABLE[name]
    found, plain = enclose(f, *args), jax.jit(f)(*args)
    assert jax.tree.structure(found) == jax.tree.structure(plain)
    jax.tree.map(near, found, plain)


# What a ball holds ---------------------------------------------------------------------------


def wide(low, high):
    return arb(low).union(arb(high))


reals = st.floats(-3, 3, allow_subnormal=False).map(lambda v: round(v, 3) + 0.0)
FUNCTIONS = {
    "square": lambda x: x**2,
    "even power": lambda x: x**4,
    "odd power": lambda x: x**3,
    "product with itself": lambda x: x * x,
    "abs": abs,
    "relu": jax.nn.relu,
    "min": lambda x: jnp.minimum(0.25, x),
    "clip": lambda x: jnp.clip(x, -0.5, 0.5),
    "acos of a clip": lambda x: jnp.arccos(jnp.clip(x, -1, 1)),
    "root of a relu": lambda x: jnp.sqrt(jax.nn.relu(x)),
    "power of a relu": lambda x: jax.nn.relu(x) ** 1.5,
    "power of a root": lambda x: jnp.sqrt(x * x) ** jnp.abs(x),
    "cbrt": jnp.cbrt,
    "floor": jnp.floor,
    "round": jnp.round,
    "sign": jnp.sign,
    "fmod": lambda x: lax.rem(x, -0.75),
    "atan2": lambda x: jnp.arctan2(x, x - 1),
    "max of two": lambda x: jnp.maximum(x, 1 - x),
    "max with itself": lambda x: jnp.maximum(x, x) - x,
    "largest": lambda x: jnp.stack([x, -x, x * x]).max(),
    "cumlogsumexp": lambda x: lax.cumlogsumexp(jnp.stack([x, -x, 2 * x])),
    "eigenvalues of 2": lambda x: jnp.linalg.eigvalsh(jnp.array([[x, 1 - x], [1 - x, 0.5]])),
    "eigenvalues of 3": lambda x: jnp.linalg.eigvalsh(jnp.diag(jnp.array([x, 0.5, 1])) + x / 2),
    "singular values": lambda x: jnp.linalg.svdvals(jnp.array([[x, 1 - x, 0.3], [0.2, x, -1]])),
}


@functools.cache
def compiled(name):
    return jax.jit(FUNCTIONS[name])


@pytest.mark.parametrize("name", FUNCTIONS)
@settings(max_examples=8, deadline=None)
@given(ends=st.tuples(reals, reals).map(sorted), where=st.floats(0, 1))
def test_a_wide_ball_holds_the_values_at_its_points(name, ends, where):
    low, high = ends
    found = enclose(FUNCTIONS[name], wide(low, high), bits=64)
    for x in (low, high, low + where * (high - low)):
        value = compiled(name)(min(max(x, low), high))
        assert np.all(found.lower <= value + 1e-13)
        assert np.all(value <= found.upper + 1e-13)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_eigenvalues_of_matrices_in_a_wide_one(n):
    middle, spread = spd[n], 0.1
    entries = np.array([[arb(v, spread) for v in row] for row in middle], dtype=object)
    found = enclose(jnp.linalg.eigvalsh, entries)
    for _ in range(50):
        change = R.uniform(-spread, spread, (n, n))
        values = np.linalg.eigvalsh(middle + np.tril(change) + np.tril(change, -1).T)
        assert (found.lower <= values).all()
        assert (values <= found.upper).all()


@pytest.mark.parametrize(
    "a",
    [
        np.ones((3, 3)),
        np.ones((4, 2)),
        np.outer([1.0, 2.0, 3.0], [1.0, -1.0]),
        np.zeros((2, 3)),
        np.array([[0.25, -0.25], [-0.25, 0.25]]),
        np.kron(np.eye(2), R.normal(size=(3, 2))),
        R.normal(size=(5, 2)),
    ],
    ids=lambda a: "x".join(map(str, a.shape)),
)
def test_singular_values_that_are_equal_or_zero(a):
    found = enclose(jnp.linalg.svdvals, a)
    values = np.linalg.svd(a, compute_uv=False)
    assert np.allclose(found.lower, values, atol=1e-12)
    assert np.allclose(found.upper, values, atol=1e-12)
    squares = np.sort(np.linalg.eigvalsh(a @ a.T))[::-1][: len(values)]
    assert np.allclose(found.upper**2, squares, atol=1e-11)


def test_eigenvalues_from_approximate_eigenvectors_hold_the_true_ones():
    a = R.normal(size=(4, 4))
    a += a.T
    with ctx.workprec(128):
        right = sorted(arb_mat(a.tolist()).eig(), key=lambda v: v.real.mid())
        near = linalg._by_vectors(arb_mat(a.tolist()))
        for found, true in zip(near, right, strict=True):
            assert found.contains(true.real)
            assert found.rad() < 1e-13


def test_an_edge_is_kept_to_the_last_bit():
    with ctx.workprec(64):
        for x, edge in [(arb(0.3, 1), 0.0), (arb(0.3, 1), 1e-300), (arb(1, 1e-300), 1.0)]:
            assert at_least(x, arb(edge)).lower() >= edge
            assert at_most(x, arb(edge)).upper() <= edge
            with ctx.workprec(4000):
                assert at_least(x, arb(edge)).contains(x.upper())
                assert at_most(x, arb(edge)).contains(x.lower())
    assert enclose(jax.nn.relu, arb(0, 1)).lower == 0
    clipped = enclose(lambda x: jnp.clip(x, -1, 1), arb(0.1, 5))
    assert (clipped.lower, clipped.upper) == (-1, 1)


def test_one_object_given_twice_is_two_numbers():
    between = arb(0, 1)
    for args in ([between, between],), (np.array([between, between]),):
        with pytest.raises(NotCertifiable, match="cannot be decided"):
            enclose(lambda x: x[0] < x[1], *args)


def test_the_power_of_a_ball_that_starts_at_zero():
    # 0.998^b and 1.002^b overlap, and either may be the larger.
    base, exponent = arb(0.501, 0.501), wide(0.5, 2)
    found = enclose(lambda x, y: jnp.power(jax.nn.relu(x), y), base, exponent)
    assert found.lower <= 0 <= 1.002**2 <= found.upper


def test_nothing_is_known_of_what_a_function_makes_of_nan():
    undefined = lambda x: jnp.log(-1 - x * x)
    for f in (jnp.sign, lambda x: jnp.arctan2(x, 1.0), lambda x: jnp.where(jnp.isnan(x), 0.0, 1.0)):
        with pytest.raises(NotCertifiable):
            enclose(lambda x, f=f: f(undefined(x)), 1.0)


def test_minus_infinity_is_a_number_where_jax_has_it():
    found = enclose(jnp.log, 0.0)
    assert found.lower == -np.inf == found.upper
    assert enclose(lambda x: jnp.exp(jnp.log(x)), 0.0).upper == 0
    assert enclose(lambda x: jnp.maximum(x, -jnp.inf), 2.0).contains(2)


def test_truth_values_that_are_left_open_stay_open():
    open_ = lambda x: x > 0
    questions = {
        "eq": lambda x: open_(x) == open_(1 - x),
        "ne": lambda x: open_(x) != open_(1 - x),
        "chosen": lambda x: lax.select(x[None] < 5, open_(x)[None], x[None] < 9)[0],
        "or": lambda x: open_(x) | open_(1 - x),
    }
    for name, f in questions.items():
        closed = jax.make_jaxpr(lambda x, f=f: jnp.where(f(x), 1.0, 0.0))(0.0)
        (out,) = Machine(hull=True).closed(closed, [elementwise.objects(wide(-1, 2), ())])
        assert out.item().contains(0), name
        assert out.item().contains(1), name


def test_an_unused_doubt_does_not_raise():
    same = [arb(0, 1), arb(0, 1)]

    def dead(x):
        jnp.argmax(x)
        return x.sum()

    chosen = lambda x: jnp.where(x[0] < 5, x[0], jnp.sort(x)[0])
    branch = lambda x: lax.cond(x[0] < 5, lambda x: x[0], lambda x: jnp.sort(x)[0], x)
    inner = jax.jit(lambda x: (x[0], jnp.sort(x)[0]))
    for f in (dead, chosen, branch, lambda x: inner(x)[0]):
        assert enclose(f, same).contains(0)
    assert enclose(lambda x: jnp.where(x > 0, x, jnp.log(x)), 1.0).contains(1)
    assert enclose(lambda x: jnp.where(x > 0, jnp.sqrt(x), 0.0), -1.0).contains(0)
    with pytest.raises(NotCertifiable, match="sort"):
        enclose(lambda x: jnp.where(x[0] > 5, x[0], jnp.sort(x)[0]), same)


# What is refused -----------------------------------------------------------------------------

here = Path(__file__).name
overlap = [arb(0, 1), arb(0, 1)]
sharp = lambda x: x if x > 0 else -x

REFUSED = {
    "comparison": (
        lambda x: lax.lt(x[0], x[1]),
        overlap,
        rf"lt of float64\[\], float64\[\] at {here}:\d+: the comparison cannot be decided",
    ),
    "argmax": (lambda x: lax.argmax(x, 0, int), overlap, r"argmax of float64\[2\] at .*certain"),
    "sort": (lambda x: lax.sort(x), overlap, rf"sort of float64\[2\] at {here}:\d+: the order"),
    "integer": (
        lambda x: lax.convert_element_type(x, int),
        [wide(0.5, 1.5)],
        "the integer that the number rounds to is not certain",
    ),
    "large": (lambda x: lax.convert_element_type(x, np.int8), [300.0], "int8 does not hold"),
    "loop": (
        lambda x: lax.while_loop(lambda s: s < 1, lambda s: 2 * s, x[0]),
        [wide(0.5, 1.5)],
        r"lt of .*cannot be decided",
    ),
    "primitive": (
        lambda x: lax.nextafter(x, x),
        [1.0],
        rf"nextafter of float64\[1\], float64\[1\] at {here}:\d+: there is no rule",
    ),
    "callback": (
        lambda x: jax.pure_callback(np.sin, jax.ShapeDtypeStruct((1,), float), x),
        [1.0],
        rf"pure_callback of float64\[1\] at {here}:\d+: a call back to Python",
    ),
    "random": (lambda x: x + jax.random.normal(jax.random.key(0)), [1.0], "random numbers"),
    "old random": (lambda x: x + jax.random.normal(jax.random.PRNGKey(0)), [1.0], "random numb"),
    "branch": (lambda x: sharp(x[0]), [1.0], "branches in Python on a number"),
    "division": (
        lambda x: lax.div(1.0, x[0]),
        overlap,
        rf"div of float64\[\], float64\[\] at {here}:\d+: the denominator may be zero",
    ),
    "logarithm": (lambda x: lax.log(x), [-1.0], rf"log of float64\[1\] at {here}:\d+: the arg"),
    "eigenvectors": (
        lambda x: jnp.linalg.eigh(x)[1],
        spd[2],
        "eigenvectors are not unique",
    ),
    "singular vectors": (
        lambda x: jnp.linalg.svd(x)[0],
        spd[2],
        "singular vectors are not unique",
    ),
    "singular": (lambda x: jnp.linalg.inv(x), np.ones((2, 2)), "not certainly invertible"),
    "indefinite": (
        lambda x: jnp.linalg.cholesky(x),
        -np.eye(2),
        r"cholesky of float64\[2,2\].*not certainly positive definite",
    ),
    "complex order": (lambda x: lax.sort(x + 1j), [1.0, 2.0], "complex numbers have no order"),
    "complex cholesky": (lambda x: jnp.linalg.cholesky(x + 0j), spd[2], "only real matrices"),
    "undefined": (lambda x: lax.sqrt(x), [wide(-1, 1)], "sqrt of .* the argument may be negative"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_certified_is_named(name):
    f, x, sentence = REFUSED[name]
    with pytest.raises(NotCertifiable, match=sentence) as caught:
        enclose(f, x)
    assert "\n" not in str(caught.value)
    if f" at {here}" in str(caught.value):
        assert caught.value.place.startswith(here)
        assert str(caught.value).startswith(caught.value.primitive)


@pytest.mark.parametrize(
    ("args", "bits", "sentence"),
    [
        ((float("nan"),), 128, "nan is not a number that can be enclosed"),
        ((np.array([1.0, np.inf]),), 128, r"entry \[1\]\): inf is not a number"),
        ((jax.random.key(0),), 128, "a random key cannot be enclosed"),
        (([[1.0, 2.0], [3.0]],), 128, "rows of an argument differ in shape"),
        (("a third",), 128, "is not a number"),
        ((object(),), 128, "can be enclosed, not"),
        ((1.0,), 8, "bits lies between"),
        ((1.0,), 64.0, "whole number of bits"),
    ],
)
def test_arguments_that_are_no_numbers(args, bits, sentence):
    with pytest.raises(ValueError, match=sentence):
        enclose(lambda x: x, *args, bits=bits)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: enclose(3, 1.0), "f is a function of arrays, got 3"),
        (lambda: enclose(lambda x: "x", 1.0), "the function returns is arrays of numbers, got 'x'"),
        (lambda: certify.float_above(0.5), "x is a real ball"),
        (lambda: certify.float_below(acb(0, 1)), "x is a real ball"),
        (lambda: certify.shown("0.5"), "x is a ball"),
        (lambda: certify.precision("128"), "whole number of bits"),
        (lambda: certify.objects([1, 2], 3.0), "shape is a tuple of sizes that the numbers fill"),
        (lambda: certify.objects([1, 2], (3,)), "shape is a tuple of sizes that the numbers fill"),
        (lambda: enclose(jnp.tanh, 0.5).contains([1, 2]), r"shape \(\), and numbers of \(2,\)"),
    ],
)
def test_what_is_no_ball_or_function_is_refused(ask, words):
    with pytest.raises(ValueError, match=words):
        ask()


def test_a_real_ball_contains_a_complex_number_only_on_the_line():
    ball = enclose(lambda x: x / 3, 1)
    assert not ball.contains(1j)
    assert enclose(lambda x: x / 2, 1).contains(0.5 + 0j)


# Arguments, results and exact constants ------------------------------------------------------


def test_numbers_of_every_kind_are_taken_as_they_are():
    third = Fraction(1, 3)
    for x in ("1/3", third, arb(1) / 3, enclose(lambda: exact(third))):
        assert enclose(lambda x: 3 * x, x).contains(1)
    assert not enclose(lambda x: 3 * x, 1 / 3).contains(1)
    assert enclose(lambda d: d["a"] + d["b"][0], {"a": "0.1", "b": [[0.5, 1]]})[0].upper < 0.6001
    assert enclose(lambda n: n // 2, 7) == 3
    assert enclose(lambda z: z * z, acb(0, 1)).array.item().real == -1
    with pytest.raises(ValueError, match="complex balls have no lower"):
        _ = enclose(lambda z: z * z, 1j).lower


def test_exact_constants_in_and_out_of_an_enclosure():
    f = lambda x: exact("1/3") * x + exact(Fraction(1, 7)) * exact("pi") * x**2
    plain = lambda x: x / 3 + np.pi / 7 * x**2
    xs = jnp.array([0.5, 2.0])
    for g in (f, jax.jit(f), jax.vmap(f)):
        np.testing.assert_allclose(g(xs), plain(xs), rtol=1e-15)
        found = enclose(g, xs)
        assert found.radius < 1e-35
        assert (found.lower <= plain(xs) + 1e-14).all()
    np.testing.assert_allclose(jax.grad(f)(2.0), 1 / 3 + 4 * np.pi / 7, rtol=1e-15)
    with ctx.workprec(300):
        slope = arb(1) / 3 + 4 * arb.pi() / 7
    assert enclose(jax.grad(f), 2.0, bits=256).array.item().contains(slope)
    assert enclose(lambda: 3 * exact("1/3")).contains(1)


@pytest.mark.parametrize("value", [0.1, "tau", "1/0", None, True, "nan", [1]])
def test_what_is_no_exact_constant(value):
    with pytest.raises(ValueError, match="an exact constant is an integer, a Fraction"):
        certify.exact(value)

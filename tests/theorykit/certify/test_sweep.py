"""Functions that authors use, at points and on boxes: the value is enclosed, or it is refused.

What is right is JAX's own float64 value at sampled points; nothing but `NotCertifiable` is raised.
"""

import jax
import jax.numpy as jnp
import jax.scipy.special as special
import numpy as np
import pytest
from flint import arb

from theorykit.certify import Balls, NotCertifiable, enclose, prove

UNARY = {
    f"{module.__name__}.{name}": getattr(module, name)
    for module, names in {
        jnp: "abs absolute sign signbit exp exp2 expm1 log log2 log10 log1p sqrt cbrt square "
        "reciprocal negative positive sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh "
        "arccosh arctanh sinc deg2rad rad2deg floor ceil trunc rint round nan_to_num isnan isinf "
        "isfinite real imag conj angle i0 spacing",
        jax.nn: "relu relu6 sigmoid softplus soft_sign silu log_sigmoid leaky_relu hard_sigmoid "
        "hard_silu hard_tanh elu celu selu gelu squareplus mish sparse_plus sparse_sigmoid",
        special: "erf erfc ndtr ndtri log_ndtr expit logit gammaln gamma digamma entr i0e i1 exp1 "
        "expi spence factorial",
        jax.lax: "rsqrt lgamma bessel_i0e erf_inv logistic is_finite",
    }.items()
    for name in names.split()
    if hasattr(module, name)
}
BINARY = [
    "add", "subtract", "multiply", "divide", "power", "mod", "fmod", "floor_divide", "arctan2",
    "hypot", "maximum", "minimum", "fmax", "logaddexp", "logaddexp2", "copysign", "heaviside",
    "greater", "equal", "nextafter",
]  # fmt: skip
OTHER = {
    "integer_pow": lambda x: x**-3,
    "xlogy": lambda x: special.xlogy(x, x),
    "polygamma": lambda x: special.polygamma(1, x),
    "gammainc": lambda x: special.gammainc(2.0, x),
    "betainc": lambda x: special.betainc(2.0, 3.0, x),
    "zeta": lambda x: special.zeta(x, 1.5),
    "ldexp": lambda x: jnp.ldexp(x, 3),
    "divmod": lambda x: jnp.divmod(x, 0.7)[0],
    "clip": lambda x: jnp.clip(x, -0.5, 0.5),
    "where": lambda x: jnp.where(x > 0, x, -x),
    "to an integer": lambda x: x.astype(int) * 1.0,
    "gelu": lambda x: jax.nn.gelu(x, approximate=False),
    "cond": lambda x: jax.lax.cond(x > 0, jnp.sin, jnp.cos, x),
    "while": lambda x: jax.lax.while_loop(lambda s: s < 9, lambda s: s + 1 + x**2, 0.0),
    "reduce_precision": lambda x: jax.lax.reduce_precision(x, 8, 23),
    "a key": lambda x: x * jax.random.normal(jax.random.key(0)),
    "an array of keys": lambda x: x * KEYS.size,
    "a captured key": lambda x: x + jax.random.uniform(KEYS[0]),
}
KEYS = jax.random.split(jax.random.key(0), 3)
INNER = dict(sqrt=jnp.sqrt, log=jnp.log, arccos=jnp.arccos, reciprocal=jnp.reciprocal)
EDGES = dict(cbrt=jnp.cbrt, abs=jnp.abs, sign=jnp.sign, relu=jax.nn.relu, atan2=lambda x: x + 0)

BOTH = {
    f"{n}({order})": lambda x, n=n, swap=swap: getattr(jnp, n)(*((0.7, x) if swap else (x, 0.7)))
    for n in BINARY
    for swap, order in ((False, "x, 0.7"), (True, "0.7, x"))
}
CHAINS = {
    f"{o}({i})": lambda x, f=f, g=g: f(g(x)) for o, f in EDGES.items() for i, g in INNER.items()
}
FUNCTIONS = {**UNARY, **BOTH, **OTHER, **CHAINS}
SEVERAL = [pytest.param(n, marks=pytest.mark.slow) for n in [*UNARY, *BOTH]] + [*OTHER, *CHAINS]
POINTS = (0.0, 1.0, -1.0, 0.5, -0.7, 1.4, 3.0, -2.5, 30.0, -800.0, 1e-9, 1e100)
BOXES = ((0, 1), (-1, 1), (0.2, 0.9), (-0.9, -0.2), (1, 2), (-3, 3), (-40, 40), (0.69, 0.71))


def holds(found, value):
    """Whether an enclosure has a float64 value in it, up to the rounding of that."""
    value = np.asarray(value, float)
    ends = (found.lower, found.upper) if isinstance(found, Balls) else (found, found)
    low, high = (np.asarray(end, float) for end in ends)
    slack = np.where(np.isfinite(value), 1e-9 * np.abs(value) + 1e-12, 0.0)
    return bool(((low - slack <= value) & (value <= high + slack)).all())


@pytest.mark.parametrize("name", SEVERAL)
def test_a_value_is_enclosed_or_refused(name):
    f = FUNCTIONS[name]
    cases = [(p, [p]) for p in POINTS]
    for low, high in BOXES:
        ball = Balls(np.array(arb(low).union(arb(high)), dtype=object))
        cases.append((ball, np.linspace(low, high, 5)))
    sampled = jnp.asarray(np.concatenate([points for _, points in cases]))
    # Not vmap, under which JAX's exp1 has lanes that never end.
    values = iter(np.asarray(jax.lax.map(f, sampled)))
    for argument, points in cases:
        expected = [next(values) for _ in points]
        try:
            found = enclose(f, argument)
        except NotCertifiable:
            continue
        for point, value in zip(points, expected, strict=True):
            assert holds(found, value), (argument, float(point), value, found)


@pytest.mark.parametrize("name", SEVERAL)
def test_a_box_is_decided_or_refused(name):
    f = FUNCTIONS[name]
    for low, high in ((0, 1), (-1, 1), (1, 2)):
        try:
            found = prove(lambda x: (f(x) * 1.0, 2.0), dict(x=(low, high)), 4)
        except NotCertifiable:
            continue
        values = np.asarray(jax.lax.map(f, jnp.linspace(low, high, 9)), float)
        if found.status == "proved":
            assert (values <= 2 + 1e-9).all()
        if found.status == "refuted":
            assert float(f(jnp.asarray(found.point["x"]))) > 2 - 1e-9


def test_a_cube_root_of_a_square_root_on_a_box_from_zero():
    found = prove(lambda x: (jnp.cbrt(jnp.sqrt(x)), 2.0), dict(x=(0, 1)))
    assert found.status == "undecided" or found.slack <= 1  # the largest value is 1
    found = prove(lambda x: (jnp.cbrt(jnp.sqrt(x)), 2.0), dict(x=(0.25, 1)))
    assert found.status == "proved"

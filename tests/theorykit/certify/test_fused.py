"""Wide balls: monotone functions, softmax and its relatives, enclosed tightly."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

from theorykit.certify import Balls, NotCertifiable, enclose, prove
from theorykit.certify._enclose import Program
from theorykit.certify._jets import JETS, Jet
from theorykit.certify._machine import Machine

softmax, lse = jax.nn.softmax, jax.nn.logsumexp
log_softmax = jax.nn.log_softmax


def box(lows, highs):
    made = np.empty(np.shape(lows), dtype=object)
    for where in np.ndindex(made.shape):
        made[where] = arb(float(np.asarray(lows)[where])).union(
            arb(float(np.asarray(highs)[where]))
        )
    return Balls(made)


ALONE = {
    "tanh": jnp.tanh, "sigmoid": jax.nn.sigmoid, "erf": jax.scipy.special.erf,
    "erfc": jax.scipy.special.erfc, "exp": jnp.exp, "expm1": jnp.expm1, "exp2": jnp.exp2,
    "sinh": jnp.sinh, "cosh": jnp.cosh, "arctan": jnp.arctan, "arcsinh": jnp.arcsinh,
}  # fmt: skip
POSITIVE = {
    "log": jnp.log, "sqrt": jnp.sqrt, "rsqrt": jax.lax.rsqrt, "reciprocal": lambda x: 1 / x,
}  # fmt: skip
ends = st.tuples(st.floats(-6, 6), st.floats(-6, 6)).map(sorted)


def close(found, low, high):
    """Whether an enclosure has these values in it, and is at most a little wider."""
    room = 1e-6 * (np.abs(low) + np.abs(high)) + 1e-6 * (high - low)
    inside = (found.lower <= low) & (high <= found.upper)
    near = (low - room - 1e-12 <= found.lower) & (found.upper <= high + room + 1e-12)
    return bool(np.all(inside)) and bool(np.all(near))


@pytest.mark.parametrize("name", [*ALONE, *POSITIVE])
def test_a_monotone_function_has_its_ends_at_ends(name):
    f = {**ALONE, **POSITIVE}[name]

    @settings(max_examples=25, deadline=None)
    @given(ends)
    def at(pair):
        low, high = pair
        if high - low < 1e-3:
            return
        if name in POSITIVE:
            low, high = np.exp(low), np.exp(high)
        argument = box(low, high)
        low, high = argument.lower, argument.upper  # a ball's radius has thirty bits
        with jax.enable_x64(True):
            values = np.asarray(f(jnp.linspace(low, high, 65)))
            # An even function turns at zero, which may lie between two of these points.
            turn = [1.0] if name == "cosh" and low < 0 < high else []
        values = np.array([*values, *turn])
        room = 1e-13 * (1 + np.abs(values).max())
        found = enclose(f, argument)
        assert close(found, values.min() + room, values.max() - room)

    at()


def vectors(n):
    return st.lists(ends, min_size=n, max_size=n).map(np.array)


def corners(pairs, k):
    """Return the least and the largest softmax weight k on a box, which lie in corners."""
    with jax.enable_x64(True):
        others = lambda side: np.where(
            np.arange(len(pairs)) == k, pairs[:, 1 - side], pairs[:, side]
        )
        return float(softmax(others(1))[k]), float(softmax(others(0))[k])


@settings(max_examples=15, deadline=None)
@given(vectors(3))
def test_softmax_has_its_ends_in_corners(pairs):
    found = enclose(softmax, box(pairs[:, 0], pairs[:, 1]))
    for k in range(3):
        low, high = corners(pairs, k)
        assert found.lower[k] <= low * (1 + 1e-12)
        assert found.upper[k] >= high * (1 - 1e-12)
        assert found.lower[k] >= low * (1 - 1e-4) - 1e-8  # a radius has thirty bits
        assert found.upper[k] <= high * (1 + 1e-4) + 1e-8


SEVERAL = {
    "logsumexp": (lse, lambda p: (lse(p[:, 0]), lse(p[:, 1]))),
    "log_softmax": (
        lambda x: log_softmax(x)[0], lambda p: tuple(np.log(e) for e in corners(p, 0))),
    "by hand": (
        lambda x: (jnp.exp(x) / jnp.exp(x).sum())[0], lambda p: corners(p, 0)),
    "shifted": (
        lambda x: (jnp.exp(x - x[1]) / jnp.exp(x - x[1]).sum())[0], lambda p: corners(p, 0)),
    "by a cascade of sums": (
        lambda x: jnp.exp(x[0]) / (jnp.exp(x[0]) + jnp.exp(x[1]) + (jnp.exp(x[2]) + jnp.exp(x[3]))),
        lambda p: corners(p, 0)),
    "masked": (
        lambda x: softmax(jnp.where(jnp.arange(5) < 4, jnp.append(x, 0.0), -jnp.inf))[0],
        lambda p: corners(p, 0)),
    "in a row": (
        lambda x: softmax(jnp.stack([x, x]), axis=-1)[1, 0], lambda p: corners(p, 0)),
}  # fmt: skip


@pytest.mark.parametrize("name", SEVERAL)
def test_its_relatives_have_theirs_too(name):
    f, true = SEVERAL[name]
    rng = np.random.default_rng(0)
    for _ in range(5):
        pairs = np.sort(rng.normal(size=(4, 2)) * 3, axis=1)
        with jax.enable_x64(True):
            low, high = map(float, true(pairs))
        assert close(enclose(f, box(pairs[:, 0], pairs[:, 1])), low + 1e-12, high - 1e-12)


ENTROPY = {
    "of two softmaxes": lambda x: -(softmax(x) * jnp.log(softmax(x))).sum(),
    "with log_softmax": lambda x: -(softmax(x) * log_softmax(x)).sum(),
    "by entr": lambda x: jax.scipy.special.entr(softmax(x)).sum(),
}


@pytest.mark.parametrize("name", ENTROPY)
def test_the_entropy_of_a_softmax_is_bounded_on_any_box(name):
    f = ENTROPY[name]
    rng = np.random.default_rng(1)
    for width in (1e-2, 1.0, 30.0):
        middle = rng.normal(size=4)
        found = enclose(f, box(middle - width, middle + width))
        with jax.enable_x64(True):
            points = jnp.asarray(middle + width * rng.uniform(-1, 1, size=(200, 4)))
            values = np.asarray(jax.vmap(f)(points))
        assert found.lower <= values.min()
        assert values.max() <= found.upper
        assert found.lower >= -1e-6
        assert found.upper <= 4 / np.e + 1e-6  # of four terms -p log p, each at most 1/e


def test_a_denominator_of_exponentials_is_never_zero():
    found = enclose(lambda a: softmax(jnp.stack([a, 0.0])), box(-100, 100))
    assert (found.lower > 0).all()
    assert (found.upper <= 1 + 1e-6).all()


def test_what_is_no_sum_of_exponentials_is_left_as_it_was():
    """The same program with another number below: fused, it would be wrong."""
    wide = box([-1.0, -1.0], [1.0, 1.0])
    for f in (
        lambda x: jnp.exp(x[0]) / (jnp.exp(x[0] + 0.5) + jnp.exp(x[1])),
        lambda x: jnp.exp(x[0]) / (2 * jnp.exp(x[0]) + jnp.exp(x[1])),
        lambda x: jnp.exp(x[0] - x[1]) / (jnp.exp(x[0] - x[0]) + jnp.exp(x[1] - x[0])),
        lambda x: x[0] + jnp.log(jnp.exp(x[0] - x[1]) + jnp.exp(x[1] - x[0])),
        lambda x: softmax(x)[0] * jnp.log(softmax(x)[1]),
    ):
        found = enclose(f, wide)
        rng = np.random.default_rng(2)
        with jax.enable_x64(True):
            values = np.asarray(jax.vmap(f)(jnp.asarray(rng.uniform(-1, 1, size=(500, 2)))))
        assert found.lower <= values.min()
        assert values.max() <= found.upper


def test_what_has_no_bound_is_not_hidden():
    """A softmax of what may be no number is none, however well its weights are bounded."""
    with pytest.raises(NotCertifiable):
        enclose(lambda x: softmax(jnp.stack([jnp.log(x), 0.0])), box(-1, 1))
    with pytest.raises(NotCertifiable):
        enclose(lambda x: x * jnp.log(x), box(-1, 1))


def test_slopes_are_enclosed_as_well():
    def f(x):
        entropy = ENTROPY["by entr"](x)[None]
        parts = softmax(x), lse(x)[None], log_softmax(x), jnp.tanh(x), jax.nn.sigmoid(x), entropy
        return jnp.concatenate(parts)

    program = Program.trace(f, [jax.ShapeDtypeStruct((3,), np.float64)])
    rng = np.random.default_rng(3)
    for width in (0.1, 0.7, 3.0):
        middle = rng.normal(size=3)
        low, high = middle - width, middle + width
        jets = np.empty(3, dtype=object)
        for i, b in enumerate(box(low, high).array):
            jets[i] = Jet(b, tuple(arb(int(i == j)) for j in range(3)))
        (found,) = program.run(Machine(field=JETS, hull=True), [jets])
        with jax.enable_x64(True):
            points = jnp.asarray(rng.uniform(low, high, size=(100, 3)))
            slopes = np.asarray(jax.vmap(jax.jacobian(f))(points))
        for k, y in enumerate(found):
            for j, slope in enumerate(y.slopes):
                assert slope.lower() <= slopes[:, k, j].min() + 1e-12
                assert slope.upper() >= slopes[:, k, j].max() - 1e-12
                assert slope.is_finite()


def test_bounds_of_a_softmax_are_proved_at_once():
    whole = dict(s=(-2 * np.ones(4), 2 * np.ones(4)))
    found = prove(lambda s: (softmax(s), 1.01), whole)
    assert (found.status, found.boxes) == ("proved", 1)
    assert prove(lambda s: (softmax(s), 0.94), whole).status == "refuted"
    assert prove(lambda x: (jnp.tanh(x), x), dict(x=(0.1, 3)), 10)

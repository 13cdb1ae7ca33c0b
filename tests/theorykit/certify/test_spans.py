"""Intervals with float ends hold what balls find, whatever the function, and are hardly wider."""

import numpy as np
import pytest
from flint import arb

from theorykit.certify._numbers import precision
from theorykit.certify._spans import Mixed, Span

COUNT = 400
THIRD = arb(1) / 3

OF_ONE = {
    "exp": lambda x: x.exp(),
    "log": lambda x: x.exp().log(),
    "log where it may end": lambda x: x.log(),
    "log1p": lambda x: x.exp().log1p(),
    "log1p near its end": lambda x: (x**2 - THIRD).log1p(),
    "expm1": lambda x: x.expm1(),
    "tanh": lambda x: x.tanh(),
    "sinh": lambda x: x.sinh(),
    "cosh": lambda x: x.cosh(),
    "sin": lambda x: x.sin(),
    "cos": lambda x: x.cos(),
    "atan": lambda x: x.atan(),
    "asinh": lambda x: x.asinh(),
    "asin": lambda x: x.tanh().asin(),
    "acos": lambda x: x.tanh().acos(),
    "asin where it may end": lambda x: x.asin(),
    "acos where it may end": lambda x: x.acos(),
    "sign of what may end": lambda x: x.acos().sgn(),
    "half a power where it may end": lambda x: x ** (arb(3) / 2),
    "erf": lambda x: x.erf(),
    "erfc": lambda x: x.erfc(),
    "sqrt": lambda x: (x**2 + 1).sqrt(),
    "sqrt where it may end": lambda x: x.sqrt(),
    "rsqrt": lambda x: (x**2 + 1).rsqrt(),
    "abs": abs,
    "square": lambda x: x**2,
    "cube": lambda x: x**3,
    "seventh power": lambda x: x**7,
    "negative power": lambda x: (2 + x.exp()) ** -3,
    "half a power": lambda x: (x**2 + 1) ** (arb(3) / 2),
    "one over": lambda x: 1 / x,
    "a quotient": lambda x: x / (x.exp() + 1),
    "a third of it": lambda x: x * THIRD - THIRD,
    "from a third": lambda x: THIRD - x / 7,
    "clipped": lambda x: x.max(-THIRD).min(THIRD),
    "floor": lambda x: x.floor(),
    "sign": lambda x: x.sgn(),
    "what is tiny": lambda x: (x * arb(2) ** -540) * (x * arb(2) ** -530),
    "what is large": lambda x: ((x * 100).exp() * (x * 100).exp()).log(),
}
OF_TWO = {
    "sum": lambda x, y: x + y,
    "difference": lambda x, y: x - y,
    "product": lambda x, y: x * y,
    "quotient": lambda x, y: x / y,
    "larger": lambda x, y: x.max(y),
    "smaller": lambda x, y: x.min(y),
}


def spans(seed):
    """Return vectors of intervals, of all widths and none, and a point in each."""
    rng = np.random.default_rng(seed)
    low = rng.normal(size=COUNT) * 3
    width = rng.exponential(size=COUNT) * 10.0 ** rng.integers(-14, 2, COUNT)
    width[: COUNT // 8] = 0
    low[COUNT // 8 : COUNT // 6] = 0
    high = low + width
    at = np.clip(low + width * rng.uniform(size=COUNT), low, high)
    at[::3], at[1::3] = low[::3], high[1::3]
    return Span(low, high), [arb(float(a)) for a in at]


def outside(found, values):
    """Return where a value is not in its interval; NaN for an end says nothing."""
    made = []
    for k, v in enumerate(values):
        low, high = float(found.lo[k]), float(found.hi[k])
        if v.is_nan():
            inside = low != low and high != high
        else:
            above = low != low or low == -np.inf or arb(low) <= v.upper()
            below = high != high or high == np.inf or v.lower() <= arb(high)
            inside = above and below
        if not inside:
            made.append((k, low, high, v))
    return made


@pytest.mark.parametrize("name", OF_ONE)
@pytest.mark.parametrize("seed", [0, 1])
def test_a_function_of_one_holds_its_values(name, seed):
    with precision(128):
        x, points = spans(seed)
        found = OF_ONE[name](x)
        assert outside(found, [OF_ONE[name](p) for p in points]) == []
        known = np.isfinite(found.lo) & np.isfinite(found.hi)
        assert known.any()


@pytest.mark.parametrize("name", OF_TWO)
def test_a_function_of_two_holds_its_values(name):
    with precision(128):
        (x, first), (y, second) = spans(2), spans(3)
        found = OF_TWO[name](x, y)
        values = [OF_TWO[name](a, b) for a, b in zip(first, second, strict=True)]
        assert outside(found, values) == []


@pytest.mark.parametrize("name", ["sum", "difference", "product", "quotient"])
def test_arithmetic_is_rounded_outward(name):
    """A sum or product of floats is no float, so its interval has a width."""
    with precision(256):
        rng = np.random.default_rng(4)
        a, b = rng.normal(size=(2, 2000))
        found = OF_TWO[name](Span(a, a), Span(b, b))
        exact = [OF_TWO[name](arb(p), arb(q)) for p, q in zip(a.tolist(), b.tolist(), strict=True)]
        for low, high, value in zip(found.lo.tolist(), found.hi.tolist(), exact, strict=True):
            assert arb(low) < value < arb(high)
        assert (found.hi - found.lo <= 2e-15 * np.abs(found.lo)).all()


def test_the_exponential_is_near_at_all_sizes():
    with precision(128):
        rng = np.random.default_rng(5)
        x = np.concatenate([rng.uniform(-699, 699, 2000), 10.0 ** rng.uniform(-300, 0, 500)])
        ties = (np.arange(-400, 400) + 0.5) * np.log(2)  # where the exponent changes
        x = np.concatenate([x, ties, [0.0, -0.0, 700.0, -700.0]])
        found = Span(x, x).exp()
        for at, low, high in zip(x.tolist(), found.lo.tolist(), found.hi.tolist(), strict=True):
            assert arb(low) < arb(at).exp() < arb(high)
        assert (found.hi <= found.lo * (1 + 1e-13)).all()


def test_what_is_beyond_the_exponential_is_bounded():
    x = np.array([-1e4, 1e4, -np.inf, np.inf, np.nan])
    with np.errstate(all="ignore"):
        found = Span(x, x).exp()
    assert found.lo[0] == 0 < found.hi[0] < 1e-300
    assert found.lo[1] > 1e300
    assert found.hi[1] == np.inf
    assert found.lo[2] == 0
    assert found.hi[3] == np.inf
    assert np.isnan(found.hi[4])


def test_where_a_function_is_not_defined_nothing_is_known():
    x = Span(np.array([-1.0, 0.0, 1.0]), np.array([1.0, 2.0, 3.0]))
    with precision(64):
        for f in (Span.log, Span.rsqrt, lambda s: 1 / s):
            found = f(x)
            assert np.isnan(found.lo).tolist() == [True, True, False]
            assert np.isnan(found.hi).tolist() == [True, True, False]
        assert np.isnan(x.sqrt().lo).tolist() == [True, False, False]
        assert x.sqrt().lo[1] == 0


def test_a_comparison_is_one_answer_or_says_where_it_is_yes():
    x = Span(np.array([1.0, 2.0, -1.0]), np.array([2.0, 3.0, 1.0]))
    assert not x < 0
    assert x <= 3
    with pytest.raises(Mixed) as mixed:
        x > 0  # noqa: B015
    assert mixed.value.where.tolist() == [True, True, False]


def test_intervals_that_do_not_cross_zero_keep_their_sign():
    x, _ = spans(6)
    positive = abs(x)
    assert ((positive * positive).lo >= 0).all()
    assert ((positive / (positive + 1)).lo >= 0).all()
    assert ((x**2).lo >= 0).all()


@pytest.mark.parametrize("wrong", [1e-12, 1e-6, 1e-2])
def test_the_logarithm_does_not_depend_on_an_approximation(wrong, monkeypatch):
    near = np.log
    monkeypatch.setattr(np, "log", lambda x: near(x) + wrong)
    with precision(128):
        x, points = spans(7)
        x, points = abs(x) + 1, [abs(p) + 1 for p in points]
        found = x.log()
        assert outside(found, [p.log() for p in points]) == []
        assert (found.lo <= found.hi).all()

"""How rational functions of n grow, exactly."""

import math
from fractions import Fraction

import numpy as np
import pytest

from theorykit.certify import NotCertifiable, growth

FUNCTIONS = {
    "a polynomial": (lambda n: 3 * n**2 - 7 * n + 2, 2, 3),
    "a quotient": (lambda n: (n + 1) / (2 * n**3 - n), -2, Fraction(1, 2)),
    "a difference of quotients": (lambda n: n / (n - 1) - n / (n + 1), -1, 2),
    "cancelled": (lambda n: (n**2 - 9) / (n - 3), 1, 1),
    "a maximum": (lambda n: max(n, 100) * min(5, n) / 2, 1, Fraction(5, 2)),
    "an absolute value": (lambda n: abs(10 - n**3), 3, 1),
    "a branch": (lambda n: n if n < 10 else n**2, 2, 1),
    "a negative power": (lambda n: n**-2 + Fraction(1, 3) * n**-1, -1, Fraction(1, 3)),
    "a float": (lambda n: 0.5 * n + 1e9, 1, Fraction(1, 2)),
    "numpy's": (lambda n: np.float64(0.25) * n, 1, Fraction(1, 4)),
    "a constant": (lambda n: 7, 0, 7),
    "negative": (lambda n: 1 - n, 1, -1),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_degree_constant_and_where_they_begin(name):
    f, degree, leading = FUNCTIONS[name]
    found = growth(f)
    assert (found.degree, found.leading) == (degree, leading)
    c = abs(found.leading)
    for n in [found.least + k for k in (0, 1, 2, 10, 1000)]:  # an independent route: values
        n = Fraction(n)
        value = Fraction(f(n))
        assert found.at(n) == value
        assert Fraction(3, 5) * c * n**degree <= abs(value) <= Fraction(5, 3) * c * n**degree


def test_it_begins_late_enough():
    late = growth(lambda n: n**2 if n > 1000 else 1 / n)
    assert (late.degree, late.least) == (2, 1001)
    assert growth(lambda n: n - 400).least > 1000  # before, it is far from n


def doubled_up_to(n):
    k = 1
    while k < n:
        k *= 2
    return k


def multiplied(n):
    made = 1
    for _ in range(10**6):
        made *= n
    return made


@pytest.mark.parametrize(
    "f",
    [
        doubled_up_to,
        multiplied,
        lambda n: n**0.5,
        lambda n: 2**n,
        lambda n: math.log(n),
        lambda n: math.floor(n / 2),
        lambda n: n % 2,
        lambda n: sum(range(n)),
        lambda n: float(n),
        lambda n: np.sqrt(n),
        lambda n: n - n,
        lambda n: 1 / (n - n),
        lambda n: float("nan") * n,
        lambda n: [n],
        lambda n: "n",
    ],
)
def test_what_is_no_rational_function_is_refused(f):
    with pytest.raises(NotCertifiable):
        growth(f)


def test_the_reason_names_the_line_that_needs_a_number():
    """Not one of numpy, to which the number is handed."""
    for f in (lambda n: math.log(n), lambda n: np.linalg.norm(np.full(3, float(n)))):
        with pytest.raises(NotCertifiable, match=r"^test_degree\.py:\d+ needs a number in the"):
            growth(f)

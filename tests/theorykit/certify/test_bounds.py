"""Polynomials in what is given: what must come out, what must not, and that it multiplies out."""

import math
from fractions import Fraction
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from flint import fmpq

from theorykit.certify import NotCertifiable, Work, letters, ordered
from theorykit.certify import _bounds as bounds
from theorykit.certify._bounds import SLACK, by_bounds, multiplied_out, sign_by_bounds
from theorykit.certify._ring import NONNEGATIVE, POSITIVE, REAL, Ring
from theorykit.certify._signs import certain

COUNT = 3
PLENTY = 5_000_000


def ring(*given, signs=None, strict=False):
    """Return a ring of x, y, z in which these are given: functions of the letters."""
    made = Ring(["x", "y", "z"], {}, Work(PLENTY))
    made.begin(dict.fromkeys(range(COUNT), REAL) | (signs or {}))
    for f in given:
        made.fact(f(*made.gens[:COUNT]), strict)
    return made


UNIT = (lambda x, y, z: x, lambda x, y, z: 1 - x)
SIMPLEX = (lambda x, y, z: x, lambda x, y, z: y, lambda x, y, z: 1 - x - y)
CHAIN = (lambda x, y, z: z - 1, lambda x, y, z: y - z, lambda x, y, z: x - 2 * y)

TRUE = {
    "a cubic on the unit interval": (UNIT, lambda x, y, z: 2 - 3 * x + x**3),
    "one that needs a higher degree": (UNIT, lambda x, y, z: 2 - 5 * x + 4 * x**2),
    "on a simplex": (SIMPLEX, lambda x, y, z: 1 - (x + y) ** 2 + x * y),
    "down a chain": (CHAIN, lambda x, y, z: x**2 - 4 * y**2 + y * z - z),
    "an upper end alone": ((lambda x, y, z: 3 - x,), lambda x, y, z: (3 - x) ** 3 + 6 - 2 * x),
    "of a square": ((lambda x, y, z: 2 - x**2,), lambda x, y, z: 8 - x**4 - 2 * x**2),
}
FALSE = {
    "a cubic on the unit interval": lambda x, y, z: 2 - 3 * x + x**3 - fmpq(1, 1000),
    "one that needs a higher degree": lambda x, y, z: fmpq(1, 2) - 3 * x + 4 * x**2,
    "on a simplex": lambda x, y, z: 1 - (x + y) ** 2 - fmpq(1, 1000) * x,
    "down a chain": lambda x, y, z: x**2 - 4 * y**2 + y * z - z - fmpq(1, 1000),
    "an upper end alone": lambda x, y, z: (3 - x) ** 3 - fmpq(1, 1000),
    "of a square": lambda x, y, z: 8 - x**4 - fmpq(2001, 1000) * x**2,
}


@pytest.mark.parametrize("name", TRUE)
def test_what_holds_within_bounds_is_proved(name):
    given, f = TRUE[name]
    made = ring(*given)
    p = f(*made.gens[:COUNT])
    found = by_bounds(made, p)
    assert found is not None
    (terms,) = found.parts
    assert multiplied_out(made, terms.of) == p
    assert certain(made, terms.of) is not None  # by the signs of slacks and coefficients


@pytest.mark.parametrize("name", TRUE)
def test_false_neighbours_are_not_proved(name):
    made = ring(*TRUE[name][0])
    assert by_bounds(made, FALSE[name](*made.gens[:COUNT])) is None


@pytest.mark.parametrize("name", TRUE)
def test_every_bound_is_needed(name):
    given, f = TRUE[name]
    for k in range(len(given)):
        made = ring(*given[:k], *given[k + 1 :])
        assert by_bounds(made, f(*made.gens[:COUNT])) is None


def test_a_bound_of_another_case_is_forgotten():
    made = ring(*UNIT)
    p = 2 - 3 * made.gens[0] + made.gens[0] ** 3
    assert by_bounds(made, p) is not None
    made.begin(dict.fromkeys(range(COUNT), REAL))
    assert by_bounds(made, p) is None
    made.fact(made.gens[0])
    assert by_bounds(made, p - 1) is None


@pytest.mark.parametrize("seed", range(40))
def test_nothing_is_proved_that_is_negative_somewhere(seed):
    """Of random polynomials on a simplex times an interval, by their values on a grid."""
    rng = np.random.default_rng(seed)
    made = ring(*SIMPLEX, lambda x, y, z: z + 1, lambda x, y, z: 2 - z)
    x, y, z = made.gens[:COUNT]
    monomials = [(i, j, k) for i in range(3) for j in range(3 - i) for k in range(3)]
    shift = int(rng.integers(0, 8))
    p = made.constant(shift)
    for i, j, k in monomials:
        p += x**i * y**j * z**k * int(rng.integers(-3, 4))
    grid = [Fraction(n, 6) for n in range(7)]
    points = [(a, b, 3 * c - 1) for a in grid for b in grid if a + b <= 1 for c in grid]
    value = lambda at: sum(
        Fraction(int(c.p), int(c.q)) * math.prod(a ** int(e) for a, e in zip(at, m, strict=False))
        for m, c in p.terms()
    )
    least = min(map(value, points))
    assert by_bounds(made, p) is None or least >= 0
    assert by_bounds(made, p, strict=True) is None or least > 0
    raised = p + fmpq(-(40 * least.numerator), least.denominator) if least < 0 else p + 200
    assert by_bounds(made, raised + 400) is not None  # far above zero it is seen


def test_positive_is_more_than_not_negative():
    made = ring(*SIMPLEX)
    x, y, _ = made.gens[:COUNT]
    assert by_bounds(made, x * (1 - x - y)) is not None
    assert by_bounds(made, x * (1 - x - y), strict=True) is None
    assert by_bounds(made, x**2 + y**2 + (1 - x - y) ** 2, strict=True) is not None
    assert by_bounds(made, x**2 + (1 - x - y) ** 2, strict=True) is None  # zero at y = 1
    assert sign_by_bounds(made, x + y - 2) == -1
    assert sign_by_bounds(made, x + y - 1) == 0


def test_a_strict_bound_makes_a_positive_slack():
    for strict in (True, False):
        made = ring(lambda x, y, z: x - y, lambda x, y, z: y, strict=strict)
        x, y, _ = made.gens[:COUNT]
        assert (by_bounds(made, x**2 - y**2, strict=True) is not None) is strict


def test_letters_of_known_sign_need_no_bounds():
    made = ring(lambda x, y, z: x - y, signs={0: POSITIVE, 1: NONNEGATIVE})
    x, y, _ = made.gens[:COUNT]
    assert by_bounds(made, x**3 - x * y**2) is not None
    assert by_bounds(made, x**3 - x * y**2 - y * fmpq(1, 1000)) is None


@pytest.mark.parametrize("step", ["ends", "chains", "sums", "even_powers"])
def test_a_step_left_out_is_missed(step, monkeypatch):
    """Each of the four is needed for one of those that hold."""
    proved = lambda: [
        by_bounds(r, f(*r.gens[:COUNT])) is not None
        for given, f in TRUE.values()
        for r in [ring(*given)]
    ]
    assert all(proved())
    monkeypatch.setattr(bounds._Slacks, step, lambda self: None)
    assert not all(proved())


def test_a_wrong_step_is_noticed(monkeypatch):
    """What comes of the steps is multiplied out, so that a wrong one proves nothing."""
    monkeypatch.setattr(bounds._Slacks, "homogeneous", lambda self, k: self.ring.gens[0] ** 2)
    made = ring(*UNIT)
    assert by_bounds(made, 2 - 3 * made.gens[0] + made.gens[0] ** 3) is None


def test_slacks_are_shown_as_what_they_are():
    made = ring(*UNIT)
    found = by_bounds(made, 1 - made.gens[0] ** 2)
    lines = list(found.lines(made.show))
    assert lines[0] == "-x^2 + 1 >= 0: in the letters [p], which are what is given,"
    assert lines[1] == "  2*[x]*[-x + 1] + [-x + 1]^2 >= 0: its terms are not negative"
    assert all(made.made[i][0] == SLACK for i in made.used(found.parts[0].of))


# Statements -------------------------------------------------------------------------------------


def interval(low, high):
    return letters((), low=Fraction(low), high=Fraction(high))


def holds(sides, work=PLENTY, **shapes):
    try:
        return bool(ordered(sides, shapes, work=Work(work)))
    except NotCertifiable:
        return False


def test_a_denominator_with_a_maximum_falls_into_cases():
    sides = lambda c: lambda x: ((x**2).sum() / (1 + jnp.abs(x).max()) ** 2, c)
    assert holds(sides(2.0), x=(2,))
    assert not holds(sides(1.99), x=(2,))


def test_a_denominator_within_bounds():
    """1 / (1 - x y) on [0, 1/2]^2, and not on [0, 1]^2, where it has no value."""
    sides = lambda c: lambda x, y: (1 / (1 - x * y) + 0 * y, c)
    half = dict(x=interval(0, "1/2"), y=interval(0, "1/2"))
    assert holds(sides(1 + 1 / 3 + 1e-9), **half)
    assert not holds(sides(1 + 1 / 3 - 1e-9), **half)
    assert not holds(sides(1e9), x=interval(0, 1), y=interval(0, 1))


def test_roots_leave_denominators():
    """1 / (a + sqrt(b)), which changes its form, keeps its value."""
    f = lambda x: 1 / (x + jnp.sqrt(x**2 + 1))
    assert holds(lambda x: (f(x), jnp.sqrt(x**2 + 1) - x), x=())
    assert holds(lambda x: (jnp.sqrt(x**2 + 1) - x, f(x)), x=())
    assert not holds(lambda x: (f(x), jnp.sqrt(x**2 + 1) - 1.001 * x), x=())
    assert not holds(lambda x: (1 / (x - jnp.sqrt(x**2)), -x), x=())  # it has no value for x >= 0


@pytest.mark.parametrize("n", [2, 5])
def test_cauchy_for_a_length(n):
    """|y . r| <= |y| |r|, of any r that the length of y does not know."""
    r = lambda t: jnp.stack([jnp.cos(t), jnp.sin(t), t, t**2, 1 + 0 * t])[:n]
    sides = lambda c: lambda y, t: (
        jnp.abs(y @ r(t)), jnp.linalg.norm(y) * jnp.sqrt(c * jnp.sum(r(t) ** 2))
    )  # fmt: skip
    assert holds(sides(1), y=(n,), t=())
    assert not holds(sides(0.999), work=300_000, y=(n,), t=())
    signed = lambda y, t: (-(y @ r(t)), jnp.linalg.norm(y) * jnp.sqrt(jnp.sum(r(t) ** 2)))
    assert holds(signed, y=(n,), t=())


def test_a_rotated_spectrum():
    """The trace of a resolvent: of a symmetric matrix by its eigenvalues and a free angle."""

    def sides(c):
        def both(turn, e, share):
            Q = jnp.array([[jnp.cos(turn), -jnp.sin(turn)], [jnp.sin(turn), jnp.cos(turn)]])
            N = Q @ jnp.diag(e) @ Q.T
            return jnp.linalg.solve(N + share * jnp.eye(2), N[:, 0])[0], c + 0 * share

        return both

    shapes = dict(turn=(), e=letters((2,), low=Fraction(0)), share=interval("1/4", 1))
    assert holds(sides(1.0), **shapes)
    assert not holds(sides(0.999), **shapes)


def test_the_example_of_the_guide_prints_what_it_says(capsys):
    guide = (Path(__file__).parents[3] / "docs" / "certify.md").read_text()
    code = guide.split("## Bounded letters")[1].split("```python\n")[1].split("```")[0]
    exec(code, {})
    said = [line.removeprefix("# ") for line in code.splitlines() if line.startswith("# ")]
    assert len(said) == 3
    assert capsys.readouterr().out.splitlines() == said

"""Enclosures of Gaussian expectations, by flint's rigorous integration.

flint integrates what is analytic, so the domain is cut where the function is not: at its breaks,
which in the plane are rays. Within a piece the program is an analytic function (`_analytic`).
"""

import inspect
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flint import acb, arb, ctx

from theorykit.certify import _growth
from theorykit.certify._analytic import Analytic, Evaluator, evaluator
from theorykit.certify._enclose import Balls, Program
from theorykit.certify._growth import Interval
from theorykit.certify._machine import Machine, NotCertifiable
from theorykit.certify._numbers import ball, objects, precision
from theorykit.common.arguments import as_array, shown

GUARD = 32
"""Bits beyond those asked for."""

MOST_RADIUS = 1 << 12
"""Standard deviations at which a tail that is still too heavy is given up."""


def integral(
    f: Callable[..., Any],
    covariance: Any,
    *,
    breaks: Sequence[Any] = (0.0,),
    growth: tuple[Any, Any] | None = None,
    bits: int = 96,
) -> Balls:
    """Enclose a Gaussian expectation, E[f(u)] or E[f(u, v)], in one ball.

    What lies beyond a radius is bounded by the growth of `f`, the rest integrated by flint with
    a proven bound. `f` is a function of real numbers that is defined almost everywhere.

    **Arguments:** `f`: a JAX function of one scalar or of two. `covariance`: the variance of u, or
    the rows ((k11, k12), (k12, k22)) for (u, v), positive semidefinite: floats, fractions, decimal
    strings or balls. `breaks`: the values of u and of v at which `f` may have a kink or jump. Kinks
    and jumps elsewhere slow the integration down, but the result stays right. `growth`: (c, p)
    states that |f(x)| <= c (1 + |x|)^p for every x, where |x| is the norm of (u, v); it is derived
    where it is not given. `bits`: the error aimed at is 2^-bits.

    **Returns:** `Balls`, one ball, which contains the expectation.

    **Raises:** `NotCertifiable` if a primitive has no rule, the growth cannot be derived or the
    integral does not converge; `ValueError` for an invalid covariance, or nonzero breaks in the
    plane.
    """
    with precision(bits), ctx.workprec(bits + GUARD):
        entries = _covariance(covariance)
        edges = _edges(breaks)
        program = _traced(f, 1 if len(entries) == 1 else 2)
        arity = len(program.closed.in_avals)
        c, p = _growth.growth(program, arity) if growth is None else _growth.stated(growth)
        if c == 0:
            return Balls(objects(arb(0), ()))
        line = _line(entries)
        if line is not None and line[0] == 0:
            return Balls(objects(_at_zero(program, len(line[1])), ()))
        if line is None and not all(e == 0 for e in edges):
            raise ValueError(
                f"in the plane a break is at 0, where it is a ray; not at {list(breaks)}."
            )
        trace = sum(map(ball, entries[::2]))
        scale = _at_most_one(c) * _at_most_one(trace) ** (arb(p) / 2)
        goal = (arb(2) ** -bits * scale).upper()
        radius, tail = _tail(c, p, trace.sqrt(), goal, 1 if line else 2)
        if line is None:
            found = _on_plane(program, entries, radius, goal)
        else:
            found = _on_line(program, line, edges, radius, goal)
        return Balls(objects(_real(found) + arb(0, tail), ()))


def _at_most_one(x: arb) -> arb:
    return x.upper() if x.upper() < 1 else arb(1)


def _real(x: Any) -> arb:
    x = acb(x)
    if not x.is_finite():
        raise NotCertifiable(
            "the integral does not converge in ball arithmetic: the function may be infinite or "
            "undefined somewhere, or have a kink or jump that is not among the breaks."
        )
    if not x.imag.contains(0):
        raise NotCertifiable("the function is not real: a root or logarithm of less than zero.")
    return x.real


# Arguments ---------------------------------------------------------------------------------


def _covariance(given: Any) -> list[Any]:
    """Return [k] or [k11, k12, k22], fractions where exact and balls elsewhere."""
    value = given.array if isinstance(given, Balls) else given
    value = np.asarray(value).tolist() if isinstance(value, np.ndarray | jax.Array) else value
    if not isinstance(value, list | tuple):
        entries = [_entry(value, given)]
    elif len(value) == 2 and all(isinstance(r, list | tuple) and len(r) == 2 for r in value):
        k11, k12, k21, k22 = (_entry(v, given) for row in value for v in row)
        both_exact = isinstance(k12, Fraction) and isinstance(k21, Fraction)
        if k12 != k21 if both_exact else not ball(k12).overlaps(ball(k21)):
            raise ValueError(f"a covariance is symmetric, not {given!r}.")
        entries = [k11, k12, k22]
    else:
        raise ValueError(
            f"a covariance is a variance or two rows of two, ((k11, k12), (k12, k22)), not "
            f"{given!r}."
        )
    if any(v < 0 for v in (entries[0], entries[-1], _determinant(entries))):
        raise ValueError(f"a covariance is positive semidefinite, not {given!r}.")
    if not all(v > 0 or v == 0 for v in entries[::2]):
        raise ValueError(f"a variance is certainly positive, or exactly zero, not {given!r}.")
    return entries


def _entry(value: Any, given: Any) -> Any:
    try:
        made = ball(value)
    except ValueError as error:
        raise ValueError(f"{given!r} is not a covariance: {error}") from None
    if not isinstance(made, arb) or not made.is_finite():
        raise ValueError(f"{given!r} is not a covariance: {value!r} is not a real number.")
    if isinstance(value, arb):
        return made
    try:
        return Fraction(value if isinstance(value, str | int | Fraction) else float(value))
    except ValueError:
        return made  # a text with an error bar


def _determinant(entries: list[Any]) -> Any:
    if len(entries) == 1:
        return 0
    if all(isinstance(e, Fraction) for e in entries):
        return entries[0] * entries[2] - entries[1] ** 2
    k11, k12, k22 = map(ball, entries)
    return k11 * k22 - k12**2


def _line(entries: list[Any]) -> tuple[Any, list[Any]] | None:
    """Return (k, slopes) if the arguments are the slopes times one normal of variance k."""
    if len(entries) == 1:
        return entries[0], [1]
    k11, k12, k22 = entries
    singular = _determinant(entries) == 0  # of a ball, whether it certainly is
    if not singular:
        return None
    if k11 == 0:
        return k22, [0, 1]
    return k11, [1, k12 / k11 if isinstance(k12, Fraction) else ball(k12) / ball(k11)]


def _edges(breaks: Any) -> list[arb]:
    try:
        if not isinstance(breaks, Sequence | np.ndarray):
            raise ValueError
        made = [ball(b) for b in breaks]
        if not all(isinstance(b, arb) and b.is_finite() for b in made):
            raise ValueError
    except (TypeError, ValueError):
        raise ValueError(
            f"breaks are numbers, as in breaks=(0.0, 1.5), not {shown(breaks)}."
        ) from None
    return made


def _traced(f: Callable[..., Any], count: int) -> Program:
    """Trace the function, and see that its primitives have rules and that it gives one number."""
    try:
        inspect.signature(f).bind(*[0.0] * count)
    except (TypeError, ValueError):
        raise ValueError(
            f"the covariance asks for a function of {count} number{'s' * (count > 1)}; "
            f"{getattr(f, '__name__', f)!r} is not."
        ) from None
    program = Program.trace(lambda *xs: jax.tree.map(_as_float, f(*xs)), [np.float64(0)] * count)
    shapes = [a.shape for a in program.closed.out_avals]
    if shapes != [()]:
        raise ValueError(f"the function gives one number, not arrays of shapes {shapes}.")
    program.run(Analytic(hull=True), [objects(acb(0.6875) / (i + 1), ()) for i in range(count)])
    return program


def _as_float(x: Any) -> Any:
    x = jnp.asarray(as_array("what the function returns", x, "buifc"))
    if jnp.iscomplexobj(x):
        raise ValueError("the function gives a real number, not a complex one; take its real part.")
    return x.astype(float)


def _tail(c: arb, p: Any, sigma: arb, goal: arb, dimension: int) -> tuple[arb, arb]:
    """Return a radius R in standard deviations, and a bound on E|f| beyond it.

    For r >= R, (1 + sigma r)^p <= (sigma + 1/R)^p r^p, and the moments of r beyond R are
    incomplete gamma functions.
    """
    radius, p = arb(4), arb(p)
    while radius < MOST_RADIUS:
        mass = (radius**2 / 2).gamma_upper((p + dimension) / 2)
        mass = mass / arb.pi().sqrt() if dimension == 1 else mass
        bound = c * ((sigma + 1 / radius) ** p) * arb(2) ** (p / 2) * mass
        if bound < goal:
            return radius, bound.upper()
        radius += 1
    raise NotCertifiable(f"the growth is too fast: no tail is small within {MOST_RADIUS} sigmas.")


def _at_zero(program: Program, count: int) -> arb:
    (out,) = program.run(Machine(), [objects(arb(0), ()) for _ in range(count)])
    return _real(out.item())


# Integrals ---------------------------------------------------------------------------------


def _on_line(
    program: Program, line: tuple[Any, list[Any]], edges: Sequence[arb], radius: arb, goal: arb
) -> Any:
    """Return the integral of f(slopes x), x normal of variance k, |x| up to so many sigmas."""
    variance, slopes = ball(line[0]), [ball(s) for s in line[1]]
    end = (radius * variance.sqrt()).upper()
    norm = (2 * arb.pi() * variance).sqrt()

    def arguments(xs: Sequence[Any]) -> list[Any]:
        return [arb(0) if s == 0 else xs[0] if s == 1 else s * xs[0] for s in slopes]

    cuts = [e / s for e in edges for s in slopes if s != 0]
    total = acb(0)
    for low, high in _pieces(sorted((c for c in cuts if abs(c) < end), key=float), end):
        f = evaluator(program, arguments, [Interval.of(low, high)])
        if f is None:
            continue

        def density(x: acb, analytic: bool, f: Evaluator = f) -> acb:
            return f((x,), analytic) * (-(x * x) / (2 * variance)).exp()

        total += _integrated(density, low, high, goal * norm, 4000)
    return total / norm


def _pieces(cuts: list[arb], end: arb) -> Iterator[tuple[arb, arb]]:
    kept = [-end]
    kept += [c for i, c in enumerate(cuts) if not i or not c.overlaps(cuts[i - 1])]
    return zip(kept, [*kept[1:], end], strict=True)


def _on_plane(program: Program, entries: list[Any], radius: arb, goal: arb) -> Any:
    """Return the integral over a disc, in polar coordinates.

    u = 0 and v = 0 are two lines; between them lie a sector where u and v have one sign, of angle
    pi - t, and one where they differ, of angle t, where cos t is the correlation, and the opposites
    of both. In a sector of angle w, |u| = a r sin(w (1 - s)) and |v| = b r sin(w s), s from 0 to 1.
    """
    k11, k12, k22 = map(ball, entries)
    a, b = k11.sqrt(), k22.sqrt()
    sine = ball(_determinant(entries)).nonnegative_part().sqrt()
    angle = arb.atan2(sine, abs(k12))
    angle = angle if k12 >= 0 else arb.pi() - angle if k12 < 0 else arb.atan2(sine, k12)
    ranges = [Interval(arb(0), (radius * x).upper()) for x in (a, b)]
    total = acb(0)
    for w, sign in ((arb.pi() - angle, 1), (angle, -1)):
        opposites = [evaluator(program, _signed(side, side * sign), ranges) for side in (1, -1)]
        kept = [f for f in opposites if f is not None]
        if kept:
            total += w * _sector(kept, w, a, b, radius, goal)
    return total / (2 * arb.pi())


def _signed(*signs: int) -> Callable[[Sequence[Any]], list[Any]]:
    return lambda xs: [x if sign > 0 else -x for sign, x in zip(signs, xs, strict=True)]


def _sector(fs: list[Evaluator], w: arb, a: arb, b: arb, radius: arb, goal: arb) -> Any:
    def over_radius(s: acb, edge: bool) -> acb:
        x, y = a * (w * (1 - s)).sin(), b * (w * s).sin()

        # Analytic in s only if the integrand is, at every r that the inner integral looks at.
        def density(r: acb, analytic: bool) -> acb:
            here = (r * x, r * y)
            value = sum((f(here, analytic or edge) for f in fs), acb(0))
            return value * (r * (-(r * r) / 2).exp())

        return _integrated(density, 0, radius, goal / 16, 2000)

    return _integrated(over_radius, 0, 1, goal, 1000)


def _integrated(f: Callable[[acb, bool], acb], low: Any, high: Any, goal: arb, most: int) -> acb:
    """Return flint's integral, after at most so many evaluations; an error comes out of it."""
    raised: list[BaseException] = []

    def guarded(x: acb, analytic: bool) -> acb:
        if not raised:
            try:
                return acb(f(x, analytic))
            except BaseException as error:
                raised.append(error)
        return acb("nan")

    relative = arb(2) ** (GUARD // 2 - ctx.prec)
    made = acb.integral(guarded, low, high, abs_tol=goal, rel_tol=relative, eval_limit=most)
    if raised:
        raise raised[0]
    return made

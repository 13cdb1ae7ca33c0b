"""Symmetries of an inequality: what they leave to be proved, and the proof that they hold.

Where rhs - lhs stays the same when one number is added to all entries of x, it is enough to look at
x[0] = 0; where it is multiplied by c^k when x is multiplied by c > 0, at x = 0 and at the points
whose largest entry is 1 or -1, which is compact; where entries may change places, at x that
ascends. A symmetry is declared, tried at points, and proved for all values by the normal form of
`identical` before it is used.
"""

import dataclasses
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flint import arb

from theorykit.certify._box import fraction_of, read
from theorykit.certify._everywhere import Letter, identical
from theorykit.certify._machine import NotCertifiable
from theorykit.certify._numbers import ball
from theorykit.certify._sides import rows_of
from theorykit.common.arguments import shown

Ends = dict[str, tuple[np.ndarray, np.ndarray]]

NEAR = 1e-9
"""By how much, relatively, floats may differ where a symmetry is tried."""


@dataclasses.dataclass(frozen=True)
class Symmetry:
    """What may be done to some arguments; made by `shift`, `scale` and `permutation`."""

    kind: str
    names: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.kind}({', '.join(map(repr, self.names))})"


def shift(*names: str) -> Symmetry:
    """Say that one number may be added to all entries of these arguments.

    It leaves rhs - lhs as it is. **Raises:** `ValueError` for anything but names.
    """
    return Symmetry("shift", _names("shift", names))


def scale(*names: str) -> Symmetry:
    """Say that all entries of these arguments may be multiplied by one positive number c.

    It multiplies rhs - lhs by a whole power of c. The arguments are all reals: their ends are -inf
    and inf. **Raises:** `ValueError` for anything but names.
    """
    return Symmetry("scale", _names("scale", names))


def permutation(name: str) -> Symmetry:
    """Say that the entries of a vector may change places.

    The entries of rhs - lhs may change places, too. **Raises:** `ValueError` for anything but a
    name.
    """
    return Symmetry("permutation", _names("permutation", (name,)))


def _names(kind: str, names: tuple[Any, ...]) -> tuple[str, ...]:
    if not names or not all(isinstance(n, str) for n in names) or len(set(names)) < len(names):
        raise ValueError(f"{kind} takes names of arguments, as in {kind}('x'), not {shown(names)}.")
    return names


def as_symmetries(given: Any) -> tuple[Symmetry, ...]:
    """Return what is declared, in a tuple.

    **Raises:** `ValueError` for anything but a list of symmetries.
    """
    if not isinstance(given, list | tuple) or not all(isinstance(s, Symmetry) for s in given):
        raise ValueError(
            f"symmetries is a list, as in [shift('x'), scale('x')], not {shown(given)}."
        )
    return tuple(given)


@dataclasses.dataclass(frozen=True)
class Symmetries:
    """All that is declared of one inequality.

    **Fields:** `shapes`, those of its arguments; `box`, the ends of the arguments that have some,
    rounded outward; `inner`, rounded inward.
    """

    declared: tuple[Symmetry, ...]
    shapes: Mapping[str, tuple[int, ...]]
    box: Ends
    inner: Ends

    @classmethod
    def of(cls, declared: Sequence[Symmetry], box: Mapping[str, Any]) -> "Symmetries":
        """Return what is declared, checked against the arguments.

        **Raises:** `ValueError` for symmetries that do not fit the arguments, or one another.
        """
        free = {n for s in declared if s.kind == "scale" for n in s.names}
        bounded = {name: pair for name, pair in box.items() if name not in free}
        shapes = {name: _of_reals(name, pair) for name, pair in box.items() if name in free}
        outer: Ends = {}
        inner: Ends = {}
        if bounded:
            whole, pairs, known = read(bounded)
            shapes |= known
            outer = _by_name(known, whole.low, whole.high)
            inner = _by_name(known, *zip(*pairs, strict=True))
        made = cls(as_symmetries(declared), {name: shapes[name] for name in box}, outer, inner)
        made._check()
        return made

    def _check(self) -> None:
        for s in self.declared:
            missing = [n for n in s.names if n not in self.shapes]
            if missing:
                raise ValueError(f"{s} names {missing[0]}, which is not an argument of the box.")
        for kind in ("shift", "scale", "permutation"):
            names = [n for s in self.declared if s.kind == kind for n in s.names]
            if len(set(names)) < len(names):
                raise ValueError(f"an argument has one {kind} at most, not {names}.")
        for name in self._named("permutation"):
            shape = self.shapes[name]
            if len(shape) != 1 or shape[0] < 2:
                raise ValueError(f"permutation({name!r}) is of a vector, not of the shape {shape}.")
            if name in self.box:
                low, high = self.box[name]
                if any(e != low[0] for e in low) or any(e != high[0] for e in high):
                    raise ValueError(
                        f"permutation({name!r}) needs the same interval for all entries of {name}."
                    )

    def _named(self, kind: str) -> list[str]:
        return [n for s in self.declared if s.kind == kind for n in s.names]

    # What is left ---------------------------------------------------------------------------

    def regions(self) -> list[dict[str, tuple[Any, Any]]]:
        """Return boxes that hold, together, a point of every orbit."""
        ends = {name: (low.copy(), high.copy()) for name, (low, high) in self.box.items()}
        for name in self._named("scale"):
            shape = self.shapes[name]
            ends[name] = _full(shape, arb(-1)), _full(shape, arb(1))
        for s in self.declared:
            if s.kind == "shift":
                self._shifted(ends, s.names)
        made: list[Ends] = [ends]
        for s in self.declared:
            if s.kind == "scale":
                made = [face for e in made for face in self._faces(e, s.names)]
        return [{name: e[name] for name in self.shapes} for e in made]

    def _shifted(self, ends: Ends, names: Sequence[str]) -> None:
        """Set the first entry to zero, and the others to what their differences from it may be."""
        low, high = ends[names[0]]
        least, most = low.flat[0], high.flat[0]
        for name in names:
            low, high = ends[name]
            if name in self.box:
                for k in range(low.size):
                    low.flat[k], high.flat[k] = low.flat[k] - most, high.flat[k] - least
            if name == names[0] and name in self._named("permutation"):
                low[...] = _full(low.shape, arb(0))
        first_low, first_high = ends[names[0]]
        first_low.flat[0] = first_high.flat[0] = arb(0)

    def _faces(self, ends: Ends, names: Sequence[str]) -> list[Ends]:
        """Return the faces of a cube on which an entry is 1 or -1, and its centre."""
        zero = {n: (_full(self.shapes[n], arb(0)), _full(self.shapes[n], arb(0))) for n in names}
        made = [{**ends, **zero}]
        for name in names:
            low, high = ends[name]
            sorted_ = name in self._named("permutation")
            for k, sign in itertools.product(range(low.size), (-1, 1)):
                if sorted_ and k != (0 if sign < 0 else low.size - 1):
                    continue
                if not low.flat[k] <= sign <= high.flat[k]:
                    continue
                face = low.copy(), high.copy()
                face[0].flat[k] = face[1].flat[k] = arb(sign)
                made.append({**ends, name: face})
        return made

    def order(self) -> list[tuple[int, int]]:
        """Return pairs of places of numbers, of which the first is at most the second."""
        made, start = [], 0
        for name, shape in self.shapes.items():
            size = math.prod(shape)
            if name in self._named("permutation"):
                made += [(start + k, start + k + 1) for k in range(size - 1)]
            start += size
        return made

    def moved_back(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """Return the point of the box whose differences are the nearest."""
        made = {name: np.asarray(value, dtype=object) for name, value in point.items()}
        for s in self.declared:
            inside = [n for n in s.names if n in self.box]
            if s.kind != "shift" or not inside:
                continue
            at, low, high = [], [], []
            for name in inside:
                made[name] = _array(_fractions(made[name]), self.shapes[name])
                at += list(made[name].flat)
                low += _fractions(self.inner[name][0])
                high += _fractions(self.inner[name][1])
            least = max(a - x for a, x in zip(low, at, strict=True))
            most = min(b - x for b, x in zip(high, at, strict=True))
            for name in inside:
                ends = zip(made[name].flat, *map(_fractions, self.inner[name]), strict=True)
                moved = [min(max(x + (least + most) / 2, a), b) for x, a, b in ends]
                made[name] = _array(moved, self.shapes[name])
        return made

    # Proofs ---------------------------------------------------------------------------------

    def unproved(self, inequality: Callable[..., Any]) -> str:
        """Return which symmetry is not proved, and why; nothing if all are.

        **Raises:** `ValueError` for a symmetry that fails at a point.
        """
        for s in self.declared:
            for act in self._actions(s):
                why = self._why_not(inequality, s, act)
                if why:
                    return f"{s} is not proved: {why}"
        return ""

    def _actions(self, s: Symmetry) -> list[Callable[[dict[str, Any], Any], dict[str, Any]]]:
        """Return what a symmetry does to the arguments, by a number c > 0."""
        each = lambda f: lambda p, c: {n: f(x, c) if n in s.names else x for n, x in p.items()}
        if s.kind == "shift":
            return [each(lambda x, c: x + c)]
        if s.kind == "scale":
            return [each(lambda x, c: x * c)]
        n = self.shapes[s.names[0]][0]
        swap = np.r_[1, 0, 2:n]
        return [each(lambda x, c: x[swap]), each(lambda x, c: jnp.roll(x, 1))][: n - 1]

    def _why_not(self, inequality: Callable[..., Any], s: Symmetry, act: Any) -> str:
        def gap(point: Mapping[str, Any]) -> Any:
            left, right = rows_of(inequality(**point))
            return right - left

        rng = np.random.default_rng(0)
        points = [self._random(rng) for _ in range(3)]
        with jax.enable_x64(True):
            before = [np.asarray(gap(p)) for p in points]
            after = [np.asarray(gap(act(p, 2.0))) for p in points]
        degree = _degree(before, after) if s.kind == "scale" else 0
        places = _places(before[0], after[0]) if s.kind == "permutation" else slice(None)
        for p, a, b in zip(points, before, after, strict=True):
            if not np.allclose(a * 2.0**degree, b[places], rtol=NEAR, atol=NEAR, equal_nan=True):
                raise ValueError(
                    f"{s} is no symmetry of the inequality: rhs - lhs is {shown(a)} at "
                    f"{shown(p)} and {shown(b)} after it (by 2)."
                )
        letters: dict[str, Any] = {}
        for name, shape in self.shapes.items():
            letters[name] = shape
            if name in self.box and name not in s.names:
                pairs = zip(*(e.flat for e in self.box[name]), strict=True)
                letters[name] = _array(
                    [Letter(fraction_of(a), fraction_of(b)) for a, b in pairs], shape
                )
        letters["by"] = _array([Letter(low=fraction_of(arb(0)), open=True)], ())

        def sides(by: Any, **point: Any) -> Any:
            return gap(act(point, by))[places], gap(point) * by**degree

        try:
            found = identical(sides, letters)
        except NotCertifiable as error:
            return str(error)
        return "" if found.proved else found.why

    def _random(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return a point of the box."""
        made = {name: rng.normal(size=shape) for name, shape in self.shapes.items()}
        for name, (low, high) in self.box.items():
            ends = np.array([low, high], dtype=float)
            made[name] = ends[0] + (ends[1] - ends[0]) * rng.uniform(size=low.shape)
        return made


def _of_reals(name: str, pair: Any) -> tuple[int, ...]:
    """Return the shape of an argument whose ends are infinite."""
    try:
        low, high = (np.asarray(end, dtype=float) for end in pair)
    except (TypeError, ValueError):
        low = high = np.zeros(())
    if low.shape != high.shape or not (np.isneginf(low).all() and np.isposinf(high).all()):
        raise ValueError(
            f"{name} may be scaled, so it is any real number: its ends are arrays of -inf and inf, "
            f"not {shown(pair)}."
        )
    return low.shape


def _by_name(shapes: Mapping[str, tuple[int, ...]], *ends: Sequence[arb]) -> Ends:
    """Return the ends of each argument."""
    made, start = {}, 0
    for name, shape in shapes.items():
        stop = start + math.prod(shape)
        low, high = (_array(e[start:stop], shape) for e in ends)
        made[name], start = (low, high), stop
    return made


def _fractions(numbers: np.ndarray) -> list[Fraction]:
    """Return exact numbers as fractions."""
    return [fraction_of(ball(x).mid()) for x in numbers.flat]


def _degree(before: Sequence[np.ndarray], after: Sequence[np.ndarray]) -> int:
    """Return k for numbers that are multiplied by 2^k."""
    ratios = np.concatenate([np.ravel(b / a) for a, b in zip(before, after, strict=True)])
    known = ratios[np.isfinite(ratios) & (ratios > 0)]
    return round(float(np.log2(known[0]))) if known.size else 0


def _places(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Return where the entries went."""
    places = np.empty(len(before), int)
    places[np.argsort(before, kind="stable")] = np.argsort(after, kind="stable")
    return places


def _array(values: Sequence[Any], shape: tuple[int, ...]) -> np.ndarray:
    made = np.empty(shape, dtype=object)
    made.reshape(-1)[:] = values
    return made


def _full(shape: tuple[int, ...], value: arb) -> np.ndarray:
    return _array([value] * math.prod(shape), shape)

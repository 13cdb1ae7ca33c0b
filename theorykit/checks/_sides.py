"""Two sides of a claim, evaluated at many points of its domain at once."""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Float64, Shaped

from theorykit.checks._base import ClaimError, Trial
from theorykit.checks._compile import compile_for, unsteady
from theorykit.checks._inputs import Case, Inputs, call
from theorykit.checks._shapes import Sizes
from theorykit.checks._shrink import show_arrays
from theorykit.common.arguments import at_least_0, flag, size
from theorykit.results import Witness

Side = Callable[..., Any]

NOTHING = Inputs({}, {})
"""The domain of a claim without arguments."""

ASKED = (
    ("tol", at_least_0),
    ("floor", at_least_0),
    ("cases", partial(size, least=0)),
    ("batch", size),
    ("traceable", flag),
)
"""The numbers of a check of two sides, and what looks at each."""

NOWHERE = "no point that was tried meets the premise, so nothing was checked."


def checked_domain(over: Any) -> Inputs:
    """Return what two sides are compared over.

    **Raises:** `ClaimError` for anything that is not made by `inputs`.
    """
    made = isinstance(over, Inputs)
    if not made or not all(isinstance(part, Mapping) for part in (over.arguments, over.sizes)):
        raise ClaimError(
            "over is a domain for each argument by name, as in "
            f"over=inputs(S=reals('T'), T=(2, 4)), not {type(over).__name__}."
        )
    return over


@dataclasses.dataclass(frozen=True)
class Sides:
    """Both sides of a claim at one setting of the sizes.

    **Fields:** `batch`, how many points are evaluated at once (one compilation serves all);
    `traceable`, whether the sides may be traced by JAX; `truths`, whether both may be truth values.
    A side may return an array or a tree of arrays; their entries are laid out in one row, in the
    tree's order.
    """

    lhs: Side
    rhs: Side
    over: Inputs
    sizes: Sizes
    batch: int
    traceable: bool
    trial: Trial
    truths: bool = False

    def at(self, side: Side, parameters: Mapping[str, Any], xp: Any = jnp) -> list[Any]:
        """Return the leaves of one side at one point."""
        name = self.name(side)
        found = call(side, self.over.point(parameters, self.sizes, xp), self.sizes, name)
        leaves = [_numbers(name, leaf, xp) for leaf in jax.tree.leaves(found)]
        if not leaves:
            raise ClaimError(f"{name} returns {found!r}; it should return numbers or arrays.")
        if not any(leaf.size for leaf in leaves):
            shapes = ", ".join(str(leaf.shape) for leaf in leaves)
            raise ClaimError(f"{name} returns no entries, in shape {shapes}: nothing is compared.")
        return leaves

    def name(self, side: Side) -> str:
        """Return "lhs" or "rhs"."""
        return "lhs" if side is self.lhs else "rhs"

    def both(self, parameters: Mapping[str, Any], xp: Any = jnp) -> tuple[Any, Any]:
        """Return the entries of both sides at one point, broadcast against each other."""
        left, right = self.at(self.lhs, parameters, xp), self.at(self.rhs, parameters, xp)
        pairs = self._pairs(left, right)
        rows = [
            [xp.broadcast_to(x, joint(a.shape, b.shape)).ravel() for x in (a, b)] for a, b in pairs
        ]
        return xp.concatenate([r[0] for r in rows]), xp.concatenate([r[1] for r in rows])

    def evaluate(
        self, cases: Sequence[Case]
    ) -> tuple[Float64[np.ndarray, "cases entries"], Float64[np.ndarray, "cases entries"]]:
        """Return both sides at many parameters."""
        left, right = self._column(self.lhs, cases), self._column(self.rhs, cases)
        rows = [_flat(a, b) for a, b in self._pairs(left, right)]
        return (
            np.concatenate([r[0] for r in rows], axis=1),
            np.concatenate([r[1] for r in rows], axis=1),
        )

    def _pairs(self, left: list[Any], right: list[Any]) -> list[tuple[Any, Any]]:
        """Return what is compared with what; a truth value is not a number."""
        pairs = list(zip(*_paired(left, right), strict=True))
        for pair in pairs:
            kinds = ["a truth value" if x.dtype == bool else "a number" for x in pair]
            if "a truth value" not in kinds or (self.truths and kinds[0] == kinds[1]):
                continue
            if self.truths:
                raise ClaimError(
                    f"lhs is {kinds[0]} and rhs {kinds[1]}; compare numbers with numbers, or truth "
                    "values with truth values, as in rhs=lambda: True."
                )
            raise ClaimError(
                f"{'lhs' if kinds[0] != 'a number' else 'rhs'} is a truth value, and an inequality "
                "compares numbers: return what it compares, or use identity(..., rhs=lambda: True)."
            )
        return pairs

    def _column(
        self, side: Side, cases: Sequence[Case]
    ) -> list[Shaped[np.ndarray, " cases *leaf"]]:
        """Evaluate one side alone, so that a control recompiles only the side it replaces."""
        steady = ("steady", side)  # looked at once, where it costs least
        if not self.traceable:
            rows = [self.at(side, case, np) for case in cases]
            if len(cases) > 1 and steady not in self.trial.memory:
                self.trial.memory[steady] = True
                again = self.at(side, cases[0], np)
                if not all(map(_same, again, rows[0])):
                    raise ClaimError(unsteady(self.name(side), "at one point it gives two values"))
            return [np.stack([np.asarray(x) for x in leaf]) for leaf in zip(*rows, strict=True)]
        what = self._key(side)
        first = stack([cases[0]] * self.batch)
        twice = "" if steady in self.trial.memory else self.name(side)
        many = jax.vmap(lambda p: self.at(side, p), axis_size=self.batch)
        look = lambda program: self.trial.memory.update({("program", what): program})
        compiled = self.trial.remember(
            what, lambda: compile_for(many, first, twice=twice, look=look)
        )
        self.trial.memory[steady] = True
        parts = []
        for start in range(0, len(cases), self.batch):
            chunk = list(cases[start : start + self.batch])
            padded = chunk + [chunk[-1]] * (self.batch - len(chunk))
            values = compiled(stack(padded))
            parts.append([np.asarray(v)[: len(chunk)] for v in values])
        return [np.concatenate(leaf) for leaf in zip(*parts, strict=True)]

    def _key(self, side: Side) -> tuple[Any, ...]:
        """Return what a compiled side is remembered by."""
        return (side, id(self.over), *self.sizes.items(), self.batch)

    def programs(self) -> list[Any]:
        """Return the jaxprs of the sides that were evaluated; none if they are not traceable."""
        keys = [("program", self._key(side)) for side in (self.lhs, self.rhs)]
        return [self.trial.memory[key] for key in keys if key in self.trial.memory]

    def witness(self, parameters: Case, entry: int, most: int | None = None) -> Witness:
        """Return the point written as numpy, with the sides' values at this entry.

        **Arguments:** `most`: leave out points of more numbers than that.
        """
        xp: Any = jnp if self.traceable else np
        given = {name: xp.asarray(value) for name, value in parameters.items()}
        point = self.over.point(given, self.sizes, xp)
        count = sum(np.size(value) for value in point.values())
        left, right = self.evaluate([parameters])
        sides = float(left[0, entry]), float(right[0, entry])
        lines = [f"{name} = {value!r}" for name, value in self.sizes.items()]
        if most is not None and count > most:
            return Witness("\n".join([*lines, f"# {count} numbers, not kept"]), *sides)
        lines += show_arrays({name: np.asarray(value) for name, value in point.items()})
        if self.over.maps:
            origin = {
                name: np.asarray(domain.finish(given[name], self.sizes, xp))
                for name, domain in self.over.arguments.items()
            }
            text = "\n".join(show_arrays(origin))
            lines += ["# made from", *("# " + line for line in text.split("\n"))]
        if left.shape[1] > 1:
            lines.append(f"# entry {entry + 1} of {left.shape[1]} on both sides, counted from 1")
        return Witness("\n".join(lines), *sides)

    def refuse_nan(
        self,
        cases: Sequence[Case],
        left: Float[np.ndarray, "cases entries"],
        right: Float[np.ndarray, "cases entries"],
    ) -> None:
        """Raise a `ClaimError` that names the first point where a side is NaN."""
        for name, side in (("lhs", left), ("rhs", right)):
            bad = np.isnan(side)
            if bad.any():
                case, entry = np.argwhere(bad)[0]
                lines = self.witness(cases[case], int(entry)).code.split("\n")
                where = "".join(  # an array goes over several lines, its own indented
                    " " + line.strip() if line.startswith(" ") else "; " + line for line in lines
                )
                raise ClaimError(
                    f"{name} is NaN at a point of the domain: {where.removeprefix('; ')}. Leave "
                    "such points out, with `.given(...)` or a narrower domain, or define it there."
                )


def told_apart(left: Any, right: Any, least: int = 6) -> tuple[str, str]:
    """Return two numbers in as many digits as tell them apart, `least` or more."""
    said = "", ""
    for digits in sorted({least, 9, 12, 17}):
        said = f"{left:.{digits}g}", f"{right:.{digits}g}"
        if digits >= least and said[0] != said[1]:
            break
    return said


def stack(cases: Sequence[Case]) -> dict[str, Shaped[np.ndarray, " cases *argument"]]:
    """Return the cases as one array for each argument."""
    return {name: np.stack([case[name] for case in cases]) for name in cases[0]}


def unstack(columns: Mapping[str, Any]) -> list[Case]:
    """Return the rows of `stack`."""
    arrays = {name: np.asarray(column) for name, column in columns.items()}
    count = len(next(iter(arrays.values())))
    return [{name: a[i] for name, a in arrays.items()} for i in range(count)]


def _numbers(name: str, leaf: Any, xp: Any) -> Any:
    """Return a leaf of a side as an array.

    **Raises:** `ClaimError` if it holds no numbers.
    """
    try:
        made = xp.asarray(leaf)
        if made.dtype == object:  # fractions, or integers that no machine word holds
            made.astype(float)
        elif not (made.dtype == bool or jnp.issubdtype(made.dtype, jnp.number)):
            raise TypeError
    except (TypeError, ValueError):
        kind = getattr(leaf, "dtype", type(leaf).__name__)
        raise ClaimError(
            f"{name} returns {kind}, not a number, an array or a tree of arrays: {leaf!r:.60}"
        ) from None
    return made


def _same(a: Shaped[np.ndarray, "..."], b: Shaped[np.ndarray, "..."], within: float = 1e-9) -> bool:
    """Whether two values are equal, up to rounding that may differ between evaluations."""
    if a.dtype == object or a.dtype.kind in "biu":
        return bool(np.array_equal(a, b))
    return a.shape == b.shape and bool(np.allclose(a, b, within, 0, equal_nan=True))


def _paired(left: list[Any], right: list[Any]) -> tuple[list[Any], list[Any]]:
    """Let one array stand for every array of the other side; refuse other mismatches."""
    if len(left) == 1:
        left = left * len(right)
    if len(right) == 1:
        right = right * len(left)
    if len(left) != len(right):
        raise ClaimError(f"lhs returns {len(left)} arrays and rhs {len(right)}; they must match.")
    return left, right


def joint(
    left: tuple[int, ...], right: tuple[int, ...], names: tuple[str, str] = ("lhs", "rhs")
) -> tuple[int, ...]:
    """Return the shape in which entries of both sides are compared.

    **Raises:** `ClaimError` if there is none, or an array of each side would be repeated, as for a
    row and a column; or if axes would be lined up by a rule and not by what they are, as for a
    vector and a matrix.
    """
    given = f"{names[0]} has shape {left} and {names[1]} {right}"
    try:
        shape = np.broadcast_shapes(left, right)
    except ValueError:
        raise ClaimError(f"{given}; they do not broadcast.") from None
    short = min(left, right, key=len)
    if len(left) != len(right) and math.prod(short) > 1:
        row = (1,) * (len(shape) - len(short)) + short
        raise ClaimError(
            f"{given}; the missing axis could be any. Give both the same number of axes, as with "
            f"jnp.reshape(..., {row}) if the last axes belong together."
        )
    if math.prod(shape) > max(math.prod(left), math.prod(right)):
        raise ClaimError(
            f"{given}, which broadcast to {shape}: entries would be compared that do not belong "
            "together. Let one side have the shape of the result; "
            f"jnp.broadcast_to(..., {shape}) does it where this is meant."
        )
    return shape


def _flat(
    a: Shaped[np.ndarray, " cases *left"], b: Shaped[np.ndarray, " cases *right"]
) -> tuple[Float64[np.ndarray, "cases entries"], Float64[np.ndarray, "cases entries"]]:
    """Broadcast two batches of arrays against each other, all entries in one row."""
    shape = joint(a.shape[1:], b.shape[1:])
    both = []
    for x in (a, b):
        x = x.reshape(x.shape[:1] + (1,) * (len(shape) - x.ndim + 1) + x.shape[1:])
        x = np.broadcast_to(x, x.shape[:1] + shape).reshape(len(x), -1)
        if np.iscomplexobj(x):
            raise ClaimError("a side is complex; compare real and imaginary parts instead.")
        both.append(x.astype(np.float64))
    return both[0], both[1]

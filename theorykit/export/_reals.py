"""Real numbers as expressions, and as Rocq reads them.

An expression is one object for each value, so that what is used more than once is found, and gets a
name. Constants are exact: a float is the rational number that it is, as in the certificates.
"""

import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from theorykit.certify import NotCertifiable
from theorykit.export._terms import APPLY, ATOM, LOOSE, PLUS, POWER, TIMES, NotExportable

_all: "weakref.WeakValueDictionary[Any, Real]" = weakref.WeakValueDictionary()

BEYOND = ("infinity", "NaN")
"""Constants that are no real numbers; what is made of them is not written."""

LEVELS = {"+": PLUS, "-": PLUS, "*": TIMES, "/": TIMES}


class Real:
    """A real number as an expression of others.

    **Fields:** `op`, a sign or function of Rocq's, "number" or "variable"; `args`, expressions;
    `value`, of a number the fraction, of a variable its name, of a power the exponent; `finite`,
    whether neither infinity nor NaN is in it.
    """

    __slots__ = ("__weakref__", "args", "finite", "op", "value")
    op: str
    args: tuple["Real", ...]
    value: Any
    finite: bool

    def __new__(cls, op: str, *args: "Real", value: Any = None) -> "Real":
        key = (op, tuple(map(id, args)), value)
        found = _all.get(key)
        if found is None:
            found = super().__new__(cls)
            found.op, found.args, found.value = op, args, value
            found.finite = op not in BEYOND and all(a.finite for a in args)
            _all[key] = found
        return found

    # Arithmetic: constants are computed at once; 0 and 1 leave no trace in sums and products.

    def __add__(self, other: Any) -> "Real":
        other = real(other)
        if self.op == other.op == "number":
            return real(self.value + other.value)
        if is_number(self, 0):
            return other
        return self if is_number(other, 0) else Real("+", self, other)

    def __sub__(self, other: Any) -> "Real":
        other = real(other)
        if self.op == other.op == "number":
            return real(self.value - other.value)
        if is_number(self, 0):
            return -other
        return self if is_number(other, 0) else Real("-", self, other)

    def __neg__(self) -> "Real":
        return real(-self.value) if self.op == "number" else Real("neg", self)

    def __mul__(self, other: Any) -> "Real":
        other = real(other)
        if self.op == other.op == "number":
            return real(self.value * other.value)
        for a, b in ((self, other), (other, self)):
            if is_number(a, 0) and b.finite:
                return a
            if is_number(a, 1):
                return b
        return Real("*", self, other)

    def __truediv__(self, other: Any) -> "Real":
        other = real(other)
        if is_number(other, 0):
            raise NotCertifiable("a side divides by zero.")
        if self.op == other.op == "number":
            return real(self.value / other.value)
        return self if is_number(other, 1) else Real("/", self, other)

    def __radd__(self, other: Any) -> "Real":
        return real(other) + self

    def __rmul__(self, other: Any) -> "Real":
        return real(other) * self

    def __rsub__(self, other: Any) -> "Real":
        return real(other) - self

    def __rtruediv__(self, other: Any) -> "Real":
        return real(other) / self

    def __pow__(self, n: Any) -> "Real":
        if isinstance(n, Real):
            if n.op != "number" or n.value.denominator != 1:
                return (n * self.log()).exp()
            n = int(n.value)
        if n < 0:
            return 1 / self ** (-n)
        if self.op == "number":
            return real(self.value**n)
        return real(1) if n == 0 else self if n == 1 else Real("^", self, value=int(n))

    def __abs__(self) -> "Real":
        return real(abs(self.value)) if self.op == "number" else Real("Rabs", self)

    # Functions: those that Rocq has, and others by them

    def max(self, other: "Real") -> "Real":
        """Return the larger of two; minus infinity, where JAX starts, leaves the other."""
        for a, b in ((self, other), (other, self)):
            if a.op == "infinity" and a.value < 0:
                return b
        return Real("Rmax", self, other)

    def min(self, other: "Real") -> "Real":
        """Return the smaller of two."""
        for a, b in ((self, other), (other, self)):
            if a.op == "infinity" and a.value > 0:
                return b
        return Real("Rmin", self, other)

    def is_finite(self) -> bool:
        """Whether it is a real number for certain."""
        return self.finite

    def exp(self) -> "Real":
        return real(1) if is_number(self, 0) else Real("exp", self)

    def log(self) -> "Real":
        return real(0) if is_number(self, 1) else Real("ln", self)

    def sqrt(self) -> "Real":
        return self if is_number(self, 0) or is_number(self, 1) else Real("sqrt", self)

    def sin(self) -> "Real":
        return real(0) if is_number(self, 0) else Real("sin", self)

    def cos(self) -> "Real":
        return real(1) if is_number(self, 0) else Real("cos", self)

    def tan(self) -> "Real":
        return Real("tan", self)

    def atan(self) -> "Real":
        return Real("atan", self)

    def rsqrt(self) -> "Real":
        return 1 / self.sqrt()

    def log1p(self) -> "Real":
        return (1 + self).log()

    def expm1(self) -> "Real":
        return self.exp() - 1

    def tanh(self) -> "Real":
        return 1 - 2 / ((2 * self).exp() + 1)

    def cosh(self) -> "Real":
        return (self.exp() + (-self).exp()) / 2

    def sinh(self) -> "Real":
        return (self.exp() - (-self).exp()) / 2


def is_number(x: Real, n: int) -> bool:
    """Whether an expression is this number."""
    return x.op == "number" and x.value == n


def is_polynomial(x: Real) -> bool:
    """Whether an expression is a polynomial in its variables."""
    seen: set[Real] = set()
    stack = [x]
    while stack:
        y = stack.pop()
        if y in seen:
            continue
        seen.add(y)
        divides = y.op == "/" and y.args[1].op == "number"
        if not divides and y.op not in ("+", "-", "*", "neg", "^", "number", "variable"):
            return False
        stack += y.args
    return True


def real(value: Any) -> Real:
    """Return a constant as the exact number that it is; expressions pass."""
    if isinstance(value, Real):
        return value
    if isinstance(value, float | np.floating) and np.isinf(value):
        return Real("infinity", value=float(value))
    if isinstance(value, float | np.floating) and np.isnan(value):
        return Real("NaN")  # which JAX puts where a variance would be one of no numbers
    if isinstance(value, bool | int | float | Fraction | np.integer | np.floating | np.bool_):
        plain = value if isinstance(value, int | Fraction) else float(value)
        return Real("number", value=Fraction(plain))
    raise NotCertifiable(f"{value!r} is not written as an exact real number.")


# Text --------------------------------------------------------------------------------------


def variables(shapes: Mapping[str, tuple[int, ...]], taken: Iterable[str]) -> list[np.ndarray]:
    """Return an array of variables for each argument, named after it and its indices."""
    taken, made = set(taken), []
    for name, shape in shapes.items():
        plain = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "x" for c in name)
        array = np.empty(shape, dtype=object)
        for where in np.ndindex(shape):
            called = "_".join([plain, *map(str, where)])
            while called in taken:
                called += "'"
            taken.add(called)
            array[where] = Real("variable", value=called)
        made.append(array)
    return made


def said(x: Real, names: Mapping[Real, str], most: int = LOOSE) -> str:
    """Return an expression as Rocq reads it; what has a name by that."""
    if x in names:
        return names[x]
    text, level = _said(x, names)
    return f"({text})" if level > most else text


def _said(x: Real, names: Mapping[Real, str]) -> tuple[str, int]:
    if x.op == "variable":
        return x.value, ATOM
    if x.op == "number":
        return number(x.value)
    if x.op == "PI":
        return "PI", ATOM
    if x.op in BEYOND:
        raise NotExportable(f"a side has {x.op} for a constant, which is no real number.")
    if x.op == "^":
        return f"{said(x.args[0], names, POWER - 1)} ^ {x.value}", POWER
    if x.op == "neg":
        return f"- {said(x.args[0], names, POWER)}", 35
    if x.op in LEVELS:
        level = LEVELS[x.op]
        a, b = x.args
        return f"{said(a, names, level)} {x.op} {said(b, names, level - 1)}", level
    return " ".join([x.op, *(said(a, names, ATOM) for a in x.args)]), APPLY


def number(value: Fraction) -> tuple[str, int]:
    """Return a rational number, and how tightly its text binds."""
    if value.denominator == 1:
        return (str(value.numerator), ATOM) if value >= 0 else (f"- {-value.numerator}", 35)
    sign = "- " if value < 0 else ""
    return f"{sign}{abs(value.numerator)} / {value.denominator}", TIMES


def used(
    roots: Iterable[Real], args: Callable[[Real], Iterable[Real]] = lambda x: x.args
) -> tuple[list[Real], dict[Real, int]]:
    """Return all expressions that some are made of, innermost first, and how often each is used."""
    uses: dict[Real, int] = {}
    order: list[Real] = []
    stack = [(r, False) for r in roots]
    while stack:
        x, done = stack.pop()
        if done:
            order.append(x)
            continue
        uses[x] = uses.get(x, 0) + 1
        if uses[x] == 1:
            stack.append((x, True))
            stack += [(a, False) for a in args(x)]
    return order, uses


def written_out(roots: Iterable[Real]) -> int:
    """Return how many signs expressions have where what is used twice is written twice."""
    roots = list(roots)
    count: dict[Real, int] = {}
    for x in used(roots)[0]:
        count[x] = 1 + sum(count[a] for a in x.args)
    return sum(count[r] for r in roots)


def shared(roots: Sequence[Real], prefix: str = "t") -> dict[Real, str]:
    """Return names of the expressions that are used more than once, innermost first."""
    order, uses = used(roots)
    found = [x for x in order if uses[x] > 1 and x.op not in ("variable", "number", "PI")]
    return {x: f"{prefix}{i}" for i, x in enumerate(found, 1)}


def definition(name: str, roots: Sequence[Real], bound: Sequence[str]) -> str:
    """Return a definition of a number, or of a list of several, as a function of the variables."""
    given = shared(roots)
    lines: list[str] = []
    known: dict[Real, str] = {}
    for x, called in given.items():
        lines.append(f"  let {called} := {said(x, known)} in")
        known[x] = called
    entries = [said(r, known) for r in roots]
    type_ = "R" if len(roots) == 1 else "list R"
    result = entries[0] if len(roots) == 1 else "[" + ";\n   ".join(entries) + "]"
    head = f" ({' '.join(bound)} : R)" if bound else ""
    return "\n".join([f"Definition {name}{head} : {type_} :=", *lines, f"  {result}."])

"""Rules of the primitives on quotients of polynomials."""

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from theorykit.certify import _compare as compare
from theorykit.certify import _functions as of
from theorykit.certify._control import call
from theorykit.certify._elementwise import each, known
from theorykit.certify._linalg import _blocks, batched, real_only, unbatched
from theorykit.certify._machine import RULES, Doubt, Field, Machine, Rule, Unknown, is_inexact
from theorykit.certify._numbers import objects
from theorykit.certify._quotients import Infinite, Quotient, constant, letter, total
from theorykit.certify._ring import NONNEGATIVE, POSITIVE, Ring
from theorykit.certify._signs import definite, remember_determinant, signed_factors

# Rules that need no more of their numbers than arithmetic and comparison.
_SAME = {
    "add", "add_any", "sub", "mul", "neg", "square", "div", "integer_pow", "stop_gradient",
    "copy", "copy_p", "optimization_barrier", "convert_element_type", "reduce_prod", "cumsum",
    "cumprod", "dot_general", "reshape", "broadcast_in_dim", "transpose", "squeeze", "expand_dims",
    "slice", "concatenate", "stack", "rev", "split", "unstack", "tile", "iota", "gather",
    "dynamic_slice", "dynamic_update_slice", "scatter", "scatter-add", "scatter_add", "scatter-mul",
    "pad", "select_n", "eq", "ne", "lt", "gt", "le", "ge", "lt_to", "le_to", "and", "or", "not",
    "is_finite", "argmax", "argmin", "reduce_and", "reduce_or", "jit", "pjit", "closed_call",
    "core_call", "remat", "remat2", "checkpoint", "custom_jvp_call", "custom_vjp_call", "cond",
    "while", "scan", "platform_index", "power_of_2", "leading_digits", "cholesky",
    "triangular_solve", "real", "conj",
}  # fmt: skip

MOST_UNKNOWNS = 6
"""Larger linear systems have too many minors."""


def entrywise(f: Callable[..., Any]) -> Rule:
    """Return the rule of a function that is applied entry by entry."""
    return lambda machine, eqn, *xs: each(f, *xs)


def exact_number(machine: Machine, eqn: Any) -> np.ndarray:
    value = eqn.params["value"]
    ring = machine.number(0).ring
    if isinstance(value, str):
        named = letter(ring, value, ring.constant(0), POSITIVE, name=value)
        return objects(machine.number(named), ())
    return objects(machine.number(value), ())


def _exp(machine: Machine, eqn: Any, x: np.ndarray) -> np.ndarray:
    masked = lambda q: isinstance(q, Infinite) and q.value < 0
    return each(lambda q: machine.number(0) if masked(q) else of.exp(q), x)


def _half_exp(q: Quotient) -> tuple[Quotient, Quotient]:
    return of.exp(q), of.exp(-q)


def _tanh(q: Quotient) -> Quotient:
    up = of.exp(q * 2)
    return (up - 1) / (up + 1)


def _sinh(q: Quotient) -> Quotient:
    up, down = _half_exp(q)
    return (up - down) / 2


def _cosh(q: Quotient) -> Quotient:
    up, down = _half_exp(q)
    return (up + down) / 2


def _tan(q: Quotient) -> Quotient:
    sine, cosine = of.sine_cosine(q)
    return sine / cosine


def _between(name: str) -> Callable[[Quotient], Quotient]:
    def value(q: Quotient) -> Quotient:
        if not of.within_one(q):
            raise Doubt(f"{q!r:.120} is not proved to lie in [-1, 1]")
        return of.named(name, q)

    return value


def _atan2(y: Quotient, x: Quotient) -> Quotient:
    if compare.decided(x.ring, x) == 1:
        return of.named("atan", y / x)
    return letter(x.ring, "atan2", [y, x])


def _clamp(machine: Machine, eqn: Any, low: Any, x: Any, high: Any) -> Any:
    raised = each(compare.larger, x, np.broadcast_to(low, x.shape))
    return each(compare.smaller, raised, np.broadcast_to(high, x.shape))


def folded(f: Callable[[list[Quotient]], Quotient]) -> Rule:
    """Return the rule of a function of the entries along axes."""

    def reduce(machine: Machine, eqn: Any, x: np.ndarray) -> np.ndarray:
        axes = tuple(eqn.params["axes"])
        if not axes:
            return x
        kept = [a for a in range(x.ndim) if a not in axes]
        shape = tuple(x.shape[a] for a in kept)
        rows = x.transpose(*kept, *axes).reshape(*shape, -1)
        made = np.empty(shape, dtype=object)
        for where in np.ndindex(shape):
            entries = list(rows[where])
            made[where] = f(entries) if entries else machine.number(0)
        return made

    return lambda machine, eqn, x: (
        RULES[eqn.primitive.name](machine, eqn, x)
        if not is_inexact(eqn.invars[0])
        else reduce(machine, eqn, x)
    )


def _largest(entries: list[Quotient]) -> Quotient:
    return compare.largest(entries)


def _smallest(entries: list[Quotient]) -> Quotient:
    return -compare.largest([-q for q in entries])


def _sort(machine: Machine, eqn: Any, *xs: np.ndarray) -> list[np.ndarray]:
    if len(xs) > 1 or not is_inexact(eqn.invars[0]):
        return RULES["sort"](machine, eqn, *xs)
    rows = np.moveaxis(xs[0], eqn.params["dimension"], -1).copy()
    for where in np.ndindex(rows.shape[:-1]):
        done: list[Quotient] = []
        for q in rows[where]:
            k = len(done)
            while k and not compare.at_most(done[k - 1], q):
                k -= 1
            done.insert(k, q)
        rows[where] = objects(done, (len(done),))
    return [np.moveaxis(rows, -1, eqn.params["dimension"])]


Solver = Callable[[np.ndarray, np.ndarray], Sequence[Any]]
"""Takes the matrix and the right side of a linear system, and returns its solution."""


def by_solver(solved: Solver, is_zero: Callable[[Any], bool]) -> Rule:
    """Return the rule of linear systems, which are solved block by block."""
    return functools.partial(_linear_solve, solved, is_zero)


def _linear_solve(
    solved: Solver, is_zero: Callable[[Any], bool], machine: Machine, eqn: Any, *xs: Any
) -> list[Any]:
    lengths, jaxprs = eqn.params["const_lengths"], eqn.params["jaxprs"]
    size = lengths.matvec
    consts = xs[:size]
    right = xs[sum(getattr(lengths, n) for n in ("matvec", "vecmat", "solve", "transpose_solve")) :]
    known(*consts, *right)
    if len(right) != 1 or any(f" {loop}[" in str(jaxprs.solve) for loop in ("while", "scan")):
        raise Doubt("only one system at a time is solved, and not step by step")
    b = right[0]
    columns = []
    for k in range(b.size):
        unit = objects(machine.number(0), (b.size,)).copy()
        unit[k] = machine.number(1)
        (out,) = call(machine, jaxprs.matvec, *consts, unit.reshape(b.shape))
        known(out)
        columns.append(out.reshape(-1))
    A, flat = np.stack(columns, axis=1), b.reshape(-1)
    x = np.empty(flat.shape, dtype=object)
    for rows in _blocks(np.vectorize(lambda v: 0 if is_zero(v) else 1, otypes=[int])(A)):
        x[rows] = solved(A[np.ix_(rows, rows)], flat[rows])
    return [x.reshape(b.shape)]


def _solved(A: np.ndarray, b: np.ndarray) -> list[Quotient]:
    """Solve by minors over the determinant, whose sign is proved."""
    n = len(A)
    if n > MOST_UNKNOWNS:
        raise Doubt(f"a system of more than {MOST_UNKNOWNS} unknowns has too many minors")
    rows = [list(row) for row in A]
    cofactors = _cofactors(rows)
    whole = total([rows[0][j] * cofactors[0][j] for j in range(n)])
    _remember_sign(rows, whole)
    over = whole.inverse()
    made = []
    for j in range(n):
        parts = [cofactors[i][j] * b[i] for i in range(n) if not b[i].num.is_zero()]
        made.append(total(parts) * over if parts else b[0])
    return made


def _remember_sign(rows: list[list[Quotient]], whole: Quotient) -> None:
    """Let the ring know the sign of the determinant of a positive definite matrix.

    That of a Gram matrix and a ridge has many terms, and x'Ax few.
    """
    ring, nums = whole.ring, [[q.num for q in row] for row in rows]
    polynomials = not any(q.den for row in rows for q in row)
    if polynomials and signed_factors(ring, whole.num) is None and definite(ring, nums):
        remember_determinant(ring, whole.num)


def _cofactors(rows: list[list[Quotient]]) -> list[list[Quotient]]:
    n = len(rows)
    if n == 1:
        return [[constant(rows[0][0].ring, 1)]]
    made = []
    for i in range(n):
        rest = [row for k, row in enumerate(rows) if k != i]
        line = []
        for j in range(n):
            minor = of.determinant([row[:j] + row[j + 1 :] for row in rest])
            line.append(minor * (-1) ** (i + j))
        made.append(line)
    return made


def by_eigenvalues(of_matrix: Callable[[np.ndarray], np.ndarray]) -> Rule:
    """Return the rule of a symmetric matrix's eigenvalues, from its lower triangle."""
    return functools.partial(_eigh, of_matrix)


def _eigh(
    of_matrix: Callable[[np.ndarray], np.ndarray], machine: Machine, eqn: Any, x: np.ndarray
) -> list[Any]:
    real_only(eqn)
    if eqn.params.get("subset_by_index") is not None:
        raise Doubt("a subset of the eigenvalues has no rule")
    lower = eqn.params["lower"]
    values = [of_matrix(a if lower else a.T) for a in batched(x)]
    why = machine.doubt(eqn, Doubt("eigenvectors are not unique, only eigenvalues have a form"))
    return [Unknown(why), unbatched(values, eqn.outvars[1])]


def _eigenvalues(a: np.ndarray) -> np.ndarray:
    n = len(a)
    if n < 2:
        return a.reshape(n)
    if n == 2:
        mean, half = (a[0, 0] + a[1, 1]) / 2, (a[0, 0] - a[1, 1]) / 2
        away = of.length([half, a[1, 0]])
        return objects([mean - away, mean + away], (2,))
    entries = [a[max(i, j), min(i, j)] for i in range(n) for j in range(n)]
    ring = entries[0].ring
    made = [letter(ring, f"eigenvalue {k + 1} of {n}", entries) for k in range(n)]
    for low, high in itertools.pairwise(made):
        ring.fact((high - low).num)
    for k in range(n):
        ring.fact((made[-1] - a[k, k]).num)
        ring.fact((a[k, k] - made[0]).num)
    return objects(made, (n,))


def _svd(machine: Machine, eqn: Any, x: np.ndarray) -> list[Any]:
    real_only(eqn)
    if eqn.params["compute_uv"]:
        raise Doubt("singular vectors are not unique, only singular values have a form")
    if eqn.params.get("subset_by_index") is not None:
        raise Doubt("a subset of the singular values has no rule")
    return [unbatched([_singular_values(a) for a in batched(x)], eqn.outvars[0])]


def _singular_values(a: np.ndarray) -> np.ndarray:
    n = len(a)
    if a.shape != (n, n):
        raise Doubt("only square matrices have singular values here")
    entries = list(a.flat)
    ring = entries[0].ring
    made = [letter(ring, f"singular value {k + 1} of {n}", entries, NONNEGATIVE) for k in range(n)]
    for high, low in itertools.pairwise(made):
        ring.fact((high - low).num)
    return objects(made, (n,))


def _call(machine: Machine, eqn: Any, *xs: Any) -> Any:
    """Run a function inside; a determinant by minors, as JAX's own way compares pivots."""
    name, like = eqn.params.get("name"), eqn.invars
    if name in _DETERMINANTS and len(like) == 1 and is_inexact(like[0]):
        made, shape = _DETERMINANTS[name], like[0].aval.shape
        # A function of this name may be anybody's: it has to be JAX's own, to the letter.
        if shape[-1:] != (1,) and str(eqn.params["jaxpr"]) == _text_of(name, shape):
            found = [made(_whole_determinant(a)) for a in batched(xs[0])]
            outs = zip(zip(*found, strict=True), eqn.outvars, strict=True)
            return [unbatched([objects(v, ()) for v in values], out) for values, out in outs]
    return RULES["jit"](machine, eqn, *xs)


@functools.lru_cache(maxsize=64)
def _text_of(name: str, shape: tuple[int, ...]) -> str:
    like = jax.ShapeDtypeStruct(shape, np.float64)
    (eqn,) = jax.make_jaxpr(getattr(jax.numpy.linalg, name))(like).eqns
    return str(eqn.params["jaxpr"])


def _whole_determinant(a: np.ndarray) -> Quotient:
    if len(a) > MOST_UNKNOWNS:
        raise Doubt(f"a determinant of more than {MOST_UNKNOWNS} rows has too many minors")
    rows = [list(row) for row in a]
    whole = of.determinant(rows)
    _remember_sign(rows, whole)
    return whole


def _sign_and_log(of_matrix: Quotient) -> tuple[Quotient, Quotient]:
    return compare.sign(of_matrix), of.log(compare.absolute(of_matrix))


_DETERMINANTS: dict[str, Callable[[Quotient], tuple[Quotient, ...]]] = {
    "det": lambda d: (d,),
    "slogdet": _sign_and_log,
}


OWN: dict[str, Rule] = {
    "jit": _call,
    "exact": exact_number,
    "exp": _exp,
    "exp2": entrywise(lambda q: of.exp(q * of.log(constant(q.ring, 2)))),
    "pow": lambda machine, eqn, x, y: each(of.raised, x, y),
    "expm1": entrywise(lambda q: of.exp(q) - 1),
    "log": entrywise(of.log),
    "log1p": entrywise(lambda q: of.log(q + 1)),
    "logistic": entrywise(lambda q: 1 / (1 + of.exp(-q))),
    "tanh": entrywise(_tanh),
    "sinh": entrywise(_sinh),
    "cosh": entrywise(_cosh),
    "sin": entrywise(lambda q: of.sine_cosine(q)[0]),
    "cos": entrywise(lambda q: of.sine_cosine(q)[1]),
    "tan": entrywise(_tan),
    "sqrt": entrywise(of.sqrt),
    "rsqrt": entrywise(lambda q: 1 / of.sqrt(q)),
    "cbrt": entrywise(functools.partial(of.named, "cbrt")),
    "erf": entrywise(functools.partial(of.named, "erf")),
    "erfc": entrywise(lambda q: 1 - of.named("erf", q)),
    "atan": entrywise(functools.partial(of.named, "atan")),
    "asinh": entrywise(functools.partial(of.named, "asinh")),
    "acos": entrywise(_between("acos")),
    "asin": entrywise(_between("asin")),
    "atan2": entrywise(_atan2),
    "abs": entrywise(compare.absolute),
    "sign": entrywise(compare.sign),
    "max": entrywise(compare.larger),
    "min": entrywise(compare.smaller),
    "clamp": _clamp,
    "reduce_sum": folded(total),
    "reduce_max": folded(_largest),
    "reduce_min": folded(_smallest),
    "sort": _sort,
    "custom_linear_solve": by_solver(_solved, lambda q: q == 0),
    "eigh": by_eigenvalues(_eigenvalues),
    "svd": _svd,
}
"""Rules of their own."""

_WHOLE = {"abs", "sign", "max", "min", "clamp"}
"""Primitives that take integers as well, by the rule of the reals."""


def _or_integers(name: str, own: Rule) -> Rule:
    def rule(machine: Machine, eqn: Any, *xs: Any) -> Any:
        inexact = any(map(is_inexact, (*eqn.invars, *eqn.outvars)))
        return (own if inexact else RULES[name])(machine, eqn, *xs)

    return rule


RULES_OF_QUOTIENTS: dict[str, Rule] = {
    **{name: RULES[name] for name in _SAME if name in RULES},
    **{name: _or_integers(name, own) if name in _WHOLE else own for name, own in OWN.items()},
}


def field_of(ring: Ring) -> Field:
    """Return the numbers of a ring as a machine takes them."""
    number = functools.partial(constant, ring)
    return Field(number, compare.less, compare.equal, RULES_OF_QUOTIENTS, of.sqrt)

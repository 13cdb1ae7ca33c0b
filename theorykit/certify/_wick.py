"""Exact means of polynomials in random numbers: Gaussian, or uniform on finitely many values.

By Wick's theorem (Isserlis) the mean of a product of centred Gaussians is a sum over pairings. For
independent Gaussians, pairings of different ones vanish, and n copies of one, of variance v, pair
in (n - 1)(n - 3)...1 ways: E[x^n] = (n - 1)!! v^(n/2) for even n, and 0 for odd n.
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import jax
import numpy as np
from flint import fmpq

from theorykit.certify._enclose import Program
from theorykit.certify._functions import Finer
from theorykit.certify._machine import Machine, NotCertifiable, Unknown
from theorykit.certify._normal import field_of
from theorykit.certify._quotients import Quotient, constant
from theorykit.certify._ring import MOST_WORK, REAL, Ring, Split, Work, rational
from theorykit.certify._sides import by_name
from theorykit.common.arguments import function, instance

LETTERS = 8
"""Letters for roots of constants, which may occur on the way to a polynomial."""

MOST_VALUES = 4096
"""The most combinations of finitely many values that are enumerated."""


def wick(
    f: Callable[..., Any],
    variances: Mapping[str, Any],
    values: Mapping[str, Sequence[Any]] | None = None,
    work: Work | None = None,
) -> np.ndarray:
    """Return E[f], exactly, for a polynomial f of independent random arrays.

    Correlated Gaussians are a linear map of independent ones, to be written within `f`.

    **Arguments:** `f`: a JAX function of the arrays by name, whose entries are polynomials of the
    Gaussian ones with rational coefficients; a float is the rational that it is. `variances`: for
    each array of independent centred Gaussians, an array with one variance per entry. `values`: for
    each of the other arrays, the values that it may have, all equally likely. `work`, what it may
    cost.

    **Returns:** fractions, of the shape of what `f` returns.

    **Raises:** `NotCertifiable` if an entry is not such a polynomial, or has too many terms;
    `ValueError` for a negative variance, or arrays without a value.
    """
    function("f", f, "a function of the random arrays")
    instance("variances", variances, Mapping, "a variance for each entry, as in dict(x=[1, 1])")
    gaussian = {k: _variances(k, v) for k, v in variances.items()}
    values = {} if values is None else values
    instance("values", values, Mapping, "the values of each other array, as in dict(s=[-1, 1])")
    finite = {k: [np.asarray(v) for v in _several(k, given)] for k, given in values.items()}
    empty = [k for k, given in finite.items() if not given]
    if empty:
        raise ValueError(f"{empty[0]} has no value that it could take.")
    if math.prod(map(len, finite.values())) > MOST_VALUES:
        raise NotCertifiable(f"there are more than {MOST_VALUES} combinations of its values.")
    like = [jax.ShapeDtypeStruct(a.shape, np.float64) for a in gaussian.values()]
    like += [jax.ShapeDtypeStruct(v[0].shape, v[0].dtype) for v in finite.values()]
    names = [*gaussian, *finite]
    program = Program.trace(by_name("f", f, names), like)
    moments = _Moments(gaussian, Work(20 * MOST_WORK) if work is None else work)
    means = [moments.of(program, pick) for pick in itertools.product(*finite.values())]
    return np.asarray(sum(means[1:], start=means[0]) / Fraction(len(means)), dtype=object)


def _several(name: str, given: Any) -> Any:
    kinds = list | tuple | range | np.ndarray | jax.Array
    return instance(f"values of {name}", given, kinds, "a list of what it may be")


def _variances(name: str, given: Any) -> np.ndarray:
    array = np.asarray(given, dtype=object)
    made = np.empty(array.shape, dtype=object)
    for where in np.ndindex(array.shape):
        made[where] = rational(array[where])
        if made[where] < 0:
            raise ValueError(f"a variance is not negative, but {name} has {array[where]}.")
    return made


class _Moments:
    """The letters of Gaussian arrays, and the means of monomials in them."""

    def __init__(self, gaussian: Mapping[str, np.ndarray], work: Work):
        names, self.of_letter = [], []
        for name, array in gaussian.items():
            for where in np.ndindex(array.shape):
                names.append(name + "".join(f"_{i + 1}" for i in where))
                self.of_letter.append(array[where])
        self.ring = Ring(names, {}, work, LETTERS)
        self.ring.begin(dict.fromkeys(range(len(names)), REAL))
        self.known: dict[tuple[int, int], fmpq] = {}
        self.arrays = []
        letters = iter(self.ring.gens)
        for array in gaussian.values():
            made = np.empty(array.shape, dtype=object)
            for where in np.ndindex(array.shape):
                made[where] = Quotient(self.ring, next(letters))
            self.arrays.append(made)

    def of(self, program: Program, pick: Sequence[np.ndarray]) -> np.ndarray:
        """Return the means of the entries, where the other arrays have these values."""
        machine = Machine(field=field_of(self.ring))
        try:
            found = program.run(machine, [*self.arrays, *map(machine.array, pick)])
        except (Split, Finer) as error:
            raise NotCertifiable(f"it is no polynomial of what is drawn: {error}") from error
        if len(found) != 1:
            raise NotCertifiable("it returns several arrays; a statistic is one.")
        out = found[0]
        if isinstance(out, Unknown):
            raise out.why
        means = np.empty(out.shape, dtype=object)
        for where in np.ndindex(out.shape):
            means[where] = self.mean(out[where])
        return means

    def mean(self, entry: Any) -> Fraction:
        """Return the mean of a number of the ring."""
        number = constant(self.ring, entry)
        if not isinstance(number, Quotient):
            raise NotCertifiable("it is not finite.")
        number = number.cancelled()
        if number.den:
            raise NotCertifiable("it is no polynomial of what is drawn: it divides by some of it.")
        polynomial = self.ring.reduced(number.num)
        self.ring.spend(4 * len(polynomial))
        total = fmpq(0)
        for powers, coefficient in polynomial.terms():
            if any(powers[self.ring.count :]):
                name = self.ring.show(polynomial)[:60]
                raise NotCertifiable(f"it is no polynomial with rational coefficients: {name} ...")
            if not any(n % 2 for n in powers):
                moment = fmpq(1)
                for i, n in enumerate(powers):
                    if n:
                        moment *= self.moment(i, n)
                total += fmpq(coefficient) * moment
        return Fraction(int(total.p), int(total.q))

    def moment(self, letter: int, n: int) -> fmpq:
        """Return (n - 1)!! v^(n/2), for an even n."""
        if (letter, n) not in self.known:
            pairings = math.prod(range(1, n, 2))
            self.known[letter, n] = fmpq(pairings) * self.of_letter[letter] ** (n // 2)
        return self.known[letter, n]

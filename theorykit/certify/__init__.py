"""Bounds that no rounding can change: JAX functions in ball arithmetic.

`enclose` evaluates a function at a point, `prove` an inequality on a box, `identical` an identity
of polynomials, `integral` a Gaussian expectation; each answer carries a proven error bound.
Underneath, a `Program` is a function traced once, and a `Machine` runs it on arrays of balls, or of
other numbers: a `Field` says what those are, and `RULES` has what each primitive does with them.

A proof for all values can be followed step by step (`theorykit.export` does): `over_cases` proves
each case by `same` or `below`, in the letters of a `Ring`; `exp`, `absolute` and others make values
in them, and a `Reason` says why a polynomial is not negative.
"""

from theorykit.certify._compare import absolute, largest
from theorykit.certify._constants import exact
from theorykit.certify._enclose import Balls, Program, enclose, number_array, shown
from theorykit.certify._everywhere import (
    Case,
    Everywhere,
    Letter,
    Same,
    identical,
    letters,
    over_cases,
    same,
)
from theorykit.certify._functions import exp, exponents, log, sqrt
from theorykit.certify._integral import integral
from theorykit.certify._machine import RULES, Field, Machine, NotCertifiable
from theorykit.certify._numbers import as_bits, ball, float_above, float_below, objects, precision
from theorykit.certify._order import AtLeast, below, ordered
from theorykit.certify._prove import BUDGET, Proof, prove
from theorykit.certify._quotients import Quotient, constant
from theorykit.certify._ring import MOST_WORK, Ring, Split, Work
from theorykit.certify._signs import Reason, certain, factored, signed

__all__ = [
    "BUDGET",
    "MOST_WORK",
    "RULES",
    "AtLeast",
    "Balls",
    "Case",
    "Everywhere",
    "Field",
    "Letter",
    "Machine",
    "NotCertifiable",
    "Program",
    "Proof",
    "Quotient",
    "Reason",
    "Ring",
    "Same",
    "Split",
    "Work",
    "absolute",
    "as_bits",
    "ball",
    "below",
    "certain",
    "constant",
    "enclose",
    "exact",
    "exp",
    "exponents",
    "factored",
    "float_above",
    "float_below",
    "identical",
    "integral",
    "largest",
    "letters",
    "log",
    "number_array",
    "objects",
    "ordered",
    "over_cases",
    "precision",
    "prove",
    "same",
    "shown",
    "signed",
    "sqrt",
]

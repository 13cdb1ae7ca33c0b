"""Bounds that no rounding can change: JAX functions in ball arithmetic.

`enclose` evaluates a function at a point, `prove` an inequality on a box, `identical` an identity
of polynomials, `growth` a rate, `integral` and `wick` Gaussian expectations; each answer carries a
proven error bound. Underneath, a `Program` is a function traced once, and a `Machine` runs it on
arrays of balls, or of other numbers: a `Field` says what those are, and `RULES` has what each
primitive does with them. `certify.steps` has the parts that a proof for all values is made of.
"""

from theorykit.certify._constants import exact
from theorykit.certify._degree import Growth, growth
from theorykit.certify._enclose import Balls, Program, enclose, number_array, shown
from theorykit.certify._everywhere import Everywhere, Letter, identical, letters
from theorykit.certify._integral import integral
from theorykit.certify._lipschitz import lipschitz_everywhere, prove_lipschitz
from theorykit.certify._machine import RULES, Field, Machine, NotCertifiable
from theorykit.certify._norms import as_norms
from theorykit.certify._numbers import as_bits, ball, float_above, float_below, objects, precision
from theorykit.certify._order import ordered
from theorykit.certify._proof import Proof
from theorykit.certify._prove import BUDGET, prove
from theorykit.certify._ring import MOST_WORK, Work
from theorykit.certify._symmetry import Symmetry, as_symmetries, permutation, scale, shift
from theorykit.certify._wick import MOST_VALUES, wick

__all__ = [
    "BUDGET",
    "MOST_VALUES",
    "MOST_WORK",
    "RULES",
    "Balls",
    "Everywhere",
    "Field",
    "Growth",
    "Letter",
    "Machine",
    "NotCertifiable",
    "Program",
    "Proof",
    "Symmetry",
    "Work",
    "as_bits",
    "as_norms",
    "as_symmetries",
    "ball",
    "enclose",
    "exact",
    "float_above",
    "float_below",
    "growth",
    "identical",
    "integral",
    "letters",
    "lipschitz_everywhere",
    "number_array",
    "objects",
    "ordered",
    "permutation",
    "precision",
    "prove",
    "prove_lipschitz",
    "scale",
    "shift",
    "shown",
    "wick",
]

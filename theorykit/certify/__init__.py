"""Bounds that no rounding can change: JAX functions in ball arithmetic.

`enclose` evaluates a function at a point, `prove` an inequality on a box, `identical` an identity
of polynomials, `integral` a Gaussian expectation; each answer carries a proven error bound.
"""

from theorykit.certify._constants import exact
from theorykit.certify._enclose import Balls, enclose
from theorykit.certify._integral import integral
from theorykit.certify._machine import NotCertifiable
from theorykit.certify._numbers import float_above, float_below
from theorykit.certify._polynomials import identical
from theorykit.certify._prove import Proof, prove

__all__ = [
    "Balls",
    "NotCertifiable",
    "Proof",
    "enclose",
    "exact",
    "float_above",
    "float_below",
    "identical",
    "integral",
    "prove",
]

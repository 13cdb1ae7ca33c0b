"""Bounds that no rounding can change: JAX functions in ball arithmetic.

`enclose` evaluates a function at a point, `prove` an inequality on a box, `integral` a Gaussian
expectation, `identical` two polynomials; each answer carries a proven error bound.
"""

from theorykit.certify._constants import exact
from theorykit.certify._enclose import Balls, enclose
from theorykit.certify._machine import NotCertifiable

__all__ = ["Balls", "NotCertifiable", "enclose", "exact"]

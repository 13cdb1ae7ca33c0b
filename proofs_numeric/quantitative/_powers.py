"""Powers that stay exact."""

import itertools
import math


def power(base, exponent):
    """Return base^exponent as a product, which is visibly exact."""
    return math.prod(itertools.repeat(base, exponent))

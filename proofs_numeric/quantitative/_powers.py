"""Powers that stay exact."""

import itertools
import math


def power(base, exponent):
    """Return base^exponent as a product, which no one can take for a float."""
    return math.prod(itertools.repeat(base, exponent))

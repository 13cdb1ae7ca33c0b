"""Powers that stay exact."""


def power_of(base, exponent):
    """Return a power of a whole number, exactly."""
    value = 1
    for _ in range(exponent):
        value *= base
    return value

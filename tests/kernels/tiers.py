"""Which cases of a test run by default."""

import pytest


def tiers(cases, fast):
    """Return a test's cases as parameters; those not among `fast` are left to `make slow`."""
    unknown = set(fast) - set(cases)
    assert not unknown, unknown
    slow = lambda case: pytest.param(
        *(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow
    )
    return [case if case in fast else slow(case) for case in cases]

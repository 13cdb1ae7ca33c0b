"""What stands in the cells of a finding's table and among its numbers."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Bool


def rounded(value: Any, digits: int = 3) -> float:
    """Return a number to so many significant digits."""
    return float(f"{float(value):.{digits}g}")


def share(which: Bool[np.ndarray, " runs"]) -> str:
    """Return how many of the runs it is, such as "3/4"."""
    return f"{int(np.sum(which))}/{len(which)}"


def plain(value: Any) -> Any:
    """Return arrays of numbers as JSON has them: lists of floats, None for NaN."""
    if isinstance(value, Mapping):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(one) for one in value]
    return None if value != value else float(value)

"""Formatting for the tables and numbers of findings."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Bool


def rounded(value: Any, digits: int = 3) -> float:
    """Return a number rounded to some significant digits."""
    return float(f"{float(value):.{digits}g}")


def share(which: Bool[np.ndarray, " runs"]) -> str:
    """Return the share of the runs, such as "3/4"."""
    return f"{int(np.sum(which))}/{len(which)}"


def plain(value: Any) -> Any:
    """Return arrays of numbers in JSON form: lists of floats, with None for NaN."""
    if isinstance(value, Mapping):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(one) for one in value]
    return None if value != value else float(value)

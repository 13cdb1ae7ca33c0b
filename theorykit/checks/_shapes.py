"""Shapes as claims write them, `"T 2*T"`, and what they are at given sizes."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from theorykit.common.arguments import instance, shown

Shape = str | int | Sequence[str | int]
Sizes = Mapping[str, Any]


def resolve(shape: Shape, sizes: Sizes) -> tuple[int, ...]:
    """Return the dimensions of a shape at these sizes.

    **Raises:** `ValueError` if a dimension names no size or is negative.
    """
    instance("sizes", sizes, Mapping, "a dict of numbers by name")
    return tuple(_dimension(part, sizes) for part in dimensions(shape))


def dimensions(shape: Any, name: str = "a shape") -> list[str | int]:
    """Return the dimensions of a shape as they are written."""
    parts = re.split(r"[\s,]+", shape.strip()) if isinstance(shape, str) else shape
    parts = [parts] if isinstance(parts, int) else parts
    right = isinstance(parts, tuple | list) and all(
        isinstance(p, str) or (isinstance(p, int) and not isinstance(p, bool) and p >= 0)
        for p in parts
    )
    if not right:
        raise ValueError(
            f"{name} lists dimensions, each an integer or made of names of sizes, as in 'T 2*T' or "
            f"('T', 3), got {shown(shape)}."
        )
    return [p for p in parts if p != ""]


def _dimension(text: str | int, sizes: Sizes) -> int:
    if isinstance(text, int):
        return text
    total = 0
    for term in text.split("+"):
        # "2T" is "2*T"
        factors = re.sub(r"^(\d+)(?=[A-Za-z_])", r"\1*", term).split("*")
        for factor in factors:
            if not factor.isdigit() and not isinstance(sizes.get(factor), int):
                raise ValueError(
                    f"the shape {text!r} needs a size {factor!r}, as in inputs(..., "
                    f"{factor}=(2, 4)); there is {', '.join(sizes) or 'none'}."
                )
        total += math.prod(int(f) if f.isdigit() else sizes[f] for f in factors)
    return total


def set_of(values: Sequence[Any]) -> str:
    """Return values as a set is written: {2, 4, 16}."""
    return "{" + ", ".join(map(str, values)) + "}"

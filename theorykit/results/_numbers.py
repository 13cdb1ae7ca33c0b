"""Numbers in JSON: finite ones as numbers, the others as "inf", "-inf" and "nan"."""

import math
import operator
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema

_NOT_FINITE = ("inf", "-inf", "nan")


def _number(value: Any) -> float:
    if isinstance(value, bool) or (isinstance(value, str) and value not in _NOT_FINITE):
        raise ValueError(f"expected a number, not {value!r}")
    try:
        return float(value)
    except (TypeError, OverflowError):
        raise ValueError(f"expected a number, not {type(value).__name__}") from None


def _written(value: float) -> float | str:
    return value if math.isfinite(value) else repr(value)


def _count(value: Any) -> int:
    if isinstance(value, bool):
        raise ValueError("a count is a whole number, not a truth value")
    try:
        return operator.index(value)
    except TypeError:
        raise ValueError(f"a count is a whole number, not {type(value).__name__}") from None


Number = Annotated[
    float,
    BeforeValidator(_number),
    PlainSerializer(_written, return_type=float | str),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"enum": list(_NOT_FINITE)}]}),
]
"""A float, from any numeric type; infinities and NaN are strings in JSON."""

Count = Annotated[int, Field(ge=0), BeforeValidator(_count)]
"""A whole number of at least 0."""

Seconds = Annotated[
    float,
    Field(strict=True, allow_inf_nan=False),
    PlainSerializer(lambda seconds: round(seconds, 3), return_type=float),
]
"""A finite duration; in JSON, to the millisecond."""

"""Descriptions of figures: what to draw, not how. A report draws them."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from theorykit.results._numbers import Number

Range = tuple[Number, Number]


class _Figure(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Tightness(_Figure):
    """A bar from 0 to the bound at 1: the largest lhs / rhs that was found."""

    shape: Literal["tightness"] = "tightness"
    ratio: Number


class Interval(_Figure):
    """An estimate with its interval, over the predicted range."""

    shape: Literal["interval"] = "interval"
    estimate: Number
    interval: Range
    predicted: Range | None = None


class Fit(_Figure):
    """Points (n, mean, standard error) on logarithmic axes, with the fitted exponent's line.

    The `predicted` exponents are drawn as a band through the middle of the points.
    """

    shape: Literal["fit"] = "fit"
    points: tuple[tuple[Number, Number, Number], ...]
    exponent: Number
    predicted: Range | None = None


class Curve(_Figure):
    """Points (x, y, standard error of y), joined in order, over a predicted range of y.

    **Fields:** `caption`, the sentence below; `x`, the label of the horizontal axis.
    """

    shape: Literal["curve"] = "curve"
    caption: str
    x: str
    points: tuple[tuple[Number, Number, Number], ...]
    predicted: Range | None = None


Figure = Tightness | Interval | Fit | Curve
"""Every figure that reports can draw. A new one needs a class here and a drawing in the report."""

figures: TypeAdapter[Figure] = TypeAdapter(Annotated[Figure, Field(discriminator="shape")])
"""Reads and writes figures."""

"""Small plots as inline SVG, coloured by the page's own style, so that they follow its theme."""

import dataclasses
import itertools
import math
from collections.abc import Iterable, Sequence

from markupsafe import Markup

from theorykit.report._content import Entry
from theorykit.results import (
    Curve,
    Figure,
    Fit,
    Interval,
    Tightness,
    Unit,
    Verdict,
)

WIDTH, LEFT, RIGHT = 360, 44, 14
"""A plot's width, and the room beside its axes, in its own units."""


def plot(figure: Figure | None) -> Markup:
    """Return a figure as SVG; "" where there is none, or none of its numbers can be drawn."""
    match figure:
        case Fit():
            return _fit(figure)
        case Interval():
            return _interval(figure)
        case Tightness():
            return _tightness(figure.ratio) if math.isfinite(figure.ratio) else Markup("")
        case Curve():
            return _curve(figure)
    return Markup("")


def strip(bounds: Sequence[tuple[Entry, float]]) -> Markup:
    """Return a dot for each bound, at lhs / rhs, stacked where they meet.

    Ratios above 1 share the last column, those of 0 and below the first.
    """
    columns = 60
    width, base, step = 960, 0, 7
    stacks: dict[int, int] = {}
    x = lambda column: 30 + (width - 100) * column / columns
    dots = []
    fallen_first = lambda bound: (bound[0].result.verdict != Verdict.refuted, -bound[1])
    for entry, ratio in sorted(bounds, key=fallen_first):
        beyond = ratio > 1 + 1e-6
        column = columns + 3 if beyond else min(columns, round(ratio * columns)) if ratio > 0 else 0
        stacks[column] = height = stacks.get(column, 0) + 1
        label = f"{entry.id}: lhs/rhs up to {ratio:.4g}"
        place = x(column), base - step * (height - 0.4)
        dots.append(
            Markup(
                '<a href="#{}" tabindex="-1" aria-label="{}"><title>{}</title>'
                '<circle class="dot {}" cx="{:.1f}" cy="{:.1f}" r="2.9"/></a>'
            ).format(entry.anchor, label, label, entry.result.verdict, *place)
        )
    top = base - step * (max(stacks.values(), default=0) + 1)
    ticks = [(x(columns * i / 4), f"{i / 4:g}") for i in range(5)] + [(x(columns + 3), "> 1")]
    body = [
        _line(x(0) - 5, base, x(columns) + 5, base, "axis"),
        _line(x(columns + 3) - 8, base, x(columns + 3) + 8, base, "axis"),
        *(_text(at, base + 15, label) for at, label in ticks),
        *dots,
    ]
    return Markup(
        '<svg class="plot strip" viewBox="0 {} {} {}" role="group" '
        'aria-label="Largest lhs/rhs found, one dot per bound">{}</svg>'
    ).format(top, width, base + 22 - top, Markup("").join(body))


_ROWS = {
    Unit.factor: ("bounds", 0.0, 3.0, ("1x", "1000x")),
    Unit.relative: ("identities", -15.0, -1.0, ("1e-15", "10%")),
    Unit.exponent: ("exponents", -3.0, 0.0, ("0.001", "1")),
    Unit.members: ("members", 0.0, 1.0, ("all fall", "none")),
}
"""Rows of the plot of resolutions: name, ends (logarithms, or a share), and what the ends say."""


def resolutions(entries: Sequence[Entry]) -> Markup:
    """Return a row for each unit and a dot for each claim, fine to the left, poor at the right.

    Distances in the units of what is predicted have no common axis, and are left out.
    """
    width, left, height, step = 960, 120, 74, 6.4
    columns = 110
    body: list[Markup] = []
    row = 0
    for unit, (name, low, high, ends) in _ROWS.items():
        chosen = [e for e in entries if e.resolution is not None and e.resolution.unit is unit]
        if not chosen:
            continue
        base = height * (row + 1) - 18
        x = lambda share: left + (width - left - 40) * share
        stacks: dict[int, int] = {}
        for entry in chosen:
            found = entry.resolution
            assert found is not None
            share = min(1.0, max(0.0, (found.place - low) / (high - low)))
            column = round(share * columns)
            stacks[column] = level = stacks.get(column, 0) + 1
            # High stacks are squeezed, so that a row keeps its height.
            up = step * (level - 0.4) if level < 7 else step * 6.6 + 0.15 * (level - 7)
            label = f"{entry.id}: {found.words()}"
            body.append(
                Markup(
                    '<a href="#{}" tabindex="-1" aria-label="{}"><title>{}</title>'
                    '<circle class="dot {}" cx="{:.1f}" cy="{:.1f}" r="2.6"/></a>'
                ).format(
                    entry.anchor, label, label, entry.result.verdict, x(column / columns), base - up
                )
            )
        body.append(_line(x(0), base, x(1), base, "axis"))
        body += [_text(left - 12, base, name, "end")]
        body += [_text(x(at), base + 13, said) for at, said in zip((0, 1), ends, strict=True)]
        row += 1
    return Markup(
        '<svg class="plot strip" viewBox="0 0 {} {}" role="group" '
        'aria-label="How small a change would have been noticed, one dot per claim">{}</svg>'
    ).format(width, height * row + 4, Markup("").join(body))


@dataclasses.dataclass(frozen=True)
class Axes:
    """A rectangle of the page that data are drawn into, between two ends on each axis."""

    u: tuple[float, float]
    v: tuple[float, float]
    height: float = 224
    top: float = 12
    bottom: float = 34

    def x(self, u: float) -> float:
        low, high = self.u
        return LEFT + (WIDTH - LEFT - RIGHT) * (u - low) / (high - low)

    def y(self, v: float) -> float:
        low, high = self.v
        inner = self.height - self.bottom - self.top
        return self.height - self.bottom - inner * (v - low) / (high - low)

    def labels(self, us: Iterable[tuple[float, str]], vs: Iterable[tuple[float, str]]) -> Markup:
        """Return both axes' numbers, with lines across for the vertical one's."""
        floor = self.height - self.bottom
        made: list[Markup] = []
        for v, label in vs:
            made.append(_line(LEFT, self.y(v), WIDTH - RIGHT, self.y(v), "grid"))
            made.append(_text(LEFT - 5, self.y(v) + 3.5, label, "end"))
        for u, label in us:
            made.append(_line(self.x(u), floor, self.x(u), floor + 4, "axis"))
            made.append(_text(self.x(u), floor + 15, label))
        return Markup("").join(made)

    def clipped(self, marks: Iterable[Markup]) -> Markup:
        """Return marks without what leaves the rectangle."""
        # A nested picture clips what leaves it, and needs no id as a clip path would.
        inner = WIDTH - LEFT - RIGHT, self.height - self.top - self.bottom
        place = {"x": LEFT, "y": self.top, "width": inner[0], "height": inner[1]}
        box = " ".join(str(value) for value in place.values())
        frame = " ".join(f'{name}="{value}"' for name, value in {**place, "viewBox": box}.items())
        return Markup(f"<svg {frame}>") + Markup("").join(marks) + Markup("</svg>")

    def named(self, label: str) -> Markup:
        """Return the horizontal axis and its name."""
        floor = self.height - self.bottom
        return _line(LEFT, floor, WIDTH - RIGHT, floor, "axis") + _text(
            WIDTH - RIGHT, self.height - 4, label, "end"
        )


def _fit(found: Fit) -> Markup:
    """Means over sizes on logarithmic axes, the fitted line, and the predicted slopes."""
    usable = lambda n, m, s: 1e-250 < n < 1e250 and 1e-250 < m < 1e250 and 0 <= s < 1e250
    points = [p for p in found.points if usable(*p)]
    if len(points) < 2:
        return Markup("")
    us = [math.log10(n) for n, _, _ in points]
    vs = [math.log10(m) for _, m, _ in points]
    ends = [e for n, m, s in points for e in (m - 2 * s, m + 2 * s) if e > 0]
    axes = Axes(padded(us, 0.08), padded([*vs, *map(math.log10, ends)], 0.1, least=0.3))
    (u0, u1), (v0, v1) = axes.u, axes.v
    middle = (sum(us) / len(us), sum(vs) / len(vs))
    at = lambda slope, u: axes.y(middle[1] + slope * (u - middle[0]))
    line = lambda slope, kind: _line(axes.x(u0), at(slope, u0), axes.x(u1), at(slope, u1), kind)
    inside: list[Markup] = []
    low, high = found.predicted or (math.nan, math.nan)
    bounds = [s for s in (low, high) if math.isfinite(s)]
    if len(bounds) == 2:
        corners = [(u0, at(low, u0)), (u0, at(high, u0)), (u1, at(high, u1)), (u1, at(low, u1))]
        path = " ".join(f"{axes.x(u):.1f},{v:.1f}" for u, v in corners)
        inside.append(Markup('<polygon class="band" points="{}"/>').format(path))
    else:
        inside += [line(slope, "predicted") for slope in bounds]
    if math.isfinite(found.exponent):
        inside.append(line(found.exponent, "fit"))
    for u, v, (_, m, s) in zip(us, vs, points, strict=True):
        if s > 0:
            least = math.log10(m - 2 * s) if m > 2 * s else v0
            most = math.log10(m + 2 * s)
            inside.append(_line(axes.x(u), axes.y(least), axes.x(u), axes.y(most), "error"))
        inside.append(_mark(axes.x(u), axes.y(v)))
    text = f"Measured at {len(points)} sizes; fitted exponent {found.exponent:.4g}"
    if bounds:
        text += f", predicted {_between(low, high)}"
    labels = axes.labels(
        [(u, f"{10**u:.4g}") for u in _thinned(us, u1 - u0)],
        [(v, power(v)) for v in decades(v0, v1)],
    )
    body = [labels, axes.clipped(inside), axes.named("n, logarithmic")]
    return framed(axes.height, text, body)


def _curve(found: Curve) -> Markup:
    """Points joined in their order, over what is predicted."""
    usable = lambda x, y, s: abs(x) < 1e250 and abs(y) < 1e250 and 0 <= s < 1e250
    points = [p for p in found.points if usable(*p)]
    if not points:
        return Markup("")
    low, high = found.predicted or (math.nan, math.nan)
    bounds = [v for v in (low, high) if abs(v) < 1e250]
    ends = [e for _, y, s in points for e in (y - 2 * s, y + 2 * s)]
    axes = Axes(padded([x for x, _, _ in points], 0.08), padded([*ends, *bounds], 0.1))
    inside: list[Markup] = []
    if found.predicted is not None and low <= high:
        top, floor = (axes.y(min(max(v, axes.v[0]), axes.v[1])) for v in (high, low))
        inside.append(_rect(LEFT, top, WIDTH - LEFT - RIGHT, max(floor - top, 2.0), "band"))
    places = [(axes.x(x), axes.y(y)) for x, y, _ in points]
    inside += [_line(*a, *b, "fit") for a, b in itertools.pairwise(places)]
    for (x, y, s), place in zip(points, places, strict=True):
        if s > 0:
            inside.append(
                _line(axes.x(x), axes.y(y - 2 * s), axes.x(x), axes.y(y + 2 * s), "error")
            )
        inside.append(_mark(*place))
    labels = axes.labels(
        [(u, f"{u:.4g}") for u in ticks(*axes.u)], [(v, f"{v:.4g}") for v in ticks(*axes.v)]
    )
    return framed(axes.height, found.caption, [labels, axes.clipped(inside), axes.named(found.x)])


def _interval(found: Interval) -> Markup:
    """An estimate with its interval, over what is predicted."""
    estimate, interval, predicted = found.estimate, found.interval, found.predicted
    low, high = predicted or (math.nan, math.nan)
    known = [estimate, *interval, low, high]
    ends = [v for v in known if abs(v) < 1e300]
    if not ends:
        return Markup("")
    height, level = 84, 36
    a, b = padded(ends, 0.12)
    clamp = lambda v: min(max(v, a), b)
    x = lambda v: LEFT + (WIDTH - LEFT - RIGHT) * (clamp(v) - a) / (b - a)
    body = []
    if predicted is not None:
        left, width = x(low), max(x(high) - x(low), 2.0)
        body.append(_rect(left - (width == 2.0), 12, width, 48, "band"))
    body.append(_line(LEFT, 60, WIDTH - RIGHT, 60, "axis"))
    body += [_text(x(v), 74, f"{v:.4g}") for v in ticks(a, b)]
    if math.isfinite(estimate):
        body.append(_line(x(interval[0]), level, x(interval[1]), level, "fit"))
        body += [_line(x(v), level - 5, x(v), level + 5, "fit") for v in interval]
        body.append(_mark(x(estimate), level, 4))
    text = f"Estimate {estimate:.4g} in [{interval[0]:.4g}, {interval[1]:.4g}]"
    if predicted is not None:
        text += f", predicted {_between(low, high)}"
    return framed(height, text, body)


def _tightness(ratio: float) -> Markup:
    """The largest lhs / rhs found, on the way from 0 to the bound at 1, or beyond it."""
    height, level = 66, 22
    logarithmic = ratio > 4
    scale = (lambda v: math.log10(max(v, 0.1))) if logarithmic else (lambda v: v)
    a, b = (
        (-1.0, scale(ratio) * 1.08) if logarithmic else (min(0.0, ratio), max(1.08, ratio * 1.08))
    )
    x = lambda v: LEFT + (WIDTH - LEFT - RIGHT) * (min(max(scale(v), a), b) - a) / (b - a)
    zero = x(0.1 if logarithmic else 0.0)
    body = [
        _rect(x(1), level - 8, WIDTH - RIGHT - x(1), 16, "beyond"),
        _rect(min(zero, x(ratio)), level - 8, abs(x(min(ratio, 1)) - zero), 16, "bar"),
    ]
    if ratio > 1:
        body.append(_rect(x(1), level - 8, x(ratio) - x(1), 16, "over"))
    body.append(_line(x(1), level - 13, x(1), level + 13, "bound"))
    marks = [(1.0, "bound"), (0.1 if logarithmic else 0.0, "0.1" if logarithmic else "0")]
    body += [_text(x(v), level + 28, label) for v, label in marks]
    if abs(x(ratio) - x(1)) > 40:
        body.append(_text(x(ratio), level + 28, f"{ratio:.3g}", "end" if ratio > 1 else "middle"))
    return framed(height, f"Largest lhs/rhs found: {ratio:.4g}", body)


def framed(height: float, label: str, body: Iterable[Markup]) -> Markup:
    return Markup(
        '<figure><svg class="plot" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>'
        "<figcaption>{}</figcaption></figure>"
    ).format(WIDTH, height, label, Markup("").join(body), label)


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    return Markup('<line class="{}" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>').format(
        kind, x1, y1, x2, y2
    )


def _mark(x: float, y: float, radius: float = 3.2) -> Markup:
    return Markup('<circle class="mark" cx="{:.1f}" cy="{:.1f}" r="{:g}"/>').format(x, y, radius)


def _rect(x: float, y: float, width: float, height: float, kind: str) -> Markup:
    return Markup('<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>').format(
        kind, x, y, max(width, 0), height
    )


def _text(x: float, y: float, text: str, anchor: str = "middle") -> Markup:
    return Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>').format(
        x, y, anchor, text
    )


def padded(values: Sequence[float], share: float, least: float = 0.0) -> tuple[float, float]:
    """Return a range a little wider than the values, and at least as wide as `least`."""
    low, high = min(values), max(values)
    width = max(high - low, least, 1e-12 * max(abs(low), abs(high)), 1e-300)
    middle = (low + high) / 2
    half = width / 2 * (1 + 2 * share)
    return middle - half, middle + half


def ticks(low: float, high: float) -> list[float]:
    """Return three to six round numbers in the range."""
    unit = 10 ** math.floor(math.log10(high - low))
    steps = (unit * s for s in (2, 1, 0.5, 0.2))
    step = next((s for s in steps if math.floor(high / s) - math.ceil(low / s) >= 2), unit)
    return [step * i for i in range(math.ceil(low / step), math.floor(high / step) + 1)]


def decades(low: float, high: float) -> list[float]:
    """Return up to six logarithms of round numbers in the range."""
    whole = [float(v) for v in range(math.ceil(low), math.floor(high) + 1)]
    if len(whole) < 2:
        numbers = [(v, d) for v in range(math.floor(low), math.ceil(high) + 1) for d in (1, 2, 5)]
        whole = [v + math.log10(d) for v, d in numbers if low <= v + math.log10(d) <= high]
    return whole[:: max(1, -(-len(whole) // 6))]


def _thinned(values: Sequence[float], width: float) -> list[float]:
    """Leave out values whose labels would touch."""
    kept: list[float] = []
    for v in sorted(values):
        if not kept or v - kept[-1] > width * 0.11:
            kept.append(v)
    return kept


def power(exponent: float) -> str:
    value = 10**exponent
    return f"{value:.0e}" if abs(exponent) > 3.5 else f"{value:.3g}"


def _between(low: float, high: float) -> str:
    if low == high:
        return f"{low:.4g}"
    if math.isinf(low) or math.isinf(high):
        return f"≤ {high:.4g}" if math.isinf(low) else f"≥ {low:.4g}"
    return f"in [{low:.4g}, {high:.4g}]"

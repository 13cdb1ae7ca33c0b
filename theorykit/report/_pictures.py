"""Pictures of what rooms describe for notebooks: lines and matrices, as inline SVG."""

import math

from markupsafe import Markup

from theorykit.common.picture import Lines, Matrix
from theorykit.report._plots import WIDTH, Axes, decades, framed, padded, power, ticks


def picture(part: Lines | Matrix) -> Markup:
    """Return it as SVG in the colours of the page; "" if none of its numbers can be drawn."""
    return lines(part) if isinstance(part, Lines) else matrix(part)


def lines(found: Lines) -> Markup:
    """Lines through their points, over a band."""
    scale = (lambda y: math.log10(y) if y > 0 else math.nan) if found.logarithmic else float
    usable = lambda *numbers: all(abs(v) < 1e250 for v in numbers)
    scaled = [[(float(x), scale(y)) for x, y in line] for line in found.lines]
    drawn = [[p for p in line if usable(*p)] for line in scaled]
    band = [(x, low, high) for x, low, high in found.band if usable(x, low, high)]
    places = [p for line in drawn for p in line] + [(x, v) for x, *ends in band for v in ends]
    if not places:
        return Markup("")
    axes = Axes(padded([x for x, _ in places], 0.02), padded([y for _, y in places], 0.08))
    inside: list[Markup] = []
    if len(band) > 1:
        edge = [(x, low) for x, low, _ in band] + [(x, high) for x, _, high in reversed(band)]
        path = " ".join(f"{axes.x(x):.1f},{axes.y(v):.1f}" for x, v in edge)
        inside.append(Markup('<polygon class="band" points="{}"/>').format(path))
    for line in drawn:
        path = " ".join(f"{axes.x(x):.1f},{axes.y(y):.1f}" for x, y in line)
        inside.append(Markup('<polyline class="fit line" points="{}"/>').format(path))
    vertical = decades(*axes.v) if found.logarithmic else ticks(*axes.v)
    said = power if found.logarithmic else lambda v: f"{v:.4g}"
    labels = axes.labels(
        [(u, f"{u:.4g}") for u in ticks(*axes.u)], [(v, said(v)) for v in vertical]
    )
    return framed(axes.height, found.caption, [labels, axes.clipped(inside), axes.named(found.x)])


MOST_CELLS = 32
"""Rows and columns of a matrix that are drawn, at most."""


def matrix(found: Matrix) -> Markup:
    """A square for each entry: stronger where it is larger, red below zero."""
    whole = found.values
    steps = [-(-n // MOST_CELLS) for n in whole.shape]
    rows = whole[:: steps[0], :: steps[1]].tolist()
    largest = max((abs(v) for row in rows for v in row if math.isfinite(v)), default=0.0)
    if not largest:
        return Markup("")
    size = min(11.0, WIDTH / len(rows[0]))
    cells = [
        Markup(
            '<rect class="cell{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" '
            'opacity="{:.2f}"><title>{:.4g}</title></rect>'
        ).format(" below" * (v < 0), j * size, i * size, size, size, abs(v) / largest, v)
        for i, row in enumerate(rows)
        for j, v in enumerate(row)
        if math.isfinite(v)
    ]
    low, high = min(map(min, rows)), max(map(max, rows))
    shape = " x ".join(map(str, whole.shape))
    shape += "" if max(steps) == 1 else f" ({len(rows)} x {len(rows[0])} entries drawn)"
    label = f"{found.caption}, {shape}: {low:.4g} to {high:.4g}"
    return framed(size * len(rows), label, cells)

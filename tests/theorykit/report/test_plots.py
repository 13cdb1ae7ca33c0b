import dataclasses
import itertools
import math
from xml.etree import ElementTree as xml

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from theorykit.report import Entry
from theorykit.report._plots import decades, plot, resolutions, strip, ticks
from theorykit.results import Curve, Fit, Interval, Tightness, of_bound, of_identity

from .conftest import result

numbers = st.floats(allow_nan=False, width=32)
finite = st.floats(-1e30, 1e30)
positive = st.floats(1e-30, 1e30)


def entry(id, verdict="holds"):
    return Entry(result(id, verdict))


def parsed(figure):
    made = str(plot(figure))
    return xml.fromstring(made) if made else None


def coordinates(root):
    for node in root.iter():
        for name in ("x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "width", "height"):
            if name in node.attrib:
                yield float(node.get(name))


@given(st.floats(-1e300, 1e300))
def test_any_tightness_can_be_drawn(ratio):
    root = parsed(Tightness(ratio=ratio))
    assert all(-1 <= c <= 400 for c in coordinates(root))


@example([(1.0, 1.0, 0.0), (1.0, 1.0, -9e307)], 0.0, 0.0)  # no spread is negative
@given(st.lists(st.tuples(*[st.floats()] * 3), max_size=5), st.floats(), st.floats())
def test_whatever_a_run_holds_is_no_traceback(points, estimate, end):
    parsed(Fit(points=points, exponent=estimate))
    parsed(Interval(estimate=estimate, interval=(end, estimate), predicted=(estimate, end)))
    parsed(Curve(caption="c", x="n", points=points, predicted=(estimate, end)))
    strip([(entry("a"), estimate), (entry("b", "refuted"), end)])


@given(finite, numbers, numbers, st.none() | st.tuples(numbers, numbers))
def test_any_interval_can_be_drawn(estimate, low, high, predicted):
    root = parsed(Interval(estimate=estimate, interval=(low, high), predicted=predicted))
    assert all(-1 <= c <= 400 for c in coordinates(root))


@given(
    st.lists(st.tuples(positive, positive, st.floats(0, 1e30)), min_size=2, max_size=6),
    st.floats(-9, 9),
    st.tuples(st.floats(-9, 9) | st.just(-math.inf), st.floats(-9, 9) | st.just(math.inf)),
)
def test_any_rate_can_be_drawn(points, slope, predicted):
    root = parsed(Fit(points=points, exponent=slope, predicted=predicted))
    assert all(math.isfinite(c) for c in coordinates(root))


@given(
    st.lists(st.tuples(finite, finite, st.floats(0, 1e30)), min_size=1, max_size=6),
    st.none() | st.tuples(finite | st.just(-math.inf), finite | st.just(math.inf)),
)
def test_any_curve_can_be_drawn(points, predicted):
    root = parsed(Curve(caption="c", x="n", points=points, predicted=predicted))
    assert all(math.isfinite(c) for c in coordinates(root))


def test_a_curve_joins_its_points_over_what_is_predicted():
    points = [(0, 1, 0.1), (1, 2, 0), (2, 3, 0)]
    root = parsed(Curve(caption="A caption", x="the axis", points=points, predicted=(-math.inf, 2)))
    marks = [(n.get("cx"), n.get("cy")) for n in root.iter() if n.get("class") == "mark"]
    lines = [n for n in root.iter() if n.get("class") == "fit"]
    joined = [((n.get("x1"), n.get("y1")), (n.get("x2"), n.get("y2"))) for n in lines]
    assert joined == list(itertools.pairwise(marks))
    band = next(n for n in root.iter() if n.get("class") == "band")
    assert float(band.get("y")) == float(marks[1][1])  # from 2 down
    assert root.find("figcaption").text == "A caption"
    assert "the axis" in [n.text for n in root.iter() if n.tag == "text"]
    assert sum(n.get("class") == "error" for n in root.iter()) == 1


def test_marks_are_where_the_numbers_are():
    points = tuple((float(n), n**-0.5, 0.0) for n in (1, 10, 100))
    root = parsed(Fit(points=points, exponent=-0.5, predicted=(-0.6, -0.4)))
    marks = [(float(c.get("cx")), float(c.get("cy"))) for c in root.iter() if c.get("cx")]
    line = next(n for n in root.iter() if n.get("class") == "fit")
    x1, y1, x2, y2 = (float(line.get(k)) for k in ("x1", "y1", "x2", "y2"))
    for x, y in marks:  # exact powers lie on the fitted line
        assert abs(y1 + (y2 - y1) * (x - x1) / (x2 - x1) - y) < 0.2
    assert abs(marks[1][0] - (marks[0][0] + marks[2][0]) / 2) < 0.2
    # The predicted slopes meet where the fitted line has its middle, one on each side of it.
    band = next(n for n in root.iter() if n.get("class") == "band").get("points")
    (a, low), (_, high), (b, end_high), (_, end_low) = [
        tuple(map(float, corner.split(","))) for corner in band.split()
    ]
    middle = (marks[1][0] - a) / (b - a)
    for start, end in ((low, end_low), (high, end_high)):
        assert abs(start + (end - start) * middle - marks[1][1]) < 0.2
    assert (end_low - low) / (b - a) > (y2 - y1) / (x2 - x1) > (end_high - high) / (b - a)


# What is read off the axes is the number that was drawn ------------------------------------------


def read_off(root, kind, raised, parse=float):
    """Return the map from a place on an axis to the number there, by two of its labels.

    `kind`: the coordinate; `raised`: by how much the label's differs from the number's.
    """
    anchor = "end" if kind == "y" else "middle"
    seen = []
    for text in root.iter("text"):
        try:
            number = parse(text.text)
        except (ValueError, KeyError):
            continue
        if text.get("text-anchor") == anchor:
            seen.append((float(text.get(kind)) - raised, number))
    (a, u), (b, v) = seen[0], seen[1]
    assert a != b
    return lambda place: u + (place - a) * (v - u) / (b - a)


def of_kind(root, kind):
    return [n.attrib for n in root.iter() if n.get("class") == kind]


def number(of, name):
    return float(of[name])


def test_a_curve_can_be_read_off():
    points = [(10.0, -3.0, 0.5), (20.0, 1.0, 0.0), (40.0, 6.0, 1.0)]
    root = parsed(Curve(caption="c", x="n", points=points, predicted=(-1.0, 2.0)))
    x, y = read_off(root, "x", 0.0), read_off(root, "y", 3.5)
    marks = of_kind(root, "mark")
    assert [round(x(number(m, "cx")), 1) for m in marks] == [10, 20, 40]
    assert [round(y(number(m, "cy")), 1) for m in marks] == [-3, 1, 6]
    bars = of_kind(root, "error")
    ends = [sorted(round(y(number(b, k)), 1) for k in ("y1", "y2")) for b in bars]
    assert ends == [[-4, -2], [4, 8]]  # two standard errors
    assert [round(x(number(b, "x1")), 1) for b in bars] == [10, 40]
    [band] = of_kind(root, "band")
    top = number(band, "y")
    assert round(y(top), 1) == 2
    assert round(y(top + number(band, "height")), 1) == -1
    # The frame, which clips, has as much room above the data as below them, and numbers below it.
    outer, frame = root.iter("svg")
    top = number(frame.attrib, "y")
    floor = top + number(frame.attrib, "height")
    assert round(y(top) - 8, 1) == round(-4 - y(floor), 1) > 0
    assert float(outer.get("viewBox").split()[3]) > floor + 20


def test_a_prediction_that_holds_nothing_has_no_band():
    points = [(1.0, 1.0, 0.0), (2.0, 2.0, 0.0)]
    for predicted in ((2.0, 1.0), (math.nan, math.nan), None):
        root = parsed(Curve(caption="c", x="n", points=points, predicted=predicted))
        assert not of_kind(root, "band")


def test_an_interval_can_be_read_off():
    root = parsed(Interval(estimate=3.0, interval=(1.0, 6.0), predicted=(2.0, 4.0)))
    x = read_off(root, "x", 0.0)
    [mark], [band] = of_kind(root, "mark"), of_kind(root, "band")
    assert round(x(number(mark, "cx")), 1) == 3
    left = number(band, "x")
    assert [round(x(v), 1) for v in (left, left + number(band, "width"))] == [2, 4]
    line, *ends = of_kind(root, "fit")
    assert [round(x(number(line, k)), 1) for k in ("x1", "x2")] == [1, 6]
    assert [round(x(number(e, "x1")), 1) for e in ends] == [1, 6]


def test_how_tight_a_bound_is_can_be_read_off():
    """0 and the bound are labelled; from 4 on the axis is logarithmic from 0.1."""
    for ratio in (0.3, 0.9, -0.5, 1.5, 3.9, 4.1, 250.0):
        root = parsed(Tightness(ratio=ratio))
        large = ratio > 4
        parse = {"bound": 0.0 if large else 1.0, "0": 0.0, "0.1": -1.0}
        x = read_off(root, "x", 0.0, parse.__getitem__)
        [bar], [beyond], over = (of_kind(root, kind) for kind in ("bar", "beyond", "over"))
        right = x(number(bar, "x") + number(bar, "width"))
        assert abs(right - (0 if large else max(0, min(ratio, 1)))) < 0.01
        if ratio < 0:
            assert abs(x(number(bar, "x")) - ratio) < 0.01
        assert abs(x(number(beyond, "x")) - (0 if large else 1)) < 0.01
        assert len(over) == (ratio > 1)
        if over:
            end = x(number(over[0], "x") + number(over[0], "width"))
            assert abs(end - (math.log10(ratio) if large else ratio)) < 0.02


def test_resolutions_lie_by_their_place_and_their_ends_are_named_below():
    shown = [("a", of_bound(1 / 10)), ("b", of_bound(1 / 1000)), ("c", of_identity(1e-8))]
    entries = []
    for id, found in shown:
        made = result(id)
        outcome = dataclasses.replace(made.outcome, resolution=found)
        entries.append(Entry(dataclasses.replace(made, outcome=outcome)))
    root = xml.fromstring(str(resolutions(entries)))
    first, second = sorted({number(n, "y1") for n in of_kind(root, "axis")})
    texts = {n.text: (float(n.get("x")), float(n.get("y"))) for n in root.iter("text")}
    for text, floor in (("1x", first), ("1000x", first), ("1e-15", second), ("10%", second)):
        assert floor < texts[text][1] < floor + 20
    dots = [n.attrib for n in root.iter("circle")]
    (low, _), (high, _) = texts["1x"], texts["1000x"]
    share = lambda dot: (number(dot, "cx") - low) / (high - low)
    assert [round(share(d), 1) for d in dots] == [0.3, 1.0, 0.5]
    for dot, floor in zip(dots, (first, first, second), strict=True):
        assert floor - 74 < number(dot, "cy") < floor


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_ticks_are_few_and_in_their_range(low, width):
    found = ticks(low, low + width)
    assert 2 <= len(found) <= 7
    slack = 1e-6 * width + 4 * math.ulp(abs(low) + width)
    assert all(low - slack <= t <= low + width + slack for t in found)


def test_no_plot_where_there_is_nothing_to_plot():
    assert parsed(None) is None
    assert parsed(Tightness(ratio=math.inf)) is None
    assert parsed(Fit(points=[(1, 1, 0)], exponent=1)) is None
    assert parsed(Curve(caption="c", x="n", points=[])) is None


def test_every_bound_has_its_dot():
    root = xml.fromstring(str(strip([(entry("a"), 0.5), (entry("b", "refuted"), 9.0)])))
    dots = [n for n in root.iter() if n.get("class", "").startswith("dot")]
    assert [d.get("class") for d in dots] == ["dot refuted", "dot holds"]
    assert float(dots[0].get("cx")) > float(dots[1].get("cx"))


def test_ticks_are_round_numbers():
    ends = itertools.product(range(10), range(10, 100))
    found = [ticks(low / 10, (low + width) / 10) for low, width in ends]
    steps = [marks[1] - marks[0] for marks in found]
    mantissas = {round(step / 10 ** math.floor(math.log10(step)), 9) for step in steps}
    assert mantissas <= {1, 2, 5}
    assert ticks(0.05, 0.11) == pytest.approx([0.06, 0.08, 0.1])


def test_decades_are_whole_where_two_are_seen_and_ones_twos_and_fives_else():
    assert decades(-0.1, 2.5) == [0, 1, 2]
    assert decades(0, 12) == [0, 3, 6, 9, 12]
    logarithms = [math.log10(v) for v in (0.5, 1, 2, 5)]
    assert decades(-0.5, 0.8) == pytest.approx(logarithms)
    assert decades(-0.9, -0.1) == pytest.approx([math.log10(0.2), math.log10(0.5)])

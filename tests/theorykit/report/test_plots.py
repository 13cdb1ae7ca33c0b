import itertools
import math
from xml.etree import ElementTree as xml

from hypothesis import example, given
from hypothesis import strategies as st

from theorykit.report import Entry
from theorykit.report._plots import _ticks, plot, strip
from theorykit.results import Curve, Fit, Interval, Tightness

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


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_ticks_are_few_and_in_their_range(low, width):
    ticks = _ticks(low, low + width)
    assert 2 <= len(ticks) <= 7
    slack = 1e-6 * width + 4 * math.ulp(abs(low) + width)
    assert all(low - slack <= t <= low + width + slack for t in ticks)


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

"""Symmetries: declared, proved, and used to prove inequalities for all reals on a compact set."""

import itertools
from fractions import Fraction
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from theorykit.certify import _prove, enclose, exact, permutation, prove, scale, shift
from theorykit.certify._symmetry import Symmetries

softmax, norm = jax.nn.softmax, jnp.linalg.norm
SPREAD = [shift("x"), scale("x"), permutation("x")]


def reals(*shape):
    return -np.inf * np.ones(shape), np.inf * np.ones(shape)


def popoviciu(x, c=0.5):
    """A standard deviation is at most half the range."""
    return jnp.sqrt(x.var()), c * (x.max() - x.min())


def least(n):
    """Return the least constant of `popoviciu`: half of the points at either end, nearly."""
    k = n // 2
    return np.sqrt(k * (n - k)) / n


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_an_inequality_is_proved_for_all_reals_on_a_compact_set(n):
    found = prove(popoviciu, dict(x=reals(n)), symmetries=SPREAD)
    assert found.status == "proved", str(found)
    below = least(n) * (1 - 1e-3)
    wrong = prove(lambda x: popoviciu(x, below), dict(x=reals(n)), symmetries=SPREAD)
    assert wrong.status == "refuted"
    assert (wrong.lhs.lower > wrong.rhs.upper).all()
    if n % 2:
        above = least(n) * (1 + 1e-3)
        found = prove(lambda x: popoviciu(x, above), dict(x=reals(n)), symmetries=SPREAD)
        assert found.status == "proved"


def test_fewer_symmetries_find_the_same():
    for used in ([0, 1], [0, 1, 2]):
        some = [SPREAD[k] for k in used]
        assert prove(popoviciu, dict(x=reals(3)), symmetries=some).status == "proved"
        wrong = lambda x: popoviciu(x, 0.47)
        assert prove(wrong, dict(x=reals(3)), symmetries=some).status == "refuted"
    size = lambda x, c: (jnp.sqrt((x**2).mean()), c * jnp.abs(x).max())
    for used in ([1], [1, 2]):
        some = [SPREAD[k] for k in used]
        assert prove(lambda x: size(x, 1.01), dict(x=reals(3)), symmetries=some).status == "proved"
        wrong = prove(lambda x: size(x, 0.99), dict(x=reals(3)), symmetries=some)
        assert wrong.status == "refuted"


def test_several_arguments_are_scaled_together_or_apart():
    box = dict(x=reals(2), y=reals(2))
    apart = lambda x, y, c: (jnp.abs(x @ y), c * jnp.abs(x).max() * jnp.abs(y).sum())
    together = lambda x, y, c: (jnp.abs(x @ y), c * (x @ x + y @ y) / 2)
    cases = [(apart, [scale("x"), scale("y")]), (together, [scale("x", "y")])]
    for sides, some in cases:
        at = lambda c, sides=sides: lambda x, y: sides(x, y, c)
        assert prove(at(1.1), box, symmetries=some).status == "proved"
        assert prove(at(0.9), box, symmetries=some).status == "refuted"


def test_a_shift_on_a_box_is_refuted_at_a_point_of_the_box():
    box = dict(x=(np.array([1.0, 2.0, 3.0]), np.array([2.0, 3.0, 4.0])))
    found = prove(lambda x: (softmax(x)[2], 0.7), box, symmetries=[shift("x")])
    assert found.status == "refuted"
    x = np.asarray(found.point["x"], float)
    assert ((box["x"][0] <= x) & (x <= box["x"][1])).all()
    assert softmax(x)[2] > 0.7
    assert prove(lambda x: (softmax(x)[2], 0.96), box, symmetries=[shift("x")]).status == "proved"


@pytest.mark.parametrize("room", [0.1, -0.1])
def test_order_loses_no_point_where_many_pieces_are_looked_at_at_once(room, monkeypatch):
    monkeypatch.setattr(_prove, "FEWEST", 1)
    box = dict(x=(-np.ones(3), np.ones(3)))
    sides = lambda x: (norm(softmax(x)) + jnp.cos(x).sum(), 3 + 1 / jnp.sqrt(3.0) + room)
    plain = prove(sides, box, 20_000)
    assert plain.status == ("proved" if room > 0 else "refuted")
    assert prove(sides, box, 20_000, symmetries=[permutation("x")]).status == plain.status


def test_numbers_alone_are_shifted_together():
    sides = lambda x, y: (x - y, 1 - 1e-12)
    found = prove(sides, dict(x=(0, 1), y=(0, 1)), symmetries=[shift("x", "y")])
    assert found.status == "refuted"
    assert (found.point["x"], found.point["y"]) == (1.0, 0.0)


def test_a_failure_at_differences_that_the_box_does_not_have_refutes_nothing():
    """On [0, 1] x [0, 1/4] the first may exceed the second by 1, and is exceeded by 1/4."""
    box = dict(x=(np.zeros(3), np.array([1.0, 0.25, 0.25])))
    sides = lambda x: (x[1] - x[2], 0.3)
    found = prove(sides, box, symmetries=[shift("x")])
    assert found.status in ("proved", "undecided")
    if found.status == "undecided":
        assert "no point of the box" in found.why


def test_ends_that_are_no_floats():
    box = dict(x=(["-1/3", "-1/3"], ["1/3", "1/3"]))
    some = [shift("x"), permutation("x")]
    sides = lambda x: (jnp.abs(x[0] - x[1]), exact("2/3") + 1e-9)
    assert prove(sides, box, symmetries=some).status == "proved"
    wrong = lambda x: (jnp.abs(x[0] - x[1]), exact("2/3") - 1e-9)
    found = prove(wrong, box, symmetries=some)
    assert found.status == "refuted"
    assert all(abs(Fraction(x)) <= Fraction(1, 3) for x in np.ravel(found.point["x"]))


@pytest.mark.parametrize(
    ("sides", "some"),
    [
        (lambda x: (norm(x), x.max() - x.min() + 9), [shift("x")]),
        (lambda x: (softmax(x)[0], 1.0), [scale("x")]),
        (lambda x: (x[0] - x[1], 5.0 + x[2] ** 2), [permutation("x")]),
        (lambda x: (x[0], x[0] ** 2 + 1), [scale("x")]),
    ],
)
def test_what_is_no_symmetry_is_said(sides, some):
    with pytest.raises(ValueError, match="is no symmetry of the inequality"):
        prove(sides, dict(x=reals(3) if some[0].kind == "scale" else (0, np.ones(3))), 10,
              symmetries=some)  # fmt: skip


def test_a_symmetry_that_is_not_proved_is_not_used():
    """It holds at points tried but for a step that lies beyond them."""
    step = lambda x: jnp.where(x[0] > 1000, 1.0, 0.0)
    found = prove(
        lambda x: (softmax(x)[0] + step(x), 2.0), dict(x=(-np.ones(2), np.ones(2))),
        symmetries=[shift("x")],
    )  # fmt: skip
    assert found.status == "undecided"
    assert "shift('x') is not proved" in found.why


@pytest.mark.parametrize(
    ("some", "said"),
    [
        (shift("x"), "symmetries is a list"),
        ([shift("z")], "names z, which is not an argument"),
        ([shift("x"), shift("x")], "has one shift at most"),
        ([permutation("y")], "is of a vector"),
        ([permutation("x")], "the same interval for all entries"),
        ([scale("x")], "its ends are arrays of -inf and inf"),
    ],
)
def test_what_does_not_fit_is_said(some, said):
    box = dict(x=(np.zeros(2), np.array([1.0, 2.0])), y=(0, 1))
    with pytest.raises(ValueError, match=said):
        prove(lambda x, y: (x.sum() * y, 9.0), box, symmetries=some)


@pytest.mark.parametrize("make", [shift, scale])
def test_symmetries_name_arguments(make):
    for wrong in ((), (1,), ("x", "x")):
        with pytest.raises(ValueError, match="takes names of arguments"):
            make(*wrong)


@pytest.mark.parametrize(
    "used", [u for k in (1, 2, 3) for u in itertools.combinations(range(3), k)]
)
def test_every_point_has_a_like_in_a_region(used):
    """A random point is sorted, shifted and scaled as declared; some region has what comes out."""
    some = [SPREAD[k] for k in used]
    box = dict(x=reals(3)) if 1 in used else dict(x=(-np.ones(3), np.ones(3)))
    found = Symmetries.of(some, box)
    rng = np.random.default_rng(0)
    points = [*rng.uniform(-1, 1, (50, 3)), np.zeros(3), np.ones(3), np.array([1.0, 0, 1])]
    for x in points:
        x = np.sort(x) if 2 in used else x
        x = x - x[0] if 0 in used else x
        x = x / (np.abs(x).max() or 1.0) if 1 in used else x
        inside = []
        for region in found.regions():
            low, high = (np.asarray(e, float) for e in region["x"])
            inside.append(((low <= x + 1e-12) & (x <= high + 1e-12)).all())
        assert any(inside)
        assert all(x[i] <= x[j] for i, j in found.order())


def test_the_proof_does_not_depend_on_values_at_the_points_tried():
    """A refutation is enclosed at the point that is returned."""
    found = prove(lambda x: popoviciu(x, 0.3), dict(x=reals(4)), symmetries=SPREAD)
    left, right = enclose(lambda x: popoviciu(x, 0.3), np.asarray(found.point["x"], float))
    assert left.lower > right.upper


def test_the_example_of_the_guide_prints_what_it_says(capsys):
    guide = (Path(__file__).parents[3] / "docs" / "certify.md").read_text()
    code = guide.split("## Symmetries")[1].split("```python\n")[1].split("```")[0]
    exec(code, {})
    said = [line.removeprefix("# ") for line in code.splitlines() if line.startswith("# ")]
    assert capsys.readouterr().out.splitlines() == said

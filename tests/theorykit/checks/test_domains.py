import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theorykit.checks._inputs import call
from theorykit.checks._kinds import LARGE, Integers
from theorykit.checks.domains import (
    choices,
    inputs,
    integers,
    interval,
    positive,
    psd,
    reals,
    resolve,
    simplex,
)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ("", ()),
        ("T", (4,)),
        ("T T", (4, 4)),
        ("T, d", (4, 3)),
        ("2*T d", (8, 3)),
        ("2T", (8,)),
        ("T*d+1", (13,)),
        (("T", 5), (4, 5)),
        (7, (7,)),
    ],
)
def test_shapes_are_read_from_names(shape, expected):
    assert resolve(shape, {"T": 4, "d": 3}) == expected


def test_an_unknown_size_is_named():
    with pytest.raises(ValueError, match=r"'U'.*there is T"):
        inputs(S=reals("U"), T=(2, 4))


@pytest.mark.parametrize(
    "make",
    [
        lambda: interval(1, 1),
        lambda: interval(0, float("inf")),
        lambda: integers(2, 1),
        lambda: integers(0.5, 2),
        lambda: Integers("", None, 1),
        lambda: interval("0", 1),
        lambda: reals({"T": 2}),
        lambda: reals(-1),
        lambda: reals("T", scale=0),
        lambda: psd("T", bound=np.nan),
        lambda: choices("a", "b"),
        lambda: inputs(x=reals()).given(True),
        lambda: inputs(x=reals()).map({}),
        lambda: choices(),
        lambda: choices(1.0, np.ones(2)),
        lambda: inputs(S=reals("T"), T=()),
    ],
)
def test_impossible_domains_are_refused(make):
    with pytest.raises(ValueError, match=r"need|finite|whole|dimensions|positive|real|function"):
        make()


MEMBER = {
    "reals": (reals("n", scale=5.0), lambda v: np.isfinite(v).all()),
    "positive": (positive("n"), lambda v: (v > 0).all() and np.isfinite(v).all()),
    "interval": (interval(-0.3, 1.7, "n"), lambda v: ((v >= -0.3) & (v <= 1.7)).all()),
    "integers": (integers(-2, 5, "n"), lambda v: np.isin(v, range(-2, 6)).all()),
    "choices": (choices(0.5, 2.0), lambda v: v in (0.5, 2.0)),
    "simplex": (simplex("n"), lambda v: (v >= 0).all() and abs(v.sum() - 1) < 1e-12),
    "psd": (psd("n"), lambda v: np.linalg.eigvalsh(v)[0] >= -1e-12 * max(1, abs(v).max())),
    "bounded psd": (
        psd("n", bound=2.0, rank=2),
        lambda v: abs(v).max() <= 2 + 1e-12 and np.linalg.eigvalsh(v)[0] >= -1e-12,
    ),
}


@pytest.mark.parametrize("name", MEMBER)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**31), n=st.integers(1, 6))
def test_points_lie_in_their_domain(name, seed, n):
    domain, member = MEMBER[name]
    over = inputs(x=domain, n=(n,))
    (sizes,) = over.settings()
    for latent in over.cases(np.random.default_rng(seed), sizes, 5):
        parameter = over.squash(latent, np)
        assert over.contains(parameter)
        assert member(over.point(parameter, sizes, np)["x"])


@settings(max_examples=50, deadline=None)
@given(z=st.lists(st.floats(-40, 40), min_size=3, max_size=3))
def test_any_latent_is_a_point(z):
    """The attack goes where it likes; no latent may leave the domain."""
    for name in ("positive", "interval", "simplex"):
        domain, member = MEMBER[name]
        over = inputs(x=domain, n=3)
        parameter = over.squash({"x": np.array(z)}, np)
        assert member(over.point(parameter, {"n": 3}, np)["x"])


def test_an_interval_reaches_its_ends():
    over = inputs(x=interval(0, 3))
    values = {float(over.squash(z, np)["x"]) for z in over.cases(np.random.default_rng(0), {}, 0)}
    assert {0.0, 3.0} <= values


def test_choices_and_settings_are_all_tried():
    over = inputs(x=choices(1.0, 2.0, 5.0), T=(4, 2), kind=("a", "b"))
    assert [(s["T"], s["kind"]) for s in over.settings()] == [
        (2, "a"),
        (2, "b"),
        (4, "a"),
        (4, "b"),
    ]
    cases = over.cases(np.random.default_rng(0), {}, 0)
    assert {float(over.point(c, {}, np)["x"]) for c in cases} == {1.0, 2.0, 5.0}
    assert not over.differentiable


def test_map_reparametrises():
    over = inputs(F=reals("n r"), n=2, r=1).map(lambda F, n: {"S": F @ F.T + n})
    point = over.point({"F": np.array([[1.0], [2.0]])}, {"n": 2, "r": 1}, np)
    assert list(point) == ["S"]
    np.testing.assert_array_equal(point["S"], [[3, 4], [4, 6]])


def test_functions_get_what_they_name():
    assert call(lambda a: a, {"a": 1, "b": 2}, {}) == 1
    assert call(lambda b, T, c=7: (b, T, c), {"a": 1, "b": 2}, {"T": 3}) == (2, 3, 7)
    assert call(lambda **kw: sorted(kw), {"a": 1, "b": 2}, {"T": 3}) == ["a", "b"]
    with pytest.raises(ValueError, match="asks for z, but its domain has a, T"):
        call(lambda z: z, {"a": 1}, {"T": 3})


def test_structured_latents_hold_zeros_ties_and_large_entries():
    patterns = [p.tolist() for p in reals("T").structured({"T": 4})]
    assert [0, 0, 0, 0] in patterns
    assert [1, 1, 1, 1] in patterns
    assert [LARGE, 0, 0, 0] in patterns
    assert [1, -1, 1, -1] in patterns


@pytest.mark.parametrize(
    ("domain", "written"),
    [
        (interval(0, 1), "interval(0, 1)"),
        (interval(-1, 0.5, "S"), "interval(-1, 0.5, S)"),
        (integers(0, 3, "n"), "integers(0, 3, n)"),
        (psd("n", bound=2.0), "psd(n, bound=2.0)"),
        (reals("T T"), "reals(T T)"),
        (reals(scale=3.0), "reals(scale=3.0)"),
    ],
)
def test_a_domain_is_shown_with_its_bounds(domain, written):
    assert str(domain) == written

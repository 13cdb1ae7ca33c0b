"""The construction, its closed forms, its projection and the chain of thought."""

import jax
import numpy as np
import pytest

from theorykit.proofs_numeric.sharper.cot_construction import chain
from theorykit.subjects import boolean, sharpness


@pytest.fixture(autouse=True)
def float64():
    with jax.enable_x64(True):
        yield


def run(network, x):
    return np.asarray(jax.jit(jax.vmap(network))(x))


def test_it_computes_f_and_the_error_bound_is_met():
    f = boolean.random(6, 2, 4, seed=1)
    network = boolean.transformer(f)
    away = np.abs(run(network, boolean.bits(6))[:, 0] - f.table()).max()
    assert 0.5 * network.design.error < away <= network.design.error * (1 + 1e-9)
    assert network.f == f


def test_more_bits_than_f_has():
    f = boolean.parity(3, (0, 2))
    network = boolean.transformer(f, 5)
    x = boolean.bits(5)
    assert np.abs(run(network, x)[:, 0] - f(x[:, :3])).max() <= network.design.error * (1 + 1e-9)


def test_closed_norms_and_gradients():
    f = boolean.random(6, 2, 4, seed=1)
    network = boolean.transformer(f)
    assert network.squared_norms() == pytest.approx(boolean.squared_norms(f))
    assert sum(network.squared_norms().values()) == pytest.approx(boolean.squared_norm(f))
    found = sharpness.gradient_norms(network, boolean.bits(6))
    bounds = boolean.gradient_bounds(f)
    assert set(found) == set(bounds)
    for name, bound in bounds.items():
        assert found[name].max() <= bound * (1 + 1e-9)
    assert 2 * sum(g.mean() for g in found.values()) < boolean.trace_bound(f)


def test_a_wide_projection_keeps_the_function_a_narrow_one_does_not():
    f = boolean.parity(4, (0, 1))
    x = boolean.bits(4)
    away = lambda r: np.abs(
        run(boolean.transformer(f, project=r, scale=4.0), x)[:, 0] - f.table()
    ).max()
    assert away(1000) < 0.05
    assert away(2) > 0.2


def test_no_error_is_promised_of_random_encodings():
    network = boolean.transformer(boolean.parity(4, (0, 1)), project=5)
    assert network.design.error == np.inf
    assert boolean.transformer(boolean.parity(4, (0, 1)), scale=600.0).design.error < 1e-300


def test_rescaling_keeps_the_function_and_lowers_the_norm():
    network = boolean.transformer(boolean.random(6, 2, 4, seed=1))
    other = boolean.rescaled(network)
    x = boolean.bits(6)[::7]
    np.testing.assert_allclose(run(network, x), run(other, x), atol=1e-12)
    assert sum(other.squared_norms().values()) < sum(network.squared_norms().values())
    for factor in (0.9, 1.1):
        again = boolean.rescaled(other, factor)
        assert sum(again.squared_norms().values()) > sum(other.squared_norms().values())


def test_norms_beyond_floats_are_infinite():
    f = boolean.Parities(3, ((0, 1),), (1e200,))
    assert boolean.squared_norm(f) == np.inf
    assert boolean.trace_bound(f) == np.inf
    half = boolean.Parities(3, ((0,), (1,)), (1e308, 1e308))
    with pytest.raises(ValueError, match="the sum of coefficients is finite, got inf"):
        boolean.transformer(half)


def test_the_chain_of_thought_is_that_of_the_claim():
    x = boolean.bits(3)
    found = run(boolean.ParityChain(3), x)
    np.testing.assert_array_equal(found, np.cumsum(x, 1) % 2)
    assert found.tolist() == [chain(tuple(row)) for row in x.tolist()]


def test_networks_of_one_shape_share_a_graph():
    from flax import nnx

    graphs = [nnx.split(boolean.transformer(boolean.random(5, 2, 3, s)), ...)[0] for s in (0, 1)]
    assert graphs[0] == graphs[1]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: boolean.transformer(boolean.random(3, 1, 3), 2), "at least the 3 bits"),
        (lambda: boolean.transformer(boolean.random(4, 2, 5)), "sparsity is at most T = 4, got 5"),
        (
            lambda: boolean.transformer(boolean.Parities(3, ((0,), (1,)), (1.0, -2.0))),
            "positive, got -2.0",
        ),
        (lambda: boolean.transformer(boolean.Parities(3, ((0,), ()), (1, 1))), "got [0, 1]"),
        (lambda: boolean.transformer(boolean.Parities(3, ((),), (1,))), "at least 1, got [0]"),
        (lambda: boolean.transformer(boolean.Parities(3, (), ())), "this one is zero"),
        (lambda: boolean.transformer(boolean.parity(9, (1, 2)), scale=1.0), "1.0 is not at T = 9"),
        (lambda: boolean.transformer(boolean.parity(3), scale=np.inf), "finite number above 0"),
        (lambda: boolean.ParityChain(3, scale=np.nan), "finite number above 0, got nan"),
        (lambda: boolean.ParityChain(3, scale=0.5), "0.5 is not at T = 3"),
        (lambda: boolean.ParityChain(3)(np.zeros(4)), "a row of 3 bits, got shape (4,)"),
        (lambda: boolean.ParityChain(3)(np.array([0, 1, 2])), "bits are 0 and 1, got 2"),
        (lambda: boolean.transformer(boolean.parity(3))(np.zeros(4)), "a row of 3 bits"),
        (lambda: boolean.transformer(boolean.parity(3), project=0), "project is a whole number"),
        (lambda: boolean.rescaled(boolean.transformer(boolean.parity(3)), 0.0), "positive"),
        (lambda: boolean.rescaled(boolean.Transformer(3, hidden=4, rngs=None)), "give a factor"),
        (lambda: boolean.rescaled(3), "network is a boolean.Transformer, got 3"),
        (lambda: boolean.transformer(boolean.parity(10**6)), "takes about 1.4e13 numbers"),
        (lambda: boolean.ParityChain(10**6), "takes about 7.0e12 numbers"),
        (lambda: boolean.Transformer(10**6, hidden=1), "takes about 6.0e12 numbers"),
        (lambda: boolean.Design(boolean.parity(3), 3, True), "finite number above 0, got True"),
    ],
)
def test_bad_input(call, says):
    with pytest.raises(ValueError, match=r"\.$") as error:
        call()
    assert says in str(error.value)


def test_leakages_and_scores_in_fractions():
    """At T + 1 = 4 and scale 2 a member weighs 16: 2 of 4 leak 2 / (2 16 + 2), 1 of 4 3 / (16 + 3).

    The scores are 2 log 4 + log(c / C)."""
    design = boolean.transformer(boolean.parity(3, (0, 2))).design
    assert design.leakages == pytest.approx((2 / 34, 3 / 19), rel=1e-12)
    assert design.error == pytest.approx(3 / 19, rel=1e-12)
    f = boolean.Parities(3, ((0, 1), (1, 2)), (1, 3))
    design = boolean.transformer(f).design
    assert design.leakages == pytest.approx((2 / 34, 2 / 18), rel=1e-12)
    assert design.error == pytest.approx(4 * 2 / 18, rel=1e-12)
    np.testing.assert_allclose(design.scores, np.log([16 / 4, 16 * 3 / 4]), rtol=1e-12)


def test_squared_norms_in_whole_numbers():
    """Degree 2, two sets, C = 4, scores of log 16 = l: thresholds squared are summed by hand."""
    f = boolean.Parities(3, ((0, 1), (1, 2)), (1, 3))
    l = np.log(16)
    thresholds = [(4 * k + o) / 8 for k in range(3) for o in (-3, -1, 1, 3)]
    assert boolean.squared_norms(f) == pytest.approx(
        dict(
            score1=4 * l**2, value1=1, mlp_in=12, bias=sum(t**2 for t in thresholds),
            mlp_out=2 * 4 * 4**2, score2=np.log(4) ** 2 + np.log(12) ** 2, value2=16,
        ),
        rel=1e-12,
    )  # fmt: skip


def test_gradient_bounds_at_fixed_numbers():
    """Of the same f: leak 1/9, p = (8/9)(1/4, 3/4), each of the two others 1/18."""
    f = boolean.Parities(3, ((0, 1), (1, 2)), (1, 3))
    w, p, leak, C2, n, d = np.log([4, 12]), np.array([2, 6]) / 9, 1 / 9, 16, 4, 2
    hidden = sum(max(1 - (4 * k + o) / 8, 0) ** 2 for k in range(3) for o in (-3, -1, 1, 3))
    steep, active = C2 * (2 * d * leak) ** 2, C2 * 2 * 4 * 4**2
    spread = p @ w**2 - (p @ w) ** 2
    assert boolean.gradient_bounds(f) == pytest.approx(
        dict(
            score1=steep * 2 * (1 / 16 + 1 / 16), value1=steep * (1 + 1 / n),
            mlp_in=active, bias=active,
            mlp_out=C2 * hidden * (1 + (w @ w) / 16 + spread / 4),
            score2=2 * C2 * (6 / 9 / 4 + 1 / 16), value2=p @ p + 2 / 18**2 + 1,
        ),
        rel=1e-12,
    )  # fmt: skip
    assert boolean.trace_bound(f) == pytest.approx(2 * sum(boolean.gradient_bounds(f).values()))

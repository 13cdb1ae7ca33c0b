import dataclasses
import itertools

import mpmath
import numpy as np
import pytest

from theorykit.subjects import limit, simulation


def pair(seed, tau=0, period=1, alphabet="ab"):
    rng = np.random.default_rng(seed)
    return [simulation.random_one_layer(rng, alphabet, tau, period) for _ in range(2)]


@pytest.mark.parametrize(("tau", "seed"), [(0, 17), (1, 32)])
def test_needed_length_by_all_strings(tau, seed):
    f, g = pair(seed, tau, 2)
    first = max(simulation.hard_length(t) for t in (f, g))
    found = simulation.needed_length(f, g, 0.05, 9)
    assert found.lengths[0] == max(first, tau + 1)
    for T, largest in zip(found.lengths, found.differences, strict=True):
        gaps = [
            np.linalg.norm(simulation.hard_output(f, x) - simulation.hard_output(g, x))
            for x in map("".join, itertools.product("ab", repeat=T))
        ]
        assert np.isclose(max(gaps), largest)
    upto = found.differences[: found.length - found.lengths[0] + 1].max()
    assert upto + 0.05 >= found.differences.max()


@pytest.mark.parametrize("seed", range(4))
def test_the_bound_is_enough(seed):
    f, g = pair(seed)
    bound = simulation.training_length(f, g, 0.1)
    needed = simulation.needed_length(f, g, 0.1, 60)
    assert needed.length <= bound.length
    assert bound.error == 0.2


def test_needed_length_of_two_layers():
    rng = np.random.default_rng(0)
    f, g = (simulation.random_two_layers(rng, "ab", 1) for _ in range(2))
    found = simulation.needed_length(f, g, 0.1, 8)
    x = "abaababb"
    gap = np.linalg.norm(simulation.soft_output(f, x) - simulation.soft_output(g, x))
    assert gap <= found.differences[-1] + 1e-12
    assert simulation.training_length(f, g, 0.1).length > 1e3


def test_bounds_grow_as_they_say():
    f, g = pair(2)
    lengths = [simulation.training_length(f, g, e).length for e in (1e-3, 1e-4)]
    assert 90 < lengths[1] / lengths[0] < 110
    averages = [simulation.average_length(f, g, e, [2.0, 2.0]) for e in (1e-3, 1e-4)]
    ratio = averages[1].length / averages[0].length
    assert 10**1.5 < ratio < 10**1.7
    assert averages[1].error < averages[0].error


def test_what_no_float_holds_is_infinity():
    f, g = pair(0)
    for eps in (1e-160, 1e-310):
        assert simulation.training_length(f, g, eps).length == np.inf
    assert simulation.average_length(f, g, 1e-310, [2.0, 2.0]).length == np.inf
    assert simulation.average_length(f, g, 0.1, [1e-4, 600.0]).length == np.inf
    f, g = (simulation.random_two_layers(np.random.default_rng(0), "ab", 1) for _ in range(2))
    head = dataclasses.replace(f.layers[0].heads[0], Q=1e3 * f.layers[0].heads[0].Q)
    steep = dataclasses.replace(
        f, layers=(dataclasses.replace(f.layers[0], heads=(head,)), f.layers[1])
    )
    assert simulation.first_layer_constants(steep)[1:] == (np.inf, np.inf)
    assert simulation.complexity(steep) == np.inf
    assert simulation.training_length(steep, g, 0.1).length == np.inf


def test_bad_input():
    f, g = pair(0)
    with pytest.raises(ValueError, match="'b' has none"):
        simulation.average_length(f, g, 0.1, {"a": 1.0})
    with pytest.raises(ValueError, match=r"between 0 and 1, not '0.1'"):
        simulation.training_length(f, g, "0.1")
    with pytest.raises(ValueError, match="above 0, not 0"):
        simulation.average_length(f, g, 0.1, [1.0, 0.0])
    with pytest.raises(ValueError, match="as many parameters, not 3"):
        simulation.average_length(f, g, 0.1, [1.0, 1.0, 1.0])
    with pytest.raises(ValueError, match="between 0 and 1, not 2"):
        simulation.training_length(f, g, 2)
    with pytest.raises(ValueError, match="attention is hard from"):
        simulation.needed_length(f, g, 0.1, 1)
    with pytest.raises(ValueError, match="more than most=10"):
        simulation.needed_length(f, g, 0.1, 40, most=10)


def one_layer(E, V, U=1.0):
    """Return a transformer that averages V e, with one coordinate a symbol."""
    d = E.shape[1]
    head = limit.Head(np.zeros((0, d)), np.zeros((0, d)), V, limit.Local((0.0, 0.5)))
    layer = limit.Layer((head,), *limit.mlp(d))
    return limit.Transformer(
        tuple("ab"), E, np.zeros((1, d)), (layer,), U * np.eye(1, d), precision=1, shift=True
    )


def test_the_printed_maximum_is_of_one_token():
    # |E_a| = 1, |V E_a| = 10, |E_b| = 3, V E_b = 0; |U| = 1, no MLP: L_f = max(10 + 1, 0 + 3).
    f = one_layer(np.diag([1.0, 3.0]), np.diag([10.0, 0.0]))
    assert simulation.output_bound(f, True) == 11
    assert simulation.output_bound(f) == 13
    found = simulation.training_length(f, f, 0.1)
    S, tau = 2, 1
    assert found.printed == pytest.approx((2 * 11) ** 2 * S**6 * tau**2 / 0.1**2, rel=1e-12)
    assert round(found.printed, -4) == 3.1e6


def theorem_42(f, g, eps, alpha):
    """Return the proof's length, eq. (39), at 60 digits."""
    with mpmath.workdps(60):
        S, least, total = len(alpha), mpmath.mpf(min(alpha)), mpmath.mpf(sum(alpha))
        M = mpmath.mpf(max(simulation.output_bound(f) + simulation.output_bound(g), 1))
        root = mpmath.sqrt(mpmath.mpf(eps))
        gamma = min((least * root / (4**total * S * M)) ** (1 / least), mpmath.mpf("0.5"))
        delta = root / (M * S**2) * gamma
        hard = max(simulation.hard_length(f), simulation.hard_length(g))
        return max(delta**-2 * mpmath.log(2 * S * M / root), hard)


@pytest.mark.parametrize(
    "alpha", [[1.0, 1.0], [2.0, 0.5], [170.0, 170.0], [400.0, 300.0], [1e6, 1e6], [1e-2, 1.0]]
)
def test_average_lengths_at_any_parameters(alpha):
    f, g = pair(0)
    right = theorem_42(f, g, 0.1, alpha)
    found = simulation.average_length(f, g, 0.1, alpha)
    if right > 1e300:
        assert found.length == np.inf
    else:
        assert found.length == pytest.approx(float(right), rel=1e-8)
        assert np.isfinite(found.error)
        assert np.isfinite(found.printed)


def test_lengths_are_refused_before_any_is_looked_at():
    f, g = pair(0)
    with pytest.raises(ValueError, match="1000002 cases at length 500001 are more than most"):
        simulation.needed_length(f, g, 0.1, 10**6)
    with pytest.raises(ValueError, match=r"trying all lengths up to 10000 takes about"):
        simulation.needed_length(f, g, 0.1, 10**4, most=10**5)
    f, g = (simulation.random_two_layers(np.random.default_rng(0), "ab", 1) for _ in range(2))
    with pytest.raises(ValueError, match=r"2\^20 strings at length 20 are more"):
        simulation.needed_length(f, g, 0.1, 10**6)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda f: simulation.length_bound(3, 2, 1, 0, 1), "eps is a positive number, got 0"),
        (lambda f: simulation.length_bound(3, 2, 1, np.nan, 1), "positive number, got nan"),
        (lambda f: simulation.length_bound(3, 2, -1, 0.1, 1), "tau is a whole number"),
        (lambda f: simulation.share_error(2, 1, 0, "a"), "positive number, got 'a'"),
        (lambda f: simulation.apportion([1, 2], 10**30), "at most 2^63 - 1, got 1000000"),
        (lambda f: simulation.apportion([np.nan], 1), "a weight is a whole number"),
        (lambda f: simulation.hard_output(3, "a"), "f is a limit.Transformer, got 3"),
        (lambda f: simulation.soft_output(f, ""), "got the empty string"),
        (lambda f: simulation.windows(np.zeros(0, int), 2, 1), "got the empty string"),
        (lambda f: simulation.windows(np.array([5]), 2, 1), "numbered 0 ... 1, not 5"),
        (lambda f: simulation.counts(np.array([5]), 2, 1, 0), "numbered 0 ... 1, not 5"),
        (lambda f: simulation.chain(np.random.default_rng(0), 5, 1.0, 0.5), "share lies between"),
        (lambda f: simulation.chain(np.random.default_rng(0), 5, 0.9, 0.5), "r = share q"),
        (lambda f: simulation.lay_out(np.array([[-1]]), 1, np.array([0])), "at least 0"),
        (lambda f: simulation.needed_length(f, f, 0.1, 4, most=None), "most is a whole number"),
    ],
)
def test_numbers_out_of_range(call, says):
    f = simulation.random_two_layers(np.random.default_rng(0), "ab", 1)
    with pytest.raises(ValueError, match=r"\.$") as error:
        call(f)
    assert says in str(error.value)


def test_large_totals_are_shared_exactly():
    found = simulation.apportion([10**18, 2 * 10**18], 2**62)
    assert found.tolist() == [round(2**62 / 3), 2**62 - round(2**62 / 3)] or sum(found) == 2**62
    assert abs(int(found[0]) * 3 - 2**62) < 3


def test_counts_beyond_int64_products_are_exact():
    n = np.array([2 * 10**18, 10**18, 3])
    yes, no = np.array([True, True, False]), np.array([True, False, True])
    found = simulation.counted(n, yes, no, 1e-3)
    shares = found.m[:2] / found.m[:2].sum()
    assert np.abs(shares - [2 / 3, 1 / 3]).max() <= 1e-3
    assert (found.m >= 0).all()


def test_rare_ones_end():
    assert len(simulation.chain(np.random.default_rng(0), 50, 1e-300, 0.5)) <= 50


# By hand, in whole numbers and fractions ---------------------------------------------------------


@pytest.mark.parametrize(
    ("eps", "hard", "pairs"),
    [
        (0.1, 5, 11**2 + 7 * 10 + 2),
        (0.1, 20, 16 * 20),
        (0.4, 0, 32),  # 3.5^2 + 7 2.5 + 2 = 31.75, rounded up
    ],
)
def test_the_length_bound_at_small_numbers(eps, hard, pairs):
    """Delta (max((1/eps + 1)^2 + (S Delta + 1) / eps + 2, 16 hard) + 2) + tau + 1."""
    assert simulation.length_bound(2, 3, 1, eps, hard) == 3 * (pairs + 2) + 2
    assert simulation.length_bound(2, 3, 4, eps, hard) == 3 * (pairs + 2) + 5


def test_the_share_error_at_small_numbers():
    assert simulation.share_error(2, 3, 1, 0.5) == (10 * 2 * 3 + 15 * 2) * 0.5
    assert simulation.share_error(2, 3, 0, 0.5) == (10 * 2 * 3 + 15) * 0.5


def test_totals_are_shared_by_the_largest_remainders():
    for weights, total, shares in (
        ([1, 1, 2], 5, [1, 1, 3]),  # 1.25, 1.25, 2.5
        ([3, 2, 2], 10, [4, 3, 3]),  # 4 2/7, 2 6/7, 2 6/7
        ([0, 5, 1], 1, [0, 1, 0]),
        ([0, 0], 0, [0, 0]),
    ):
        assert simulation.apportion(weights, total).tolist() == shares


def test_the_training_length_of_one_layer_by_hand():
    """|V E_a| = 10, no MLP, |U| = 1: both networks have sensitivity 10, and phi is 0 and 1/2."""
    f = one_layer(np.diag([1.0, 3.0]), np.diag([10.0, 0.0]))
    assert simulation.sensitivity(f) == 10
    assert simulation.logit_margin(f) == 0.5
    assert simulation.hard_length(f) == 2 ** ((1 + 1) * 2) + 1
    small = 0.1 / (20 * (10 * 2 + 15 * 2))
    assert simulation.training_length(f, f, 0.1).length == (
        simulation.length_bound(2, 1, 1, small, 17)
    )
    assert simulation.length_bound(2, 1, 1, small, 17) == 10001**2 + 3 * 10000 + 2 + 2 + 2
    # Where networks hardly move, the share error's own range decides: 1 / (8 S Delta).
    still = one_layer(np.diag([1.0, 3.0]), np.zeros((2, 2)))
    assert simulation.training_length(still, still, 0.1).length == (
        simulation.length_bound(2, 1, 1, 1 / 16, 17)
    )


def test_the_output_bound_by_hand():
    """|A| = 2, |B| = 3, |b| = 5, |U| = 7: L_MLP = 7 (1 + 6) = 49; lengths 1 and 3, values 10, 0."""
    f = one_layer(np.diag([1.0, 3.0]), np.diag([10.0, 0.0]), 7.0)
    unit = limit.mlp(2, [({0: 2.0}, -5.0, False, {1: 3.0})])
    f = dataclasses.replace(f, layers=(limit.Layer(f.layers[0].heads, *unit),))
    assert simulation.output_bound(f) == 49 * (3 + 10) + 7 * 3 * 5
    assert simulation.output_bound(f, True) == 49 * 11 + 49 * 5
    assert simulation.sensitivity(f) == 49 * 10


def test_the_average_length_counts_symbols_and_residues():
    """Eq. (39) with a period of 2: pairs are S Delta = 4, and N has a factor Delta."""
    f, g = pair(0, 1, 2)
    eps, alpha = 0.2, [1.5, 0.5]
    M = max(simulation.output_bound(f) + simulation.output_bound(g), 1)
    root = mpmath.sqrt(eps)
    gamma = min((mpmath.mpf("0.5") * root / (4**2 * 2 * M)) ** 2, mpmath.mpf("0.5"))
    delta = root / (M * 4**2) * gamma
    right = 2 * delta**-2 * mpmath.log(2 * 4 * M / root)
    right = max(right, simulation.hard_length(f), simulation.hard_length(g))
    assert simulation.average_length(f, g, eps, alpha).length == pytest.approx(float(right), 1e-8)


def two_layers_by_hand():
    """Return layers with norms |V1| = 2, |K1'Q1| = 1/4, |A1| |B1| = 6, |B1| |b1| = 15, tau = 1."""
    unit = np.array([[1.0, 0.0]])
    first = limit.Head(unit, 0.25 * unit, np.diag([2.0, 1.0]), limit.Local((0.5, 0.2)))
    last = limit.Head(0.1 * unit, 0.5 * unit, np.diag([1.0, 3.0]))
    zero = np.zeros(1, bool)
    layers = (
        limit.Layer((first,), 2 * unit, 3 * unit.T, np.array([-5.0]), zero),
        limit.Layer((last,), 0.5 * unit, 4 * unit.T, np.zeros(1), zero),
    )
    return limit.Transformer(
        ("a", "b"), np.array([[1.0, 0], [0, 0.5]]), np.zeros((1, 2)), layers,
        np.array([[7.0, 0], [0, 2]]), None, None, "suffix",
    )  # fmt: skip


def test_the_constants_of_two_layers_by_hand():
    f = two_layers_by_hand()
    e = np.e  # exp(4 |K1'Q1|)
    G, H, L = (1 + 2) * (1 + 6) + 15, (1 + 6) * (2 + 3) ** 2 * 2 * e, 2 * 2 * 2 * e * (1 + 6)
    assert simulation.first_layer_constants(f) == pytest.approx((G, H, L), rel=1e-12)
    printed = ((1 + 2) * 7, 7 * (1 + 1) * e, L)
    assert simulation.first_layer_constants(f, printed=True) == pytest.approx(printed, rel=1e-12)
    outer = (1 + 3) * (1 + 2) * 7 * (1 + 1) * 2
    C = np.exp(0.01 * G**2 * 0.05) * outer * (1 + 2 * e) * 7
    assert simulation.complexity(f, 0.01) == pytest.approx(C, rel=1e-12)
    C = np.exp(0.01 * 21**2 * 0.05) * outer * 2 * e
    assert simulation.complexity(f, 0.01, printed=True) == pytest.approx(C, rel=1e-12)


def test_the_margin_of_two_layers_is_between_the_largest_two():
    """Of 1, 0.5, 0.2 and 0."""
    f = two_layers_by_hand()
    assert simulation.positional_margin(f) == 0.5
    head = f.layers[0].heads[0]
    for values, margins in (((0.25, 1.5), (0.5, 0.5)), ((1.0, 1.0), (1.0, np.inf))):
        first = dataclasses.replace(
            f.layers[0], heads=(dataclasses.replace(head, phi=limit.Local(values)),)
        )
        t = dataclasses.replace(f, layers=(first, f.layers[1]))
        assert simulation.positional_margin(t) == margins[0]
        assert simulation.positional_margin(t, zero=False) == margins[1]

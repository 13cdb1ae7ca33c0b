import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theorykit.claims import float64
from theorykit.subjects import limit, simulation
from theorykit.subjects.simulation import windows
from theorykit.subjects.simulation._soft import chain, trimmed

KEY = jax.random.key(0)


def p(w, mu):
    return jnp.stack([mu[0] * (w[-1] == 1) * (w[0] == 0), jnp.exp(-mu[1])])


def test_path_average_is_the_average():
    x = np.random.default_rng(0).integers(0, 3, 20_000)
    w, mu = windows(x, 3, 2)
    direct = np.asarray(jax.vmap(p)(w, mu)).mean(0)
    np.testing.assert_allclose(simulation.path_average(p, x, 3, 2), direct, rtol=1e-4)


def test_the_chain_has_its_share_and_its_runs():
    rng = np.random.default_rng(0)
    ones = [chain(rng, 20_000, 0.3, 0.05) for _ in range(40)]
    assert abs(np.mean([len(i) for i in ones]) / 20_000 - 0.3) < 0.02
    inside = np.concatenate([np.diff(i) == 1 for i in ones])
    assert abs((~inside).mean() - 0.05) < 0.005
    starts = np.mean(
        [len(i) > 0 and i[0] == 0 for i in (chain(rng, 9, 0.3, 0.05) for _ in range(2000))]
    )
    assert abs(starts - 0.3) < 0.05


@settings(deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(8, 200), tau=st.integers(0, 3))
def test_trimmed_has_the_lemmas_size(seed, n, tau):
    T = 1000
    drawn = simulation.subset(np.random.default_rng(seed), T, n, tau)
    found = trimmed(drawn, T, n, tau)
    assert abs(len(found) - n) <= tau + 1 + n ** (1 / 3)
    assert (np.diff(found) > 0).all()
    assert (found[-tau - 1 :] == np.arange(T - tau - 1, T)).all()


def test_simulate_soft_finds_the_best():
    x = np.repeat([0, 1, 2, 1], 5000)
    found = simulation.simulate_soft(p, x, 500, KEY, symbols=3, tau=1, candidates=8)
    assert found.error == found.errors.min()
    own = simulation.path_average(p, found.string, 3, 1) - simulation.path_average(p, x, 3, 1)
    assert np.isclose(np.linalg.norm(own), found.error)
    assert (found.string == x[found.indices]).all()
    again = simulation.simulate_soft(p, x, 500, KEY, symbols=3, tau=1, candidates=8)
    assert again.error == found.error


@pytest.mark.parametrize("seed", range(3))
def test_two_layers_through_the_first_layers_formula(seed):
    rng = np.random.default_rng(seed)
    f = simulation.random_two_layers(rng, "abc", tau=seed)
    x = "".join(rng.choice(list("abc"), 40))
    with float64():
        direct = limit.forward(f, jnp.array(f.encode(x)))[-1]
        np.testing.assert_allclose(simulation.soft_output(f, x), direct, atol=1e-9)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_large_logits_overflow_nowhere(sign):
    f = simulation.random_two_layers(np.random.default_rng(0), "ab", 0, heads=1, width=2)
    head = dataclasses.replace(
        f.layers[0].heads[0], K=800 * np.eye(2), Q=sign * np.eye(2), V=np.eye(2), phi=None
    )
    f = dataclasses.replace(
        f, E=np.eye(2), layers=(limit.Layer((head,), *limit.mlp(2)), f.layers[1])
    )
    w, mu = windows(np.array([0, 1, 1]), 2, 0)
    other = np.array([0, 0, 0] if sign < 0 else [0, 1, 1])  # the only key that is attended to
    expected = np.eye(2)[[0, 1, 1]] + np.eye(2)[other]
    for m in (mu, jnp.asarray(mu)):
        np.testing.assert_allclose(simulation.first_layer(f, w, m, np.arange(1, 4)), expected)


def test_of_symbols_far_above_the_window_the_largest_counts():
    """The last token is far below two symbols before it, which are far apart themselves."""
    f = simulation.random_two_layers(np.random.default_rng(0), "abc", 0, heads=1, width=3)
    logits = np.array([[0, 0, 0], [0, 0, -100], [0, -100, -800.0]])
    head = dataclasses.replace(f.layers[0].heads[0], K=np.eye(3), Q=logits, V=np.eye(3), phi=None)
    layers = (limit.Layer((head,), *limit.mlp(3)), f.layers[1])
    f = dataclasses.replace(f, E=np.eye(3), layers=layers)
    w, mu = windows(np.array([0, 1, 2]), 3, 0)
    found = simulation.first_layer(f, w, mu, np.arange(1, 4))[-1]
    np.testing.assert_allclose(found, [1, 0, 1], atol=1e-12)


def test_two_layers_are_simulated():
    rng = np.random.default_rng(5)
    f, g = (simulation.random_two_layers(rng, "ab", tau=1, scale=0.5) for _ in range(2))
    x = "ab" * 3000 + "a" * 4000
    found = simulation.simulate_two_layers(f, g, x, 400, KEY, candidates=16)
    assert len(found.string) < 420
    assert max(found.difference) < 0.1
    rough = simulation.soft_output(f, x) - simulation.soft_output(f, "ab" * 200)
    assert np.linalg.norm(rough) > found.difference[0]


def test_bad_input():
    x = np.zeros(50, int)
    soft = lambda x=x, n=20, **more: simulation.simulate_soft(
        p, x, n, KEY, **dict(symbols=3) | more
    )
    with pytest.raises(ValueError, match="3 is not in the alphabet"):
        soft(x + 3)
    with pytest.raises(ValueError, match="longer than tau = 60; this one has 50"):
        soft(tau=60)
    with pytest.raises(ValueError, match="between tau \\+ 1 = 1 and T = 50, not 50"):
        soft(n=50)
    with pytest.raises(ValueError, match="n q <= T - n"):
        soft(n=45, q=0.9)
    with pytest.raises(ValueError, match="the average of p must be finite"):
        simulation.simulate_soft(lambda w, mu: mu * jnp.nan, x, 20, KEY, symbols=3)
    with pytest.raises(ValueError, match=r"key is one JAX key, .* not 0"):
        simulation.simulate_soft(p, x, 20, 0, symbols=3)
    with pytest.raises(ValueError, match=r"q lies between 0 and 1, not '0.5'"):
        soft(q="0.5")
    with pytest.raises(ValueError, match="longer than tau = 9; this one has 9"):
        simulation.subset(np.random.default_rng(0), 9, 3, 9)
    with pytest.raises(ValueError, match="3 is not in the alphabet"):
        simulation.path_average(p, x + 3, 3, 0)
    with pytest.raises(ValueError, match="candidates is a whole number"):
        soft(candidates=0)
    f = simulation.random_two_layers(np.random.default_rng(0), "ab", 1)
    with pytest.raises(ValueError, match="precision=None"):
        simulation.positional_margin(dataclasses.replace(f, precision=8))
    with pytest.raises(ValueError, match="norm at most 1"):
        simulation.complexity(dataclasses.replace(f, E=2 * f.E))

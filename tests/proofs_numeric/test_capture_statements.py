"""The capture paper's claims: constants as derived, and verdicts that turn with the mathematics."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from theorykit import kernels
from theorykit.claims import float64
from theorykit.kernels import activations, draws, recursion
from theorykit.proofs_numeric.capture import (
    _softmax,
    correction,
    decision,
    mlp_step,
    perturbation,
    ridge,
    softmax,
)
from theorykit.proofs_numeric.capture import score_draws as drawn


def test_sharp_block_is_the_maximum_of_its_derivation():
    s = np.linspace(0, 1, 100_001)
    assert pytest.approx(((1 - s**2) * (2 + s)).max(), abs=1e-9) == softmax.SHARP_BLOCK


def test_first_block_comes_close_to_its_sharp_constant():
    T, q = 2000, (1 - (math.sqrt(7) - 2) / 3) / 2
    v = np.where(np.arange(T) < q * T, 1.0, -1.0)
    with float64():
        block = _softmax.first_block(jnp.zeros(T), jnp.zeros(1), jnp.asarray(v)[:, None])
        reached = float(block)
    assert 0.99 * softmax.SHARP_BLOCK < reached <= softmax.SHARP_BLOCK


def test_blocks_written_out_are_those_of_autodiff():
    with float64():
        s1, s2, V = (jax.random.normal(jax.random.key(i), s) for i, s in enumerate([4, 4, (4, 4)]))
        (first, cross), (_, second) = jax.hessian(_softmax.f, (0, 1))(s1, s2, V)
        assert _softmax.first_block(s1, s2, V) == pytest.approx(float(jnp.abs(first).sum()))
        assert _softmax.second_block(s1, s2, V) == pytest.approx(float(jnp.abs(second).sum()))
        assert _softmax.cross_block(s1, s2, V) == pytest.approx(float(jnp.abs(cross).sum()))


def test_relu_constant_is_half_for_equal_variances_and_grows_with_their_ratio():
    assert mlp_step.relu_constant(1) == 0.5
    angle = np.linspace(0, np.pi, 10_001)
    for r in (2, 10):
        slopes = (np.pi - angle) / (2 * np.pi) + np.sin(angle) * (r + 1 / r) / (4 * np.pi)
        assert mlp_step.relu_constant(r) == pytest.approx(slopes.max(), abs=1e-6)


def test_gelu_constant_uses_the_largest_slopes():
    x = np.linspace(-5, 5, 100_001)
    phi = np.vectorize(math.erf)(x / math.sqrt(2)) / 2 + 0.5
    n = np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
    assert np.abs(phi + x * n).max() <= mlp_step.GELU_SLOPE < np.abs(phi + x * n).max() + 1e-3
    assert np.abs((2 - x**2) * n).max() == pytest.approx(2 / math.sqrt(2 * math.pi))


def test_printed_bound_of_the_predictor_fails_at_one_point():
    with float64():
        G, y = jnp.ones((2, 2)), jnp.ones(1)
        assert ridge.prediction(G, y, 1.0) == 0.5  # the printed bound is 1/4
        assert ridge.rkhs_bound.expect == "refuted"


def test_a_dual_with_the_wrong_sign_turns_the_verdict(monkeypatch):
    right = activations.Relu.dual
    monkeypatch.setattr(
        activations.Relu, "dual", lambda self, k11, k12, k22: right(self, k11, -k12, k22)
    )
    assert mlp_step.repaired_mlp_step.run().verdict == "refuted"


def test_a_sampler_without_its_mean_turns_the_verdict(monkeypatch):
    def alone(s11, s12, s22, u):
        return draws_conditional(s11, 0 * s12, s22, u)

    draws_conditional = draws.conditional
    monkeypatch.setattr(draws, "conditional", alone)
    assert drawn.repaired_joint_draw.run().verdict == "refuted"


def test_a_factor_with_a_wrong_entry_turns_the_verdict(monkeypatch):
    right = draws.factor
    monkeypatch.setattr(draws, "factor", lambda S: (right(S)[0].at[0, 0].add(1), 0.0))
    assert drawn.shipped_factor.run().verdict == "refuted"


def test_scores_of_twice_the_size_turn_the_verdict(monkeypatch):
    right = recursion.scores
    monkeypatch.setattr(recursion, "scores", lambda f, rows, u, scale: 2 * right(f, rows, u, scale))
    assert drawn.joint_factor.run().verdict == "refuted"


def test_a_ridge_of_twice_the_size_turns_the_verdict(monkeypatch):
    right = kernels.ridge
    twice = lambda k, y, k_test, ridge: right(k, y, k_test, ridge=2 * ridge)
    monkeypatch.setattr(kernels, "ridge", twice)
    assert ridge.ridge_predictor.run().verdict == "refuted"


def test_an_mlp_that_looks_at_other_tokens_turns_the_verdict(monkeypatch):
    right = recursion.mlp

    def mixed(state, *arguments):
        after = right(state, *arguments)
        return after._replace(nngp=after.nngp + 0.1 * state.nngp.mean())

    monkeypatch.setattr(recursion, "mlp", mixed)
    assert mlp_step.three_entries.run().verdict == "refuted"


def test_largest_of_many_errors_grows_like_the_root_of_log_T_where_tokens_are_many():
    """The limit of `lipschitz.positioned`: given U_00, the diagonal's errors are independent."""
    rng, draws = np.random.default_rng(0), 8

    def largest(T):
        sign = np.where(np.arange(T) % 2, -1.0, 1.0)[:, None]
        score = lambda: sign * rng.standard_normal(draws) + rng.standard_normal((T, draws))
        entry = lambda: (np.tanh(score() / 2) ** 2).mean(1) / 2
        return np.mean([np.abs(entry() - entry()).max() for _ in range(200)])

    found = np.array([largest(2**n) for n in (4, 8, 12)]) / np.sqrt([4, 8, 12])
    np.testing.assert_allclose(found, found[0], rtol=0.1)


def test_correction_with_a_flipped_sign_leaves_the_first_order():
    ratio = correction.remainder(256) / correction.remainder(512)
    assert ratio == pytest.approx(4, rel=0.02)
    flipped = correction.remainder(256, factor=-1 / 6) / correction.remainder(512, factor=-1 / 6)
    assert flipped == pytest.approx(2, rel=0.05)


def test_the_exact_posterior_mean_needs_all_its_terms():
    one = correction.posterior_mean(1)  # a single unit: a mixture of two Gaussian processes
    weight = np.array([1 - correction.SHARE, correction.SHARE])[:, None] * np.exp(
        [correction.log_evidence(correction.B), correction.log_evidence(correction.A)]
    )
    means = [correction.gaussian_mean(correction.B), correction.gaussian_mean(correction.A)]
    mixed = np.einsum("kp,kpx->px", weight / weight.sum(0), means)
    np.testing.assert_allclose(one, mixed, rtol=1e-10)


def test_gaussian_mean_by_quadrature_integrates_polynomials():
    with float64():
        C = jnp.array([[2.0, 0.3, 0.1, 0.0], [0.3, 1.0, 0.2, 0.1]])
        C = jnp.vstack([C, jnp.array([[0.1, 0.2, 1.5, 0.4], [0.0, 0.1, 0.4, 1.0]])])
        gap = lambda s1, s2: (s1[0] - s1[1]) * (s2[0] - s2[1])
        exact = C[0, 2] - C[0, 3] - C[1, 2] + C[1, 3]
        assert perturbation.mean(gap, C, 4) == pytest.approx(float(exact))


def test_search_counts_its_steps_and_stops_at_its_budget():
    path = [[1], [0, 2], [1]]
    assert decision.search(path) == (2, 7)  # nodes 1 + 1 + 1, edges 1 + 2 + 1
    assert decision.search(path, budget=7) == (2, 7)
    assert decision.search(path, budget=6) == (-2, 6)
    assert decision.search([[1], [0], []]) == (-1, 4)

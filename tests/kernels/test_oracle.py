"""The oracle itself: exact where it can be, convergent elsewhere, closed to bad input."""

import numpy as np
import pytest
from scipy.stats import norm

from theorykit.kernels import InfiniteTransformer, oracle

RNG = np.random.default_rng(0)
X = RNG.normal(size=(2, 2, 3))


def covariance(tokens):
    return np.einsum("iac,jbc->iajb", tokens, tokens) / tokens.shape[-1]


@pytest.mark.parametrize(("dimension", "order"), [(0, 4), (1, 3), (3, 4), (7, 24)])
def test_points_have_the_moments_of_a_standard_normal(dimension, order):
    nodes, weights = oracle.gaussian_points(dimension, order, points=2**14)
    assert nodes.shape == (len(weights), dimension)
    tolerance = 1e-10 if order**dimension <= 2**14 else 2e-2
    np.testing.assert_allclose(weights.sum(), 1, rtol=1e-10)
    np.testing.assert_allclose(weights @ nodes, np.zeros(dimension), atol=tolerance)
    second = np.einsum("n,na,nb->ab", weights, nodes, nodes)
    np.testing.assert_allclose(second, np.eye(dimension), atol=tolerance)


def test_values_converge_with_the_order():
    nngp = covariance(X)
    step = lambda m: np.stack(oracle.attention_step(nngp, nngp, score_scale=0.7, order=m))
    errors = [np.abs(step(m) - step(48)).max() for m in (6, 12, 24)]
    assert errors[0] > 4 * errors[1] > 16 * errors[2]
    assert errors[2] < 1e-4


def test_identity_attention_is_a_polynomial():
    """E[S_ac S_be] = beta^2 S_ab S_ce, and the NTK by the product rule."""
    s, beta2 = covariance(X), 1.3**2
    root = RNG.normal(size=(4, 4))
    w = (root @ root.T).reshape(2, 2, 2, 2)
    nngp, ntk = oracle.attention_step(s, w, attention="identity", score_scale=1.3, order=2)
    sums = lambda k: k.sum((1, 3))[:, None, :, None]
    np.testing.assert_allclose(nngp, beta2 * s * sums(s * s), rtol=1e-12)
    expected = nngp + beta2 * (s * sums(s * w) + (2 * s + w) * sums(s * s) + s * sums(s * w))
    np.testing.assert_allclose(ntk, expected, rtol=1e-12)


def test_two_tokens_by_a_one_dimensional_integral():
    """A softmax of two scores is a logistic function of their difference."""
    nngp = covariance(X)
    difference = nngp[0, 0, 0, 0] * (nngp[0, 0, 0, 0] + nngp[0, 1, 0, 1] - 2 * nngp[0, 0, 0, 1])
    t = np.linspace(-9, 9, 20001)
    a = 1 / (1 + np.exp(-np.sqrt(difference) * t))
    a = np.stack([a, 1 - a])
    mean = np.trapezoid(norm.pdf(t) * np.einsum("an,ab,bn->n", a, nngp[0, :, 0], a), t)
    exact, _ = oracle.attention_step(nngp, nngp, order=40)
    np.testing.assert_allclose(exact[0, 0, 0, 0], mean, rtol=1e-8)


def test_one_token_passes_through():
    nngp = covariance(X[:, :1])
    out, tangent = oracle.attention_step(nngp, 3 * nngp, order=4)
    np.testing.assert_allclose(out, nngp, rtol=1e-12)
    np.testing.assert_allclose(tangent, 4 * nngp, rtol=1e-12)


@pytest.mark.parametrize("readout", ["last", "mean", "tokens"])
def test_a_padded_input_is_the_shorter_input(readout):
    net = InfiniteTransformer(readout=readout, residual=True, positions=0.4, activation="erf")
    mask = np.array([[True, False], [True, True]])
    padded = oracle.kernel(net, X, mask1=mask, order=9)
    short = oracle.kernel(net, X[:1, :1], X[1:], order=9)
    at = (slice(0, 1), slice(0, 1), slice(1, 2)) if readout == "tokens" else ([0], [1])
    np.testing.assert_allclose(padded.ntk[at], np.reshape(short.ntk, padded.ntk[at].shape))
    assert padded.draw == "oracle"
    assert np.all(padded.ntk_stderr >= 0)


@pytest.mark.parametrize(
    ("matrix", "wrong"),
    [
        (np.diag([1.0, 1.0, 1.0, -0.1]), "smallest eigenvalue is -0.1"),
        (np.eye(4) + np.eye(4, k=1), "not symmetric"),
        (np.full((4, 4), np.nan), "NaN or infinity"),
    ],
)
def test_what_is_no_covariance(matrix, wrong):
    with pytest.raises(ValueError, match=f"nngp is a covariance.*{wrong}"):
        oracle.attention_step(matrix.reshape(2, 2, 2, 2), np.ones((2, 2, 2, 2)))


def test_a_singular_covariance_is_one():
    oracle.positive_semidefinite("nngp", np.ones((5, 5)))
    oracle.positive_semidefinite("nngp", np.zeros((5, 5)))


def test_sharp_attention_is_covered_or_refused():
    x = np.sqrt(2) * np.eye(2)[None]
    net = lambda scale: InfiniteTransformer(score_scale=scale, activation="identity")
    for scale, order, right in ((1, 24, 3.1397784), (3, 24, 5.4867925), (10, 250, 11.2745586)):
        k = oracle.kernel(net(scale), x, order=order)
        assert abs(k.ntk[0, 0] - right) <= k.ntk_stderr[0, 0]
    for scale in (10, 30, 100, 1e3, 1e5):
        with pytest.raises(ValueError, match=r"deviation .* nodes see the near ties .* up to 4\.4"):
            oracle.kernel(net(scale), x)

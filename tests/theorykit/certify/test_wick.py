"""Exact means of polynomials of random numbers."""

import itertools
import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from theorykit.certify import NotCertifiable, Work, wick

ONE = dict(x=1)


def pairings(indices):
    """Yield all ways to pair indices: an independent route to Wick's theorem."""
    if not indices:
        yield []
        return
    first, *rest = indices
    for k, other in enumerate(rest):
        for others in pairings(rest[:k] + rest[k + 1 :]):
            yield [(first, other), *others]


@pytest.mark.parametrize("n", range(9))
def test_moments_of_one_gaussian(n):
    variance = Fraction(2, 3)
    double = math.prod(range(1, n, 2)) * variance ** (n // 2)
    assert wick(lambda x: x**n, dict(x=variance)) == (0 if n % 2 else double)


@pytest.mark.parametrize("indices", [*itertools.combinations_with_replacement(range(3), 4)])
def test_correlated_gaussians_against_the_sum_over_pairings(indices):
    L = np.array([[1, 0, 0], [2, 1, 0], [-1, 3, 2]])
    covariance = L @ L.T
    mean = wick(lambda x: jnp.prod((L @ x)[np.array(indices)]), dict(x=np.ones(3, int)))
    assert mean == sum(
        math.prod(int(covariance[a, b]) for a, b in pairs) for pairs in pairings(list(indices))
    )


def test_a_matrix_against_sampling():
    A = jax.random.normal(jax.random.key(0), (3, 3))
    f = lambda z: jnp.stack([(z @ A @ z) ** 2, z[0] * (A @ z)[1]])
    draws = jax.vmap(f)(jax.random.normal(jax.random.key(1), (100_000, 3)))
    exact = wick(f, dict(z=np.ones(3, int)))
    error = np.asarray(draws.std(0)) / math.sqrt(len(draws))
    assert (np.abs(np.asarray(draws.mean(0)) - exact.astype(float)) < 5 * error).all()


def test_finitely_many_values_are_gone_through():
    signs = [np.array(s) for s in itertools.product((-1, 1), repeat=2)]
    f = lambda x, s: (s[0] * x + s[1]) ** 2 * s[0] * s[1]
    assert wick(f, dict(x=3), dict(s=signs)) == 2 * 0 + 0
    assert wick(lambda s: s**2, {}, dict(s=[0, 1, 2])) == Fraction(5, 3)
    assert wick(lambda s: jnp.where(s > 0, 1.0, 0.0), {}, dict(s=[0, 1, 2])) == Fraction(2, 3)
    cross = wick(lambda x, s: (x + s[0] * s[1]) ** 2, dict(x=3), dict(s=signs))
    assert cross == 4


def test_a_float_is_the_number_that_it_is():
    assert wick(lambda x: 0.1 * x**2, ONE) == Fraction(0.1) != Fraction(1, 10)


def test_a_root_may_come_and_go():
    assert wick(lambda x: (x / jnp.sqrt(2.0)) ** 2, ONE) == Fraction(1, 2)


@pytest.mark.parametrize(
    ("f", "said"),
    [
        (lambda x: jnp.abs(x), "no polynomial"),
        (lambda x: jnp.maximum(x, 0), "no polynomial"),
        (lambda x: jnp.exp(x), "no polynomial"),
        (lambda x: jnp.sqrt(2.0) * x**2, "rational coefficients"),
        (lambda x: 1 / (1 + x**2), "divides"),
        (lambda x: jnp.where(x > 0, x, 0.0), "no polynomial|sign"),
        (lambda x: (x, x), "several"),
        (lambda x: jnp.inf + 0 * x, "finite|add"),
        (lambda x: jax.random.normal(jax.random.key(0)) * x, "random"),
    ],
)
def test_what_is_no_polynomial_is_refused(f, said):
    with pytest.raises(NotCertifiable, match=said):
        wick(f, ONE)


def test_it_stops():
    with pytest.raises(NotCertifiable, match="budget"):
        wick(lambda x: x.sum() ** 8, dict(x=np.ones(6, int)), work=Work(1000))
    with pytest.raises(NotCertifiable, match="4096"):
        wick(lambda s, t: s * t, {}, dict(s=range(100), t=range(100)))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (dict(variances=dict(x=-1)), "not negative, but x has -1"),
        (dict(variances=[1]), "a variance for each entry"),
        (dict(variances=ONE, values=dict(s=[])), "s has no value"),
    ],
)
def test_what_is_no_law_is_refused(given, said):
    with pytest.raises(ValueError, match=said):
        wick(lambda x, s=1: x, **given)

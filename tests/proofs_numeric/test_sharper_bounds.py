"""What the claims on bounds of the sharper paper stand on: closed forms against the networks."""

import numpy as np
import pytest

from theorykit.proofs_numeric.sharper import cot_bounds, edelman, pac_bayes
from theorykit.subjects import boolean, sharpness


def test_the_chain_has_its_norm():
    network = boolean.ParityChain(5)
    assert cot_bounds.chain_norm(5) == pytest.approx(
        sum(network.squared_norms().values()), rel=1e-5
    )


@pytest.mark.parametrize("d", [2, 3])
def test_the_trace_is_that_of_the_construction_without_leakage(d):
    """A large scale leaves nothing to leak; the trace is over all inputs, its targets its own."""
    network = boolean.transformer(boolean.parity(5, range(d)), scale=9.0)
    found = sharpness.gradient_norms(network, boolean.bits(5).astype(np.float32))
    scores = found.pop("score1") + found.pop("score2")
    total = 2 * float(sum(np.mean(g) for g in found.values()))
    assert np.max(scores) < 1e-3
    assert cot_bounds.trace(d) == pytest.approx(total, rel=0.02)


def test_the_bound_fails_with_the_wrong_constant():
    members = [(n, weight, 0.3) for n in (5, 9) for weight in (3.0, 8.0)]
    assert all(pac_bayes.failure(*m, 0.5) <= 0.3 for m in members)
    assert any(pac_bayes.failure(*m, 0.05) > 0.3 for m in members)


def test_more_samples_are_asked_for_by_the_covering_bound():
    assert edelman.truncated(10**6) < 1 < edelman.truncated(2**13)

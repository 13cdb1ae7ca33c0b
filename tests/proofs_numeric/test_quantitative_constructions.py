"""What the constructions' claims stand on: exact oracles, and bounds by another route."""

import math
from fractions import Fraction

from theorykit.proofs_numeric.quantitative import _kgram, constructions, kgram, kgram_norms
from theorykit.subjects import limit


def test_the_least_norm_lies_between_peaks_and_the_construction():
    # Between neighbouring peaks the slope is at least 2 (1 - error) omega / pi, up or down.
    for omega in (8, 16):
        peaks = int(2 * omega / math.pi)
        steep = 2 * (1 - 0.1) * omega / math.pi
        layer = limit.simple_task(float(omega), 0.1).layers[0]
        product = constructions.norm(layer.A, 2) * constructions.norm(layer.B, 2)
        assert 2 * steep * (peaks - 2) < constructions.least_norms(omega) < product


def test_following_and_agreement_by_hand():
    x = (0, 1, 0, 0, 1, 0)
    assert _kgram.following(x, 1) == {1: 2, 0: 1}
    assert _kgram.following(x, 2) == {0: 1}
    assert [_kgram.agreement(x, i, 1) for i in range(6)] == [2, 2, 0, 2, 2, 0]
    assert kgram.distance(x, {1: 2, 0: 1}, _kgram.weights(x, 1, 10**6, start=False)) < Fraction(
        1, 99
    )


def test_the_start_agrees_by_mistake():
    x = (0, 1, 0)
    assert _kgram.following(x, 1) == {1: 1}
    assert _kgram.weights(x, 1, 10) == {0: 100, 1: 100, 2: 1}


def test_rank_by_elimination():
    for symbols, tau in ((2, 1), (3, 1), (2, 2)):
        assert kgram_norms.free(symbols, tau, tau + 1) == tau

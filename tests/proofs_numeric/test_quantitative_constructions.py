"""What the constructions' claims stand on: exact oracles, and bounds by another route."""

import math
from fractions import Fraction

import numpy as np

from theorykit.proofs_numeric.quantitative import _kgram, constructions, kgram, kgram_norms
from theorykit.subjects import limit


def test_the_least_norm_lies_between_peaks_and_the_construction():
    # Between neighbouring peaks the slope is at least 2 (1 - error) omega / pi, up or down.
    for omega in (8, 16):
        peaks = int(2 * omega / math.pi)
        steep = 2 * (1 - 0.1) * omega / math.pi
        layer = limit.simple_task(float(omega), 0.1).layers[0]
        product = np.linalg.norm(layer.A, 2) * np.linalg.norm(layer.B, 2)
        assert 2 * steep * (peaks - 2) < constructions.least_norms(omega) < product


def test_following_and_agreement_by_hand():
    x = (0, 1, 0, 0, 1, 0)
    assert _kgram.following(x, 1) == {1: 2, 0: 1}
    assert _kgram.following(x, 2) == {0: 1}
    assert [_kgram.agreement(x, i, 1) for i in range(6)] == [2, 2, 0, 2, 2, 0]
    given = _kgram.weights(x, 1, 10**6, start=False)
    assert abs(Fraction(given[1] + given[4], sum(given.values())) - Fraction(2, 3)) < Fraction(
        1, 99
    )


def test_what_is_put_out_is_what_the_weights_say():
    for x in _kgram.strings(5):
        given = _kgram.weights(x, 2, 3)
        ones = Fraction(sum(w for i, w in given.items() if x[i]), sum(given.values()))
        assert abs(kgram.put_out(x, 2, 3)[1] - float(ones)) < 1e-9


def test_the_start_agrees_by_mistake():
    x = (0, 1, 0)
    assert _kgram.following(x, 1) == {1: 1}
    assert _kgram.weights(x, 1, 10) == {0: 100, 1: 100, 2: 1}


def test_rank_by_elimination():
    for symbols, tau in ((2, 1), (3, 1), (2, 2)):
        assert kgram_norms.free(symbols, tau, tau + 1) == tau

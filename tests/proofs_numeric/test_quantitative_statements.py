"""What the quantitative paper's claims stand on: counts, exponents and lengths by hand."""

from fractions import Fraction

import numpy as np

from theorykit.proofs_numeric.quantitative import bounds, counts, lengths
from theorykit.subjects.simulation._counts import scaled


def floors_and_the_first(n, kinds, C):
    """Return m_s for f, eqs. (5) and (6), in integers: floors, then the first R and R' raised."""
    Pf = counts.mass(n, kinds, 1, 3)
    m = [C * v // Pf if a & 1 else 0 for v, a in zip(n, kinds, strict=True)]
    for kind, group in ((3, (3,)), (1, (1, 3))):
        R = C * counts.mass(n, kinds, *group) // Pf - counts.mass(m, kinds, *group)
        for i in [i for i, a in enumerate(kinds) if a == kind][:R]:
            m[i] += 1
    return m


def test_counts_two_ways():
    """The library rounds up where remainders are largest, the proof where it likes."""
    for n, kinds, E in counts.instances()[::37]:
        own = floors_and_the_first(n, kinds, E)
        kinds = np.array(kinds)
        found = scaled(np.array(n), kinds & 1 > 0, kinds & 2 > 0, 1 / E)[0]
        assert found.sum() == sum(own) == E
        assert abs(found - own).max() <= 1


def test_exponents_by_hand():
    """At alpha_0 = 1: delta = eps / (4^alpha* M^2 |Sigma|^3 Delta^2), N = Delta / delta^2."""
    assert bounds.proof_length(1, Fraction(1, 2)) == (-2, 4, 6, 5, -2, 1)


def test_needed_length_of_the_claim():
    assert lengths.shown(1 / 8, longest=150) == 8

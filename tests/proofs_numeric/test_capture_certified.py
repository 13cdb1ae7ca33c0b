"""Both sides of the capture paper's claims, in ball arithmetic and in float64."""

import jax
import numpy as np
import pytest

from theorykit.certify import NotCertifiable
from theorykit.checks import Trial, identity, inequality
from theorykit.checks._certificates import enclosed
from theorykit.checks._sides import Sides
from theorykit.claims import float64, select

CLAIMS = {c.id: c for c in select(["capture.*"])}
with float64():
    CHECKS = {id: c.build() for id, c in CLAIMS.items()}
SIDED = [id for id, check in CHECKS.items() if isinstance(check, identity | inequality)]

# neural-tangents compares computed norms with zero; a pivoted Cholesky may meet equal pivots; the
# shipped predictors have eigenvectors.
MAY_NOT = {
    "capture.4.1.footnote4.ridge",
    "capture.5.1.bounded_in_T.targets",
    "capture.A3.mlp_step.tangents",
    "capture.B.posterior",
    "capture.D.footnote7.repaired",
    "capture.D.joint_draw.repaired",
    "capture.E3.depth",
    "capture.eq1.ridge",
    "capture.joint_factor.shipped",
}


def attempt(sides, point):
    try:
        return enclosed(sides, point, 128), None
    except NotCertifiable as why:
        return None, why


@pytest.mark.parametrize("id", SIDED)
def test_enclosures_agree_with_float64(id):
    check = CHECKS[id]
    with float64():
        trial = Trial(jax.random.key(1))
        sizes = check.over.settings()[0]
        sides = Sides(check.lhs, check.rhs, check.over, sizes, 1, check.traceable, trial)
        point = check.over.squash(check.over.random(trial.rng(0), sizes), np)
        both, why = attempt(sides, point)
        if why is not None:
            assert id in MAY_NOT
            assert why.place
            assert why.primitive in str(why)
            return
        for balls, floats in zip(both, sides.evaluate([point]), strict=True):
            assert balls.radius < 1e-20
            middle = np.array([float(b.mid()) for b in balls.array])
            np.testing.assert_allclose(floats[0], middle, rtol=1e-9, atol=1e-11)

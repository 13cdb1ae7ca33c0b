"""What the pages say is proved, or cannot be."""

from pathlib import Path

import jax.numpy as jnp

from theorykit import verify
from theorykit.certify import ordered
from theorykit.results import Scope

DOCS = Path(__file__).parents[2] / "docs"


def test_the_example_of_what_cannot_be_proved_cannot():
    assert "(x^2 <= exp(x) + exp(-x))" in (DOCS / "certify.md").read_text()
    assert not ordered(lambda x: (x**2, jnp.exp(x) + jnp.exp(-x)), dict(x=())).proved


def test_the_quickstart_has_two_proofs_at_each_of_their_sizes():
    ids = ["capture.eq11.rkhs_bound.repaired", "capture.E1.first_derivative"]
    assert all(id in (DOCS / "notebooks" / "quickstart.md").read_text() for id in ids)
    assert [r.outcome.certificate.scope for r in verify(ids)] == [Scope.sizes] * 2

"""How strong the evidence of `theorykit verify` is, which its exit code does not say.

Reads the run that `make evidence` leaves in build/verify, so that no claim is run twice.
"""

from pathlib import Path

import pytest

from theorykit.claims import float64, select
from theorykit.results import Evidence, Verdict
from theorykit.runs import read_run

pytestmark = pytest.mark.evidence

# In the slow tier networks are trained: what is refuted there is measured.
CAPTURE = [c for c in select(["capture.*"]) if c.tier == "fast"]
# A fitted exponent has no certificate.
FITTED = {
    "capture.4.1.footnote4",
    "capture.E1.summands",
    "capture.E3.draws",
    "capture.E3.layer_norm",
    "capture.intro.kernel_cost",
    "capture.table1.forward_cost.width",
}
REFUTED = [c.id for c in CAPTURE if c.expect == Verdict.refuted and c.id not in FITTED]
EXACT = [
    "sharper.fourier",
    "sharper.fourier.centred*",
    "sharper.9.*",
    "sharper.10.bias*",
    "sharper.construction.log_scale*",
    "sharper.D.rescaling",
    "sharper.16.cot",
    "sharper.H.low_degree.blocks",
    "templates.B.random*",
    "templates.counts*",
    "templates.match*",
    "templates.disjoint",
    "templates.N",
    "templates.N.mlp",
    "templates.E2",
    "templates.F1.table",
    "templates.F2.*",
    "templates.J2.limit*",
    "templates.D2.hoeffding.repaired",
    "templates.G1.series",
    "templates.G1.bound",
]


@pytest.fixture(scope="module")
def results():
    return {r.id: r for r in read_run(Path(__file__).parents[2] / "build" / "verify").results}


def test_the_whole_fast_tier_was_run(results):
    assert set(results) == {c.id for c in select(tier="fast")}


def test_a_claim_runs_the_product_or_is_of_mathematics_alone(results):
    alone = {c.id for c in select(tier="fast") if c.mathematics}
    assert not {id for id, r in results.items() if not r.ran} - alone


def test_what_holds_has_a_resolution_that_says_something(results):
    held = [r for r in results.values() if r.verdict == Verdict.holds]
    assert not [r.id for r in held if r.outcome.resolution is None]
    assert not [r.id for r in held if r.outcome.resolution.poor and not r.proved]


def test_what_is_sampled_or_searched_says_why_it_is_not_proved(results):
    held = [r for r in results.values() if r.verdict == Verdict.holds]
    open_ = [r for r in held if r.outcome.evidence in (Evidence.sampled, Evidence.searched)]
    assert open_
    assert not [r.id for r in open_ if not r.outcome.unproved]


@pytest.mark.parametrize("id", REFUTED)
def test_refutations_are_certified(id, results):
    outcome = results[id].outcome
    assert (outcome.verdict, outcome.evidence) == (Verdict.refuted, Evidence.certified)
    assert outcome.certificate.bits in (64, None)  # balls, or integers


def test_proofs_are_found(results):
    with float64():
        with_proof = {c.id for c in CAPTURE if getattr(c.build(), "proof", None)}
    assert len(with_proof) >= 6
    for id in with_proof | {"capture.4.4.triangle.decision"}:
        outcome = results[id].outcome
        assert (outcome.verdict, outcome.evidence) == (Verdict.holds, Evidence.certified), id
        assert outcome.certificate.where


@pytest.mark.parametrize("id", [c.id for c in select(EXACT)])
def test_exact_claims_are_certified(id, results):
    assert results[id].outcome.evidence == Evidence.certified

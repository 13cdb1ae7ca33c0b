"""The capture paper's experiments: how a cost grows; what is written into a folder."""

import json

import numpy as np
import pytest

from theorykit import experiments
from theorykit.experiments import Setting
from theorykit.experiments.capture import Adaptation, carry_over, growth, network
from theorykit.networks import tasks

LENGTHS, FIRST = (20, 24, 32, 48, 64), 16
RATIO = np.array(LENGTHS) / FIRST


def cost(f, noise=0.05):
    return f(RATIO)[:, None] * np.exp(noise * np.random.default_rng(0).standard_normal((5, 4)))


def test_a_logarithm_and_a_line_are_told_apart():
    log = growth(LENGTHS, FIRST, cost(np.log))["log"]
    line = growth(LENGTHS, FIRST, cost(lambda r: r - 1))["log"]
    assert log["interval"][0] < 1 < log["interval"][1] < 1.2
    assert line["interval"][0] > 1.2
    assert growth(LENGTHS, FIRST, cost(np.log))["linear"] == pytest.approx(1.36, abs=0.01)


def test_power_laws_have_their_exponent():
    found = growth(LENGTHS, FIRST, cost(lambda r: r**2))["power"]
    assert found["interval"][0] < 2 < found["interval"][1]


def test_seeds_that_did_not_learn_have_no_exponent():
    samples = cost(np.log)
    samples[:, 0] = np.nan
    found = growth(LENGTHS, FIRST, samples)["log"]
    assert np.isnan(found["values"][0])
    assert np.isfinite(found["mean"])


def test_an_adaptation_that_does_not_end_gives_a_lower_bound_or_nothing():
    whole = cost(lambda r: r**2)
    samples = whole.copy()
    samples[-1, 0] = np.nan
    samples[0, 1] = np.nan
    without = growth(LENGTHS, FIRST, samples)["log"]["values"]
    assert np.isnan(without[:2]).all()  # a seed that ran out of budget is not dropped unseen
    known = growth(LENGTHS, FIRST, whole)["log"]["values"]
    assert without[2:] == known[2:]
    for share in (0.5, 0.9):
        found = growth(LENGTHS, FIRST, samples, budget=share * whole[-1, 0])["log"]["values"]
        assert found[0] < known[0]
        assert np.isnan(found[1])  # more samples at the first length would make it smaller
    exact = growth(LENGTHS, FIRST, samples, budget=whole[-1, 0])["log"]["values"]
    assert exact[0] == pytest.approx(known[0])


TINY = Adaptation(
    tasks.InductionHead(vocabulary=8), network(16, 1, 2, causal=True), 4, (6,),
    batch=16, seeds=2, steps=60, later=40, threshold=0.2, every=20, every_later=10, judged=32,
)  # fmt: skip


@pytest.mark.slow
def test_a_finding_is_written_and_drawn(tmp_path):
    made = experiments.Experiment(
        "p", "n", "Fig. 1", "words", lambda s: carry_over(TINY, s, "Tiny", "nothing")
    )
    found = made.run(Setting(folder=tmp_path))
    assert "Tiny" in found.summary
    written = json.loads((tmp_path / "finding.json").read_text())
    assert written["numbers"]["lengths"] == [6]
    assert (tmp_path / "figure.png").stat().st_size > 1000
    with pytest.raises(ValueError, match="seed 0, this one has seed 1"):
        made.run(Setting(seed=1, folder=tmp_path))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("")
    with pytest.raises(ValueError, match="holds other files"):
        made.run(Setting(folder=tmp_path / "other"))
    with pytest.raises(ValueError, match="the size is cpu or paper"):
        made.run(Setting(size="huge"))

"""Experiments are listed, found and refused; their parts: optimizers, means, curves, plots."""

import jax.numpy as jnp
import numpy as np
import pytest

from theorykit import experiments
from theorykit.experiments import Adam, Curves, Mean


def test_what_is_not_there_is_said():
    with pytest.raises(ValueError, match=r"no experiment capture nothing; there are .*spp"):
        experiments.find("capture", "nothing")
    names = {e.name for e in experiments.experiments("capture")}
    assert {"induction", "sorting", "spp", "mincut"} <= names


def test_the_command_line_lists_and_refuses(command):
    assert "induction" in command("experiment")[1]
    code, _, said = command("experiment", "capture", "nothing")
    assert code == 2
    assert "there is no experiment" in said
    code, _, said = command("experiment", "nobody")
    assert code == 2
    assert "the papers with experiments are capture" in said


def test_a_rate_rises_and_falls():
    def rates(adam):
        """Return the size of each step: Adam's is the rate where the slope stays the same."""
        chain, slope = adam(10), jnp.ones(())
        state, found = chain.init(slope), []
        for _ in range(10):
            step, state = chain.update(slope, state, jnp.zeros(()))
            found.append(-float(step))
        return found

    assert rates(Adam(0.5)) == pytest.approx([0.5] * 10, rel=1e-4)
    linear = rates(Adam(0.5, falling="linear", warmup=4))
    assert linear == pytest.approx(0.5 * np.r_[np.arange(4) / 4, 1 - np.arange(6) / 6], rel=1e-4)
    cosine = rates(Adam(0.5, falling="cosine"))
    assert cosine == pytest.approx(0.25 * (1 + np.cos(np.pi * np.arange(10) / 10)), rel=1e-4)
    decayed = Adam(0.5, decay=0.1)(10)
    step, _ = decayed.update(jnp.zeros(()), decayed.init(jnp.ones(())), jnp.ones(()))
    assert float(step) == pytest.approx(-0.05)
    with pytest.raises(ValueError, match="falls as 'linear' or 'cosine'"):
        Adam(falling="fast")
    with pytest.raises(ValueError, match="warmup needs"):
        Adam(warmup=3)


def test_a_mean_has_its_interval():
    values = np.random.default_rng(0).normal(2.0, 1.0, (2000, 5))
    covered = [m.low < 2 < m.high for m in map(Mean.of, values)]
    assert np.mean(covered) == pytest.approx(0.95, abs=0.02)
    assert f"{Mean(0.125, 0.1, 0.15):.2f}" == "0.12 [0.10, 0.15]"
    one = Mean.of([3.0])
    assert one.value == 3
    assert np.isnan(one.interval).all()
    with pytest.raises(ValueError, match="a mean needs at least one number"):
        Mean.of([])


def test_curves_are_a_table_a_sentence_and_a_plot(tmp_path):
    lines = {"a": np.array([[1.0, 1.0, 1.0], [2.0, 3.0, 4.0]]), "b": np.zeros((2, 3))}
    found = Curves("n", (8, 16), lines, "loss").finding("it grows", yscale="symlog")
    assert found.rows[0] == {"n": 8, "a": "1.000 [1.000, 1.000]", "b": "0.000 [0.000, 0.000]"}
    assert found.summary.startswith("Loss, means of 3 seeds with 95% intervals; at n = 16: a 3.000")
    assert found.summary.endswith("; b 0.000 [0.000, 0.000]. The paper: it grows.")
    assert found.numbers == {"n": [8, 16], "a": lines["a"].tolist(), "b": lines["b"].tolist()}
    found.plot(tmp_path / "f.png")
    assert (tmp_path / "f.png").stat().st_size > 1000

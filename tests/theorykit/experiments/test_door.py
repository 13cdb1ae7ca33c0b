"""A task and an experiment of it, added from outside the package."""

import dataclasses
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from theorykit.experiments import Adam, Curves, Plan, Setting, judged, reproduces
from theorykit.networks.tasks import Sample, Task, regression
from theorykit.networks.training import OnTask


@dataclasses.dataclass(frozen=True)
class First(Task):
    """Name, at the last token, the symbol that came first."""

    symbols: int = 3

    def draw(self, key, length):
        x = jax.random.randint(key, (length,), 0, self.symbols)
        return Sample(x, x[0], jnp.ones(()))

    @property
    def options(self):
        return dict(
            vocabulary=self.symbols, outputs=self.symbols, readout="last", positions="rotary"
        )


PLAN = Plan(
    OnTask(First(), length=4, batch=8), dict(width=8, heads=2), Adam(1e-2), steps=4, every=2,
    seeds=3,
)  # fmt: skip


@reproduces("outside", "first", ref="Fig. 1")
def first(setting):
    """Accuracy beyond the trained length."""
    fit, lengths = PLAN.train(setting, "fit"), (4, 8)
    found = np.array([judged(fit, First(), n, count=64) for n in lengths])
    return Curves("length", lengths, {"one layer": found}, "accuracy").finding("it stays high")


def test_it_is_trained_written_and_drawn(tmp_path):
    found = first.run(Setting(folder=tmp_path))
    assert first.words == "Accuracy beyond the trained length."
    assert [row["length"] for row in found.rows] == [4, 8]
    assert "means of 3 seeds" in found.summary
    written = json.loads((tmp_path / "finding.json").read_text())
    values = np.array(written["numbers"]["one layer"])
    assert values.shape == (2, 3)
    assert (np.unique(values * 64 % 1) == 0).all()  # shares of 64 examples
    assert (tmp_path / "figure.png").stat().st_size > 1000
    again = first.run(Setting(folder=tmp_path))
    assert again.json() == found.json()


def test_what_its_author_did_not_write_has_a_default():
    task = First()
    assert task.tokens(5) == 5
    with pytest.raises(ValueError, match="First needs a length of 2 or more, not 1"):
        task.sample(jax.random.key(0), 1)
    with pytest.raises(ValueError, match="First cannot be used for kernel regression"):
        regression(task, jax.random.key(0), 2, 4)

"""The sharper paper's experiments: how networks are trained, what is read off them."""

import dataclasses

import jax
import numpy as np
import pytest

from theorykit.checks import Trial
from theorykit.experiments import Setting, find, sharper
from theorykit.experiments.sharper import _mechanism
from theorykit.subjects import boolean

TINY = sharper.Interpolation(
    T=4, degrees=(1, 2), sparsities=(1, 3), functions=1, samples=16, width=8, mlp_width=8, steps=40,
    every=20, batch=8,
)  # fmt: skip


@pytest.mark.slow
def test_each_network_has_its_function_and_its_samples():
    found = sharper.learn(TINY, Setting())
    assert found.labels == [(1, 1), (1, 3), (2, 1), (2, 3)]
    assert found.train.shape == found.test.shape == (4,)
    for i, f in enumerate(found.functions):
        assert (f.degree, f.sparsity) == found.labels[i]
        assert np.isclose(f.table().var(), 1)
        assert np.allclose(f(found.x[i, :, :4]), found.y[i])
        assert np.allclose(f(found.inputs[:, :4]), found.targets[i])
    groups = sharper.by_class(found, found.test)
    assert list(groups) == found.labels
    # The loss that is reported is that of the network, on all 16 inputs.
    out = jax.vmap(found.fit.network(3))(found.inputs)[:, 0]
    assert np.isclose(np.mean((out - found.targets[3]) ** 2), found.test[3], rtol=1e-4)


def test_growth_is_counted():
    study = dataclasses.replace(TINY, degrees=(1, 2, 3), sparsities=(1, 3))
    means = {(d, s): d - 0.1 * s for d in study.degrees for s in study.sparsities}
    assert sharper.slopes(study, means) == ("4 of 4", "0 of 3")


def test_the_summary_says_both_how_the_gap_grows_and_where_the_bound_is():
    study = dataclasses.replace(TINY, degrees=(1, 2), sparsities=(1, 3))
    means = {(1, 1): 0.1, (1, 3): 0.3, (2, 1): 0.2, (2, 3): 0.4}
    rows = [dict(gap=m, bound=m + 1) for m in means.values()]
    growth = "for 2 of 2 and with the sparsity for 2 of 2 of neighbouring classes, from 0.1 to 0.4"
    said = sharper.said(study, means, rows)
    assert growth in said
    assert said.endswith("C = 0.1, is never below it.")
    rows[2]["bound"] = 0.1
    said = sharper.said(study, means, rows)
    assert growth in said
    assert said.endswith("C = 0.1, is below it for some class.")


def test_the_networks_that_claims_share_are_those_of_the_seed(monkeypatch):
    from theorykit.proofs_numeric.sharper import figures

    seeds, found = [], sharper.learn(TINY, Setting())
    learn = lambda study, setting: seeds.append(setting.seed) or found
    monkeypatch.setattr(sharper, "learn", learn)
    monkeypatch.setattr(figures, "networks", figures.once(figures.networks.__wrapped__))
    check = figures.bound.build()
    for seed in (0, 5, 2**32 - 1):
        assert check.test(Trial(jax.random.key(7), seed=seed)).cases == 4
        assert figures.gaps(seed).shape == (1, 4)
    assert seeds == [1, 6, 0]  # once a seed, and another for each


def test_rows_on_the_components_have_cosine_one():
    f = boolean.random(5, 2, 2)
    own, others = sharper.cosines(f.membership / 2.0, f)
    assert np.allclose(own, 1)
    assert len(others) == 8
    assert others.max() < 0.99


def test_only_networks_that_learned_are_read(monkeypatch, tmp_path):
    f = boolean.Parities(3, ((0, 1), (2,)), (1.0, -0.5))
    made = lambda learned, own, others: _mechanism.Examined(
        f, learned, np.eye(4, 3), np.array(own), np.array(others)
    )
    found = [made(False, [0.1, 0.2], [0.9, 0.9]), made(True, [0.75, 0.25], [0.5, 0.1])]
    monkeypatch.setattr(_mechanism, "examine", lambda *given: found)
    told = find("sharper", "mechanism").run(Setting(folder=tmp_path / "run"))
    assert [(row["network"], row["cosine"], row["rank"]) for row in told.rows] == [
        (0, 0.1, "3/3"), (0, 0.2, "3/3"), (1, 0.75, "1/3"), (1, 0.25, "2/3"),
    ]  # fmt: skip
    assert told.numbers == {"own": [0.75, 0.25], "others": pytest.approx(0.3)}
    assert "In 1 of 2 networks" in told.summary
    assert (tmp_path / "run" / "figure.png").stat().st_size > 1000
    found[1] = found[0]
    assert find("sharper", "mechanism").run(Setting()).numbers == {}

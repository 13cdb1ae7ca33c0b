"""The quantitative paper's experiments: plans, trends with their test, and a tiny run."""

import dataclasses
from types import SimpleNamespace

import jax
import numpy as np
import pytest
from flax import nnx

from theorykit.experiments import Finding, Setting, find, quantitative
from theorykit.experiments.quantitative import (
    Counting,
    _figures,
    attention,
    loss_beyond,
    plateau,
    trend,
)
from theorykit.networks.nets import LocalTransformer
from theorykit.networks.tasks import InContextKGram, ModPTask, SimpleTask

NOISE = np.random.default_rng(0).normal(size=(3, 4, 3))


def test_paper_plans_are_appendix_c():
    (simple,), (modp,) = (quantitative.sweeps(w, "paper") for w in ("simple", "modp"))
    assert list(simple.tasks) == [2, 2.5, 3, 3.5, 4, 4.5, 5, 5.5]
    assert list(modp.tasks) == [3, 4, 5, 6, 7, 8]
    plan = simple.plan
    assert (plan.width, plan.mlp_width, plan.batch, plan.seeds) == (16, 256, 1024, 8)
    assert (plan.rate, plan.loss, plan.decay) == (1e-2, 1e-5, False)
    symbols, orders = quantitative.sweeps("kgram", "paper")
    assert [t.symbols for t in symbols.tasks.values()] == [3, 4, 5, 6, 7, 8]
    assert {t.order for t in symbols.tasks.values()} == {2}
    assert [t.order for t in orders.tasks.values()] == [2, 3, 4]
    assert {t.symbols for t in orders.tasks.values()} == {2}
    assert (symbols.plan.width, symbols.plan.seeds) == (32, 8)
    assert (orders.plan.width, orders.plan.seeds) == (16, 14)
    assert (orders.plan.steps, orders.plan.rate, orders.plan.loss) == (2**15, 3e-2, None)


@pytest.mark.parametrize("which", ["simple", "modp", "kgram"])
@pytest.mark.parametrize("size", ["cpu", "paper"])
def test_every_plan_has_its_lengths(which, size):
    for sweep in quantitative.sweeps(which, size):
        for task in sweep.tasks.values():
            for n in (*sweep.plan.trained, *sweep.plan.judged):
                task.check(n)
        assert len(sweep.tasks) > 2
        assert find("quantitative", which).ref.startswith("Fig")


def test_a_trend_is_found_and_noise_is_none():
    sizes = np.array([8, 16, 32])
    found = trend(sizes, sizes**-1.5 * np.exp(0.1 * NOISE), falling=True)
    assert found["interval"][0] < -1.5 < found["interval"][1]
    assert found["p"] < 1e-5
    assert trend(sizes, sizes**-1.5 * np.exp(0.1 * NOISE), falling=False)["p"] > 0.9
    assert trend(sizes, np.exp(NOISE), falling=True)["p"] > 0.01


def test_the_trends_of_a_sweep_are_in_the_trained_length_and_in_the_parameter(monkeypatch):
    """Losses (Delta / n)^2 at the longest length, and more before, with noise of each seed."""
    (sweep,) = quantitative.sweeps("modp", "cpu")
    values, trained = np.array(list(sweep.tasks)), np.array(sweep.plan.trained)
    longest = (values[:, None] / trained) ** 2
    judged = np.stack([5 * longest, 2 * longest, longest], -1)
    noise = np.random.default_rng(0).normal(size=(*judged.shape, 4))
    losses = judged[..., None] * np.exp(1e-3 * noise)
    monkeypatch.setattr(_figures, "losses_beyond", lambda *given: losses)
    found = _figures.measured(sweep, Setting(size="cpu"), {})
    assert found["losses"] is losses
    assert found["trained"]["exponent"] == pytest.approx(-2, abs=0.01)
    assert found["Delta"]["exponent"] == pytest.approx(2, abs=0.01)
    assert max(found[name]["p"] for name in ("trained", "Delta")) < 0.01
    assert found["plateau"]["factor"] == pytest.approx(1 / 2, rel=0.01)


def test_a_plateau_is_a_factor_near_one():
    losses = np.exp(0.01 * np.moveaxis(NOISE, -1, 1))  # (3, judged 3, 4)
    flat = plateau(losses)
    assert flat["interval"][0] < 1 < flat["interval"][1]
    grown = plateau(losses * np.array([1, 2, 6])[:, None])
    assert grown["factor"] == pytest.approx(3, rel=0.05)
    assert grown["before"] == pytest.approx(2, rel=0.05)


def quick(f, *inputs):
    """Compile and call: op by op, each would be compiled alone."""
    return jax.jit(f)(*inputs)


def untrained(task):
    """Return what a fit has of networks, without training: two seeds, the same network."""
    make = lambda: LocalTransformer(**task.options, width=4, mlp_width=4)
    graph = nnx.graphdef(nnx.eval_shape(make))
    state = quick(lambda: nnx.state(make()))
    twice = jax.tree.map(lambda a: np.stack([a, a]), state)
    return SimpleNamespace(graph=graph, state=SimpleNamespace(parameters=lambda: twice))


def test_attention_without_training_is_near_uniform():
    task = ModPTask(5)
    seen = attention(task, untrained(task), 20, 0, count=8)
    assert seen["mass"] == pytest.approx(0.2, abs=0.15)
    assert (seen["other"] > 0.3).all()


def test_loss_is_of_the_whole_input():
    task = SimpleTask(3.0)
    plan = Counting(judged=(4, 8), examples=32, seeds=2)
    fit = untrained(task)
    found = loss_beyond(plan, task, fit, 0)
    assert found.shape == (2, 2)
    assert (found[:, 0] != found[:, 1]).all()  # one network, other inputs
    network = nnx.merge(
        fit.graph, jax.tree.map(lambda a: jax.numpy.asarray(a[0]), fit.state.parameters())
    )

    first = jax.random.split(jax.random.key(0))[0]

    def by_all_tokens(key):
        keys = jax.random.split(jax.random.fold_in(key, 8), 32)
        x, target, weight = jax.vmap(lambda k: task.sample(k, 8))(keys)
        return ((jax.vmap(network)(x) - target) ** 2)[:, -1, 0] @ weight[:, -1] / 32

    assert found[1, 0] == pytest.approx(float(quick(by_all_tokens, first)), rel=1e-4)


@pytest.mark.slow
def test_a_tiny_run(tmp_path):
    plan = dataclasses.replace(
        quantitative.SMALL, trained=(4, 6, 8), judged=(8, 12, 16), steps=4, every=2, batch=4,
        seeds=2, examples=8, width=4, mlp_width=4,
    )  # fmt: skip
    one = dataclasses.replace(plan, trained=(4,))
    sweep = quantitative.Sweep("k", {2: InContextKGram(2, 2)}, one)
    found, known = quantitative.finding([sweep], Setting(folder=tmp_path / "run"))
    assert len(known) == 1
    assert [row["trained to"] for row in found.rows] == [4]
    assert "p = nan" in found.summary  # one value is no trend
    found.plot(tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 1000


def test_attention_is_told_of_the_networks_that_were_trained_longest(monkeypatch):
    plan = dataclasses.replace(quantitative.SMALL, trained=(5, 6, 8), judged=(8, 12, 16))
    task = ModPTask(5)
    known = {(plan, task, n): (n,) for n in plan.trained}
    sweep = quantitative.Sweep("Delta", {5: task}, plan)
    monkeypatch.setattr(_figures, "sweeps", lambda *given: [sweep])
    monkeypatch.setattr(_figures, "finding", lambda *given: (Finding("So.", [], {}), known))
    seen = lambda task, n, length, seed: {
        "mass": np.array([n / 10]),
        "spread": np.array([n / 100]),
        "other": np.array([length / 1000]),
    }
    monkeypatch.setattr(_figures, "attention", seen)
    found = find("quantitative", "modp").run(Setting())
    assert [found.numbers["attention"][n]["mass"] for n in "568"] == [0.5, 0.6, 0.8]
    assert found.summary == (
        "So. At p = 5, trained to 8, positions = k mod p have 0.800 of the attention at length 8; "
        "their weights spread by 0.080 of their mean, and other positions have 0.0080 of it."
    )

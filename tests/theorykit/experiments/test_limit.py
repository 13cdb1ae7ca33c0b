"""The limit paper's experiments: plans, padding and offsets, products of positions."""

import dataclasses
from fractions import Fraction
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from theorykit.experiments import Setting
from theorykit.experiments.limit import (
    Decoder,
    Extrapolation,
    Products,
    Window,
    _figure1,
    accuracy,
    algorithmic_plan,
    averaged,
    figure,
    head_products,
    language_plan,
    offset_variance,
    published,
)
from theorykit.experiments.limit._plans import (
    ALGORITHMIC_PLANS,
    LANGUAGE_PLANS,
    SMALL_ALGORITHMIC,
    SMALL_LANGUAGES,
)
from theorykit.experiments.limit._products import (
    FUNCTIONS,
    HIGH,
    Penalised,
    error,
    of_zero,
    prime,
    wanted,
)
from theorykit.networks.tasks import ALGORITHMIC, LANGUAGES, RepeatCopy
from theorykit.subjects import crasp

TINY = Extrapolation(
    LANGUAGES["tomita1"], "APE", 1, 2, 8, 1e-2, steps=60, batch=8, seeds=2, judged=20, every=20,
    trained=4,
)  # fmt: skip


def test_every_task_has_a_prediction_figures_and_plans():
    for which, table, plans, tasks in (
        ("algorithmic", 3, ALGORITHMIC_PLANS, ALGORITHMIC),
        ("languages", 2, LANGUAGE_PLANS, LANGUAGES),
    ):
        rows = crasp.table(table)
        assert {row["task"] for row in rows} == set(tasks)
        assert {row["positions"] for row in rows} <= {"yes", "no"}
        assert set(published(which)) <= set(plans)
        for values in published(which).values():
            assert values.tolist() == sorted(values, reverse=True)
            assert all(0 <= v <= 1 for v in values)
    assert set(SMALL_ALGORITHMIC) <= set(ALGORITHMIC_PLANS)
    assert set(SMALL_LANGUAGES) <= set(LANGUAGE_PLANS)


def test_plans_are_the_rows_of_the_tables():
    big = algorithmic_plan("addition", "APE")
    assert (big.layers, big.heads, big.width, big.steps, big.warmup) == (12, 12, 768, 60_000, 3_000)
    assert algorithmic_plan("sort", "NoPE").rate == 1e-3
    assert algorithmic_plan("sort", "NoPE").steps == 30_000
    assert language_plan("aa_star", "NoPE").steps == 60_000
    assert language_plan("012_02", "APE").rate == 1e-3
    assert language_plan("parity", "APE").width == 128
    assert algorithmic_plan("unique_copy", "APE").ends == (50, 100, 150)


def quick(f, *inputs):
    """Compile and call: op by op, each would be compiled alone."""
    return jax.jit(f)(*inputs)


def decoder(plan):
    graph = nnx.graphdef(nnx.eval_shape(lambda: Decoder(plan, nnx.Rngs(0))))
    return nnx.merge(graph, quick(lambda: nnx.state(Decoder(plan, nnx.Rngs(0)))))


def test_padding_does_not_move_positions():
    plan = dataclasses.replace(TINY, task=RepeatCopy())
    network = decoder(plan)
    short = np.array([2, 0, 1, 1, 3, 0, 1, 1])  # SOS abb SEP abb
    offset = plan.places - len(short)
    long = np.pad(short, (0, plan.task.tokens(4) - len(short)))
    assert len(long) > len(short)
    one, other, moved = quick(
        lambda: (network((short, offset)), network((long, offset)), network((short, 0)))
    )
    assert np.abs(one).max() > 1e-4
    assert np.allclose(one, other[: len(short)], atol=1e-6)
    assert not np.allclose(one, moved, atol=1e-4)


def test_without_positions_there_is_no_offset():
    plan = dataclasses.replace(TINY, positions="NoPE")
    x = jax.eval_shape(lambda: plan.bins.sample(jax.random.key(0), 4)).x
    assert x.shape == (5,)
    assert jax.eval_shape(decoder(plan), jnp.zeros(5, int)).shape == (5, 1)


def test_weights_start_like_gpt2():
    for leaf in jax.tree.leaves(nnx.state(decoder(TINY))):
        if leaf.ndim > 1:
            assert jnp.std(leaf) == pytest.approx(0.02, rel=1e-3)
        else:
            assert not leaf.any()


def untrained(plan):
    """Return what a fit has of networks, without training: two seeds, the same network."""
    graph, state = nnx.split(decoder(plan))
    twice = jax.tree.map(lambda a: jnp.stack([a, a]), state)
    return SimpleNamespace(graph=graph, state=SimpleNamespace(parameters=lambda: twice))


def test_accuracy_is_all_or_nothing_an_example():
    # Tomita 1 has one set of next symbols only, so nothing can be wrong; Tomita 5 has six.
    assert accuracy(TINY, untrained(TINY), 0).tolist() == [[1, 1]] * 3
    plan = dataclasses.replace(TINY, task=LANGUAGES["tomita5"])
    assert accuracy(plan, untrained(plan), 0)[-1].max() < 0.2


def test_a_fit_ends_when_all_examples_are_right():
    fit = TINY.train(Setting(), "tiny")
    assert (fit.stopped_at == 20).all()
    assert fit.history["in/exact"].tolist() == [[1, 1]]


def test_only_fitted_seeds_are_averaged():
    found = {"accuracy": np.array([[1.0, 0.5]]), "fitted": np.array([True, False])}
    assert averaged(found).tolist() == [1.0]
    assert averaged({**found, "fitted": np.array([False, False])}).tolist() == [0.75]


def test_a_figure_has_prediction_and_published_beside(tmp_path, monkeypatch):
    def plan(name, positions, size):
        return dataclasses.replace({"tomita1": TINY}[name], positions=positions)

    perfect = {"accuracy": np.ones((3, 2)), "fitted": np.array([True, True])}
    monkeypatch.setattr(_figure1, "trained", lambda *_: perfect)
    found = figure(Setting(), "languages", crasp.table(2), plan)
    assert [row["C-RASP"] for row in found.rows] == ["yes", "yes"]
    assert found.rows[0]["published"] == "1.00 1.00 1.00"
    assert found.rows[0]["bin 3"] == 1.0
    assert found.numbers["without"] == []
    found.plot(tmp_path / "f.png")
    assert (tmp_path / "f.png").stat().st_size > 1000


# G.2 -------------------------------------------------------------------------------------------


def test_functions_of_the_distance():
    target, weight = wanted("j = i - 1", 4)
    assert target.tolist() == (HIGH * np.eye(4, k=-1)).tolist()
    assert weight.tolist() == np.tril(np.ones((4, 4))).tolist()
    assert np.flatnonzero(prime(np.arange(20))).tolist() == [2, 3, 5, 7, 11, 13, 17, 19]
    assert of_zero("j = i - 1", 100) == pytest.approx(HIGH**2 * 99 / 5050)
    for name in FUNCTIONS:
        assert np.isfinite(wanted(name, 9)[0]).all()


def test_the_error_is_over_all_windows():
    lag = np.arange(8)[:, None] - np.arange(8)
    right = np.where(lag == 1, HIGH, 0.0)
    assert error(right, "j = i - 1", 5) == 0
    right[7, 0] += 3.0  # in the only window of length 8
    assert error(right, "j = i - 1", 8) == pytest.approx(9 / 36)
    assert error(right, "j = i - 1", 7) == 0


def test_a_window_is_a_part_of_all_products():
    network = Products(8, nnx.Rngs(0))
    window = lambda n: Window("j = i - 1").sample(jax.random.key(1), n).x
    x, part, all = quick(lambda: (x := window(5), network(x), network.all()))
    assert (np.diff(x) == 1).all()
    assert np.allclose(part, np.asarray(all)[x][:, x], atol=1e-5)


def test_the_penalty_is_the_mean_square():
    parameters = {"a": jnp.array([3.0, -1.0]), "b": jnp.array([[2.0]])}
    cost = lambda p: 0.01 * sum(jnp.mean(v**2) for v in p.values())
    zero = jax.tree.map(jnp.zeros_like, parameters)
    chain = Penalised(1.0)(1)
    moved, _ = chain.update(zero, chain.init(parameters), parameters)
    by_hand = Penalised(1.0, 0.0)(1)
    same, _ = by_hand.update(jax.grad(cost)(parameters), by_hand.init(parameters), parameters)
    assert all(jnp.allclose(moved[k], same[k]) for k in parameters)


# G.6 -------------------------------------------------------------------------------------------


def test_offset_variance_is_the_printed_sum():
    M = np.random.default_rng(0).integers(-5, 5, (6, 6))
    N = len(M)
    mean = [Fraction(sum(int(M[i, i - c]) for i in range(c, N)), N - c) for c in range(N)]
    printed = Fraction(2, N * (N + 1)) * sum(
        (int(M[i, j]) - mean[i - j]) ** 2 for i in range(N) for j in range(i + 1)
    )
    assert offset_variance(M) == pytest.approx(float(printed))
    assert offset_variance(M + np.triu(np.ones((6, 6)), 1)) == pytest.approx(float(printed))
    assert offset_variance(M[:1, :1]) == 0


def test_head_products_are_the_logits_of_positions_alone():
    network = decoder(TINY)
    inner = network.network
    inner.embedding.weight[...] = jnp.zeros_like(inner.embedding.weight[...])
    table = np.asarray(inner.position_table[...])
    inner.position_table[...] = jnp.asarray(table / table.std(-1, keepdims=True))
    found = quick(lambda: head_products(network, TINY, jax.random.key(0), 8))
    assert found.shape == (1, 2, TINY.places, TINY.places)
    z = np.asarray(inner.position_table[...])[: TINY.places]
    z = z - z.mean(-1, keepdims=True)
    attention = inner.blocks[0].attention
    for head in range(2):
        q, k = (z @ np.asarray(m.effective())[head] for m in (attention.query, attention.key))
        assert np.allclose(found[0, head], q @ k.T / 2, atol=1e-5)  # the head size is 4


def test_without_positions_there_are_no_products():
    plan = dataclasses.replace(TINY, positions="NoPE")
    with pytest.raises(ValueError, match="needs learned positions"):
        head_products(decoder(plan), plan, jax.random.key(0))

import dataclasses
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from theorykit.networks.tasks import InductionHead, Sorting, regression

KEY = jax.random.key(0)


def batch(task, length, count, key=KEY):
    draw = jax.jit(jax.vmap(lambda k: task.sample(k, length)))
    return jax.tree.map(np.asarray, draw(jax.random.split(key, count)))


@pytest.mark.parametrize(("V", "T"), [(2, 2), (2, 7), (3, 3), (5, 8), (1024, 64)])
def test_induction_copies_what_follows_the_first_trigger(V, T):
    x, target, weight = batch(InductionHead(V), T, 200)
    assert x.min() >= 0
    assert x.max() < V
    assert (weight == 1).all()
    for row, right in zip(x, target, strict=True):
        places = np.flatnonzero(row == row[-1])
        assert len(places) == 2  # the trigger is only where it was put
        assert places[0] < max(T // 2, 1)
        assert right == row[places[0] + 1]


def test_induction_replaces_the_trigger_by_the_next_token():
    # At V = 3 the draw before the injection is uniform, so the next token is twice as likely.
    x, _, _ = batch(InductionHead(3), 6, 3000)
    inner = (x[:, 3:5] - x[:, -1:]) % 3
    share = np.bincount(inner.ravel(), minlength=3) / inner.size
    assert share[0] == 0
    assert share[1] == pytest.approx(2 / 3, abs=0.04)


def test_trigger_and_its_place_are_uniform():
    T, V = 16, 7
    x, _, _ = batch(InductionHead(V), T, 4000)
    place = (x[:, :-1] == x[:, -1:]).argmax(1)
    assert stats.chisquare(np.bincount(place, minlength=T // 2)).pvalue > 1e-6
    assert stats.chisquare(np.bincount(x[:, -1], minlength=V)).pvalue > 1e-6


@pytest.mark.parametrize(("V", "T"), [(2, 2), (6, 6), (9, 4), (1000, 32)])
def test_sorting_predicts_the_separator_and_the_sorted_list(V, T):
    task = Sorting(V)
    x, target, weight = batch(task, T, 100)
    assert x.shape == (100, task.tokens(T)) == (100, 2 * T)
    u = x[:, :T]
    assert (np.sort(u, 1) == target[:, T:]).all()
    assert all(len(set(row)) == T for row in u.tolist())
    assert (x[:, T] == V).all()
    assert (target[:, T - 1] == V).all()
    assert (target[:, :-1] == x[:, 1:]).all()
    assert (weight == (np.arange(2 * T) >= T - 1)).all()


def test_every_ordered_choice_is_equally_likely():
    x, _, _ = batch(Sorting(4), 2, 6000)
    found = [tuple(row) for row in x[:, :2].tolist()]
    counts = [found.count(pair) for pair in itertools.permutations(range(4), 2)]
    assert sum(counts) == 6000
    assert stats.chisquare(counts).pvalue > 1e-6


@pytest.mark.parametrize("task", [InductionHead(8), Sorting(8)])
def test_loss_and_metrics_at_perfect_and_at_ignorant_outputs(task):
    sample = task.sample(KEY, 6)
    V = task.options["outputs"]
    perfect = 100 * jax.nn.one_hot(sample.target, V)
    assert task.loss(perfect, sample) < 1e-6
    assert all(value == 1 for value in task.metrics(perfect, sample).values())
    assert task.loss(jnp.zeros_like(perfect), sample) == pytest.approx(np.log(V), rel=1e-5)


def test_only_weighted_tokens_count():
    task, T = Sorting(8), 4
    sample = task.sample(KEY, T)
    perfect = 100 * jax.nn.one_hot(sample.target, 9)
    ignored = perfect.at[: T - 1].multiply(-1)
    assert task.metrics(ignored, sample) == {"accuracy": 1, "exact": 1}
    assert task.loss(ignored, sample) < 1e-6
    no_separator = perfect.at[T - 1].multiply(-1)
    found = task.metrics(no_separator, sample)
    assert found["accuracy"] == pytest.approx(T / (T + 1))
    assert found["exact"] == 0
    assert task.loss(no_separator, sample) == pytest.approx(100 / (T + 1), rel=0.1)


@pytest.mark.parametrize("task", [InductionHead(8), Sorting(8)])
def test_samples_are_functions_of_the_key(task):
    one, again = task.sample(KEY, 6), jax.jit(task.sample, static_argnums=1)(KEY, 6)
    assert jax.tree.all(jax.tree.map(lambda a, b: (a == b).all(), one, again))
    other = task.sample(jax.random.key(1), 6)
    assert (one.x != other.x).any()
    assert hash(task) == hash(dataclasses.replace(task))


def test_regression_on_the_copied_token():
    task, T = InductionHead(6), 5
    x, y = regression(task, KEY, 40, T)
    assert x.shape == (40, T, 6)
    _, target, _ = batch(task, T, 40)
    assert (np.asarray(y) == np.where(target >= 3, 1, -1)).all()
    assert (np.asarray(x).sum(-1) == 1).all()


def test_regression_on_the_smallest_number_is_standardised():
    V, T = 6, 3
    x, y = regression(Sorting(V), KEY, 300, T)
    assert x.shape == (300, T + 1, V + 1)
    smallest = np.asarray(x[:, :-1].argmax(-1).min(-1))
    value = {int(m): float(v) for m, v in zip(smallest, y, strict=True)}
    assert len(value) == len(set(y.tolist())) == V - T + 1
    every = [value[min(u)] for u in itertools.combinations(range(V), T)]
    assert np.mean(every) == pytest.approx(0, abs=1e-6)
    assert np.std(every) == pytest.approx(1, rel=1e-6)
    assert (regression(Sorting(4), KEY, 3, 4)[1] == 0).all()


def test_bad_input_is_refused_in_one_sentence():
    with pytest.raises(ValueError, match=r"InductionHead needs a vocabulary of 2 or more.*not 1"):
        InductionHead(1)
    with pytest.raises(ValueError, match=r"Sorting needs a vocabulary of 2 or more, not 0"):
        Sorting(0)
    with pytest.raises(ValueError, match=r"draws 9 distinct integers.* only 8"):
        Sorting(8).sample(KEY, 9)
    for task in (InductionHead(8), Sorting(8)):
        with pytest.raises(ValueError, match="length of 2 or more, not 1"):
            task.sample(KEY, 1)
        with pytest.raises(ValueError, match="length of 2 or more, not 1"):
            regression(task, KEY, 3, 1)
    with pytest.raises(ValueError, match="count is a whole number of at least 1, got 0"):
        regression(InductionHead(8), KEY, 0, 4)

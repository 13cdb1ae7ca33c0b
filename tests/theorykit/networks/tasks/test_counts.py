"""SimpleTask, ModPTask and the in-context k-gram: targets by hand, laws, and bad input."""

import jax
import numpy as np
import pytest

from theorykit.networks.tasks import InContextKGram, ModPTask, SimpleTask

LENGTH = 14


def batch(task, length=LENGTH, count=400):
    """Return a batch of samples, compiled once."""
    keys = jax.random.split(jax.random.key(0), count)
    draw = jax.jit(jax.vmap(lambda k: task.sample(k, length)))
    return jax.tree.map(np.asarray, draw(keys))


def prefixes(sample):
    """Yield each prefix of each example as a list, its target and its weight."""
    for x, target, weight in zip(*sample, strict=True):
        for n in range(1, len(x) + 1):
            yield x[:n].tolist(), target[n - 1], weight[n - 1]


def test_simple_task():
    sample = batch(SimpleTask(3.0), count=100)
    for x, target, weight in prefixes(sample):
        zeros, ones = x.count(0), x.count(1)
        assert weight == (zeros + ones > 0)
        if weight:
            assert target[0] == pytest.approx(np.sin(3 * (zeros - ones) / (zeros + ones)), abs=1e-5)


def test_simple_task_is_uniform_on_the_simplex():
    # A share that is uniform on the simplex has the second moment 1/6; with T tokens, 1/(6 T) more.
    x = batch(SimpleTask(3.0), 60, 4000).x
    shares = np.stack([(x == s).mean(1) for s in range(3)])
    assert shares.mean(1) == pytest.approx(1 / 3, abs=0.02)
    assert (shares**2).mean(1) == pytest.approx(1 / 6 + 1 / 6 / 60, abs=0.01)


@pytest.mark.parametrize(("period", "index"), [(3, 0), (3, 2), (4, 5)])
def test_mod_p_task(period, index):
    sample = batch(ModPTask(period, index), count=50)
    for x, target, weight in prefixes(sample):
        seen = [s for t, s in enumerate(x, 1) if t % period == index % period]
        assert weight == bool(seen)
        if seen:
            assert target[0] == pytest.approx(np.mean(seen), abs=1e-6)


def test_mod_p_classes_are_independent():
    x = batch(ModPTask(2), 80, 3000).x
    odd, even = x[:, ::2].mean(1), x[:, 1::2].mean(1)
    assert abs(np.corrcoef(odd, even)[0, 1]) < 0.06
    assert odd.var() == pytest.approx(1 / 12 + 1 / 6 / 40, abs=0.01)


@pytest.mark.parametrize(("symbols", "order"), [(3, 2), (2, 3), (2, 4)])
def test_kgram(symbols, order):
    task, context = InContextKGram(symbols, order), order - 1
    sample = batch(task, count=60)
    assert sample.x.min() == 0
    assert sample.x.max() == symbols - 1
    for x, target, weight in prefixes(sample):
        last = x[len(x) - context :] if len(x) >= context else None
        next_ones = [x[t] for t in range(context, len(x)) if x[t - context : t] == last]
        assert weight == bool(next_ones), x
        if next_ones:
            shares = np.bincount(next_ones, minlength=symbols) / len(next_ones)
            assert target == pytest.approx(shares, abs=1e-6)
    assert sample.weight[:, -1].all()  # the last symbols occur before


def test_kgram_follows_its_law():
    # Next symbols after one context have a uniform law: shares are far from equal, as a coin's.
    target = batch(InContextKGram(2, 2), 200, 1000).target[:, -1, 0]
    assert target.var() == pytest.approx(1 / 12, abs=0.02)
    assert target.mean() == pytest.approx(1 / 2, abs=0.05)


def test_loss_is_the_mean_over_prefixes_that_count():
    task = SimpleTask(2.0)
    sample = jax.tree.map(lambda a: a[0], batch(task, count=1))
    off = sample.target + 0.5
    nothing = sample._replace(weight=0 * sample.weight)
    found = lambda o: (task.loss(o, sample), task.metrics(o, sample)["last"], task.loss(o, nothing))
    assert np.array(jax.jit(found)(off)) == pytest.approx([0.25, 0.25 * sample.weight[-1], 0])


def test_whole_floats_are_whole_numbers():
    assert batch(InContextKGram(2.0, 2.0), count=2).target.shape[-1] == 2
    assert batch(ModPTask(3.0), count=2).target.shape[-1] == 1


def test_tasks_say_what_is_wrong():
    with pytest.raises(ValueError, match="too many to index"):
        InContextKGram(2, 31)
    for make, says in (
        (lambda: SimpleTask(-2.0), "omega is a positive number, got -2.0"),
        (lambda: ModPTask(0), "period is a whole number of at least 1, got 0"),
        (lambda: ModPTask(5, 4).check(3), "the first position = 4 mod 5 is 4, beyond the length 3"),
        (lambda: InContextKGram(1), "symbols is a whole number of at least 2, got 1"),
        (lambda: InContextKGram(2, 1), "order is a whole number of at least 2, got 1"),
        (lambda: InContextKGram(2, 3).check(5), "a 3-gram needs a length of 6 or more, not 5"),
    ):
        with pytest.raises(ValueError, match=says):
            make()

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from theorykit.networks.tasks import (
    ALGORITHMIC,
    LANGUAGES,
    Addition,
    BinaryMajority,
    LengthBins,
    Majority,
    Parity,
    RepeatCopy,
    Sort,
    UniqueCopy,
)

KEY = jax.random.key(0)
SMALL = {**ALGORITHMIC, "sort": Sort(12), "unique_copy": UniqueCopy(12)}


def batch(draw, count, key=KEY):
    return jax.tree.map(np.asarray, jax.jit(jax.vmap(draw))(jax.random.split(key, count)))


def read(task, x, target, weight):
    """Return input and answer of one sample, and check everything else that it says."""
    places = np.flatnonzero(weight)
    assert (np.diff(places) == 1).all()
    answer = target[places].tolist()
    assert answer.pop() == task.end
    whole = x[: places[-1] + 1].tolist()
    assert whole.pop(0) == task.start
    given = whole[: places[0] - 1]
    assert whole[len(given) :] == [task.separator, *answer]
    assert task.end not in whole
    return given, answer


@pytest.mark.parametrize("name", SMALL)
def test_samples_are_solved_by_the_reference(name):
    task = SMALL[name]
    keys = jax.random.split(KEY, 30)
    many = jax.jit(lambda n: jax.vmap(lambda k: task.padded(k, n, 12))(keys))
    for n in task.lengths(0, 12):
        samples = jax.tree.map(np.asarray, many(n))
        assert samples.x.shape == (30, task.tokens(12))
        for x, target, weight in zip(*samples, strict=True):
            given, answer = read(task, x, target, weight)
            assert len(given) == n - (name == "addition")
            assert answer == task.solution(given)


@pytest.mark.parametrize("name", SMALL)
def test_samples_have_the_shapes_of_their_size(name):
    task = SMALL[name]
    n = task.lengths(0, 12)[0]
    short, long = task.sample(KEY, n), task.padded(KEY, n, n + 3)
    for field in ("x", "target", "weight"):
        assert getattr(short, field).shape == (task.tokens(n),)
        assert getattr(long, field).shape == (task.tokens(n + 3),)
    read(task, *map(np.asarray, short))
    read(task, *map(np.asarray, long))


def test_reference_solutions():
    assert BinaryMajority().solution([1, 0, 1]) == [1]
    with pytest.raises(ValueError, match=r"\[1, 0\] has no unique majority"):
        BinaryMajority().solution([1, 0])
    assert ALGORITHMIC["bin_majority_interleave"].solution([1, 0, 0, 1, 0, 1, 0, 0, 1]) == [1, 0, 1]
    assert Majority().solution([3, 25, 3]) == [3]
    assert Sort().solution([14, 23, 6, 9]) == [6, 9, 14, 23]
    assert UniqueCopy().solution([14, 23, 6]) == [14, 23, 6]
    assert RepeatCopy().solution([1, 0, 1]) == [1, 0, 1]
    assert Parity().solution([1, 0, 1, 1]) == [3]
    ids = lambda text: ["01+".index(c) for c in text]
    assert Addition().solution(ids("101+10")) == [1, 1, 1]
    assert Addition().solution(ids("0+00")) == [0]


def test_how_many_ones_there_are_is_uniform():
    x, target, _ = batch(lambda k: BinaryMajority().sample(k, 8), 4000)
    ones = x[:, 1:9].sum(1)
    counts = np.bincount(ones, minlength=9)
    assert counts[4] == 0
    assert stats.chisquare(np.delete(counts, 4)).pvalue > 1e-6
    assert (target[:, 9] == (ones > 4)).all()
    x, _, _ = batch(lambda k: Parity().sample(k, 8), 4000)
    assert stats.chisquare(np.bincount(x[:, 1:9].sum(1), minlength=9)).pvalue > 1e-6


def test_arrangements_are_uniform():
    x, _, _ = batch(lambda k: Parity().padded(k, 3, 5), 4000)
    words = [tuple(row) for row in x[:, 1:4].tolist() if sum(row) == 1]
    assert stats.chisquare([words.count(w) for w in set(words)]).pvalue > 1e-6
    assert len(set(words)) == 3


def test_majorities_are_as_if_drawn_until_one_is_unique():
    x, _, _ = batch(lambda k: Majority().sample(k, 2), 2000)
    assert (x[:, 1] == x[:, 2]).all()  # the only way, of two
    assert stats.chisquare(np.bincount(x[:, 1], minlength=26)).pvalue > 1e-6


def test_operands_have_all_lengths():
    x, _, _ = batch(lambda k: Addition().sample(k, 8), 3000)
    first = (x[:, 1:] == 2).argmax(1)
    assert stats.chisquare(np.bincount(first, minlength=6)[1:]).pvalue > 1e-6
    assert first.min() == 1
    assert first.max() == 5


def test_a_bin_has_all_its_lengths():
    bins = LengthBins(RepeatCopy(), width=5)
    for high in (5, 10):
        _, _, weight = batch(lambda k, high=high: bins.sample(k, high), 3000)
        assert weight.shape[1] == bins.tokens(high) == 2 * high + 2
        counts = np.bincount(weight.sum(1).astype(int) - 1, minlength=high + 1)
        assert counts[: high - 4].sum() == 0
        assert stats.chisquare(counts[high - 4 :]).pvalue > 1e-6


def test_offsets_are_those_that_fit():
    bins = LengthBins(LANGUAGES["tomita4"], width=4, places=10)
    (x, offset), _, weight = batch(lambda k: bins.sample(k, 8), 4000)
    tokens = weight.sum(1).astype(int)
    assert x.shape == (4000, 9)
    assert set(tokens) == {6, 7, 8, 9}
    for used in set(tokens):
        found = np.bincount(offset[tokens == used])
        assert len(found) == 10 - used + 1
        assert stats.chisquare(found).pvalue > 1e-6 if len(found) > 1 else True
    with pytest.raises(ValueError, match="11 tokens, more than the 10 places"):
        bins.sample(KEY, 10)


def test_empty_bins_are_refused():
    with pytest.raises(ValueError, match="no examples of RegularLanguage"):
        LengthBins(LANGUAGES["abcde"], width=4).sample(KEY, 4)
    with pytest.raises(ValueError, match="has no example of length 4"):
        ALGORITHMIC["bin_majority_interleave"].sample(KEY, 4)
    with pytest.raises(ValueError, match="has no example of length 151"):
        Sort().sample(KEY, 151)


def test_loss_counts_what_is_not_padding():
    task = LengthBins(Parity(), width=6)
    sample = task.sample(KEY, 6)
    V = task.options["outputs"]
    perfect = 100 * jax.nn.one_hot(sample.target, V)
    noise = 50 * jax.random.normal(KEY, perfect.shape) * (sample.weight == 0)[:, None]
    assert task.loss(perfect + noise, sample) < 1e-6
    assert task.metrics(perfect + noise, sample)["exact"] == 1
    wrong = jnp.roll(perfect, 1, -1)
    assert task.metrics(wrong, sample)["exact"] == 0


@pytest.mark.parametrize("name", SMALL)
def test_kernel_problems_do_not_hold_the_answer(name):
    task = SMALL[name]
    n = task.lengths(4, 9)[0]
    x, y = batch(lambda k: task.problem(k, n), 100)
    ids = np.asarray(x.argmax(-1))
    assert (ids[:, -1] == task.separator).all()
    given = ids[:, 1:-1].tolist()
    assert [2 * (task.solution(g)[-1] % 2) - 1 for g in given] == y.tolist()
    assert set(y) == {-1, 1}

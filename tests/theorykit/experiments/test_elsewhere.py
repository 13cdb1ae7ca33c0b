"""Experiments whose trainings are done elsewhere: the same numbers, the same folder."""

import concurrent.futures
import importlib
import json
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

from theorykit.experiments import Adam, Experiment, Plan, Setting, _training, experiments
from theorykit.networks import training
from theorykit.networks.training import Diverged, OnData
from theorykit.places import Lost, Mismatch
from theorykit.places._calls import packed

MODULE = '''
"""A paper's experiment, in a module that other processes can import."""
import functools
import jax, jax.numpy as jnp
import numpy as np
from flax import nnx
from theorykit.experiments import Adam, Curves, Plan, over_seeds, reproduces
from theorykit.networks.training import OnData

X = np.linspace(-1, 1, 8, dtype=np.float32)[:, None]

class Waves(nnx.Module):
    def __init__(self, width, rngs):
        self.weights = nnx.Param(jax.random.normal(rngs.params(), (2, width)))

    def __call__(self, x):
        return jnp.sin(x * self.weights[0]) @ self.weights[1:].T

def plan(width):
    make = functools.partial(Waves, width)
    return Plan(OnData(X, X**2, minibatch=4), make, Adam(1e-2), steps=6, every=2, seeds=3)

def error(fit):
    return over_seeds(fit, lambda network: jnp.abs(network(X[0]) - 1).sum())()

def at(width, setting):
    return setting.call(error, plan(width).train(setting, f"width_{width}"))

@reproduces("elsewhere", "widths", ref="Fig. 1")
def widths(setting):
    """Errors against the width."""
    found = setting.each(at, [(w, setting) for w in (4, 8)])
    return Curves("width", (4, 8), {"waves": np.array(found)}, "error").finding("it falls")
'''


@pytest.fixture
def widths(tmp_path, monkeypatch):
    """An experiment of two points and three seeds, whose legs have a chunk each."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "elsewhere_figures.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path / "mine")
    monkeypatch.delitem(sys.modules, "elsewhere_figures", raising=False)
    monkeypatch.setattr(_training, "LEG", 0.0)
    return importlib.import_module("elsewhere_figures").widths


class Counting(concurrent.futures.ThreadPoolExecutor):
    """Takes so many calls, and then is gone."""

    def __init__(self, most=10**9):
        super().__init__(1)
        self.left, self.taken = most, 0

    def submit(self, *args, **options):
        self.left -= 1
        if self.left < 0:
            raise RuntimeError("its workers are gone")
        self.taken += 1
        return super().submit(*args, **options)


def written(folder):
    """Return what a run keeps, but for checkpoints, whose files differ in their dates."""
    files = [f for f in folder.rglob("*.json") if "checkpoints" not in f.parts]
    return {str(f.relative_to(folder)): json.loads(f.read_text()) for f in files}


def steps(folder):
    return sorted(p.name for p in (folder / "width_4" / "checkpoints").iterdir())


def test_what_is_trained_elsewhere_is_what_is_trained_here(widths, tmp_path):
    here = widths.run(Setting(folder=tmp_path / "here"))
    said = []
    with Counting() as executor:
        away = widths.run(Setting(folder=tmp_path / "away", say=said.append), executor=executor)
    assert away.json() == here.json()
    assert written(tmp_path / "away") == written(tmp_path / "here")
    assert steps(tmp_path / "away")[-1] == steps(tmp_path / "here")[-1] == "6"
    # The first leg has two chunks, since one is sent ahead; then come another and the measurement.
    assert executor.taken == 2 * (2 + 1)
    assert sorted(said) == [f"width_{w}: step 4 of 6" for w in (4, 8)]
    # Either goes on with what the other left.
    with Counting() as executor:
        again = widths.run(Setting(folder=tmp_path / "here"), executor=executor)
        assert executor.taken == 2 * (1 + 1)
    assert again.json() == here.json()
    assert widths.run(Setting(folder=tmp_path / "away")).json() == here.json()


def test_a_run_whose_workers_go_goes_on_where_it_was(widths, tmp_path):
    whole = widths.run(Setting())
    with Counting(most=3) as executor, pytest.raises(ValueError, match="workers are gone"):
        widths.run(Setting(folder=tmp_path / "run"), executor=executor)
    assert not (tmp_path / "run" / "finding.json").exists()
    with Counting() as executor:
        found = widths.run(Setting(folder=tmp_path / "run"), executor=executor)
    assert found.json() == whole.json()
    assert executor.taken < 6  # what the three tasks had done was kept
    with pytest.raises(ValueError, match="seed 0, this one has seed 1"):
        widths.run(Setting(seed=1, folder=tmp_path / "run"), executor=executor)


@pytest.mark.slow
def test_seeds_are_tasks_where_they_train_apart(widths, tmp_path):
    run = lambda folder, **how: widths.run(Setting(folder=tmp_path / folder, together=2), **how)
    here = run("here")
    with Counting() as executor:
        away = run("away", executor=executor)
    assert away.json() == here.json()
    assert executor.taken == 2 * (2 * 2 + 1)
    assert (tmp_path / "away" / "width_4" / "seeds_2_to_2" / "checkpoints").is_dir()
    all_together = widths.run(Setting())
    assert np.allclose(here.numbers["waves"], all_together.numbers["waves"], rtol=1e-4)
    with pytest.raises(ValueError, match="belongs to a run with together 2, this one has together"):
        widths.run(Setting(folder=tmp_path / "here", together=3))
    with pytest.raises(ValueError, match="together is a whole number"):
        widths.run(Setting(together=0))


@pytest.mark.slow
def test_processes_find_the_same(widths, tmp_path):
    here = widths.run(Setting())
    assert widths.run(Setting(folder=tmp_path / "run"), jobs=2).json() == here.json()


def test_a_full_disk_is_one_sentence_and_loses_nothing(widths, tmp_path, monkeypatch):
    whole, run = widths.run(Setting()), tmp_path / "run"
    with Counting(most=2) as executor, pytest.raises(ValueError, match="gone"):
        widths.run(Setting(folder=run), executor=executor)
    before = {f: f.read_bytes() for f in run.rglob("*") if f.is_file()}

    written = Path.write_bytes

    def full(file, content):
        if run in file.parents:
            raise OSError(28, "No space left on device", str(file))
        return written(file, content)

    with monkeypatch.context() as patch, Counting() as executor:
        patch.setattr(Path, "write_bytes", full)
        with pytest.raises(ValueError, match=r"cannot be written \(No space left on device\)"):
            widths.run(Setting(folder=run), executor=executor)
    assert all(f.read_bytes() == content for f, content in before.items())
    with Counting() as executor:
        assert widths.run(Setting(folder=run), executor=executor).json() == whole.json()


def test_a_training_that_diverges_says_so_from_elsewhere():
    x = np.ones((3, 2, 1))
    plan = Plan(
        OnData(x, 1e200 * x, each=True), linear, Adam(1e38), steps=4, every=1, seeds=3,
    )  # fmt: skip
    made = Experiment("p", "n", "", "", lambda setting: plan.train(setting))
    with Counting() as executor, pytest.raises(Diverged) as caught:
        made.run(Setting(), executor=executor)
    assert caught.value.fit.history.seeds == (0, 1, 2)


def linear(rngs):
    from theorykit.networks import nets

    return nets.MLP(features=1, width=2, depth=1, rngs=rngs)


@pytest.mark.slow
def test_groups_have_the_data_of_their_seeds_and_are_joined_in_order():
    x = np.random.default_rng(0).normal(size=(5, 4, 1)).astype(np.float32)
    problem = OnData(x, 2 * x, each=True, evaluate={"again": (x, x)})
    assert np.array_equal(problem.of_seeds(range(1, 3)).x, x[1:3])
    assert np.array_equal(problem.of_seeds(range(1, 3)).evaluate["again"][1], x[1:3])
    plan = Plan(
        problem,
        linear,
        Adam(0.1),
        steps=6,
        every=2,
        seeds=5,
        stop=training.reaches("loss", 9e9, True),
    )
    apart, beside = plan.train(Setting(together=2)), plan.train(Setting())
    assert apart.history.seeds == beside.history.seeds == (0, 1, 2, 3, 4)
    for one, other in zip(
        jax.tree.leaves(apart.state.parameters()), jax.tree.leaves(beside.state.parameters()),
        strict=True,
    ):  # fmt: skip
        assert np.allclose(one, other, rtol=1e-5)
    assert np.allclose(apart.history["again/loss"], beside.history["again/loss"], rtol=1e-5)
    onward = plan.train(Setting(together=2), start=apart)
    assert np.allclose(
        onward.history["loss"][0], plan.train(Setting(), start=beside).history["loss"][0]
    )


def test_a_group_that_stopped_early_keeps_its_last_measurements():
    x = np.ones((1, 4, 1), np.float32)
    plan = Plan(OnData(x, 2 * x, each=True), linear, Adam(0.1), steps=6, every=2, seeds=1)
    long = plan.train(Setting())
    short = Plan(**{**vars(plan), "steps": 2}).train(Setting())
    found = _training.joined([short, long])
    assert found.history.steps.tolist() == [2, 4, 6]
    assert found.history["loss"][:, 0].tolist() == [short.history["loss"][0, 0]] * 3
    assert found.history["loss"][:, 1].tolist() == long.history["loss"][:, 0].tolist()


class Elsewhen(concurrent.futures.Executor):
    """Raises this in place of each call."""

    def __init__(self, error):
        self.error = error

    def submit(self, function, *args, **options):
        future = concurrent.futures.Future()
        future.set_exception(self.error)
        return future


def test_lost_workers_and_other_code_end_the_run_with_a_sentence(widths, tmp_path):
    with pytest.raises(Lost, match="failed to run it, 2 times: RuntimeError: gone"):
        widths.run(Setting(folder=tmp_path / "run"), executor=Elsewhen(RuntimeError("gone")))
    other = Mismatch("theorykit has different code")
    with pytest.raises(Mismatch, match="theorykit has different code"):
        widths.run(Setting(folder=tmp_path / "run"), executor=Elsewhen(other))


def test_a_plan_that_cannot_be_sent_is_trained_here():
    make = lambda rngs: linear(rngs)
    x = np.ones((4, 1), np.float32)
    plan = Plan(OnData(x, x), make, Adam(0.1), steps=2, every=1, seeds=2)
    said = []
    made = Experiment("p", "n", "", "", lambda setting: plan.train(setting).history["loss"])
    with Counting() as executor:
        away = made.run(Setting(say=said.append), executor=executor)
    assert np.array_equal(away, made.run(Setting()))
    assert executor.taken == 0
    assert "since it cannot be sent" in said[0]


class Sent(Exception):
    """Something was sent elsewhere."""


class Sending:
    """In place of calls: packs the first, and goes no further."""

    def each(self, function, points):
        return [function(*point) for point in points]

    def call(self, *call):
        data, sources = packed(call)
        assert data
        assert set(sources) == {"theorykit"}
        raise Sent


SHIPPED = [e for e in experiments() if e.build.__module__.startswith("theorykit.")]
"""Without those that other tests have declared by now."""


@pytest.mark.slow
@pytest.mark.parametrize("one", SHIPPED, ids=lambda e: f"{e.paper} {e.name}")
def test_what_is_shipped_can_be_sent(one):
    with pytest.raises(Sent):
        one.build(Setting(away=Sending()))

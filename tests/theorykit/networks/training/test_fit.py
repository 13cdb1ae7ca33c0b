"""Training of many seeds: what is learnt, what is repeatable, what is refused."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx

from theorykit.networks import nets, tasks, training

from .problems import Shift, Tiny, equal, small

DATA = (np.ones((3, 2), int), np.ones((3, 2, 5)))


def test_all_seeds_learn_and_stop():
    fit = small(
        steps=400,
        every=25,
        evaluate={"4": dict(length=4, batch=32), "9": dict(length=9, batch=16)},
        stop=training.reaches("9/accuracy", 1.0),
    )
    assert fit.history["loss"].shape == (len(fit.history), 3)
    assert (fit.history["loss"][-1] < fit.history["loss"][0]).all()
    assert (fit.stopped_at > 0).all()
    assert (fit.stopped_at % 25 == 0).all()
    assert fit.history.steps[-1] == fit.stopped_at.max()
    for seed in range(3):
        at = list(fit.history.steps).index(fit.stopped_at[seed])
        assert fit.history["9/accuracy"][at, seed] == 1
        assert (fit.history["9/accuracy"][:at, seed] < 1).all()
        out = fit.network(seed)(jnp.arange(5))
        assert out.shape == (5, 5)
        # It stopped at 1.0 on 144 symbols, so it knows all five.
        assert list(out.argmax(-1)) == [1, 2, 3, 4, 0]
    assert fit.seconds.total >= fit.seconds.inside > 0


def test_a_fit_is_looked_at_every_hundred_steps():
    fit = training.fit(Tiny, training.OnTask(Shift(), length=3, batch=2), optax.sgd(0.1), steps=200)
    assert list(fit.history.steps) == [100, 200]


def test_a_stopped_seed_keeps_its_parameters():
    """Seeds stop one by one; those that trained on leave the others alone."""
    stop = training.reaches("4/loss", 0.7, below=True)
    options = dict(every=1, evaluate={"4": dict(length=4, batch=32)})
    fit = small(steps=2000, stop=stop, **options)
    first = fit.stopped_at.argmin()
    assert fit.stopped_at[first] < fit.stopped_at.max()
    alone = small(steps=int(fit.stopped_at[first]), seeds=[int(first)], **options)
    one, other = fit.network(first), alone.network(0)
    np.testing.assert_allclose(one.head[...], other.head[...], atol=1e-5)


def test_a_seed_does_not_depend_on_its_neighbours():
    options = dict(make=Tiny, evaluate={"4": dict(batch=8)})
    many, one = small(seeds=[7, 1, 5], **options), small(seeds=[5], **options)
    np.testing.assert_allclose(many.history["loss"][:, 2], one.history["loss"][:, 0], rtol=1e-4)
    np.testing.assert_allclose(many.history["4/loss"][:, 2], one.history["4/loss"][:, 0], rtol=1e-4)
    assert not np.allclose(many.history["loss"][:, 0], many.history["loss"][:, 1])
    again = small(seeds=[7, 1, 5], **options)
    assert equal(many, again)
    other = small(seeds=[7, 1, 5], key=1, **options)
    assert not np.allclose(many.history["loss"], other.history["loss"])


def test_nothing_is_compiled_between_chunks():
    """A short last chunk and many chunks: as many compilations as for one chunk."""
    compiled = []
    listen = lambda name, *_, **__: compiled.append(name)
    small(steps=10)  # what is compiled once a process
    small(steps=45)
    counts = []
    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        for steps in (10, 45):
            compiled.clear()
            small(steps=steps)
            counts.append(sum(name.endswith("backend_compile_duration") for name in compiled))
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)
    assert counts[0] == counts[1] > 0


def test_a_chunk_is_the_loop_that_one_would_write():
    """Chunks of another length lead to the same parameters."""
    np.testing.assert_allclose(
        small(steps=25, every=25).network(0).head[...],
        small(steps=25, every=10).network(0).head[...],
        atol=1e-6,
    )


def test_full_batch_descent_follows_the_tangent_kernel_for_a_linear_network():
    """For a network linear in its weights, t steps are t Euler steps of size lr / P."""

    class Linear(nnx.Module):
        def __init__(self, rngs):
            self.w = nnx.Param(jax.random.normal(rngs.params(), (3, 2)))

        def __call__(self, x):
            return x @ self.w[...]

    draw = np.random.default_rng(0)
    x, y = draw.normal(size=(6, 3)).astype("float32"), draw.normal(size=(6, 2)).astype("float32")
    rate, steps = 0.3, 20
    data = training.OnData(x, y, evaluate={"half": (x[:3], y[:3])})
    options = dict(seeds=2, progress=False)
    fit = training.fit(Linear, data, optax.sgd(rate), steps=steps, every=1, **options)
    for seed in range(2):
        # From the state after the first chunk on, since the fit keeps none before it.
        one = training.fit(Linear, training.OnData(x, y), optax.sgd(rate), steps=1, **options)
        f = x @ np.asarray(one.network(seed).w[...])
        for _ in range(steps - 1):
            f = f - rate / 6 * (x @ x.T) @ (f - y)
        last = np.asarray(fit.network(seed)(x))
        np.testing.assert_allclose(last, f, atol=1e-5)
        assert np.isclose(fit.history["loss"][-1, seed], 0.5 * ((last - y) ** 2).sum(1).mean())
        half = 0.5 * ((last - y)[:3] ** 2).sum(1).mean()
        assert np.isclose(fit.history["half/loss"][-1, seed], half)


def test_adaptation_goes_on_from_a_fit_and_leaves_it():
    fit = small()
    before = np.array(fit.network(0).table[...])
    on = small(start=fit, steps=10, train="readout")
    assert (on.network(0).table[...] == before).all()
    assert not (on.network(0).head[...] == fit.network(0).head[...]).all()
    path = small(start=fit.state, steps=10, train=lambda path: "table" in path)
    assert (path.network(0).head[...] == fit.network(0).head[...]).all()
    assert not (path.network(0).table[...] == before).all()
    assert on.history["loss"][0].mean() < fit.history["loss"][0].mean()


@pytest.mark.slow
def test_a_transformer_trains_at_random_offsets():
    make = lambda rngs: nets.Transformer(
        vocabulary=5,
        width=8,
        heads=2,
        outputs=5,
        readout="tokens",
        parameterisation="standard",
        positions="learned",
        max_tokens=6,
        random_offset=True,
        residual=True,
        rngs=rngs,
    )
    fit = small(make=make, steps=200, every=100, optimizer=optax.adam(0.01), seeds=2)
    assert (fit.history["loss"][-1] < fit.history["loss"][0]).all()
    fresh = small(make=make, steps=1, every=1, optimizer=optax.sgd(0.0), seeds=2)
    moved = fit.network(0).position_table[...] != fresh.network(0).position_table[...]
    assert moved.all()  # every position was trained, though a sample has four tokens
    on = small(make=make, steps=5, start=fit, seeds=2, train="readout")
    assert (on.network(0).position_table[...] == fit.network(0).position_table[...]).all()
    with pytest.raises(ValueError, match="length 9 of length makes 9 tokens, more than the 6"):
        small(make=make, length=9)


def test_divergence_says_where():
    with pytest.raises(training.Diverged, match=r"after step \d+ of seed [012]") as caught:
        small(optimizer=optax.sgd(jnp.inf), steps=50, every=10)
    fit = caught.value.fit
    assert len(fit.history) >= 1
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(fit.state.parameters()))
    at = np.asarray(fit.state.diverged_at)
    assert f"after step {at[at >= 0].min()} of seed" in str(caught.value)
    others = (at >= 0).sum() - 1
    assert f", and {others} more seeds in the same chunk; " in str(caught.value)
    assert others == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(steps=0), "steps is a whole number of at least 1, got 0"),
        (dict(batch=0), "batch is a whole number of at least 1, got 0"),
        (dict(every=-3), "every is a whole number of at least 1, got -3"),
        (dict(seeds=0), "seeds is a count from 1"),
        (dict(seeds=[1, 1]), r"distinct numbers of at least 0; got \[1, 1\]"),
        (dict(problem=Shift()), r"fit\(make, OnTask\(Shift\(...\)\), optimizer\)"),
        (dict(problem=DATA), r"fit\(make, OnData\(x, y\), optimizer\)"),
        (dict(problem=3), r"problem is OnTask\(task, ...\) or OnData\(x, y, ...\), not int"),
        (dict(steps="3"), "steps is a whole number of at least 1, got '3'"),
        (dict(seeds="31"), "seeds is a count from 1"),
        (dict(key=2**32), r"a number from 0 to 2\^32 - 1"),
        (dict(optimizer="adam"), "optimizer is one of optax's"),
        (dict(task=Shift), r"task is an object, such as Shift\(\)"),
        (dict(start=3), "start is an earlier fit or its state"),
        (dict(start=training.Fit(None, None, None, None)), "start is an earlier fit or its state"),
        (dict(stop=lambda m: bool(m["loss"] < 1)), "stop is compiled"),
        (dict(evaluate=[4]), "evaluate is a dictionary"),
        (dict(evaluate={"a": dict(batch=2.5)}), r"the batch of evaluate\['a'\] is a whole"),
        (dict(train="head"), 'train is "all", "readout" or a function of a path, got \'head\''),
        (dict(train=lambda path: False), "selects none"),
        (dict(evaluate={"a": dict(size=3)}), r"evaluate\['a'\] takes length and batch"),
        (
            dict(evaluate={"4": dict(length=4)}, stop=training.reaches("5/accuracy", 1)),
            "stop asks for the metric '5/accuracy'; evaluate gives",
        ),
        (dict(stop=lambda m: m["loss"]), "stop returns one bool"),
        (dict(task=object()), "a task has the method sample, which this object lacks"),
        (
            dict(problem=training.OnData(np.ones((3, 2), int), np.ones(3))),
            "a target has the shape",
        ),
    ],
)
def test_refusals(options, message):
    with pytest.raises(ValueError, match=message):
        small(**options)


@pytest.mark.parametrize(
    ("x", "y", "options", "message"),
    [
        (*DATA, dict(evaluate={"data": DATA}), 'no set named "data"'),
        (
            *DATA,
            dict(evaluate={"a": dict(length=3)}),
            r"evaluate\['a'\] is a pair \(x, y\), got dict",
        ),
        (*DATA, dict(minibatch=0), "minibatch is a whole number of at least 1"),
        (np.full((3, 2), np.nan), np.ones(3), {}, "inputs of data must be finite"),
        (np.ones((3, 2)), np.ones(4), {}, "same number of examples"),
        (np.ones((3, 2)), 1j * np.ones(3), {}, "targets of data are real"),
        (np.ones(3), np.ones(3), dict(each=True), "same number of examples"),
    ],
)
def test_data_that_are_refused(x, y, options, message):
    with pytest.raises(ValueError, match=message):
        training.OnData(x, y, **options)


def test_a_network_fits_the_task():
    make = lambda **options: lambda rngs: nets.Transformer(width=4, heads=2, **options, rngs=rngs)
    task = tasks.InductionHead(8)
    for options, message in [
        (dict(vocabulary=4, outputs=8), "a network with vocabulary 8, this one has 4"),
        (dict(vocabulary=8, outputs=1), "a network with outputs 8, this one has 1"),
        (dict(vocabulary=8, outputs=8, readout="mean"), "readout 'last', this one has 'mean'"),
    ]:
        with pytest.raises(ValueError, match=message):
            small(make=make(**options), task=task)


def test_start_must_have_as_many_networks():
    fit = small(steps=1)
    with pytest.raises(ValueError, match="another kind or size"):
        small(make=lambda rngs: nets.MLP(features=4, width=3, rngs=rngs), start=fit)
    with pytest.raises(ValueError, match="start holds 3 networks, and there are 2 seeds"):
        small(start=fit, seeds=2)
    with pytest.raises(ValueError, match="none at the index 3"):
        fit.network(3)


def test_lines_without_a_terminal(capfd):
    small(progress=True)
    assert "step 30 of 30  loss" in capfd.readouterr().err


SHARDED = """
    import jax, numpy as np, pytest
    from problems import small
    options = dict(seeds=2, batch=8, evaluate={{"6": dict(length=6, batch=6)}}, steps=25)
    from theorykit.networks import training
    mesh = jax.make_mesh((2, 2), ("data", "seed"))
    one, four = small(**options), small(mesh=mesh, folder={folder!r}, **options)
    assert len(four.state.trained["head"][...].sharding.device_set) == 4
    for name in one.history.values:
        np.testing.assert_allclose(one.history[name], four.history[name], atol=1e-5)
    for a, b in zip(jax.tree.leaves(one.state), jax.tree.leaves(four.state)):
        np.testing.assert_allclose(a, b, atol=1e-5)
    again = small(mesh=mesh, folder={folder!r}, **options)
    for a, b in zip(jax.tree.leaves(again.state), jax.tree.leaves(four.state)):
        assert np.array_equal(a, b)
    onward = [small(start=start, **options) for start in (one, four)]
    np.testing.assert_allclose(*(f.history["loss"] for f in onward), atol=1e-5)
    x, y = np.arange(8).reshape(8, 1) % 5, np.ones((8, 1, 5), "float32")
    both = [small(problem=training.OnData(x, y), seeds=2, mesh=m) for m in (None, mesh)]
    np.testing.assert_allclose(*(f.history["loss"] for f in both), atol=1e-5)
    with pytest.raises(ValueError, match="3 seeds do not divide over the 2 devices"):
        small(mesh=mesh)
    with pytest.raises(ValueError, match="batch of 7 examples does not divide over the 2 devices"):
        small(mesh=mesh, seeds=2, batch=7)
    with pytest.raises(ValueError, match="a mesh has the axes"):
        small(mesh=jax.make_mesh((4,), ("data",)))
    print("sharded")
"""


@pytest.mark.slow
def test_four_devices_give_the_numbers_of_one(tmp_path):
    script = SHARDED.format(folder=str(tmp_path / "fit"))
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=4"
    env = os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    env["PYTHONPATH"] = str(Path(__file__).parent)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], env=env, capture_output=True, text=True
    )
    assert done.stdout == "sharded\n", done.stderr


def test_no_metrics_of_an_unknown_task_are_needed():
    class Bare(Shift):
        def metrics(self, outputs, sample):
            return {}

    fit = small(task=Bare(), evaluate={"4": dict(batch=4)}, steps=2)
    assert set(fit.history.values) == {"loss", "4/loss"}


def test_each_seed_may_have_data_of_its_own():
    """A seed among others trains as it does alone on its data, and is judged on its own."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 5, 2)).astype(np.float32), rng.normal(size=(2, 5)).astype(np.float32)
    make = lambda rngs: nets.MLP(features=2, width=4, depth=1, rngs=rngs)
    options = dict(optimizer=optax.sgd(0.1), steps=3, every=3, progress=False)
    data = training.OnData(x, y, each=True, evaluate={"own": (x, y)})
    both = training.fit(make, data, seeds=[0, 1], **options)
    for seed in (0, 1):
        alone = training.fit(make, training.OnData(x[seed], y[seed]), seeds=[seed], **options)
        found = both.history["loss"][-1, seed]
        assert found == pytest.approx(alone.history["loss"][-1, 0], rel=1e-5)
        assert both.history["own/loss"][-1, seed] == pytest.approx(found, rel=1e-5)
    with pytest.raises(ValueError, match="first axis of data is one of 3 seeds, not 2"):
        training.fit(make, data, seeds=3, **options)


def test_a_minibatch_is_of_the_data_and_as_large():
    """At rate 1 a linear map at x = 1 jumps to the target of its minibatch of one."""
    make = lambda rngs: nnx.Linear(1, 1, use_bias=False, rngs=rngs)
    x, y = np.ones((2, 3, 1), np.float32), np.arange(6.0, dtype=np.float32).reshape(2, 3, 1)
    run = lambda **options: training.fit(
        make, training.OnData(x, y, each=True, **options), optax.sgd(1.0), steps=4, every=1,
        seeds=2, progress=False,
    )  # fmt: skip
    one = run(minibatch=1)
    ends = np.stack([np.ravel(one.network(i).kernel[...]) for i in range(2)]).ravel()
    assert (np.abs(ends[:, None] - y[:, :, 0]).min(1) < 1e-6).all()
    whole = run()
    assert np.allclose(np.ravel(whole.network(0).kernel[...]), y[0].mean())
    # The loss that is reported is that of all the data.
    assert np.isclose(one.history["loss"][-1][0], 0.5 * ((ends[0] - y[0]) ** 2).mean())


class Linear(nnx.Module):
    """Weights times an input of which dropout leaves a half."""

    def __init__(self, rngs, size=1, rate=0.0):
        self.weights = nnx.Param(jnp.zeros(size))
        self.dropout = nnx.Dropout(rate, rngs=rngs) if rate else None

    def __call__(self, x):
        return (self.weights[...] @ (self.dropout(x) if self.dropout else x))[None]


def test_dropout_is_a_ridge_on_a_linear_network():
    """The mean loss under dropout has its minimum at (1 - rate) times the least squares."""
    x = np.random.default_rng(0).normal(size=(256, 1)).astype(np.float32)
    y = 3 * x
    problem = training.OnData(x, y)
    make = lambda rngs: Linear(rngs, rate=0.5)
    run = lambda **options: training.fit(
        make, problem, optax.sgd(0.02), steps=600, every=200, seeds=3, progress=False, **options
    )
    fit = run()
    found = np.array([fit.network(i).weights[0] for i in range(3)])
    np.testing.assert_allclose(found, 1.5, atol=0.1)
    assert len(set(found.tolist())) == 3  # each seed has masks of its own
    # It is evaluated without dropout.
    plain = [0.5 * float(np.mean((w * x - y) ** 2)) for w in found]
    np.testing.assert_allclose(fit.history["loss"][-1], plain, rtol=1e-5)
    again = run()
    assert all(again.network(i).weights[0] == found[i] for i in range(3))


def test_a_network_with_dropout_trains_on_from_a_fit_in_a_folder(tmp_path):
    x = np.ones((4, 1), np.float32)
    options = dict(steps=2, every=1, seeds=2, progress=False)
    make, problem = lambda rngs: Linear(rngs, rate=0.5), training.OnData(x, x)
    first = training.fit(make, problem, optax.sgd(0.1), folder=tmp_path / "a", **options)
    again = training.fit(make, problem, optax.sgd(0.1), folder=tmp_path / "a", **options)
    assert np.array_equal(first.history["loss"], again.history["loss"])
    more = training.fit(
        make, problem, optax.sgd(0.1), folder=tmp_path / "b", start=again, **options
    )
    assert (more.history["loss"][-1] < first.history["loss"][-1]).all()


def test_lbfgs_solves_least_squares():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(30, 4)).astype(np.float32), rng.normal(size=(30, 1)).astype(np.float32)
    fit = training.fit(
        lambda rngs: Linear(rngs, size=4), training.OnData(x, y), optax.lbfgs(), steps=20, seeds=2,
        progress=False,
    )  # fmt: skip
    right = np.linalg.lstsq(x.astype(float), y.astype(float))[0].ravel()
    for index in range(2):
        np.testing.assert_allclose(fit.network(index).weights[...], right, atol=1e-4)


def test_statistics_of_batches_are_refused():
    class Normed(Linear):
        def __init__(self, rngs):
            super().__init__(rngs)
            self.norm = nnx.BatchNorm(1, rngs=rngs)

    with pytest.raises(ValueError, match=r"Normed keeps statistics of batches.*LayerNorm"):
        training.fit(Normed, training.OnData(np.ones((3, 1)), np.ones((3, 1))), optax.sgd(0.1))

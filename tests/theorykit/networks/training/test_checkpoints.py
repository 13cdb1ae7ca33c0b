"""Checkpoints: a killed fit goes on to the same numbers, and a folder knows what it holds."""

import contextlib
import functools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from filelock import FileLock
from flax import nnx

from theorykit.networks import training

from .problems import LONG, Tiny, equal, small


def kept(folder):
    return sorted(int(p.name) for p in (folder / "checkpoints").iterdir() if p.name.isdigit())


def start(folder):
    """A process that trains in the folder, in the precision of this one."""
    script = str(Path(__file__).parent / "problems.py")
    env = os.environ | {"JAX_ENABLE_X64": str(int(jax.config.jax_enable_x64))}
    command = [sys.executable, script, str(folder)]
    return subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_killed_at_random_moments_goes_on_bit_for_bit(tmp_path):
    whole = small(**LONG)
    folder, moments = tmp_path / "fit", random.Random(0)
    reached = []
    for _ in range(2):
        child = start(folder)
        # Not before there is something to lose.
        begun, before = time.monotonic(), reached[-1] if reached else 0
        while child.poll() is None and time.monotonic() - begun < 600:
            time.sleep(0.02)
            if (folder / "checkpoints").exists() and max(kept(folder), default=0) > before:
                break
        time.sleep(moments.random() * 0.3)
        child.send_signal(signal.SIGKILL)
        child.wait()
        reached.append(max(kept(folder)))
        assert len(kept(folder)) <= 3  # the third is on its way out
    assert 0 < reached[0] < LONG["steps"]
    assert equal(small(folder=folder, **LONG), whole)
    assert equal(small(folder=folder, **LONG), whole)  # nothing is left to do
    saved = training.History.load(folder / "history.json")
    assert (saved["6/loss"] == whole.history["6/loss"]).all()
    assert len(kept(folder)) == 2
    assert kept(folder)[-1] == LONG["steps"]


def test_a_damaged_checkpoint_is_passed_over(tmp_path):
    options = dict(folder=tmp_path / "fit", steps=4000)
    whole = small(**options)
    last, checkpoints = max(kept(tmp_path / "fit")), tmp_path / "fit" / "checkpoints"
    assert len(kept(tmp_path / "fit")) == 2
    shutil.rmtree(checkpoints / str(last) / "fit")
    assert equal(small(**options), whole)
    assert (checkpoints / str(last) / "fit").exists()
    for step in kept(tmp_path / "fit"):
        shutil.rmtree(checkpoints / str(step) / "fit")
    with pytest.raises(ValueError, match=r"no checkpoint in .* can be read"):
        small(**options)


def test_a_folder_belongs_to_one_configuration(tmp_path):
    folder = tmp_path / "fit"
    small(folder=folder, config=dict(optimizer="adam"))
    for options, message in [
        (dict(steps=40), r"of 30 steps, this one has 40 \(to train on, .* start= of a fit of 10"),
        (dict(steps=20), "with steps 30, this one has steps 20; use another folder"),
        (dict(batch=9), "batch 8, this one has batch 9"),
        (dict(length=5), "length 4, this one has length 5"),
        (dict(key=4), r"key \[0, 0\], this one has key \[0, 4\]"),
        (dict(seeds=[0, 1]), r"seeds \[0, 1, 2\], this one has seeds \[0, 1\]"),
        (dict(every=11), "every 10, this one has every 11"),
        (dict(evaluate={"4": dict(length=4)}), "with evaluate.4 None, this one has evaluate.4"),
        (
            dict(config=dict(optimizer="sgd")),
            "config.optimizer adam, this one has config.optimizer sgd",
        ),
        (dict(optimizer=optax.adam(0.03)), "another program"),
    ]:
        with pytest.raises(ValueError, match=message):
            small(folder=folder, **dict(config=dict(optimizer="adam")) | options)


class Scaled(Tiny):
    """The first weights times a number that no shape shows."""

    def __init__(self, rngs, scale):
        super().__init__(rngs)
        self.table = nnx.Param(scale * self.table[...])


X, Y = np.ones((4, 3), int), np.ones((4, 3, 5), np.float32)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        [dict(optimizer=optax.inject_hyperparams(optax.adam)(r)) for r in (0.1, 1.0)],
        [dict(optimizer=optax.adam(jnp.asarray(r))) for r in (0.1, 1.0)],
        [dict(make=functools.partial(Scaled, scale=s)) for s in (1.0, 2.0)],
        [
            dict(problem=training.OnData(X, Y, loss=lambda o, y, w=w: ((o - y) ** 2 * w).sum()))
            for w in (np.ones(5), np.arange(5.0))
        ],
    ],
)
def test_a_folder_knows_numbers_that_are_not_in_the_code(tmp_path, one, other):
    small(folder=tmp_path / "fit", steps=1, seeds=1, **one)
    with pytest.raises(ValueError, match="another program"):
        small(folder=tmp_path / "fit", steps=1, seeds=1, **other)


def test_a_folder_has_one_owner(tmp_path):
    folder = tmp_path / "fit"
    small(folder=folder, steps=1)
    in_use = pytest.raises(ValueError, match="another process is training in")
    with FileLock(folder / "lock"), in_use:
        small(folder=folder, steps=1)
    small(folder=folder, steps=1)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").write_text("")
    with pytest.raises(ValueError, match="holds other files and no fit"):
        small(folder=tmp_path / "other")
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="cannot be the folder of a fit"):
        small(folder=tmp_path / "file")
    (folder / "config.json").write_text("{")
    with pytest.raises(ValueError, match="cannot be read as JSON"):
        small(folder=folder)


def test_divergence_keeps_the_last_good_checkpoint(tmp_path):
    """The rate explodes at step 35; the checkpoints stay, and the fit diverges there again."""
    options = dict(
        optimizer=optax.sgd(lambda step: jnp.where(step >= 35, jnp.inf, 0.1)),
        steps=100,
        folder=tmp_path / "fit",
    )
    for _ in range(2):
        with pytest.raises(training.Diverged, match="after step 35 of seed"):
            small(**options)
        assert max(kept(tmp_path / "fit")) <= 30


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_interrupted_from_the_keyboard(tmp_path):
    folder = tmp_path / "fit"
    child = start(folder)
    begun = time.monotonic()
    while time.monotonic() - begun < 120 and child.poll() is None:
        time.sleep(0.02)
        if (folder / "checkpoints").exists() and kept(folder):
            break
    # Python drops an interrupt that comes while it collects garbage, so there may be a second.
    for _ in range(5):
        child.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(timeout=10)
            break
    assert "KeyboardInterrupt" in child.communicate(timeout=60)[1]
    assert child.returncode != 0
    assert 0 < max(kept(folder)) < LONG["steps"]
    assert json.loads((folder / "config.json").read_text())["steps"] == LONG["steps"]


def test_a_fit_whose_time_is_over_says_so_and_goes_on_bit_for_bit(tmp_path):
    whole = small(steps=10, every=2)
    for step in (4, 8):  # a chunk, and the one that was sent ahead
        with pytest.raises(training.Paused) as paused:
            small(steps=10, every=2, folder=tmp_path, seconds=0)
        assert paused.value.step == step
        assert max(kept(tmp_path)) == step  # even if another was being written
    assert equal(small(steps=10, every=2, folder=tmp_path, seconds=0), whole)
    assert equal(small(steps=10, every=2, folder=tmp_path, seconds=1e9), whole)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [(dict(seconds=1.0), "goes with a folder"), (dict(seconds=-1.0), "seconds is a finite number")],
)
def test_time_without_a_folder_is_refused(wrong, said):
    with pytest.raises(ValueError, match=said):
        small(**wrong)

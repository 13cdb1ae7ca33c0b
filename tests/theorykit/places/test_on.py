"""Clusters by name, and what is said where there is none."""

import builtins
import concurrent.futures
import signal
import sys

import pytest

from theorykit.places import connected
from theorykit.places._on import SLURM, slurm_options


@pytest.mark.parametrize("on", ["dask", "dask:", "spark:host", "", "Dask:tcp://a:1"])
def test_a_word_that_names_no_cluster_is_refused(on):
    with pytest.raises(ValueError, match="--on is dask:ADDRESS"), connected(on):
        pass


def test_none_is_no_cluster():
    with connected(None) as executor:
        assert executor is None


def test_options_are_those_of_sbatch():
    assert slurm_options("") == SLURM
    given = slurm_options("jobs=8,partition=short,gres=gpu:1")
    assert given == SLURM | {"jobs": "8", "partition": "short", "gres": "gpu:1"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("fast", "options of slurm are name=value, .* not 'fast'"),
        ("jobs=", "not 'jobs='"),
        ("a b=1", "not 'a b=1'"),
        ("jobs=0", "jobs of slurm is a number of at least 1, not '0'"),
        ("jobs=two", "not 'two'"),
        ("cpus-per-task=-1", "cpus-per-task of slurm is"),
        ("mem=lots", "mem of slurm is memory as for sbatch, such as 4G; not 'lots'"),
    ],
)
def test_what_is_no_option_is_refused(text, said):
    with pytest.raises(ValueError, match=said), connected(f"slurm:{text}"):
        pass


def test_without_the_extra_it_is_named(monkeypatch):
    found = builtins.__import__

    def missing(name, *rest):
        if name.startswith("dask"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return found(name, *rest)

    monkeypatch.setattr(builtins, "__import__", missing)
    for on in ("dask:tcp://127.0.0.1:1", "slurm"):
        with (
            pytest.raises(ValueError, match=r"needs dask, .*pip install 'theorykit\[cluster\]'"),
            connected(on),
        ):
            pass


def test_nobody_at_the_address_and_no_slurm(monkeypatch, tmp_path):
    pytest.importorskip("dask_jobqueue")
    with (
        pytest.raises(ValueError, match=r"no Dask scheduler answers at tcp://127.0.0.1:1: .*refus"),
        connected("dask:tcp://127.0.0.1:1"),
    ):
        pass
    monkeypatch.setenv("PATH", str(tmp_path))
    before = signal.getsignal(signal.SIGINT)
    for name in [name for name in sys.modules if name.startswith("dask_jobqueue")]:
        monkeypatch.delitem(sys.modules, name)  # so that it is imported now
    with pytest.raises(ValueError, match="this one has no sbatch"), connected("slurm"):
        pass
    assert signal.getsignal(signal.SIGINT) is before


def test_the_command_line_says_it(command):
    code, _, said = command("verify", "capture.E1.first_derivative", "--on", "spark:x")
    assert (code, said.count("\n")) == (2, 1)
    assert said.startswith("theorykit: --on is dask:ADDRESS")
    code, _, said = command("experiment", "sharper", "gap", "--on", "slurm:x", "--jobs", "2")
    assert (code, said) == (
        2,
        "theorykit: give --jobs or --on, not both: a cluster has processes of its own.\n",
    )


def test_an_executor_is_one(command):
    from theorykit.experiments import Setting, find

    with pytest.raises(ValueError, match="Executor, got int"):
        find("sharper", "gap").run(Setting(), executor=3)
    with pytest.raises(ValueError, match="not both"):
        find("sharper", "gap").run(Setting(), jobs=2, executor=concurrent.futures.Executor())

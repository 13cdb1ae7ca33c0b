import dataclasses
import os
import sys

import jax
import numpy as np
import pytest

from theorykit.checks import Trial
from theorykit.claims import REGISTRY, float64
from theorykit.common import arguments


@pytest.fixture(autouse=True)
def x64():
    with float64():
        yield


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    """Keep the user's own last results out of reach."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture
def registry(monkeypatch):
    """An empty registry of claims: what is in `REGISTRY` by file and id."""
    claims: dict = {}
    monkeypatch.setattr(REGISTRY, "_claims", claims)
    return claims


@pytest.fixture
def command(monkeypatch, capsys, tmp_path):
    """Run the command line in this process: its exit code, output and errors."""
    from theorykit import cli

    def run(*arguments):
        code = []
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["theorykit", *map(str, arguments)])
        monkeypatch.setattr(os, "_exit", code.append)
        cli.main()
        out, err = capsys.readouterr()
        return code[-1], out, err

    return run


@pytest.fixture
def trial():
    return Trial(jax.random.key(0))


@pytest.fixture
def costs(monkeypatch):
    """Call a function: the numbers that its result holds, and each count that is to be affordable.

    What is refused as too much is what a count says; this holds the count against what is made.
    """

    def of(call):
        counts, asked = [], arguments.affordable
        with monkeypatch.context() as patch:
            for module in [m for name, m in sys.modules.items() if name.startswith("theorykit.")]:
                if getattr(module, "affordable", None) is asked:
                    patch.setattr(module, "affordable", lambda what, n, *_: counts.append(n))
            return numbers(call()), counts

    return of


def numbers(value):
    """Return how many numbers something holds."""
    if isinstance(value, np.ndarray | jax.Array):
        return value.size
    if dataclasses.is_dataclass(value):
        value = [getattr(value, field.name) for field in dataclasses.fields(value)]
    if isinstance(value, tuple | list):
        return sum(map(numbers, value))
    return int(isinstance(value, int | float))

import sys

import jax
import pytest

from theorykit.checks import Trial
from theorykit.claims import REGISTRY, float64


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
        monkeypatch.setattr(cli.os, "_exit", code.append)
        cli.main()
        out, err = capsys.readouterr()
        return code[-1], out, err

    return run


@pytest.fixture
def trial():
    return Trial(jax.random.key(0))

"""Functions called elsewhere answer as they do here; what cannot be sent is done here."""

import concurrent.futures
import dataclasses
import functools
import importlib
import math
import shutil
import threading
from pathlib import Path

import jax.numpy as jnp
import pytest

import theorykit
from theorykit.networks.training import Paused
from theorykit.places import Calls, Closed, Elsewhere, Lost, Mismatch, opened
from theorykit.places._calls import Call, code_of, modules, packed


@pytest.fixture
def calls():
    """Calls in one thread of this process, and what is said."""
    said = []
    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        made = Calls(Elsewhere(executor), said.append)
        made.said = said
        yield made
        made.close()


def test_a_function_returns_and_raises_as_it_does_here(calls):
    assert calls.call(math.hypot, 3, 4) == 5
    assert calls.call(functools.partial(math.hypot, 3), 4) == 5
    with pytest.raises(ValueError, match="math domain error"):
        calls.call(math.sqrt, -1)
    assert calls.call(jnp.ones, 2).dtype == "float64"  # as in this thread
    assert not calls.said


ODD = """
class Odd(Exception):
    def __init__(self, one, two):  # so that it cannot be unpickled
        super().__init__(one)

def odd():
    raise Odd("how odd", 2)
"""


def test_an_exception_that_cannot_travel_arrives_as_a_sentence(calls, tmp_path, monkeypatch):
    (tmp_path / "odd_module.py").write_text(ODD)
    monkeypatch.syspath_prepend(tmp_path)
    odd = importlib.import_module("odd_module").odd
    with pytest.raises(RuntimeError, match=r"Odd: how odd \(odd_module.py:7\)"):
        calls.call(odd)


def test_what_cannot_be_sent_is_done_here(calls):
    here = threading.get_ident()
    assert calls.call(lambda: threading.get_ident()) == here
    assert calls.call(lambda: threading.get_ident()) == here
    assert len(calls.said) == 1
    assert "since it cannot be sent to another: " in calls.said[0]
    namespace = {"__name__": "__main__"}
    exec("def cell(): return 3", namespace)
    with pytest.raises(Exception, match="in a notebook or script"):
        packed(namespace["cell"])
    assert calls.call(namespace["cell"]) == 3


def test_answers_come_in_order_and_a_failure_lets_the_others_end(calls):
    assert calls.each(lambda a, b: calls.call(math.pow, a, b), [(2, 3), (3, 2)]) == [8, 9]
    ended, go = [], threading.Event()

    def one(n):
        if n == 0:
            go.wait(30)
            raise KeyError("first")
        calls.call(math.sqrt, n)
        go.set()
        ended.append(n)
        calls.call(math.sqrt, n)  # may be refused by now

    with pytest.raises(KeyError, match="first"):
        calls.each(one, [(0,), (1,)])
    assert ended == [1]
    with pytest.raises(Closed):
        calls.call(math.sqrt, 4)


def test_other_code_is_refused():
    data, sources = packed((math.hypot, (3, 4)))
    assert set(sources) == {"theorykit"}
    call = Call(id="", data=data, sources=sources)
    assert call.do(print)[0]
    with pytest.raises(Mismatch, match="theorykit differs in the process"):
        dataclasses.replace(call, sources={"theorykit": "0"}).do(print)
    with pytest.raises(Mismatch, match="no_such_package differs in the process"):
        dataclasses.replace(call, sources={"no_such_package": "0"}).do(print)


def test_a_package_is_its_files(tmp_path, monkeypatch):
    (tmp_path / "some_package").mkdir()
    file = tmp_path / "some_package" / "__init__.py"
    file.write_text("def f(): return 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    import some_package

    assert set(packed(some_package.f)[1]) == {"some_package", "theorykit"}
    first = code_of("some_package")
    code_of.cache_clear()
    assert code_of("some_package") == first
    file.write_text("def f(): return 2\n")
    code_of.cache_clear()
    assert code_of("some_package") != first
    code_of.cache_clear()


def test_a_package_is_the_same_however_it_is_installed(tmp_path):
    """As links to a checkout, as the checkout itself, and as the copy that a wheel makes."""
    checkout = Path(theorykit.__file__).resolve().parents[1]
    links = modules("theorykit", list(theorykit.__path__))
    source = modules("theorykit", [str(checkout / "theorykit"), str(checkout)])
    assert {n: f.resolve() for n, f in links.items()} == source
    assert {"theorykit.cli", "theorykit.kernels.draws", "theorykit.places._calls"} <= set(source)
    assert not [n for n in source if n.split(".")[1] in ("theorykit", "setup", "conftest", "tests")]
    for inner, name in (("kernels", "theorykit/kernels"), ("theorykit", "theorykit")):
        shutil.copytree(checkout / inner, tmp_path / name, dirs_exist_ok=True)
    shutil.copytree(checkout / "proofs_numeric", tmp_path / "theorykit" / "proofs_numeric")
    copied = modules("theorykit", [str(tmp_path / "theorykit")])
    assert set(copied) == set(source)


class Dying(concurrent.futures.Executor):
    """Loses each worker."""

    def submit(self, function, *args, **options):
        future = concurrent.futures.Future()
        future.set_exception(RuntimeError("the worker is gone"))
        return future


def test_a_worker_that_dies_twice_is_said():
    with (
        opened(None, Dying(), print) as calls,
        pytest.raises(Lost, match=r"failed to run it, 2 times: RuntimeError: the worker is gone"),
    ):
        calls.call(math.sqrt, 4)


def test_without_processes_there_is_no_place():
    for jobs in (None, 1):
        with opened(jobs, None, print) as calls:
            assert calls is None
    with pytest.raises(ValueError, match="not both"), opened(2, Dying(), print):
        pass
    with pytest.raises(ValueError, match="jobs is a whole number"), opened(0, None, print):
        pass


def test_exceptions_of_training_travel():
    import pickle

    again = pickle.loads(pickle.dumps(Paused(7)))
    assert (again.step, str(again)) == (7, str(Paused(7)))

"""Interrupts that come where Python ignores exceptions."""

import gc
import signal
import sys
import time

import pytest

from theorykit.common.interrupts import heard


@pytest.fixture(autouse=True)
def interrupts():
    """Where tests run in several processes, interrupts are ignored."""
    as_before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, as_before)


def in_a_finaliser():
    class Last:
        def __del__(self):
            signal.raise_signal(signal.SIGINT)

    Last()


def in_a_callback_of_the_garbage_collector():
    def callback(phase, info):
        gc.callbacks.remove(callback)
        signal.raise_signal(signal.SIGINT)

    gc.callbacks.append(callback)
    gc.collect()


def then_wait(interrupt):
    interrupt()
    for _ in range(500):
        time.sleep(0.01)


@pytest.mark.parametrize("interrupt", [in_a_finaliser, in_a_callback_of_the_garbage_collector])
def test_an_interrupt_that_python_ignores_comes_again(interrupt, capsys):
    with pytest.raises(KeyboardInterrupt), heard():
        then_wait(interrupt)
    assert "ignored" not in capsys.readouterr().err


def test_other_exceptions_are_ignored_as_before(monkeypatch):
    ignored = []
    monkeypatch.setattr(sys, "unraisablehook", lambda what: ignored.append(what.exc_type))

    class Fails:
        def __del__(self):
            raise ZeroDivisionError

    with heard():
        Fails()
    Fails()
    assert ignored == [ZeroDivisionError, ZeroDivisionError]

"""Claims in threads, what is said of their progress, and how a certificate is repeated."""

import threading
import time

import jax.numpy as jnp
import pytest

from theorykit.certify import Balls
from theorykit.checks import exhaustive, inequality
from theorykit.checks.domains import inputs, interval
from theorykit.claims import claim
from theorykit.places import Seldom
from theorykit.runs._fingerprint import _without_a_file
from theorykit.runs._replay import Replay
from theorykit.runs._runner import run_claims, verify


def claims(count):
    def made(k):
        @claim(f"mine.{k}", ref="1", statement="n < 3")
        def build():
            """Words."""
            return exhaustive(predicate=lambda n: n < 3, universe=range(3))

        return build

    return [made(k) for k in range(count)]


@pytest.mark.parametrize("at_a_time", [1, 2, 9])
@pytest.mark.parametrize("count", [0, 1, 3])
def test_every_claim_has_one_result_and_then_it_ends(registry, monkeypatch, count, at_a_time):
    monkeypatch.setattr("theorykit.runs._runner.AT_A_TIME", at_a_time)
    some, kept = claims(count), []
    run = lambda: run_claims(some, {}, 0, None, kept.append)
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(timeout=60)
    assert not thread.is_alive()
    assert sorted(r.id for r in kept) == [c.id for c in some]


def test_an_error_is_tried_again_and_a_result_is_not(registry, tmp_path):
    tried = []

    @claim("mine.a")
    def flaky():
        tried.append(1)
        if len(tried) == 1:
            raise OSError("not now")
        return exhaustive(predicate=lambda n: n < 3, universe=range(3))

    verdicts = [verify([flaky], run=tmp_path)[0].verdict for _ in range(3)]
    assert verdicts == ["error", "inconclusive", "inconclusive"]
    assert len(tried) == 2


def test_progress_is_handed_on_five_times_a_second_at_most(monkeypatch):
    said, clock = [], iter([0.0, 0.1, 0.19, 0.21, 0.3, 0.4, 0.42, 5.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    report = Seldom(said.append)
    for share in range(8):
        report(share)
    assert said == [0.0, 3.0, 6.0, 7.0]


@pytest.mark.parametrize(
    ("lhs", "rhs", "says"),
    [
        ((-3.0, 0.0, 3.0), (0.0, 1.0, 5.0), "lhs < rhs at 64 bits (entry 1 of 3)"),  # farthest
        ((-9.0, 2.0, 3.0), (0.0, 1.0, 2.5), "lhs > rhs at 64 bits (entry 2 of 3)"),  # violated
        ((1.0,), (1.0,), "lhs = rhs at 64 bits"),
    ],
)
def test_a_repeated_certificate_shows_the_entry_that_tells_most(lhs, rhs, says):
    check = inequality(
        lhs=lambda x: x * jnp.array(lhs), rhs=lambda x: x * jnp.array(rhs),
        over=inputs(x=interval(0, 2)),
    )  # fmt: skip
    sides = check.enclosed_at({"x": 1.0}, 64)
    assert all(isinstance(side, Balls) for side in sides)
    assert str(Replay(*sides, 64)).splitlines()[-1] == says
    last = str(Replay(*sides, 64, entry=len(lhs)))
    assert last.startswith(f"lhs = {lhs[-1]:g}")


NOTEBOOK = """
import math
BOUND = 3
def small(n):
    return n < BOUND
def build():
    return small(math.pi), other
"""


def test_in_a_notebook_a_function_and_what_it_uses_count(registry):
    def code(source, other):
        names = {"__name__": "__main__", "other": other}
        exec(source, names)
        return _without_a_file(names["build"])

    one, another = claims(2)
    known = code(NOTEBOOK, one)
    assert known == code(NOTEBOOK, one)
    assert known == code(NOTEBOOK, another)  # another claim is none of its business
    assert known != code(NOTEBOOK.replace("BOUND = 3", "BOUND = 4"), one)
    assert known != code(NOTEBOOK.replace("n < BOUND", "n <= BOUND"), one)
    assert known != code(NOTEBOOK.replace("small(math.pi)", "not small(math.pi)"), one)

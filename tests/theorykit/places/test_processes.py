"""Tasks wait for processes, which stay with what they know and live until the place is closed."""

import importlib
import os
import threading

from theorykit.places import Processes, Task
from theorykit.places._processes import Waiting

WHOAMI = """
import os
from theorykit.places import Task

class Whoami(Task):
    def do(self, progress):
        return os.getpid()
"""


def test_neighbours_stay_in_one_process():
    waiting = Waiting()
    tasks = [Task(id=f"{f}.{i}", family=f) for f in "abc" for i in range(3)]
    assert waiting.add(tasks, print) == 9
    next_of = lambda family: waiting.next(family)[0]
    first, second = next_of(None), next_of(None)
    assert (first.family, second.family) == ("a", "b")
    assert [next_of("a").id for _ in range(2)] == ["a.1", "a.2"]
    assert next_of("a").id == "c.0"  # a family that nobody has begun
    assert next_of("a").id in ("b.1", "c.1")  # then whichever has most left
    assert len({next_of("a").id for _ in range(3)}) == 3
    waiting.close()
    assert waiting.next("a") is None


def test_a_process_that_has_nothing_to_do_waits_for_more(tmp_path, monkeypatch):
    (tmp_path / "whoami.py").write_text(WHOAMI)
    monkeypatch.syspath_prepend(tmp_path)
    task = importlib.import_module("whoami").Whoami
    place, found, done = Processes(1), [], threading.Event()

    def say(id, event):
        if not isinstance(event, float):
            found.append(event)
            done.set()

    for id in "ab":
        done.clear()
        place.begin([task(id=id)], say)
        assert done.wait(240)
    place.close()
    assert found[0] == found[1] != os.getpid()

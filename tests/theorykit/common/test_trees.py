"""Syntax trees made in many threads at once."""

import sys
from concurrent.futures import ThreadPoolExecutor

from theorykit.common.trees import compiled, parse

SOURCE = 50 * "def f(x):\n    return [[(((x + 1) * 2) ** 3) / 4 for _ in [3]] for _ in [2]]\n"


def test_threads_make_trees_side_by_side():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            made = list(pool.map(lambda n: compiled(parse(SOURCE), "f.py"), range(40)))
    finally:
        sys.setswitchinterval(before)
    assert all(code.co_filename == "f.py" for code in made)

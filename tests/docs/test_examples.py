"""The examples in docstrings print what the comments below them say."""

import inspect
import re
from collections.abc import Callable

import pytest

from theorykit import certify, checks, kernels

SHOWN: tuple[Callable, ...] = (certify.prove, checks.inequality, kernels.InfiniteTransformer)


@pytest.mark.parametrize("shown", SHOWN, ids=lambda shown: shown.__name__)
def test_an_example_prints_what_it_says(capsys, shown):
    (code,) = re.findall(r"```python\n(.*?)```", inspect.getdoc(shown), re.S)
    exec(code, {"__name__": "example"})
    said = [line.removeprefix("# ") for line in code.splitlines() if line.startswith("# ")]
    assert said
    assert capsys.readouterr().out.splitlines() == said

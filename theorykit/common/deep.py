"""Recursion as deep as memory allows, for expressions that nest beyond Python's stack."""

from collections.abc import Generator
from typing import Any, TypeVar

Value = TypeVar("Value")
Deep = Generator["Deep[Any]", Any, Value]
"""A recursive function as a generator: it yields calls of such functions and gets their results."""


def deep(call: "Deep[Value]") -> Value:
    """Run a recursive function that is written as a generator, and return its result."""
    stack: list[Any] = [call]
    value: Any = None
    while stack:
        try:
            inner = stack[-1].send(value)
        except StopIteration as done:
            stack.pop()
            value = done.value
        else:
            stack.append(inner)
            value = None
    return value

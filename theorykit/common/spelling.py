"""Names that are spelt wrongly, answered with those that may be meant."""

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, Self, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def nearest(name: str, known: Iterable[str]) -> str:
    """Return " Did you mean ...?" with the names that are spelt much like this one, or ""."""
    likeness = lambda other: difflib.SequenceMatcher(None, name, other).ratio()
    close = difflib.get_close_matches(name, list(known), n=3, cutoff=0.65)
    found = [other for other in close if likeness(other) > likeness(close[0]) - 0.1]
    return f" Did you mean {_either(found)}?" if found else ""


def spelt(function: Function) -> Function:
    """Return a function that answers a misspelt keyword with the one that may be meant."""
    known = inspect.signature(function).parameters
    what = function.__qualname__.removesuffix(".__init__").removesuffix(".__call__")

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        _refuse(what, options, known)
        return function(*args, **options)

    return call  # type: ignore[return-value]


class Spelt:
    """A class whose instances are made by keywords: it answers one that is misspelt.

    An abstract one says what a subclass has to define.
    """

    def __new__(cls, *_: Any, **options: Any) -> Self:
        """Return an instance that is not initialised yet.

        **Raises:** `TypeError` for an unknown keyword, or if the class is abstract.
        """
        missing = sorted(getattr(cls, "__abstractmethods__", ()))
        if missing:
            raise TypeError(
                f"{cls.__name__} is abstract: use a subclass that defines {' and '.join(missing)}."
            )
        if options:
            _refuse(cls.__name__, options, inspect.signature(cls).parameters)
        return super().__new__(cls)


def _refuse(what: str, options: Iterable[str], known: Any) -> None:
    unknown = [name for name in options if name not in known]
    if unknown and not any(p.kind is p.VAR_KEYWORD for p in known.values()):
        names = [name for name, p in known.items() if p.kind is not p.POSITIONAL_ONLY]
        said = nearest(unknown[0], names)
        said = said or f" It has {', '.join(n for n in names if n != 'self')}."
        raise TypeError(f"{what} has no argument {unknown[0]!r}.{said}")


def _either(names: list[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last

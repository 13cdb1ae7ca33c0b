"""Where a claim is asserted to hold: named arguments, their shapes, and the sizes to try."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from theorykit.checks._inputs import Inputs
from theorykit.checks._kinds import (
    PSD,
    Choices,
    Domain,
    Integers,
    Interval,
    Positive,
    Reals,
    Simplex,
    an_integer,
)
from theorykit.checks._shapes import Shape, resolve
from theorykit.common.arguments import real

__all__ = [
    "PSD",
    "Choices",
    "Domain",
    "Inputs",
    "Integers",
    "Interval",
    "Positive",
    "Reals",
    "Simplex",
    "choices",
    "inputs",
    "integers",
    "interval",
    "positive",
    "psd",
    "reals",
    "resolve",
    "simplex",
]

Function = TypeVar("Function", bound=Callable[..., Any])


def _one_shape(made: Function) -> Function:
    """Return a function of a shape that explains the error if dimensions are given one by one."""

    @functools.wraps(made)
    def call(*args: Any, **options: Any) -> Any:
        parts = [a for a in args if isinstance(a, str)]
        if len(parts) > 1:
            raise ValueError(
                f"{made.__name__} has one shape, {' '.join(parts)!r}, not "
                f"{' and '.join(map(repr, parts))}."
            )
        return made(*args, **options)

    return call  # type: ignore[return-value]


@_one_shape
def reals(shape: Shape = "", scale: float = 1.0) -> Reals:
    """Return the domain of all real arrays of a shape; `scale` is the typical entry."""
    return Reals(shape, scale)


@_one_shape
def positive(shape: Shape = "", scale: float = 1.0) -> Positive:
    """Return the domain of arrays with entries greater than zero."""
    return Positive(shape, scale)


@_one_shape
def interval(lo: float, hi: float, shape: Shape = "") -> Interval:
    """Return the domain of arrays with entries in [lo, hi]."""
    return Interval(shape, real("lo", lo), real("hi", hi))


def psd(n: Shape, bound: float | None = None, rank: Shape | None = None) -> PSD:
    """Return the domain of n x n positive semidefinite matrices.

    **Arguments:** `bound`: the largest entry allowed (max norm); `rank`: the largest rank.
    """
    if isinstance(bound, str):
        raise ValueError(
            f"psd has matrices of {n!r} rows and columns; a rank is given by name, as in "
            f"psd({n!r}, rank={bound!r})."
        )
    return PSD(n, bound, rank)


@_one_shape
def simplex(n: Shape) -> Simplex:
    """Return the domain of n weights that sum to one."""
    return Simplex(n)


@_one_shape
def integers(lo: int, hi: int, shape: Shape = "") -> Integers:
    """Return the domain of integer arrays with entries lo, ..., hi."""
    return Integers(shape, an_integer("lo", lo), an_integer("hi", hi))


def choices(*options: Any) -> Choices:
    """Return the domain whose members are the options: numbers, or arrays of one shape."""
    return Choices("", options)


def inputs(**arguments: Any) -> Inputs:
    """Return the inputs of a claim: domains are arguments, tuples are sizes to try.

    `inputs(S=reals("T T"), x=positive("T"), T=(2, 4, 16))` calls the claim's functions by name,
    `lhs(S=..., x=...)`, with each function getting the arguments that it names. A function that
    names a size gets that too. Anything other than integers in a tuple (an activation's name, say)
    is a setting that only the functions see.
    """
    domains = {k: v for k, v in arguments.items() if isinstance(v, Domain)}
    sizes = {k: tuple(v) if isinstance(v, tuple | list) else (v,) for k, v in arguments.items()}
    sizes = {k: v for k, v in sizes.items() if k not in domains}
    for name, values in sizes.items():
        for value in values:
            made_here = getattr(value, "__module__", None) in (__name__, Domain.__module__)
            if made_here:  # `reals`, or a class of domains
                raise ValueError(
                    f"{name} is the function {value.__name__} itself; a domain is what it returns, "
                    f"as in {name}={value.__name__.lower()}(...)."
                )
        if not values:
            raise ValueError(f"size {name} needs at least one value, as in {name}=(2, 4).")
    made = Inputs(domains, sizes)
    smallest = made.settings()[0]
    for domain in domains.values():
        domain.latent_shape(smallest)  # an unknown size is named here, not inside a run
    return made

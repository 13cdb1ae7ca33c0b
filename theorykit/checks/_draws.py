"""What an expectation is over, by name: so its mean can be sampled, and also be computed."""

import dataclasses
import itertools
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import jax
import numpy as np

from theorykit.certify import MOST_VALUES, NotCertifiable, wick
from theorykit.checks._base import ClaimError
from theorykit.checks._certificates import unproved
from theorykit.checks._shapes import Shape, resolve
from theorykit.common.arguments import as_array, at_least_0, shown
from theorykit.results import (
    Certificate,
    Evidence,
    Outcome,
    Resolution,
    Scope,
    Verdict,
    Witness,
)

MOST_LINES = 20
"""Means that a certificate lists."""


@dataclasses.dataclass(frozen=True)
class Normal:
    """Independent centred Gaussians of one variance. Made by `normal`."""

    shape: tuple[int, ...]
    variance: Any

    def draw(self, key: jax.Array) -> Any:
        """Return an array of draws, float64."""
        return math.sqrt(self.variance) * jax.random.normal(key, self.shape)

    def variances(self) -> np.ndarray:
        """Return the variance of each entry, exactly."""
        return np.full(self.shape, Fraction(self.variance), dtype=object)

    def __str__(self) -> str:
        return f"N(0, {self.variance}){_power(self.shape)}"


@dataclasses.dataclass(frozen=True)
class Uniform:
    """Independent draws from a few equally likely numbers. Made by `uniform`."""

    values: tuple[Any, ...]
    shape: tuple[int, ...]

    def draw(self, key: jax.Array) -> Any:
        """Return an array of draws."""
        return jax.random.choice(key, np.asarray(self.values), self.shape)

    def members(self) -> list[np.ndarray]:
        """Return every array that can be drawn.

        **Raises:** `NotCertifiable` if there are too many.
        """
        count = math.prod(self.shape)
        if len(self.values) ** count > MOST_VALUES:
            raise NotCertifiable(f"there are more than {MOST_VALUES} values of an array.")
        dtype = np.asarray(self.values).dtype
        picks = itertools.product(self.values, repeat=count)
        return [np.asarray(pick, dtype).reshape(self.shape) for pick in picks]

    def __str__(self) -> str:
        return f"{{{', '.join(map(str, self.values))}}}{_power(self.shape)}"


Law = Normal | Uniform


def _power(shape: tuple[int, ...]) -> str:
    text = " x ".join(map(str, shape))
    return f"^({text})" if len(shape) > 1 else f"^{text}" if text else ""


def normal(shape: Shape = "", variance: Any = 1) -> Normal:
    """Return the law of an array of independent Gaussians of mean 0.

    **Arguments:** `shape`, as of a domain, in numbers: `"4 6"`. `variance`: of each entry; a
    fraction is exact, and a float is taken as its exact value.
    """
    at_least_0("variance", float(variance) if isinstance(variance, Fraction) else variance)
    return Normal(resolve(shape, {}), variance)


def uniform(*values: Any, shape: Shape = "") -> Uniform:
    """Return the law of an array of independent draws from these numbers, all equally likely.

    **Arguments:** `values`: two or more numbers; one that is given twice is twice as likely.
    `shape`: as of `normal`.
    """
    if len(values) < 2 or as_array("values", values).ndim != 1:
        raise ValueError(f"uniform draws from two numbers or more, not from {shown(values)}.")
    return Uniform(values, resolve(shape, {}))


@dataclasses.dataclass(frozen=True)
class Drawn:
    """A statistic of named draws as a function of a key, averaged over `each` draws."""

    statistic: Callable[..., Any]
    draws: tuple[tuple[str, Law], ...]
    each: int

    def __call__(self, key: jax.Array) -> Any:
        if self.each == 1:
            return self._one(key)
        return jax.vmap(self._one)(jax.random.split(key, self.each)).mean(0)

    def _one(self, key: jax.Array) -> Any:
        keys = jax.random.split(key, len(self.draws))
        pairs = zip(self.draws, keys, strict=True)
        return self.statistic(**{name: law.draw(k) for (name, law), k in pairs})


def as_draws(given: Any) -> Mapping[str, Law] | None:
    """Return the draws of a claim.

    **Raises:** `ClaimError` for anything else.
    """
    named = isinstance(given, Mapping) and all(isinstance(law, Law) for law in given.values())
    if given is not None and not (named and given):
        raise ClaimError(
            "draws are a law for each argument of the statistic, as in "
            f"draws=dict(x=normal(3)), not {shown(given)}."
        )
    return given


def proved_mean(
    found: Outcome,
    statistic: Callable[..., Any],
    draws: Mapping[str, Law] | None,
    allowed: Callable[[np.ndarray], np.ndarray],
    resolution: Callable[[np.ndarray], Resolution],
) -> Outcome:
    """Return what sampling found, made certain by the exact mean where there is one.

    **Arguments:** `allowed`: the nearest means that the claim allows, exactly; `resolution`: that
    of means that are known.
    """
    if draws is None:
        why = "the statistic makes its own draws; a polynomial of named draws has an exact mean"
        return dataclasses.replace(found, unproved=f"Not certified: {why}.")
    try:
        means = wick(
            statistic,
            {name: law.variances() for name, law in draws.items() if isinstance(law, Normal)},
            {name: law.members() for name, law in draws.items() if isinstance(law, Uniform)},
        )
        nearest = np.asarray(allowed(means), dtype=object).ravel()
        beyond = [abs(m - n) for m, n in zip(means.ravel(), nearest, strict=True)]
    except Exception as error:
        return unproved(found, error)
    over = ", ".join(f"{name} in {law}" for name, law in draws.items())
    lines = tuple(f"the mean is {m}" for m in means.ravel()[:MOST_LINES])
    certificate = Certificate(
        how="The mean was computed in fractions, by Wick's theorem.",
        where=f"the mean over {over}",
        scope=Scope.sizes,
        steps=lines,
    )
    if max(beyond) == 0:
        return dataclasses.replace(
            found,
            verdict=Verdict.holds,
            evidence=Evidence.certified,
            certificate=certificate,
            witness=None,
            resolution=resolution(means),
        )
    worst = beyond.index(max(beyond))
    mean = means.ravel()[worst]
    note = f"The mean is {mean}, exactly."
    return dataclasses.replace(
        found,
        verdict=Verdict.refuted,
        evidence=Evidence.certified,
        note=f"{note} {found.note}",
        certificate=dataclasses.replace(certificate, scope=Scope.point),
        witness=Witness(f"# {note}", float(mean), float(nearest[worst])),
    )

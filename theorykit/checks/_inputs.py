"""The arguments of a claim's functions, the sizes to try, and how the functions are called."""

import dataclasses
import inspect
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from theorykit.checks._kinds import Domain
from theorykit.checks._shapes import Sizes, set_of
from theorykit.common.arguments import function as callable_
from theorykit.common.arguments import shown

Case = dict[str, np.ndarray]
"""A latent, or a parameter, per argument."""


@dataclasses.dataclass(frozen=True)
class Inputs:
    """The arguments of a claim's functions: one domain each, at every combination of the sizes."""

    arguments: Mapping[str, Domain]
    sizes: Mapping[str, tuple[Any, ...]]
    maps: tuple[Callable[..., Mapping[str, Any]], ...] = ()
    premises: tuple[Callable[..., Any], ...] = ()

    def given(self, premise: Callable[..., Any]) -> "Inputs":
        """Return the domain cut down to where a premise of the statement is true.

        **Arguments:** `premise`: takes arguments and sizes by name, returns a truth value. Points
        where it is false are not tried, and no witness lies there. It is evaluated point by point,
        not searched for: a domain whose map makes it true everywhere is tried more densely.
        """
        callable_("premise", premise, "a function of the arguments that it names")
        return dataclasses.replace(self, premises=(*self.premises, premise))

    def meet(self, parameters: Sequence[Case], sizes: Sizes) -> list[Case]:
        """Return the parameters at which every premise is true."""
        return [p for p in parameters if self._within(p, sizes)]

    def admits(self, parameters: Case, sizes: Sizes) -> bool:
        """Whether the parameters are allowed, and every premise is true there."""
        return self.contains(parameters) and self._within(parameters, sizes)

    def _within(self, parameters: Case, sizes: Sizes) -> bool:
        if not self.premises:
            return True
        point = self.point(parameters, sizes, np)
        return all(_truth(call(p, point, sizes, "the premise"), point) for p in self.premises)

    def map(self, function: Callable[..., Mapping[str, Any]]) -> "Inputs":
        """Return the domain reparametrised: the names that `function` returns are the arguments.

        **Arguments:** `function`: takes arguments (and sizes) by name, returns a dict of values.
        """
        callable_("function", function, "a function of the arguments that returns new ones")
        return dataclasses.replace(self, maps=(*self.maps, function))

    @property
    def differentiable(self) -> bool:
        """Whether there is anything that a gradient can move."""
        return any(domain.differentiable for domain in self.arguments.values())

    def settings(self) -> list[dict[str, Any]]:
        """Return every combination of the sizes, smallest first."""
        names = list(self.sizes)
        grid = [
            dict(zip(names, pick, strict=True)) for pick in itertools.product(*self.sizes.values())
        ]
        return sorted(
            grid, key=lambda s: math.prod(v for v in s.values() if isinstance(v, int)) if s else 0
        )

    def cases(self, rng: np.random.Generator, sizes: Sizes, count: int) -> list[Case]:
        """Return the structured latents, alone and combined, then `count` random ones."""
        return [*self._structured(rng, sizes), *(self.random(rng, sizes) for _ in range(count))]

    def random(self, rng: np.random.Generator, sizes: Sizes) -> Case:
        """Return one random latent for every argument."""
        return {name: np.asarray(d.random(rng, sizes)) for name, d in self.arguments.items()}

    def _structured(self, rng: np.random.Generator, sizes: Sizes) -> Iterator[Case]:
        patterns = {name: d.structured(sizes) for name, d in self.arguments.items()}
        rounds = max((len(p) for p in patterns.values()), default=1)
        for i in range(rounds):
            yield {name: p[i % len(p)] for name, p in patterns.items()}
        if len(patterns) > 1:  # one argument structured among random ones
            for name, own in patterns.items():
                for pattern in own:
                    yield self.random(rng, sizes) | {name: pattern}

    def squash(self, latents: Mapping[str, Any], xp: Any) -> dict[str, Any]:
        """Map latents to parameters, argument by argument."""
        return {name: d.squash(latents[name], xp) for name, d in self.arguments.items()}

    def point(self, parameters: Mapping[str, Any], sizes: Sizes, xp: Any) -> dict[str, Any]:
        """Map parameters to the values that the claim's functions are called with."""
        values = {name: d.finish(parameters[name], sizes, xp) for name, d in self.arguments.items()}
        for function in self.maps:
            values = dict(call(function, values, sizes))
        return values

    def contains(self, parameters: Mapping[str, np.ndarray]) -> bool:
        """Whether every parameter is allowed."""
        return all(d.contains(parameters[name]) for name, d in self.arguments.items())

    def parameters(self) -> str:
        """Return a sentence on arguments that a point states by a parameter, "" if none is."""
        made = [domain.made_from(name) for name, domain in self.arguments.items()]
        given = " and ".join(filter(None, made))
        said = [f"gives {given}"] if given else []
        said += ["is before the domain's map"] if self.maps else []
        return f"The point of the replay {' and '.join(said)}." if said else ""

    def _told(self) -> str:
        count = len(self.premises)
        premises = f", under {count} premise{'s' * (count > 1)}" if count else ""
        return (", reparametrised" if self.maps else "") + premises

    def __str__(self) -> str:
        arguments = [f"{name} in {domain}" for name, domain in self.arguments.items()]
        sizes = [f"{name} in {set_of(values)}" for name, values in self.sizes.items()]
        return ", ".join(arguments + sizes) + self._told()


def _truth(found: Any, point: Mapping[str, Any]) -> bool:
    """Return whether a premise is true in all entries, each of which must be a truth value."""
    made = np.asarray(found)
    if made.dtype.kind not in "biuf" or (made.dtype.kind == "f" and np.isnan(made).any()):
        raise ValueError(
            f"a premise returns a truth value, not {shown(found)}, as it does at "
            f"{', '.join(f'{k}={shown(v)}' for k, v in point.items())}."
        )
    return bool(made.all())


def call(
    function: Callable[..., Any],
    values: Mapping[str, Any],
    sizes: Sizes,
    name: str = "a function of the claim",
) -> Any:
    """Call a claim's function with those of the arguments and sizes that it names.

    **Raises:** `ValueError` if it names others; `name` is what it is called there.
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return function(**values)
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return function(**values)
    known = {**sizes, **values}
    missing = [
        p.name
        for p in parameters
        if p.name not in known and p.default is p.empty and p.kind is not p.VAR_POSITIONAL
    ]
    if missing:
        own = getattr(function, "__name__", "<lambda>")
        which = f"{name}={own}" if name.isidentifier() and own != "<lambda>" else name
        there = ", ".join([*values, *(s for s in sizes if s not in values)])
        example = f"{name if name.isidentifier() else 'lhs'}=lambda {there}: f({there})"
        raise ValueError(
            f"{which} asks for {', '.join(missing)}, but its domain has "
            f"{there or 'no argument'}, and "
            f"arguments are given by name, as in {example}."
        )
    leading = [known[p.name] for p in parameters if p.kind is p.POSITIONAL_ONLY and p.name in known]
    named = {
        p.name: known[p.name]
        for p in parameters
        if p.name in known and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    }
    return function(*leading, **named)

"""Distributions over strings made from templates, for regression and next-token prediction."""

import dataclasses
import itertools
import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Float, Int, Int32, Int64, PRNGKeyArray

from theorykit.common.arguments import (
    affordable,
    as_array,
    at_least_0,
    instance,
    number,
    shown,
    size,
)
from theorykit.common.keys import as_key
from theorykit.subjects.templates._template import (
    CLS,
    WILD,
    Template,
    require_disjoint,
    tokens,
    wildcards,
)


class Samples(NamedTuple):
    """Strings with labels.

    **Fields:** `x`, token ids (n, k), int32; `y`, labels (n,), floats or token ids; `template`,
    (n,), the index of the template of each string.
    """

    x: Int32[Array, "n length"]
    y: Float[Array, " n"] | Int32[Array, " n"]
    template: Int[Array, " n"]


@dataclasses.dataclass(frozen=True)
class Distribution:
    """Draws a template, then symbols for its wildcards (Definitions 2.2 and J.1).

    Tokens are numbered: the regular tokens of the templates are 0, ..., `len(tokens) - 1`, in order
    of appearance, and the symbols substituted for wildcards form an alphabet of later ids.
    Substitution maps are uniform over the injective ones.

    **Arguments:**

    - `templates`: pairwise disjoint, all of the same length, and all with a number (regression) or
      all with a symbol (next-token prediction) as label.
    - `symbols`: the size of the alphabet of substituted symbols; `first`: the id of the first of
      them (by default the one after the regular tokens).
    - `weights`: of the templates, equal if not given. `noise`: the standard deviation of the
      Gaussian noise added to numeric labels.

    **Raises:** `ValueError` for templates that are not disjoint (the message gives a string that
    matches both); for fewer symbols than a template has wildcards; for templates of different
    lengths or kinds of label; for a label that is a wildcard not in its template; for numbers that
    are not finite.
    """

    templates: Sequence[Template]
    symbols: int
    first: int | None = None
    weights: Sequence[float] | None = None
    noise: float = 0.0

    def __post_init__(self):
        given = self.templates
        alone = isinstance(given, str | Template)
        what = "a tuple of Template"
        found: tuple[Any, ...] = (
            (given,) if alone else tuple(instance("templates", given, (tuple, list), what))
        )
        if wrong := [t for t in found if not isinstance(t, Template)]:
            raise ValueError(
                f"a distribution needs Templates, not {wrong[0]!r}; templates('αα -> +1', ...) "
                "makes them from text."
            )
        object.__setattr__(self, "templates", found)
        if not found:
            raise ValueError("a distribution needs at least one template.")
        if len({len(t.symbols) for t in found}) > 1:
            raise ValueError(
                f"templates of one distribution have the same length, unlike {found[0]} and "
                f"{next(t for t in found if len(t.symbols) != len(found[0].symbols))}."
            )
        kinds = {_kind(t) for t in found}
        if len(kinds) > 1 or None in kinds:
            raise ValueError("the labels of one distribution are all numbers or all symbols.")
        object.__setattr__(self, "noise", at_least_0("noise", self.noise))
        object.__setattr__(self, "symbols", size("symbols", self.symbols, 0))
        require_disjoint(found)
        most = max(found, key=lambda t: len(wildcards(t)))
        if self.symbols < len(wildcards(most)):
            raise ValueError(
                f"an alphabet of {self.symbols} symbols is too small for the "
                f"{len(wildcards(most))} wildcards of {most}."
            )
        if self.first is not None:
            object.__setattr__(self, "first", size("first", self.first, 0))
        if self.first is not None and self.first < len(self.tokens):
            raise ValueError(
                f"symbols start at the id {len(self.tokens)} or later, after the regular tokens, "
                f"not at {self.first}."
            )
        if self.weights is None:
            return
        weights = np.asarray(as_array("weights", self.weights), float)
        object.__setattr__(self, "weights", tuple(weights.ravel().tolist()))
        good = weights.shape == (len(found),) and ((weights >= 0) & (weights < math.inf)).all()
        if not good or not 0 < weights.sum() < math.inf:
            raise ValueError(
                f"weights are {len(found)} finite numbers >= 0, one per template, not all 0."
            )

    @property
    def tokens(self) -> tuple[str, ...]:
        """The regular tokens, by id."""
        labels = [t.label for t in self.templates if isinstance(t.label, str)]
        named = [*(s for t in self.templates for s in tokens(t)), *labels]
        return tuple(dict.fromkeys(s for s in named if s not in WILD))

    @property
    def length(self) -> int:
        """The length k of a string."""
        return len(self.templates[0].symbols)

    @property
    def alphabet(self) -> range:
        """The ids substituted for wildcards."""
        start = len(self.tokens) if self.first is None else self.first
        return range(start, start + self.symbols)

    @property
    def vocabulary(self) -> int:
        """One more than the largest id."""
        return self.alphabet.stop

    @property
    def diversity(self) -> Fraction:
        """The data diversity rho of Definition 3.3: the size of the alphabet over that of W.

        W is the set of wildcards of all templates. If it is empty, rho is infinite for every token,
        and the size of the alphabet is returned.
        """
        named = {w for t in self.templates for w in wildcards(t)}
        return Fraction(self.symbols, max(1, len(named)))

    def held_out(self, symbols: int, *, after: "Distribution | None" = None) -> "Distribution":
        """Return the same distribution over new symbols, after this alphabet or after another's."""
        symbols = size("symbols", symbols)
        if after is not None:
            instance("after", after, Distribution, "a Distribution or None")
        last = (after or self).alphabet.stop
        return dataclasses.replace(self, symbols=symbols, first=max(last, self.alphabet.stop))

    def codes(self) -> Int64[np.ndarray, "templates length"]:
        """Return the templates as ids (r, k), int64: wildcards are -1, -2, ..."""
        number = {s: i for i, s in enumerate(self.tokens)}
        rows = []
        for t in self.templates:
            own = wildcards(t)
            rows.append([-1 - own.index(s) if s in own else number[s] for s in t.symbols])
        return np.array(rows)

    def sample(self, key: PRNGKeyArray, n: int) -> Samples:
        """Return n independent samples, a pure function of the key, which may be traced.

        **Raises:** `ValueError` for fewer than one sample.
        """
        import jax
        import jax.numpy as jnp

        n, key = size("n", n), as_key(key)
        affordable("a sample", n * self.length, 2**31)
        for_template, for_map, for_noise = jax.random.split(key, 3)
        weights = jnp.asarray(self.weights or [1.0] * len(self.templates))
        which = jax.random.choice(
            for_template, len(self.templates), (n,), p=weights / weights.sum()
        )
        codes, labels = self.codes(), self._labels()
        most = max(1, -int(codes.min()))
        image = injective(for_map, n, most, self.symbols) + self.alphabet.start
        fill = lambda rows: jnp.where(
            rows < 0, jnp.take_along_axis(image, jnp.maximum(-1 - rows, 0), 1), rows
        )
        x = fill(jnp.asarray(codes, jnp.int32)[which])
        if labels.dtype.kind == "f":
            y = jnp.asarray(labels)[which]
            y = y + self.noise * jax.random.normal(for_noise, (n,), y.dtype)
        else:
            y = fill(jnp.asarray(labels, jnp.int32)[which, None])[:, 0]
        return Samples(x, y, which)

    def _labels(self) -> Float[np.ndarray, " templates"] | Int[np.ndarray, " templates"]:
        number = {s: i for i, s in enumerate(self.tokens)}
        if not isinstance(self.templates[0].label, str):
            return np.array([float(t.label) for t in self.templates])  # type: ignore[arg-type]
        own = lambda t: number.get(t.label, -1 - (*wildcards(t), t.label).index(t.label))
        return np.array([own(t) for t in self.templates])

    def with_cls(self) -> "Distribution":
        """Return the same distribution with [CLS] at the end of every template."""
        from theorykit.subjects.templates._template import with_cls

        return dataclasses.replace(self, templates=with_cls(self.templates))

    def require_cls(self) -> None:
        """Raise a `ValueError` unless every template ends with its only [CLS], as kernels need."""
        for t in self.templates:
            if t.symbols[-1] != CLS or t.symbols.count(CLS) > 1:
                raise ValueError(
                    f"the transformer kernel reads the last token, which must be [CLS] and occur "
                    f"nowhere else, unlike in the template {t}; with_cls() appends it."
                )


def _kind(template: Template) -> str | None:
    """Return the kind of a label, a number or a symbol.

    **Raises:** `ValueError` for a number that is not finite, or a wildcard that the template lacks.
    """
    label = template.label
    if isinstance(label, str):
        if label in WILD and label not in template.symbols:
            raise ValueError(f"the label of {template} is a wildcard that the template lacks.")
        return "symbol"
    if not isinstance(label, numbers.Real) or isinstance(label, bool):
        return None
    if not math.isfinite(label):
        raise ValueError(f"the label of {template} is not finite.")
    return "number"


def injective(key: PRNGKeyArray, n: int, count: int, size: int) -> Int32[Array, "{n} count"]:
    """Return n uniform injective maps (n, count), int32, into 0, ..., size - 1.

    The j-th value is the u-th of the remaining ones, with u uniform: it skips the values below it
    that are already taken.

    **Raises:** `ValueError` for more values than the size allows.
    """
    import jax
    import jax.numpy as jnp

    if count > size:
        raise ValueError(
            f"an injective map has at most as many values as symbols, {size}; got {count}."
        )
    taken = jnp.zeros((n, 0), jnp.int32)
    for j in range(count):
        value = jax.random.randint(jax.random.fold_in(key, j), (n,), 0, size - j)
        for earlier in jnp.sort(taken, 1).T:
            value = value + (value >= earlier)
        taken = jnp.concatenate([taken, value[:, None].astype(jnp.int32)], 1)
    return taken


def require_apart(train: Distribution, test: Distribution) -> None:
    """Check that the alphabets of a training and a test distribution are disjoint.

    **Raises:** `ValueError` if they share a symbol, which would then not be held out.
    """
    for name, one in (("train", train), ("test", test)):
        instance(name, one, Distribution, "a Distribution")
    first = max(train.alphabet.start, test.alphabet.start)
    shared = range(first, min(train.alphabet.stop, test.alphabet.stop))
    if shared:
        raise ValueError(
            f"the test alphabet shares {len(shared)} symbols with the training one, such as "
            f"{first}; train.held_out({test.symbols}) has none of them."
        )


def diversity(
    substitutions: Mapping[Any, Iterable[tuple[Any, Mapping[str, Any]]]],
) -> Fraction | float:
    """Return the data diversity rho = min_z min_t 1 / P[t in s(W)] (Definition 3.3).

    **Arguments:** `substitutions`: for each template, pairs (probability, substitution map). The
    result is a fraction if the probabilities are.

    **Raises:** `ValueError` if a template's probabilities do not sum to one or nothing is
    substituted.
    """
    instance("substitutions", substitutions, Mapping, "a dictionary from templates to maps")
    largest: Any = 0
    for z, choices in substitutions.items():
        mass: dict[Any, Any] = {}
        total: Any = 0
        instance(f"the value for {shown(z)}", choices, (tuple, list), "pairs (probability, map)")
        for pair in choices:
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise ValueError(f"a choice is a pair (probability, map), got {shown(pair)}.")
            probability, s = pair
            number("a probability", probability, "a number from 0 to 1", lambda v: 0 <= v <= 1)
            instance("a map", s, Mapping, "a dictionary from wildcards to tokens")
            total += probability
            for token in set(s.values()):
                mass[token] = mass.get(token, 0) + probability
        if abs(total - 1) > 1e-9:
            raise ValueError(f"the probabilities of the maps of {z} sum to {total}, not 1.")
        largest = max([largest, *mass.values()])
    if not largest:
        raise ValueError("no wildcard is ever substituted, so there is no diversity.")
    return 1 / largest


def uniform_maps(names: Sequence[str], alphabet: Sequence[Any]) -> list[tuple[Fraction, dict]]:
    """Return every injective map with its probability under the uniform distribution."""
    instance("names", names, (str, tuple, list), "wildcards")
    instance("alphabet", alphabet, Sequence, "a sequence of tokens")
    if wrong := [n for n in names if not isinstance(n, str)]:
        raise ValueError(f"names are wildcards, got {shown(wrong[0])}.")
    affordable("all maps", math.perm(len(alphabet), len(names)), 10**6, "maps")
    images = list(itertools.permutations(alphabet, len(names)))
    share = Fraction(1, max(1, len(images)))
    return [(share, dict(zip(names, image, strict=True))) for image in images]

"""Measurements of checks: each kind defines its words, figure and JSON."""

import abc
import json
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    InstanceOf,
    PlainSerializer,
    ValidationError,
)

from theorykit.results._figures import Figure, figures
from theorykit.results._findings import Witness

_kinds: dict[str, type["Measurement"]] = {}


class Measurement(BaseModel, abc.ABC):
    """A measurement of a check; a subclass defines its `kind`, its fields and its words.

    Fields are given by name and validated by their annotations (`Number` for a float that may be
    infinite, `Count`, text, tuples of these). In JSON they are stored with `kind`, `words` and
    `figure`, so that a process that does not know the kind can still show it.

    **Fields:** `places`, inputs to show with it, each with a heading ("Tightest where").
    """

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")

    kind: ClassVar[str]

    places: Mapping[str, Witness] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        kind = cls.__dict__.get("kind")
        if not isinstance(kind, str) or not kind:
            raise TypeError(f'{cls.__name__} needs a kind, as in kind = "largest_error".')
        known = _kinds.get(kind)
        here = (cls.__module__, cls.__qualname__)
        # Importing a module again defines the same class again.
        if known is not None and (known.__module__, known.__qualname__) != here:
            raise TypeError(
                f"two measurements have the kind {kind!r}: {known.__module__}."
                f"{known.__qualname__} and {'.'.join(here)}; rename one."
            )
        _kinds[kind] = cls

    @abc.abstractmethod
    def words(self) -> str:
        """Return the measurement in words, short enough for a table cell."""

    def figure(self) -> Figure | None:
        """Return the figure to draw, or None."""
        return None

    def json_object(self) -> dict[str, Any]:
        """Return a strict JSON object: kind, words, figure and the fields."""
        figure = self.figure()
        return {
            "kind": self.kind,
            "words": self.words(),
            "figure": None if figure is None else figures.dump_python(figure, mode="json"),
            # Through text, since only there does a plain infinite `float` become a string.
            **json.loads(self.model_dump_json()),
        }


class Stored(Measurement):
    """A measurement, read from JSON, of a kind that this process does not know.

    It keeps its words, figure and places; all other stored fields are attributes.
    """

    kind = "stored"
    content: dict[str, Any]

    def words(self) -> str:
        """Return the stored words."""
        return self.content["words"]

    def figure(self) -> Figure | None:
        """Return the stored figure, or None if it cannot be read."""
        try:
            return figures.validate_python(self.content.get("figure"))
        except ValidationError:
            return None

    def json_object(self) -> dict[str, Any]:
        """Return the stored object."""
        return self.content

    def __getattr__(self, name: str) -> Any:
        content = self.__dict__.get("content", {})
        if name in content:
            return content[name]
        raise AttributeError(f"a measurement of the kind {content.get('kind')!r} has no {name!r}")


def known_kinds() -> list[type[Measurement]]:
    """Return the kinds that this process has imported, ordered by name."""
    return [_kinds[name] for name in sorted(_kinds) if _kinds[name] is not Stored]


def _read(value: Any) -> Measurement:
    if isinstance(value, Measurement):
        return value
    if not isinstance(value, Mapping):
        raise ValueError(f"a measurement is an object, not {type(value).__name__}")
    kind, words = value.get("kind"), value.get("words")
    if not isinstance(kind, str) or not isinstance(words, str):
        raise ValueError("a measurement has a kind and words")
    made = _kinds.get(kind, Stored)
    if made is Stored:
        return Stored(content=dict(value), places=value.get("places", {}))
    return made.model_validate({n: v for n, v in value.items() if n in made.model_fields})


def _writable(value: Measurement) -> Measurement:
    """Reject here, in the check that made it, anything that a run folder cannot store."""
    json.dumps(value.json_object(), allow_nan=False)
    return value


Measured = Annotated[
    InstanceOf[Measurement],
    BeforeValidator(_read),
    AfterValidator(_writable),
    PlainSerializer(lambda measured: measured.json_object(), return_type=dict[str, Any]),
]
"""A measurement in a result: read by kind, written with its words and figure."""

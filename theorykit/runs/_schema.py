"""The JSON schema of a run, made from the models that read and write it."""

from collections.abc import Mapping
from typing import Any, Literal, Union

from pydantic import TypeAdapter, create_model
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema

from theorykit.results import Count, Figure, Outcome, Result, known_kinds


def schema() -> dict[str, Any]:
    """Return the JSON schema of a run, as `verify --json` writes it.

    Its `$defs` contain the `Result`, which is also a line's "result" in a run folder, and every
    kind of measurement that this process has imported; other kinds have a `kind`, `words` and
    `figure`.
    """
    import theorykit.checks  # noqa: F401  so that the shipped kinds are there

    shown: dict[str, Any] = {
        "kind": (str, ...),
        "words": (str, ...),
        "figure": (Figure | None, ...),
    }
    kinds = [
        create_model(
            kind.__name__,
            **{**shown, "kind": (Literal[kind.kind], ...), **_required(kind.model_fields)},
        )
        for kind in known_kinds()
    ]
    other = create_model("OtherMeasurement", **shown)
    fields = {**_required(_fields(Outcome)), **_required(_fields(Result))}
    del fields["outcome"]
    fields["measured"] = (Union[*kinds, other] | None, ...)
    result = create_model("Result", **fields)
    run = create_model(
        "Run",
        version=(str, ...),
        seed=(Count, ...),
        jax=(str, ...),
        device=(str, ...),
        claims=(list[result], ...),  # type: ignore[valid-type]
    )
    made = TypeAdapter(run).json_schema(mode="serialization")
    return {"$schema": GenerateJsonSchema.schema_dialect, **made}


def _fields(model: Any) -> Mapping[str, FieldInfo]:
    return model.__pydantic_fields__


def _required(fields: Mapping[str, FieldInfo]) -> dict[str, Any]:
    """Return the fields for a model in which all of them are always there."""
    return {name: (info.rebuild_annotation(), ...) for name, info in fields.items()}

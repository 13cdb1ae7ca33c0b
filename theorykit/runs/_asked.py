"""What a run folder says of a claim, so that a report needs neither the claim nor its file."""

from collections.abc import Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from theorykit.claims import Claim
from theorykit.common.folders import from_here


class Asked(BaseModel):
    """One claim of a run folder's `plan.json`.

    **Fields:** those of `Claim.json`; `source`, the claim in Python, and `file`, the path of the
    user's file that it is in, from where the run was started; each None if there is none.
    """

    model_config = ConfigDict(frozen=True, strict=True)

    id: str
    paper: str = ""
    ref: str = ""
    statement: str = ""
    words: str = ""
    assumptions: list[str] = []
    expected: str = ""
    tier: str = ""
    repairs: str | None = None
    mathematics: bool = False
    source: str | None = None
    file: str | None = None

    @classmethod
    def of(cls, claim: Claim) -> Self:
        """Return what a run folder records of a claim."""
        own = not claim.is_installed and claim.file.is_file()
        file = from_here(claim.file) if own else None
        return cls(**claim.json(), source=claim.source(), file=file)

    @classmethod
    def read(cls, fields: Mapping[str, Any]) -> Self | None:
        """Return what a run folder says, None if it cannot be read."""
        try:
            return cls.model_validate(fields)
        except ValidationError:
            return None

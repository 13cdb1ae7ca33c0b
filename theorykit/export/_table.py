"""Many proofs at a time: each exported, given to Rocq if that is asked for, and a table of all."""

import dataclasses
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from theorykit.claims import Claim
from theorykit.common.arguments import flag, function, instance, members, positive
from theorykit.common.errors import explain
from theorykit.export._coqc import check
from theorykit.export._export import as_folder, export, write
from theorykit.export._terms import NotExportable

STATES = ("accepted", "written", "refused", "undecided", "not exportable")


@dataclasses.dataclass(frozen=True)
class Row:
    """What came of one claim.

    **Fields:** `state`, one of `STATES`; `kind` of the proof; `why` it is refused, undecided (coqc
    ran out of time or memory) or not exportable, in a sentence, and `group`, that reason without
    the claim's own details; `file`, the script; `assumptions`, the axioms that it rests on;
    `seconds` that Rocq took.
    """

    id: str
    state: str
    kind: str = ""
    why: str = ""
    group: str = ""
    file: str = ""
    assumptions: tuple[str, ...] = ()
    seconds: float = 0.0

    def json(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return dataclasses.asdict(self)


def export_all(
    claims: Iterable[Claim],
    folder: str | Path,
    *,
    control: bool = False,
    checked: bool = False,
    timeout: float = 300.0,
    say: Callable[[Row], None] = lambda row: None,
) -> list[Row]:
    """Export each claim that can be, and return what came of each.

    **Arguments:** `folder` for the scripts; `control`: write the controls instead, which are to be
    refused; `checked`: run Rocq on each script, for so many seconds at most; `say`: called with
    each row as soon as there is one.
    """
    flag("control", control)
    flag("checked", checked)
    positive("timeout", timeout)
    function("say", say, "a function of a row")
    folder = as_folder(folder)
    rows = []
    for claim in members("claims", claims, "claims"):
        instance("a claim", claim, Claim, "a claim, as select(...) returns them")
        rows.append(_row(claim, folder, control, checked, timeout))
        say(rows[-1])
    return rows


def _row(claim: Claim, folder: str | Path, control: bool, checked: bool, timeout: float) -> Row:
    try:
        made = export(claim, control=control)
    except NotExportable as error:
        return Row(claim.id, "not exportable", why=str(error), group=error.group)
    except Exception as error:  # of the claim's own code
        why = f"{claim.id} cannot be exported: {explain(error, claim.file, place=claim.place)}."
        return Row(claim.id, "not exportable", why=why, group="the check fails")
    file = write(made, folder)
    if not checked:
        return Row(claim.id, "written", made.kind, file=str(file))
    found = check(file, timeout=timeout)
    return Row(
        claim.id,
        "accepted" if found else "undecided" if found.undecided else "refused",
        made.kind,
        why=found.why,
        group=found.why.partition(":")[0],
        file=str(file),
        assumptions=found.assumptions,
        seconds=found.seconds,
    )


def summary(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Return how many rows came to what: accepted by kind, the others by reason."""
    counted: dict[tuple[str, str], int] = {}
    for row in members("rows", rows, "rows"):
        instance("a row", row, Row, "a row, as export_all(...) returns them")
        key = row.state, row.kind if row.state in ("accepted", "written") else row.group
        counted[key] = counted.get(key, 0) + 1
    order = lambda item: (STATES.index(item[0][0]), -item[1], item[0][1])
    return [
        {"claims": n, "state": state, "what": what}
        for (state, what), n in sorted(counted.items(), key=order)
    ]

"""A claim's proof as a file for Rocq."""

import dataclasses
from pathlib import Path
from typing import Any

from theorykit.claims import Claim, float64, one
from theorykit.common.arguments import as_path, flag, instance
from theorykit.common.folders import write_atomically
from theorykit.export import _finite, _sides
from theorykit.export._script import Part, Script, exporter_of, script
from theorykit.export._terms import NotExportable
from theorykit.results import Evidence, Verdict


def export(claim: str | Claim, *, control: bool = False) -> Script:
    """Return the proof of a claim, or its certified refutation, as a script for Rocq.

    What is exported is what the check proves here and now: it is proved again before.

    **Arguments:** `claim`: a claim, or the id of one of a known paper; `control`: write its control
    instead, a false neighbour stated in the same way, which Rocq must refuse.

    **Raises:** `ValueError` for an unknown id; `NotExportable`, a `ValueError`, for a claim that is
    not proved, or of which the proof cannot be written for Rocq.
    """
    claim = (
        claim
        if isinstance(claim, Claim)
        else one(instance("claim", claim, str, "an id or a claim"))
    )
    flag("control", control)
    with float64():
        try:
            part = _part(claim, control)
        except NotExportable as error:
            raise NotExportable(f"{claim.id} cannot be exported: {error}", error.group) from None
    return script(claim, part, control)


def _part(claim: Claim, control: bool) -> Part:
    import jax

    from theorykit.checks import Trial

    check = claim.build()
    trial = Trial(jax.random.key(0))
    if claim.expect == Verdict.holds or not hasattr(check, "proof"):
        exporter = exporter_of(check)
        if control:
            false = _controlled(check, trial)
            return exporter(false, trial=dataclasses.replace(trial, is_control=True))
        found = check.proof_alone(trial)
        if found is not None and found.evidence == Evidence.certified:
            if found.verdict == Verdict.holds:
                return exporter(check, trial=trial)
            if found.verdict == Verdict.refuted and not hasattr(check, "proof"):
                return _finite.member(check, found.cases)
        why = found.unproved if found is not None and found.unproved else ""
        said = f"it is not proved; its evidence is {check.evidence}. {why}".strip()
        raise NotExportable(said, f"not proved: {_kind(check)}")
    certificate = claim.run().outcome.certificate
    if certificate is None or not certificate.call:
        raise NotExportable("it is refuted without a certificate.",
                            f"refuted without a certificate: {_kind(check)}")  # fmt: skip
    return _sides.point(check, certificate.call, trial, control)


def _controlled(check: Any, trial: Any) -> Any:
    """Return the control, which has to be false where the claim is proved."""
    false = check.controlled()
    if false is None:
        raise NotExportable("it has no control.")
    found = false.proof_alone(trial)
    if (
        found is not None
        and found.evidence == Evidence.certified
        and (found.verdict == Verdict.holds)
    ):
        raise NotExportable("its control is true where the claim is proved, and false elsewhere.",
                            "a control that is true where the claim is proved")  # fmt: skip
    return false


def _kind(check: Any) -> str:
    return check.name or type(check).__name__.lower()


def as_folder(folder: str | Path) -> Path:
    """Return a folder, which is made if there is none.

    **Raises:** `ValueError` if it is a file.
    """
    folder = as_path("folder", folder)
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file; name a folder for the scripts.")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def write(made: Script, folder: str | Path) -> Path:
    """Write a script into a folder, which is made if there is none, and return its file.

    **Raises:** `ValueError` if the folder is a file.
    """
    instance("made", made, Script, "what export(...) returns")
    file = as_folder(folder) / f"{made.name}.v"
    write_atomically(file, made.text)
    return file

"""Exact finite checks: the predicate as a Gallina function, the universe as a list, computed."""

from typing import Any

from theorykit.checks import exhaustive
from theorykit.export._python import Translation
from theorykit.export._script import Part, kind
from theorykit.export._terms import PRELUDE, NotExportable, Type, truth, written
from theorykit.export._values import of_type, type_of, variable

SOURCE = (
    "The predicate and the functions that it calls are translated from their Python source; "
    "members and the constants that it reads are those that Python has."
)
LARGEST = 20_000


@kind(exhaustive)
def finite(check: Any, trial: Any) -> Part:
    """Return the theorem that a predicate holds for all members of a universe."""
    members = list(check.universe() if callable(check.universe) else check.universe)
    if len(members) > LARGEST:
        raise NotExportable(f"its universe has {len(members)} members, more than {LARGEST}.",
                            f"a universe of more than {LARGEST} members")  # fmt: skip
    type_, predicate = _translated(check, members)
    rows = ";\n   ".join(of_type(m, type_).text() for m in members)
    body = (
        f"{predicate}\n\nDefinition universe : list {written(type_)} :=\n  [{rows}].\n\n"
        "Theorem claim : forall m, In m universe -> predicate m = true.\n"
        "Proof. apply forallb_forall. vm_compute. reflexivity. Qed."
    )
    about = f"The theorem: it holds for each of the {len(members)} members. {SOURCE}"
    return Part(PRELUDE, body, ("claim",), "a finite check, computed", about)


def member(check: Any, number: int) -> Part:
    """Return the theorem that a predicate fails at the member of this number, counted from 1."""
    members = list(check.universe() if callable(check.universe) else check.universe)[:number]
    type_, predicate = _translated(check, members)
    body = (
        f"{predicate}\n\nDefinition member : {written(type_)} :=\n  "
        f"{of_type(members[-1], type_).text()}.\n\n"
        "Theorem refuted : predicate member = false.\n"
        "Proof. vm_compute. reflexivity. Qed."
    )
    about = f"The theorem: it fails at member number {number} of the claim's universe. {SOURCE}"
    return Part(PRELUDE, body, ("refuted",), "a failing member, computed", about)


def _translated(check: Any, members: list[Any]) -> tuple[Type, str]:
    """Return the type of the members, and the definition of the predicate and what it calls."""
    type_ = type_of(members)
    translation = Translation()
    name, result = translation.define(check.predicate, "predicate", [variable("m", type_)])
    assert name == "predicate", name
    if result != "bool":
        truth(variable("m", result))
        raise NotExportable("its predicate returns a number or a list, not a truth value.")
    return type_, "\n\n".join(translation.definitions)

"""Which statements of a draft have claims, and which have changed since."""

import dataclasses
import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from theorykit import papers
from theorykit.claims import Claim
from theorykit.common.folders import write_atomically
from theorykit.drafts._latex import Stated, statements
from theorykit.papers import Paper

SHORT = {
    "thm": "theorem", "lem": "lemma", "prop": "proposition", "cor": "corollary",
    "def": "definition", "rem": "remark", "conj": "conjecture", "ass": "assumption",
    "ex": "example", "eq": "equation",
}  # fmt: skip


MOST_NAMED = 5
"""The most claims that a summary names."""


@dataclasses.dataclass(frozen=True)
class Covered:
    """A statement, the claims about it, and those claims that were written for an earlier text."""

    stated: Stated
    claims: tuple[Claim, ...]
    moved: tuple[Claim, ...]

    def json(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return {
            **dataclasses.asdict(self.stated),
            "claims": [c.id for c in self.claims],
            "moved": [c.id for c in self.moved],
        }


@dataclasses.dataclass(frozen=True)
class Coverage:
    """The statements of a draft and the claims about them.

    **Fields:** `entries`, in the order of the draft; `elsewhere`, claims whose `ref` names no
    statement of the draft.
    """

    entries: tuple[Covered, ...]
    elsewhere: tuple[Claim, ...]

    @property
    def moved(self) -> list[Covered]:
        """The statements that have changed since their claim was written."""
        return [e for e in self.entries if e.moved]

    def json(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return {
            "statements": [e.json() for e in self.entries],
            "elsewhere": [c.id for c in self.elsewhere],
        }

    def summary(self) -> str:
        """Return the counts in a sentence."""
        parts = []
        for what, equation in (("statements", False), ("equations", True)):
            of = [e for e in self.entries if (e.stated.kind == "Equation") is equation]
            if of or not equation:
                parts.append(f"{sum(bool(e.claims) for e in of)} of {len(of)} {what}")
        said = f"{' and '.join(parts)} have claims"
        if self.moved:
            said += f"; {len(self.moved)} changed since"
        if self.elsewhere:
            names = [c.id for c in self.elsewhere]
            few = ", ".join(names[:MOST_NAMED]) + ", ..." * (len(names) > MOST_NAMED)
            verb = "refers" if len(names) == 1 else "refer"
            said += f"; {few} {verb} to nothing in the draft"
        return said + "."


def coverage(
    draft: str | Path, claims: Sequence[Claim], record: str | Path | None = None,
    accept: bool = False,
) -> Coverage:  # fmt: skip
    """Return which statements of a LaTeX draft have claims.

    A claim is about a statement if its `ref` names it, by kind and number ("Lemma 3.2, eq. (7)") or
    by its label ("lem:entropy").

    **Arguments:**

    - `draft`: the main file; files that it inputs are read too, and numbers come from the `.aux`
      file beside it, if there is one.
    - `claims`: the claims to search.
    - `record`: a file that stores, for each claim, the text it was written for. A statement has
      changed if its text differs and the claim is the same.
    - `accept`: record the current texts.

    **Raises:** `ValueError` for a draft or record that cannot be read.
    """
    stated = statements(draft)
    known = _known(record)
    about = {c.id: [s for s in stated if refers(c.ref, s)] for c in claims}
    moved: set[tuple[str, int]] = set()
    kept: dict[str, Any] = {}
    for claim in claims:
        mark = _mark(claim)
        texts = {_key(s): _hash(s.text) for s in about[claim.id]}
        before = known.get(claim.id, {})
        if before.get("claim") == mark and not accept:
            was = before.get("texts", {})
            moved |= {
                (claim.id, i) for i, s in enumerate(stated)
                if s in about[claim.id] and was.get(_key(s), texts[_key(s)]) != texts[_key(s)]
            }  # fmt: skip
            texts |= was
        if texts:
            kept[claim.id] = {"claim": mark, "texts": texts}
    if record is not None:
        write_atomically(Path(record), json.dumps(known | kept, indent=1, sort_keys=True) + "\n")
    entries = tuple(
        Covered(
            s,
            tuple(c for c in claims if s in about[c.id]),
            tuple(c for c in claims if (c.id, i) in moved),
        )
        for i, s in enumerate(stated)
    )
    return Coverage(entries, tuple(c for c in claims if not about[c.id]))


def of_paper(paper: Paper, claims: Sequence[Claim]) -> Coverage:
    """Return which of the statements that a paper lists have claims.

    A claim about a statement is about those that restate it, too. Other claims are about sections,
    equations and figures.
    """
    found = _about(paper, [c.ref for c in claims])
    entries = tuple(
        Covered(_cited(name), tuple(claims[k] for k in at), ()) for name, at in found.items()
    )
    return Coverage(entries, ())


def about(id: str, refs: Sequence[str]) -> dict[str, list[int]]:
    """Return for each statement that an installed paper lists which of these references name it.

    There is none for a paper that is not installed, or lists none.
    """
    return next((_about(p, refs) for p in papers.known() if p.id == id), {})


def _about(paper: Paper, refs: Sequence[str]) -> dict[str, list[int]]:
    return {
        name: [k for k, ref in enumerate(refs) if any(refers(ref, _cited(n)) for n in alike)]
        for name, alike in paper.alike.items()
    }


def _cited(name: str) -> Stated:
    kind, _, number = name.partition(" ")
    return Stated(kind, number, label="", text="", file="", line=0)


def refers(ref: str, stated: Stated) -> bool:
    """Return whether the reference of a claim names a statement."""
    if stated.label and re.search(rf"(?<![\w:.-]){re.escape(stated.label)}(?![\w:.-])", ref):
        return True
    kind = stated.kind.lower()
    # A number may follow others of its kind: "Lemmas 3 and 4", "eqs. (6)-(7)".
    for found in re.finditer(r"([A-Za-z]+)\.?\s*((?:\(?[A-Z]?[\d.]*\d\)?|\(?[A-Z]\.[\d.]*\d\)?)"
                             r"(?:\s*(?:,|and|to|-|–)\s*\(?[A-Z]?[\d.]*\d\)?)*)", ref):  # fmt: skip
        word = found[1].lower()
        word = SHORT.get(word, SHORT.get(word.rstrip("s"), word))
        if word in (kind, f"{kind}s", kind.removesuffix("y") + "ies"):
            numbers = re.findall(r"[A-Z]?[\d.]*\d", found[2])
            if stated.number in numbers or _between(found[2], stated.number):
                return True
    if kind == "equation":
        return f"({stated.number})" in ref
    return False


def _between(said: str, number: str) -> bool:
    """Return whether a number lies in a range of integers, such as 7 in 6-8."""
    ends = re.findall(r"\(?(\d+)\)?\s*(?:-|–|to)\s*\(?(\d+)\)?", said)
    return number.isdigit() and any(int(a) <= int(number) <= int(b) for a, b in ends)


def _key(stated: Stated) -> str:
    return stated.label or stated.name


def _mark(claim: Claim) -> str:
    """Return a hash that changes when the claim is rewritten."""
    return _hash("\0".join([claim.ref, claim.statement, claim.source() or ""]))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _known(record: str | Path | None) -> dict[str, Any]:
    if record is None or not Path(record).exists():
        return {}
    try:
        found = json.loads(Path(record).read_text())
        if isinstance(found, dict) and all(isinstance(v, dict) for v in found.values()):
            return found
    except (OSError, ValueError):
        pass
    raise ValueError(f"{record} is not a record of `theorykit coverage`; use another file.")

"""The order of a paper, as far as the places named by its claims show it."""

import re

from theorykit.claims._claim import Claim

_PLACE = re.compile(
    r"\b(?!(?:Fig|Table|Eq|eq|footnote|Algorithm))[A-Z][a-z]+\.?s?\s+"
    r"(?P<letter>[A-Z])?(?P<numbers>\.?\d+(?:\.\d+)*)?(?![A-Za-z])"
)
"""A section, an appendix, or what is numbered like a theorem: "Sec. 4.1", "Lemma B.2"."""


def in_order(claim: Claim) -> tuple:
    """Return what sorts claims as their papers print them.

    By the first section, appendix or theorem that `ref` names: sections and what is numbered within
    them, then what is numbered through the whole paper, then appendices; claims of one place, and
    those that name none, by id.
    """
    found = next((m for m in _PLACE.finditer(claim.ref) if m["letter"] or m["numbers"]), None)
    if found is None:
        return claim.paper, 3, "", (), claim.id
    numbers = tuple(int(n) for n in (found["numbers"] or "").strip(".").split(".") if n)
    if found["letter"]:
        return claim.paper, 2, found["letter"], numbers, claim.id
    is_section = len(numbers) > 1 or found[0].startswith("Sec")
    return claim.paper, 0 if is_section else 1, "", numbers, claim.id

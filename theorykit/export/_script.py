"""What a proof script is made of, and the kinds of certificate that have one."""

import dataclasses
import re
import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from theorykit.common.arguments import instance
from theorykit.export._terms import NotExportable

if TYPE_CHECKING:
    from theorykit.claims import Claim


@dataclasses.dataclass(frozen=True)
class Script:
    """A file for Rocq.

    **Fields:** `id` of the claim; `kind`, what is proved, in words; `text`; `about`, how the
    theorem relates to the claim: what it covers, and what it leaves out.
    """

    id: str
    kind: str
    text: str
    about: str

    @property
    def name(self) -> str:
        """The file's name without its ending, a name that Rocq allows for a module."""
        return module(self.id)


@dataclasses.dataclass(frozen=True)
class Part:
    """What an exporter returns: the parts of a script that are its own.

    **Fields:** `imports`, the lines before all else; `body`, definitions and theorems; `theorems`,
    their names; `kind` and `about`, as in `Script`.
    """

    imports: str
    body: str
    theorems: tuple[str, ...]
    kind: str
    about: str


def module(id: str) -> str:
    """Return the name of a claim's module: its id, with _ for what Rocq does not allow there."""
    return re.sub(r"\W", "_", id, flags=re.ASCII)


def script(claim: "Claim", part: Part, control: bool) -> Script:
    """Return the whole file."""
    of = "The control of " * control + claim.id
    head = [f"{of}. {claim.ref}.", claim.words, f"As printed: {claim.statement}"]
    head += ["Under: " + "; ".join(claim.assumptions)] if claim.assumptions else []
    head += [part.about]
    comment = "\n\n".join(textwrap.fill(_plain(p), 96) for p in head)
    ends = "\n".join(f"Print Assumptions {name}." for name in part.theorems)
    text = f"(* {comment} *)\n\n{part.imports}\n\n{part.body}\n\n{ends}\n"
    return Script(claim.id, part.kind, text, part.about)


def _plain(text: str) -> str:
    """Return text that ends no comment and opens no string."""
    return " ".join(text.split()).replace("(*", "( *").replace("*)", "* )").replace('"', "'")


Exporter = Callable[..., Part]
KINDS: dict[type, Exporter] = {}


def kind(certificate: type) -> Callable[[Exporter], Exporter]:
    """Register the exporter of a kind of certificate: the type of a check's `proof`, or the check.

    It is called with the check and, by name, `trial`; it returns what the check asserts.
    """
    instance("certificate", certificate, type, "the type of a check's proof, or a check")

    def register(exporter: Exporter) -> Exporter:
        KINDS[certificate] = exporter
        return exporter

    return register


def exporter_of(check: Any) -> Exporter:
    """Return the exporter of a check's certificate.

    **Raises:** `NotExportable` if there is none.
    """
    proof = getattr(check, "proof", None) if hasattr(check, "sides") else None
    for certificate in (proof, check):  # a box's exporter compares two sides
        if type(certificate) in KINDS:
            return KINDS[type(certificate)]
    called = check.name or type(check).__name__.lower()
    article = "an" if called[0] in "aeiou" else "a"
    raise NotExportable(
        f"it is {article} {called} without a proof that can be written for Rocq.",
        f"{article} {called} without a proof",
    )

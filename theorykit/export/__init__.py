"""Proofs for somebody else's kernel: scripts that Rocq accepts, made from certificates.

`export` writes the proof of a claim as a script, `check` has Rocq look at one, `export_all` does
both for many claims. A kind of certificate has one exporter, a function that `kind` registers.
"""

from theorykit.export._coqc import Checked, check
from theorykit.export._export import export, write
from theorykit.export._script import Part, Script, kind
from theorykit.export._table import Row, export_all, summary
from theorykit.export._terms import NotExportable

__all__ = [
    "Checked", "NotExportable", "Part", "Row", "Script", "check", "export", "export_all", "kind",
    "summary", "write",
]  # fmt: skip

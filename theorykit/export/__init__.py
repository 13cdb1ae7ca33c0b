"""Proofs for somebody else's kernel: scripts that Rocq accepts, made from certificates.

`export` writes the proof of a claim as a script, and `check` has Rocq check one. A kind of
certificate has one exporter, a function that `kind` registers.
"""

from theorykit.export._coqc import Checked, check
from theorykit.export._export import export, write
from theorykit.export._script import Part, Script, kind
from theorykit.export._terms import NotExportable

__all__ = ["Checked", "NotExportable", "Part", "Script", "check", "export", "kind", "write"]

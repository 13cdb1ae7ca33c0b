"""Whether Rocq accepts a script, and what its theorems rest on."""

import dataclasses
import hashlib
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from theorykit.common.arguments import as_path, positive
from theorykit.common.folders import write_atomically

ALLOWED = re.compile(
    r"(ClassicalDedekindReals\.)?sig_(not_dec|forall_dec)"
    r"|(FunctionalExtensionality\.)?functional_extensionality_dep"
    r"|(Classical_Prop\.)?classic"
    r"|(PrimInt63|PrimFloat|Uint63|FloatAxioms)\.\w+"
)
"""The classical reals, and the specification of machine numbers, in which coq-interval computes."""

SPENT = re.compile(r"out of memory|stack overflow", re.IGNORECASE)
"""What coqc says when it has no more memory."""

CLOSED = "Closed under the global context"


@dataclasses.dataclass(frozen=True)
class Checked:
    """What Rocq says of a script.

    **Fields:** `accepted`; `why` not, in a sentence; `undecided`, whether that is for want of time
    or memory; `assumptions`, the axioms that the theorems rest on, by their names; `seconds`.
    """

    accepted: bool
    why: str = ""
    undecided: bool = False
    assumptions: tuple[str, ...] = ()
    seconds: float = 0.0

    def __bool__(self) -> bool:
        return self.accepted


def check(file: str | Path, *, timeout: float = 300.0, memory: float = 6.0) -> Checked:
    """Run `coqc` on a script, and keep what `Print Assumptions` says beside it, in `.assumptions`.

    A script that was accepted before, and has not changed, is not run again.

    **Arguments:** `timeout` in seconds; `memory` in GiB.

    **Raises:** `ValueError` if `coqc` is not installed, or there is no such file.
    """
    positive("timeout", timeout)
    positive("memory", memory)
    file = as_path("file", file)
    if not file.is_file():
        raise ValueError(f"there is no script {file}.")
    if shutil.which("coqc") is None:
        raise ValueError(
            "coqc is not installed; `make proofs` installs it, or take Debian's packages coq and "
            "libcoq-interval."
        )
    text = file.read_text()
    digest = hashlib.sha256(text.encode()).hexdigest()
    kept = file.with_suffix(".assumptions")
    if kept.is_file() and kept.read_text().startswith(digest):
        return Checked(True, assumptions=assumptions(kept.read_text().partition("\n")[2])[0])
    kept.unlink(missing_ok=True)
    start = time.perf_counter()
    said, why, undecided = _run(file.stem, text, timeout, memory)
    seconds = time.perf_counter() - start
    names, foreign = assumptions(said)
    reports = sum(line == CLOSED or line == "Axioms:" for line in said.splitlines())
    if not why and foreign:
        why = f"a theorem rests on {foreign[0]}, which is no axiom of the classical reals."
    if not why and reports != text.count("Print Assumptions"):
        why = "the assumptions of its theorems were not printed."
    if why:
        return Checked(False, why, undecided, names, seconds)
    write_atomically(kept, f"{digest}\n{said}")
    return Checked(True, assumptions=names, seconds=seconds)


def _run(name: str, text: str, timeout: float, memory: float) -> tuple[str, str, bool]:
    """Return what coqc prints, why it does not accept the script, and whether it gave up."""
    limited = f'ulimit -v {int(memory * 2**20)}; exec coqc -q -noglob "$1"'
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / f"{name}.v").write_text(text)
        try:
            done = subprocess.run(
                ["sh", "-c", limited, "coqc", f"{name}.v"], cwd=folder, capture_output=True,
                text=True, timeout=timeout,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return "", f"it took more than {timeout:g} seconds.", True
    if done.returncode < 0:
        return done.stdout, f"coqc was ended by signal {-done.returncode}.", True
    if done.returncode:
        said = " ".join(done.stderr.split()) or f"coqc ended with {done.returncode}"
        if SPENT.search(said):
            return done.stdout, f"it took more than {memory:g} GiB.", True
        return done.stdout, said.partition("Error:")[2].strip()[:300] or said[:300], False
    return done.stdout, "", False


def assumptions(said: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the axioms that `Print Assumptions` names, and those of them that are not allowed."""
    names = [
        line.partition(":")[0].strip() for line in said.splitlines()
        if line and not line[0].isspace() and line not in (CLOSED, "Axioms:")
    ]  # fmt: skip
    names = list(dict.fromkeys(names))
    return tuple(names), tuple(n for n in names if not ALLOWED.fullmatch(n))

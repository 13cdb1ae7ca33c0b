"""Where claims are found: the known papers, and files of a user's own."""

import fnmatch
import importlib
import importlib.util
import itertools
import pkgutil
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType

from theorykit import papers
from theorykit.claims._attempt import stable_hash
from theorykit.claims._claim import TIERS, Claim
from theorykit.claims._registry import REGISTRY, ClashingIds
from theorykit.common.errors import explain


def installed(patterns: Iterable[str] = ("*",)) -> list[Claim]:
    """Return the claims of the known papers, importing every module that may declare one.

    Papers of which no claim can match one of the shell patterns are not imported, and their
    claims not returned; the claims of the others all are.

    A paper of another distribution is left out with a warning if one of its modules fails, since
    a part of a paper should not pass for the whole, or if a claim's id does not begin with the
    paper's.

    **Raises:** `ValueError` if a module of a shipped paper fails.
    """
    begin = [re.split(r"[*?[]", pattern)[0] for pattern in patterns]
    found: list[Claim] = []
    for paper in papers.known():
        own = f"{paper.id}."
        if any(own.startswith(known) or known.startswith(own) for known in begin):
            with papers.sparing(paper):
                found += _declared_by(paper)
    return found


def load(path: str | Path) -> list[Claim]:
    """Return the claims that a Python file of the user's declares, in their order.

    **Raises:** `ValueError` if there is no such file, it fails to import, or has no claim.
    """
    file = Path(path).resolve()
    if not file.is_file():
        raise ValueError(f"there is no claims file {path}.")
    name = f"theorykit_claims_{stable_hash(str(file)):08x}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path} is not a Python file; its name should end in .py.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(file.parent))  # so that it can import its neighbours
    REGISTRY.forget(file)  # it may have changed since it was last loaded
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        sys.modules.pop(name, None)
        if isinstance(error, ClashingIds):
            raise
        raise ValueError(f"{path} cannot be imported: {explain(error, file)}.") from error
    finally:
        sys.path.remove(str(file.parent))
    found = REGISTRY.declared_in(file)
    if not found:
        raise ValueError(f"{path} declares no claim; decorate one with @claim(...).")
    return found


def select(patterns_or_files: Iterable[str] = (), tier: str = "all") -> list[Claim]:
    """Return the claims that the patterns and files name, each once, ordered by id.

    **Arguments:**

    - `patterns_or_files`: names ending in `.py` are files of claims, everything else is a shell
      pattern over the ids of the known papers' claims and of those files; none means the claims
      of all known papers. A file gives all its claims, unless a pattern names some of them.
    - `tier`: "fast", "slow" or "all".

    **Raises:** `ValueError` for a pattern or file without claims, or an unknown tier.
    """
    if tier not in (*TIERS, "all"):
        raise ValueError(f"the tier is fast, slow or all, not {tier!r}.")
    wanted = [str(p) for p in patterns_or_files]
    files = [p for p in wanted if p.endswith(".py")]
    patterns = [p for p in wanted if not p.endswith(".py")]
    groups = [load(path) for path in files]
    chosen: list[Claim] = []
    if patterns or not wanted:
        sought = patterns or ["*"]
        known = [*installed(sought), *itertools.chain(*groups)]
        for pattern in sought:
            matches = [c for c in known if fnmatch.fnmatchcase(c.id, pattern)]
            if patterns and not matches:
                raise ValueError(
                    f"no claim matches {pattern!r}; `theorykit list` shows the ids there are, "
                    "`theorykit list FILE` those of a file."
                )
            chosen += matches
    named = {c.id for c in chosen}
    chosen += [c for group in groups if not named & {c.id for c in group} for c in group]
    unique = sorted({c.id: c for c in chosen}.values(), key=lambda c: c.id)
    kept = [c for c in unique if tier in ("all", c.tier)]
    if wanted and not kept:
        other = "slow" if tier == "fast" else "fast"
        raise ValueError(
            f"{' '.join(wanted)} names {len(unique)} claims, all of the {other} tier; "
            f"add --tier {other}."
        )
    return kept


def _declared_by(paper: papers.Paper) -> list[Claim]:
    names = {module.__name__ for module in _modules(paper.claims, paper.experiments)}
    found = [c for c in REGISTRY if c.build.__module__ in names]
    for claim in found:
        if not claim.id.startswith(f"{paper.id}."):
            raise ValueError(f"the id of its claim {claim.id} does not begin with {paper.id}.")
    return found


def _modules(name: str, skipped: str) -> Iterator[ModuleType]:
    """Yield a module and, where it is a package, what is inside, depth first and by name.

    Left out are `skipped` and a `__main__`, which is a program.
    """
    module = importlib.import_module(name)
    yield module
    for found in pkgutil.iter_modules(getattr(module, "__path__", ()), name + "."):
        if found.name != skipped and not found.name.endswith(".__main__"):
            yield from _modules(found.name, skipped)

"""Where claims are found: the known papers, and files of a user's own."""

import difflib
import fnmatch
import importlib
import importlib.util
import itertools
import pkgutil
import re
import sys
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from theorykit import papers
from theorykit.claims._attempt import stable_hash
from theorykit.claims._claim import TIERS, Claim
from theorykit.claims._ran import share
from theorykit.claims._registry import REGISTRY, ClashingIds, by_id
from theorykit.common.errors import explain
from theorykit.common.spelling import nearest


def installed(patterns: Iterable[str] = ("*",)) -> list[Claim]:
    """Return the claims of the known papers, importing every module that may declare one.

    Papers whose claims cannot match a shell pattern are not imported; all claims of the others are
    returned.

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
        near = nearest(file.name, [other.name for other in file.parent.glob("*.py")])
        raise ValueError(f"there is no claims file {path}.{near}")
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
        share(module, "")
    except (Exception, SystemExit) as error:
        sys.modules.pop(name, None)
        if isinstance(error, ClashingIds):
            raise
        raise ValueError(f"{path} cannot be imported: {explain(error, file)}.") from error
    finally:
        sys.path.remove(str(file.parent))
    if str(file.parent) not in sys.path:  # for imports inside its functions; at the end, lest it
        sys.path.append(str(file.parent))  # hide a module that is installed
    found = REGISTRY.declared_in(file)
    if not found:
        raise ValueError(f"{path} declares no claim; decorate one with @claim(...).")
    return found


Wanted = str | Path | Claim | ModuleType
"""What selects claims."""


def select(claims: Wanted | Iterable[Wanted] = (), tier: str = "all") -> list[Claim]:
    """Return the claims that are asked for, each once, ordered by id.

    **Arguments:**

    - `claims`: claims; modules that declare some, or packages of such modules; names ending in
      `.py`, which are files of claims; everything else is a shell pattern over the ids of the known
      papers' claims and of those files. None means the claims of all known papers. A file gives
      all its claims, unless a pattern names some of them.
    - `tier`: "fast", "slow" or "all". A `TierWarning` says how many it leaves out of those that
      were asked for.

    **Raises:** `ValueError` for a pattern, file or module without claims, two claims with one id,
    or an unknown tier.
    """
    if tier not in (*TIERS, "all"):
        raise ValueError(f"the tier is fast, slow or all, not {tier!r}.")
    asked = _each(claims)
    chosen = [c for c in asked if isinstance(c, Claim)]
    for module in asked:
        if isinstance(module, ModuleType):
            chosen += _declared_in(module)
    wanted = [str(p) for p in asked if not isinstance(p, Claim | ModuleType)]
    files = [p for p in wanted if p.endswith(".py")]
    patterns = [p for p in wanted if not p.endswith(".py")]
    groups = [load(path) for path in files]
    sought = patterns if asked else ["*"]
    known = [*installed(sought), *itertools.chain(*groups)] if sought else []
    for pattern in sought:
        matches = [c for c in known if fnmatch.fnmatchcase(c.id, pattern)]
        if asked and not matches:
            raise ValueError(_unmatched(pattern, known))
        chosen += matches
    named = {c.id for c in chosen}
    chosen += [c for group in groups if not named & {c.id for c in group} for c in group]
    unique = by_id(chosen).values()
    kept = [c for c in unique if tier in ("all", c.tier)]
    left, other = len(unique) - len(kept), "slow" if tier == "fast" else "fast"
    if asked and not kept:
        what = "1 claim" if left == 1 else f"{left} claims, all"
        raise ValueError(
            f"{' '.join(map(_name, asked))} names {what} of the {other} tier; "
            f"ask for that tier with --tier {other}, or tier={other!r} in Python."
        )
    if asked and left:
        what = "1 claim of the {} tier is" if left == 1 else f"{left} claims of the {{}} tier are"
        warnings.warn(
            f"{what.format(other)} left out; to run every claim, use --tier all, or tier='all' "
            "in Python.",
            TierWarning,
            stacklevel=2,
        )
    return kept


def _each(claims: Any) -> list[Wanted]:
    """Return a list of what is asked for, which may be one thing or several."""
    several = isinstance(claims, Iterable) and not isinstance(claims, Wanted)
    asked = list(claims) if several else [claims]
    for thing in asked:
        if not isinstance(thing, Wanted):
            name = getattr(thing, "__name__", None) if callable(thing) else None
            raise ValueError(
                "give claims, modules of claims, patterns of ids or .py files, not "
                + (f"{name}, which is no claim; @claim(...) makes one" if name else repr(thing))
                + "."
            )
    return asked


def _unmatched(pattern: str, known: Iterable[Claim]) -> str:
    """Return why a pattern names no claim: a file or folder, a paper not installed, a typo."""
    path = Path(pattern)
    if path.is_dir():
        return f"{pattern} is a folder; name its files of claims, as in {path / '*.py'}."
    if path.is_file():
        reads = f"; `theorykit coverage {pattern} FILE.py` reads a draft"
        return (
            f"{pattern} is not a file of claims, whose name ends in .py"
            f"{reads if path.suffix == '.tex' else ''}."
        )
    project = papers.uninstalled(pattern.partition(".")[0])
    if project is not None:
        return (
            f"no claim matches {pattern!r}: the paper is in {project} and is not installed; "
            f"`pip install -e {project}` installs it."
        )
    return (
        f"no claim matches {pattern!r}; `theorykit list` shows the ids there are, "
        f"`theorykit list FILE` those of a file.{_meant(pattern, known)}"
    )


class TierWarning(UserWarning):
    """How many of the claims that were asked for are of another tier, in one sentence."""


def one(id: str, files: Iterable[str | Path] = ()) -> Claim:
    """Return the claim of this id, of a known paper or, if there are files, of one of them.

    **Raises:** `ValueError` if there is none.
    """
    files = [str(f) for f in files]
    claims = {c.id: c for c in (select(files) if files else installed([id]))}
    if id not in claims:
        raise ValueError(
            f"no claim has the id {id!r}; `theorykit list` shows what there is, and "
            f"`theorykit show {id} FILE` looks into a file of claims.{_meant(id, claims.values())}"
            if files or papers.uninstalled(id.partition(".")[0]) is None
            else _unmatched(id, ())
        )
    return claims[id]


def _meant(id: str, near: Iterable[Claim]) -> str:
    """Return a sentence with the ids that are spelt much like this one, or ""."""
    first, dot, rest = id.partition(".")
    said = nearest(id, {c.id for c in near})
    known = [paper.id for paper in papers.known()]
    if not said and first not in known and dot:  # the paper's name may be what is spelt wrongly
        for paper in difflib.get_close_matches(first, known, n=1):
            said = nearest(f"{paper}.{rest}", {c.id for c in installed([f"{paper}."])})
    return said


def _name(asked: Wanted) -> str:
    if isinstance(asked, ModuleType):
        return asked.__name__
    return asked.id if isinstance(asked, Claim) else str(asked)


def _declared_in(module: ModuleType) -> list[Claim]:
    names = {found.__name__ for found in _modules(module.__name__, "")}
    found = [c for c in REGISTRY if c.build.__module__ in names]
    if not found:
        raise ValueError(f"{module.__name__} declares no claim; decorate one with @claim(...).")
    return found


def _declared_by(paper: papers.Paper) -> list[Claim]:
    names = {module.__name__ for module in _modules(paper.claims, paper.experiments)}
    found = [c for c in REGISTRY if c.build.__module__ in names]
    for claim in found:
        if not claim.id.startswith(f"{paper.id}."):
            raise ValueError(f"the id of its claim {claim.id} does not begin with {paper.id}.")
    by_id(found)  # which two modules may share
    return found


def _modules(name: str, skipped: str) -> Iterator[ModuleType]:
    """Yield a module and, where it is a package, what is inside, depth first and by name.

    Left out are `skipped` and a `__main__`, which is a program.
    """
    module = importlib.import_module(name)
    share(module, name.partition(".")[0])
    yield module
    for found in pkgutil.iter_modules(getattr(module, "__path__", ()), name + "."):
        if found.name != skipped and not found.name.endswith(".__main__"):
            yield from _modules(found.name, skipped)

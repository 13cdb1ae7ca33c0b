"""Where claims are found: the shipped papers, and files of a user's own."""

import fnmatch
import importlib
import importlib.util
import itertools
import pkgutil
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

from theorykit.claims._claim import TIERS, Claim, _registry, stable_hash
from theorykit.common.errors import explain


def shipped() -> list[Claim]:
    """Return the claims of `theorykit.proofs_numeric`, importing every module in it."""
    root = importlib.import_module("theorykit.proofs_numeric")
    modules = [root]
    for found in pkgutil.walk_packages(root.__path__, root.__name__ + "."):
        modules.append(_imported(found.name))
    files = {Path(m.__file__).resolve() for m in modules if m.__file__}
    return [c for c in _registry.values() if c.file in files]


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
    for id in [c.id for c in _registry.values() if c.file == file]:
        del _registry[id]  # it may have changed since it was last loaded
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        sys.modules.pop(name, None)
        raise ValueError(_import_failure(str(path), error, file)) from error
    finally:
        sys.path.remove(str(file.parent))
    found = [c for c in _registry.values() if c.file == file]
    if not found:
        raise ValueError(f"{path} declares no claim; decorate one with @claim(...).")
    return found


def select(patterns_or_files: Iterable[str] = (), tier: str = "all") -> list[Claim]:
    """Return the claims that the patterns and files name, each once, ordered by id.

    **Arguments:** `patterns_or_files`: names ending in `.py` are files of claims, everything else
    is a shell pattern over the ids of shipped claims and of those files; none means all that is
    shipped. A file gives all its claims, unless a pattern names some of them. `tier`: "fast",
    "slow" or "all".

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
        known = [*shipped(), *itertools.chain(*groups)]
        for pattern in patterns or ["*"]:
            matches = [c for c in known if fnmatch.fnmatchcase(c.id, pattern)]
            if patterns and not matches:
                raise ValueError(
                    f"no claim matches {pattern!r}; `theorykit list` shows the ids that ship, "
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


def _imported(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except Exception as error:
        raise ValueError(_import_failure(name, error, None)) from error


def _import_failure(what: str, error: BaseException, file: Path | None) -> str:
    if isinstance(error, ValueError) and str(error).startswith("two claims have the id"):
        return str(error)
    return f"{what} cannot be imported: {explain(error, file)}."

"""The ids of known papers' claims without importing them each time, for completion in a shell."""

import contextlib
import hashlib
import importlib.util
import json
from pathlib import Path

from theorykit import papers
from theorykit.claims._find import installed
from theorykit.common.compiled import cache_home
from theorykit.common.folders import write_atomically


def known_ids() -> list[str]:
    """Return the ids of all known papers' claims, from a cache while none of their files change."""
    mark, file = _mark(), cache_home() / "ids.json"
    with contextlib.suppress(OSError, ValueError, LookupError, TypeError):
        kept = json.loads(file.read_text())
        if kept["mark"] == mark:
            return [str(id) for id in kept["ids"]]
    ids = sorted(claim.id for claim in installed())
    with contextlib.suppress(OSError):  # a cache that fails is no failure
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, json.dumps({"mark": mark, "ids": ids}))
    return ids


def _mark() -> str:
    """Return what changes when a file of a known paper does."""
    stamps = []
    for paper in papers.known():
        spec = importlib.util.find_spec(paper.claims)
        for place in (spec.submodule_search_locations or ()) if spec is not None else ():
            files = sorted(Path(place).rglob("*.py"))
            stamps += [f"{file} {file.stat().st_mtime_ns}" for file in files]
        if spec is not None and spec.origin and Path(spec.origin).is_file():
            stamps.append(f"{spec.origin} {Path(spec.origin).stat().st_mtime_ns}")
    return hashlib.sha256("\n".join(stamps).encode()).hexdigest()

"""Tell whether a claim changed since its result was written."""

import ast
import functools
import hashlib
from pathlib import Path

from theorykit.claims import Claim


def fingerprint(claim: Claim) -> str:
    """Return a hash of the claim and of what its file says outside of other claims.

    Comments and layout do not count. What the file imports does not either: results of another
    version of the toolkit are refused as a whole, other modules are the author's to watch.
    """
    parts = [claim.id, claim.paper, claim.ref, claim.statement, *claim.assumptions, claim.expect]
    code = claim.build.__code__
    parts.append(_source(claim.file, code.co_firstlineno) or code.co_code.hex())
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _source(file: Path, line: int) -> str | None:
    """Return the syntax tree of a file, without the claims that do not start at this line."""
    tree = _parsed(file)
    if tree is None:
        return None
    kept = [node for node in tree.body if not _is_claim(node) or _first_line(node) == line]
    return "\n".join(map(ast.dump, kept))


@functools.lru_cache(maxsize=64)
def _parsed_at(file: Path, stamp: int) -> ast.Module | None:
    try:
        return ast.parse(file.read_text())
    except (OSError, SyntaxError):
        return None


def _parsed(file: Path) -> ast.Module | None:
    try:
        return _parsed_at(file, file.stat().st_mtime_ns)
    except OSError:
        return None


def _first_line(node: ast.stmt) -> int:
    return node.decorator_list[0].lineno if isinstance(node, ast.FunctionDef) else node.lineno


def _is_claim(node: ast.stmt) -> bool:
    if not isinstance(node, ast.FunctionDef):
        return False
    calls = [d.func for d in node.decorator_list if isinstance(d, ast.Call)]
    return "claim" in [getattr(f, "id", getattr(f, "attr", "")) for f in calls]

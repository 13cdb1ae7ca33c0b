"""What code a module reaches by its imports, and what that code says.

A module is read, not run: its syntax tree without docstrings, comments and layout, and the imports
in it, those inside functions included. Only code of ours and of the user's is followed.
"""

import ast
import dataclasses
import functools
import hashlib
import re
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any

from theorykit.common.trees import parse
from theorykit.runs._read import Kept

ROOT = sys.modules[__name__.partition(".")[0]]
"""The package of the toolkit, which knows what its short names stand for."""


@dataclasses.dataclass(frozen=True)
class Code:
    """A piece of Python.

    **Fields:** `mark`, a hash of what it says; `imports`, the names that it imports; `texts`, the
    strings in it that may be names of files.
    """

    mark: str
    imports: frozenset[str]
    texts: frozenset[str] = frozenset()

    @classmethod
    def of(cls, tree: ast.AST, package: str) -> "Code":
        """Read a tree, whose relative imports start from this package."""
        imports = frozenset(_imports(tree, package))
        without_docstrings(tree)
        constants = (n.value for n in ast.walk(tree) if isinstance(n, ast.Constant))
        texts = frozenset(v for v in constants if isinstance(v, str) and _FILE.fullmatch(v))
        return cls(hashlib.sha256(ast.dump(tree).encode()).hexdigest(), imports, texts)

    def facts(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return {"mark": self.mark, "imports": sorted(self.imports), "texts": sorted(self.texts)}

    @classmethod
    def from_facts(cls, facts: dict[str, Any]) -> "Code":
        """Return what `facts` wrote.

        **Raises:** `ValueError` for other objects.
        """
        try:
            return cls(facts["mark"], frozenset(facts["imports"]), frozenset(facts["texts"]))
        except (KeyError, TypeError):
            raise ValueError("these are not facts about code.") from None

    def data(self, folder: Path) -> str:
        """Return a hash of the files that it names, where it is in this folder; "" for none."""
        marks = [mark for text in sorted(self.texts) if (mark := _of_data(folder / text))]
        return hashlib.sha256("".join(marks).encode()).hexdigest() if marks else ""


_FILE = re.compile(r"[\w\-./ ]{1,200}\.\w{1,8}")


def _of_data(file: Path) -> str:
    try:
        if not file.is_file():  # the text is the name of something else
            return ""
        with file.open("rb") as content:
            return f"{file.name} {hashlib.file_digest(content, 'sha256').hexdigest()}"
    except OSError:
        return "unreadable"


def without_docstrings(tree: ast.AST) -> None:
    """Take the docstrings out of a tree."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        match node.body:
            case [ast.Expr(value=ast.Constant(value=str())), *rest]:
                node.body = rest


def reached(names: Iterable[str], package: str, folder: Path) -> dict[str, str]:
    """Return the marks of the modules that these names lead to, directly or indirectly.

    **Arguments:** `package`: a top-level package that counts as the user's, wherever it is;
    `folder`: where modules are searched for first, as beside a file of claims.
    """
    found: dict[str, str] = {}
    waiting = list(names)
    asked = set(waiting)
    while waiting:
        place = _module(waiting.pop(), package, folder)
        if place is None or place[0] in found:
            continue
        code = _code(*place)
        found[place[0]] = f"{code.mark} {code.data(place[1].parent)}".strip()
        waiting += code.imports - asked
        asked |= code.imports
    return dict(sorted(found.items()))


_read: dict[tuple, tuple[object, Code]] = {}

KEPT = Kept("read", Path(__file__))


def _code(name: str, file: Path) -> Code:
    """Return what a module says; if it is imported, what it said at the first call."""
    module = sys.modules.get(name)
    key = (name, id(module)) if module is not None else (file, file.stat().st_mtime_ns)
    if key not in _read:
        package = name if file.name == "__init__.py" else name.rpartition(".")[0]
        try:
            content = file.read_bytes()
            facts = KEPT.of(content, package, lambda: Code.of(parse(content), package).facts())
            code = Code.from_facts(facts)
        except (OSError, SyntaxError, ValueError):
            code = Code("unreadable", frozenset())
        _read[key] = (module, code)  # the module is kept, so that its id is not reused
    return _read[key][1]


# Imports ------------------------------------------------------------------------------------


def _imports(tree: ast.AST, package: str) -> Iterator[str]:
    """Yield what a tree imports: modules, or names in them; which of the two is not known here."""
    bound: dict[str, str] = {}
    nodes = list(_running(tree))
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name
                bound[alias.asname or alias.name.split(".")[0]] = (
                    alias.name if alias.asname else alias.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join([*(above if node.level else ()), *filter(None, [node.module])])
            for alias in node.names:
                yield f"{base}.{alias.name}" if alias.name != "*" else base
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "import_module":
            first = node.args[0] if node.args else None
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield first.value
    for node in nodes:  # `import a` and then a.b.c
        if isinstance(node, ast.Attribute):
            chain = _chain(node)
            if chain and chain[0] in bound:
                yield ".".join([bound[chain[0]], *chain[1:]])


def _running(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a tree, except those that only a type checker reads."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        yield node
        waiting += ast.iter_child_nodes(node)


def _chain(node: ast.expr) -> list[str]:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return [*parts, node.id][::-1] if isinstance(node, ast.Name) else []


# Modules ------------------------------------------------------------------------------------

_STANDARD = tuple(Path(p).resolve() for p in map(sysconfig.get_path, ("stdlib", "platstdlib")))


@functools.lru_cache(maxsize=65536)
def _module(name: str, package: str, folder: Path) -> tuple[str, Path] | None:
    """Return the module that a name is, or is in: its full name and file. None if not ours."""
    if not all(part.isidentifier() for part in name.split(".")):
        return None
    root, _, rest = name.partition(".")
    if root == ROOT.__name__:
        first = rest.split(".")[0]
        long = ROOT._LONG.get(f"{root}.{first}")
        if long is not None:
            name = ".".join([long, *rest.split(".")[1:]])
        elif first in ROOT._HOME:
            name = f"{root}.{ROOT._HOME[first]}"
    parts, path, found = name.split("."), [str(folder), *sys.path], None
    for i in range(len(parts)):
        here = ".".join(parts[: i + 1])
        place = _located(here, path)
        if place is None:
            break
        file, path = place
        if file is not None:
            found = (here, file)
    ours = found is not None and (root in (ROOT.__name__, package) or _of_the_user(found[1]))
    return found if ours else None


def _located(name: str, path: list[str]) -> tuple[Path | None, list[str]] | None:
    """Return a module's file, and where its submodules lie, without importing anything."""
    module = sys.modules.get(name)
    if module is not None:
        origin, inside = getattr(module, "__file__", None), getattr(module, "__path__", ())
    else:
        spec = _found(name, path)
        if spec is None:
            return None
        origin = spec.origin if spec.has_location else None
        inside = spec.submodule_search_locations or ()
    file = Path(origin) if origin and origin.endswith(".py") else None
    return file, list(inside)


def _found(name: str, path: list[str]) -> ModuleSpec | None:
    """Return the spec of a module that is not imported yet."""
    spec = PathFinder.find_spec(name, path)
    for finder in sys.meta_path if spec is None else ():
        find = getattr(finder, "find_spec", None)  # an editable install brings its own
        spec = find(name, path if "." in name else None) if find else None
        if spec is not None:
            break
    return spec


def _of_the_user(file: Path) -> bool:
    real = file.resolve()
    if {"site-packages", "dist-packages"} & set(file.parts):
        return False
    return not any(real.is_relative_to(folder) for folder in _STANDARD)

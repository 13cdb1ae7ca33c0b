"""The functions in which faults can be planted, found in files without importing them."""

import ast
import dataclasses
import fnmatch
import importlib.util
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from theorykit import papers
from theorykit.common.trees import parse

NAME = __name__.partition(".")[0]
ROOT = sys.modules[NAME]


@dataclasses.dataclass(frozen=True)
class Function:
    """A function or method in the source.

    **Fields:** `name`, the module and the dotted name inside it; `module`; `file`, resolved;
    `node`, the syntax tree.
    """

    name: str
    module: str
    file: Path
    node: ast.FunctionDef = dataclasses.field(repr=False, compare=False)

    @property
    def package(self) -> str:
        """The package under which it is counted: two parts of its short name, `theorykit.crasp`."""
        return ".".join(short(self.module).split(".")[:2])


def short(name: str) -> str:
    """Return a module's name as users write it: `theorykit.subjects.crasp` is `theorykit.crasp`."""
    for known, long in ROOT._LONG.items():
        if papers.within(name, long):
            return known + name.removeprefix(long)
    return name


def functions(patterns: Iterable[str]) -> list[Function]:
    """Return the functions whose names match shell patterns, by name.

    The first part of a pattern is an importable package. Names are written in full,
    `theorykit.subjects.pacbayes._bounds.bound`, or as users write them, without private modules:
    `theorykit.pacbayes.bound`. The papers in the toolkit are left out, since they are claims.

    **Raises:** `ValueError` for a pattern that no function matches.
    """
    found: dict[str, Function] = {}
    for pattern in patterns:
        root = pattern.split(".")[0]
        matching = [f for f in _written(root) if any(_matches(n, pattern) for n in _names(f))]
        if not matching:
            raise ValueError(
                f"no function matches {pattern!r}; a pattern begins with a package that can be "
                "imported, as theorykit.pacbayes.* or theorykit.kernels.ridge do."
            )
        found |= {f.name: f for f in matching}
    return [found[name] for name in sorted(found)]


def _matches(name: str, pattern: str) -> bool:
    return fnmatch.fnmatchcase(name, pattern) or fnmatch.fnmatchcase(name, pattern + ".*")


def _names(function: Function) -> set[str]:
    inside = function.name.removeprefix(function.module)
    public = ".".join(p for p in short(function.module).split(".") if not p.startswith("_"))
    package = public.rpartition(".")[0]
    listed = {package + inside} if package.count(".") else set()
    return {function.name, short(function.module) + inside, public + inside, *listed}


def _written(root: str) -> Iterator[Function]:
    for module, file in _files(root):
        if papers.within(module, papers.SHIPPED):
            continue
        try:
            tree = parse(file.read_bytes())
        except (OSError, SyntaxError):
            continue
        yield from _inside(tree, module, module, file)


def _inside(tree: ast.AST, name: str, module: str, file: Path) -> Iterator[Function]:
    for node in tree.body:  # type: ignore[attr-defined]
        if isinstance(node, ast.FunctionDef):
            if not any("claim" in ast.dump(d) for d in node.decorator_list):
                yield Function(f"{name}.{node.name}", module, file, node)
        elif isinstance(node, ast.ClassDef):
            yield from _inside(node, f"{name}.{node.name}", module, file)


def _files(root: str) -> Iterator[tuple[str, Path]]:
    """Yield the modules of a package and the resolved paths of their files."""
    spec = importlib.util.find_spec(root) if root.isidentifier() else None
    if spec is None or not spec.origin:
        return
    if spec.submodule_search_locations is None:
        yield root, Path(spec.origin).resolve()
        return
    seen: set[Path] = set()
    top = getattr(sys.modules.get(root), "__path__", None) or spec.submodule_search_locations
    for folder in [Path(spec.origin).parent, *map(Path, top)]:
        parts = [folder] if folder.name == root else [folder / "kernels"]
        for start in parts:
            for file in sorted(start.rglob("*.py")):
                real = file.resolve()
                base = start if folder.name == root else folder
                inside = file.relative_to(base).with_suffix("").parts
                if real not in seen and "proofs_numeric" not in inside:
                    seen.add(real)
                    inside = inside[:-1] if inside[-1] == "__init__" else inside
                    yield ".".join([root, *inside]), real

"""Which of the project's public functions a claim runs.

Papers are about what the toolkit computes, and so is a claim if it runs the toolkit. A `Recording`
looks at every call of a Python function in its thread, by `sys.settrace`, and notes the public ones
(`public`): those that the claim calls, and those that these call in turn.

What it notes depends on the claim alone, whatever ran before it in the process. So it does not
look where that would matter: into a library that one of these functions calls (JAX calls back only
to trace, once for all claims), nor into what a function of the project remembers. What claims
remember (`functools.cache`) is noted when it is first computed, and counts for each claim that
asks for it; `share` sees to that.

It sees only calls, not returns and not C functions, and looks up the caller on the stack only for a
function that it has not noted: claims spend most of their time in Python, where a hook on every
event is slow. For the same reason it is off while a proof or an attack repeats earlier calls.
`sys.setprofile`, which sees every event, is used only where a debugger or a coverage tool has the
other hook. Threads that a claim starts are not seen.
"""

import ast
import contextlib
import functools
import inspect
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

from theorykit import papers
from theorykit.common.trees import parse

NAME = __name__.partition(".")[0]
ROOT = sys.modules[NAME]
"""The package of the toolkit, which knows what it lists."""

ENGINE = frozenset(
    [
        "audit", "certify", "checks", "claims", "cli", "common", "drafts", "export", "papers",
        "places", "plugin", "report", "results", "runs",
    ]
)  # fmt: skip
"""The packages that claims are not about, but that try them."""

FOREIGN, CLAIM, PRODUCT, REMEMBERED = range(4)
"""What code belongs to: a library, a claim or the engine, the product, what the product keeps."""

_Memo = type(functools.cache(lambda: None))

_now = threading.local()


class Recording:
    """Notes the functions of the product that run inside its scope, in this thread.

    **Arguments:** `home`: the top-level package of another distribution whose functions count as
    well, "" for none; `known`: another recording, of what code belongs to.

    **Fields:** `codes`: what ran.
    """

    def __init__(self, home: str = "", known: "Recording | None" = None):
        self.home = home
        self.codes: dict[int, CodeType] = {}
        self._kinds: dict[int, int] = {}
        self._held: list[CodeType] = []  # so that no id is given to another code object
        self._files: dict[str, int] = {}  # those with nothing to note, and what they belong to
        if known is not None and known.home == home:
            self._kinds, self._held, self._files = known._kinds, known._held, known._files
        self._base: FrameType | None = None  # the call that opened the scope
        self._look: Any = None  # the hook, where it could be set
        self._heard: Any = None  # the same, where it is not paused
        self._get: Callable[[], Any] = sys.gettrace
        self._put: Callable[[Any], None] = sys.settrace

    def __enter__(self) -> "Recording":
        self._outer = getattr(_now, "recording", None)
        _now.recording = self
        self._base = sys._getframe(1)
        self._before: Any = None if self._outer is None else self._outer._heard
        for get, put in ((sys.gettrace, sys.settrace), (sys.getprofile, sys.setprofile)):
            if get() is self._before:
                self._look = self._heard = self._hook()
                self._get, self._put = get, put
                put(self._look)
                break
        return self

    def __exit__(self, *error: object) -> None:
        _now.recording = self._outer
        if self._look is not None and self._get() is self._look:
            self._put(self._before)
        self._base = self._look = self._heard = None

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Remove the hook for code that only repeats earlier calls."""
        if self._look is None or self._get() is not self._look:
            yield
            return
        self._put(self._before)
        self._heard = self._before
        try:
            yield
        finally:
            if self._get() is self._before:
                self._put(self._look)
            self._heard = self._look

    @property
    def names(self) -> tuple[str, ...]:
        """The public functions that ran, sorted."""
        known = public(self.home)
        places = set(map(_place, self.codes.values()))
        return tuple(sorted({known[place] for place in places if place in known}))

    def _hook(self) -> Callable[[FrameType, str, object], None]:
        """Return what Python calls at each call of a function. Claims spend their time in it."""
        kinds, codes, files = self._kinds, self.codes, self._files

        def look(frame: FrameType, event: str, arg: object) -> None:
            code = frame.f_code
            if code.co_filename in files or event != "call":
                return
            name = id(code)
            kind = kinds.get(name)
            if kind is None:
                kind = self._kind(frame)
            if kind >= PRODUCT and name not in codes and self._counts(frame):
                codes[name] = code

        return look

    def _counts(self, frame: FrameType) -> bool:
        """Whether a call depends on the claim alone.

        It does not inside a library that the product calls, nor inside what the product remembers.
        """
        kind, above = PRODUCT, frame.f_back
        while above is not None and above is not self._base:
            called, code = kind, above.f_code
            kind = self._files.get(code.co_filename, self._kinds.get(id(code), CLAIM))
            if kind == REMEMBERED or (kind == PRODUCT and called == FOREIGN):
                return False
            above = above.f_back
        return True

    def _kind(self, frame: FrameType) -> int:
        """Say what a frame's code belongs to, when it is first seen."""
        code = frame.f_code
        kind = _belongs(frame.f_globals.get("__name__") or "", self.home)
        if kind == PRODUCT and any(code is c for c in _remembering(frame.f_globals)):
            kind = REMEMBERED
        if kind < PRODUCT and not code.co_filename.startswith("<"):
            self._files[code.co_filename] = kind
        else:
            self._held.append(code)
            self._kinds[id(code)] = kind
        return kind


def _belongs(module: str, home: str) -> int:
    root, _, rest = module.partition(".")
    if root == NAME:
        engine = not rest or rest.split(".")[0] in ENGINE
        return CLAIM if engine or papers.within(module, papers.SHIPPED) else PRODUCT
    if home and root == home:
        return CLAIM if _declares(module) else PRODUCT
    return CLAIM if module.startswith("theorykit_claims_") or module == "__main__" else FOREIGN


def _declares(module: str) -> bool:
    """Whether a module holds claims, or says what a paper is."""
    found = vars(sys.modules[module]).values() if module in sys.modules else ()
    return any(type(v).__name__ in ("Claim", "Paper") for v in found)


def _remembering(names: dict[str, Any]) -> Iterator[CodeType]:
    """Yield the code of a module's functions that run once for all their callers."""
    for value in list(names.values()):
        if isinstance(value, _Memo):
            yield value.__wrapped__.__code__
        elif inspect.isclass(value) and value.__module__ == names.get("__name__"):
            for attribute in vars(value).values():
                if isinstance(attribute, functools.cached_property):
                    yield attribute.func.__code__
                elif isinstance(attribute, _Memo):
                    yield attribute.__wrapped__.__code__


# What is public -----------------------------------------------------------------------------


Place = tuple[str, int, str]
"""Where code is written: its file, line and name. A function may run a copy of it."""


def _place(code: CodeType) -> Place:
    if code.co_filename.startswith("<"):  # made by a dataclass: many have one name and line
        return code.co_filename, id(code), code.co_qualname
    return code.co_filename, code.co_firstlineno, code.co_qualname


def public(home: str = "") -> dict[Place, str]:
    """Return the names of the public functions of the modules that are loaded, by their place.

    They are what the packages of the toolkit list in their `__init__.py`, but for the engine and
    the papers, by their short names: `theorykit.crasp.evaluate`. A method has the name of its
    class, `theorykit.kernels.InfiniteTransformer.__call__`; making an object, that of the class.
    **Arguments:** `home`: another distribution's top-level package, whose public names count too.
    """
    roots = _roots(home)
    loaded = [(short, sys.modules[long]) for short, long in roots.items() if long in sys.modules]
    ours = (m for name, m in sys.modules.copy().items() if name.split(".")[0] in (NAME, home))
    return _public(tuple(sorted(loaded, key=str)), frozenset(map(id, ours)))


@functools.lru_cache(8)
def _public(roots: Sequence[tuple[str, ModuleType]], loaded: frozenset[int]) -> dict[Place, str]:
    found: dict[Place, str] = {}
    for short, module in roots:
        for name, code in _of_module(short, module, set()):
            known = found.get(_place(code))
            if known is None or (name.count("."), name) < (known.count("."), known):
                found[_place(code)] = name
    return found


def _roots(home: str) -> dict[str, str]:
    """Return the modules that are the product, by the names that they are known by."""
    listed = {f"{NAME}.{room}": f"{NAME}.{room}" for room in ROOT._ROOMS}
    found = {
        short: long
        for short, long in {**listed, **ROOT._LONG}.items()
        if long.split(".")[1] not in ENGINE and long != papers.SHIPPED
    }
    if home:
        inside = [m for m in sys.modules if papers.within(m, home) and "._" not in m]
        found |= {m: m for m in inside if not _declares(m)}
    return found


def _of_module(
    name: str, module: ModuleType, seen: set[ModuleType]
) -> Iterator[tuple[str, CodeType]]:
    if module in seen:
        return
    seen.add(module)
    own = module.__name__
    for listed in _listed(module):
        value = vars(module).get(listed)
        if value is None:
            value = _later(own, listed)
        if isinstance(value, ModuleType):
            if papers.within(value.__name__, own):
                yield from _of_module(f"{name}.{listed}", value, seen)
        elif inspect.isclass(value):
            yield from _of_class(f"{name}.{listed}", value, own)
        else:
            function = inspect.unwrap(value) if callable(value) else None
            if isinstance(function, FunctionType) and papers.within(function.__module__, own):
                yield f"{name}.{listed}", function.__code__


def _of_class(name: str, cls: type, package: str) -> Iterator[tuple[str, CodeType]]:
    for part in cls.__mro__:
        if not papers.within(part.__module__, package):
            continue
        for attribute, value in vars(part).items():
            value = getattr(value, "__func__", value)  # a class method's
            value = value.fget if isinstance(value, property) else value
            value = inspect.unwrap(value) if callable(value) else value
            if not isinstance(value, FunctionType):
                continue
            made = attribute in ("__init__", "__post_init__", "__new__")
            if made or not attribute.startswith("_") or attribute.endswith("__"):
                yield name if made else f"{name}.{attribute}", value.__code__


def _listed(module: ModuleType) -> list[str]:
    """Return the public names of a module: those of `__all__`, or that it lists or defines."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    file = getattr(module, "__file__", None)
    names = _written(file) if file and file.endswith(".py") else ()
    later = [n for n in dir(module) if n not in vars(module)] if "__dir__" in vars(module) else []
    return [n for n in (*names, *later) if not n.startswith("_")]


@functools.cache
def _written(file: str) -> tuple[str, ...]:
    """Return the names that a file lists (`from x import y as y`) or defines."""
    names = []
    for node in parse(Path(file).read_bytes()).body:
        if isinstance(node, ast.ImportFrom):
            names += [a.name for a in node.names if a.name == a.asname]
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.append(node.name)
    return tuple(names)


def _later(package: str, name: str) -> object:
    """Return what a package imports only on first use, if that is loaded already."""
    for module in list(sys.modules):
        if papers.within(module, package):
            value = vars(sys.modules[module]).get(name)
            if getattr(value, "__module__", None) == module:
                return value
    return None


# What claims remember -----------------------------------------------------------------------


class Memo:
    """A function of a claims' module that remembers its results, and what ran to make them."""

    def __init__(self, kept: Callable, home: str):
        functools.update_wrapper(self, kept.__wrapped__)  # type: ignore[attr-defined]
        self._kept, self._home = kept, home
        self._ran: dict[Any, dict[int, CodeType]] = {}
        self._each: dict[frozenset[int], dict[int, CodeType]] = {}  # few, for many arguments

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        key = (args, *kwargs.items())
        outer: Recording | None = getattr(_now, "recording", None)
        known = self._ran.get(key)
        if known is None:
            with Recording(self._home, outer) as inner:
                value = self._kept(*args, **kwargs)
            known = self._each.setdefault(frozenset(inner.codes), inner.codes)
            self._ran[key] = known
        else:
            value = self._kept(*args, **kwargs)
        if outer is not None:
            outer.codes.update(known)
        return value

    def cache_info(self) -> Any:
        """Return what `functools` says of what is kept."""
        return self._kept.cache_info()  # type: ignore[attr-defined]

    def cache_clear(self) -> None:
        """Forget what is kept."""
        self._kept.cache_clear()  # type: ignore[attr-defined]


def share(module: ModuleType, home: str) -> None:
    """Let what a claims' module remembers count for every claim that asks for it."""
    for name, value in list(vars(module).items()):
        if isinstance(value, _Memo):
            made = value.__dict__.setdefault("memo", Memo(value, home))
            setattr(module, name, made)
        elif isinstance(value, FunctionType) and value.__module__ == module.__name__:
            for cell in value.__closure__ or ():
                try:
                    held = cell.cell_contents
                except ValueError:  # empty
                    continue
                if isinstance(held, _Memo):
                    cell.cell_contents = held.__dict__.setdefault("memo", Memo(held, home))

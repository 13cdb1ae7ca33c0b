"""Tell whether a predicate works with integers, fractions and text only, so that nothing rounds.

In two parts. Before it runs, all that it can reach is read: each function of the claim's package,
with the constants, globals, closures, defaults and attributes that it loads. Of a class, only the
methods whose names occur in that code are read; of a class that only occurs in `isinstance(x,
Kind)`, nothing is. A float among them, a function that is not known to be exact, or a format that
writes floats makes it inexact. While it runs, the operations that leave the integers for some
operands only, division and powers, are replaced by ones that check their results. So `2**n` and the
quotient of two fractions stay exact, and `len(s) / 2` is seen when it is a float. Anything that
cannot be decided counts as inexact.
"""

import builtins
import collections
import contextlib
import functools
import importlib
import io
import operator
import sys
import threading
import types
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from theorykit.checks._bytecode import ASKED, PLAIN, an, exact_value, loads, names_in, unsafe
from theorykit.checks._guards import GUARDED_POWER, guarded, unguarded, watching
from theorykit.common.arguments import shown

_BUILTIN = {
    *PLAIN, tuple, list, set, frozenset, dict, object, type, super, property, bytearray, slice,
    staticmethod, classmethod, map, filter, zip, enumerate, reversed, types.FunctionType,
    types.MappingProxyType, types.GenericAlias, collections.deque,
    collections.defaultdict, collections.OrderedDict, operator.itemgetter, functools.partial,
}  # fmt: skip
_ROUNDING = {
    "float", "complex", "eval", "exec", "compile", "__import__", "open", "input", "globals",
    "locals", "vars", "getattr", "format", "memoryview", "breakpoint", "help",
}  # fmt: skip
_EXACT = {
    "math": {
        "ceil", "comb", "factorial", "floor", "gcd", "isqrt", "lcm", "perm", "prod", "trunc",
    },
    "functools": {
        "reduce", "partial", "cmp_to_key", "lru_cache", "cache", "wraps", "total_ordering",
    },
    "copy": {"copy", "deepcopy", "replace"},
}  # fmt: skip
_INEXACT = {"operator": {"truediv", "itruediv", "pow", "ipow", "methodcaller", "attrgetter"}}
_MODULES = {
    "itertools", "fractions", "operator", "collections", "heapq", "bisect", "re",
    "dataclasses", "enum", "typing", "abc", "numbers", "reprlib", "contextlib",
}  # fmt: skip
_ASIDE = {
    "__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__annotations__",
    "__dataclass_fields__", "__dataclass_params__", "__slots__", "__orig_bases__",
    "__parameters__", "__abstractmethods__", "_abc_impl", "__match_args__", "__hash__",
    "__firstlineno__", "__static_attributes__", "__signature__",
}  # fmt: skip
_SLOTS = (
    types.MemberDescriptorType, types.GetSetDescriptorType, types.WrapperDescriptorType,
    types.MethodDescriptorType, types.ClassMethodDescriptorType,
    type(vars(collections.namedtuple("_", "x"))["x"]),
)  # fmt: skip
_METHODS = (
    types.FunctionType, staticmethod, classmethod, property, functools.cached_property,
    functools._lru_cache_wrapper,
)  # fmt: skip
# Names of methods that Python's own code looks for, such as `keys`: those that its types have.
_ASKED_FOR = {
    name
    for kind in (int, str, bytes, list, dict, set, Fraction, io.StringIO, types.GeneratorType)
    for name in dir(kind)
}
_LIMIT = 100_000  # values that are read before a predicate counts as too large


class Rounds(Exception):
    """What makes a predicate inexact, in a sentence without its stop."""


class Exactness:
    """Whether all that a predicate does is exact, as far as it has been read and run.

    **Arguments:** `predicates`, by what they are called in a sentence; the package of the first is
    the claim's own.

    **Fields:** `reason`: what makes it inexact, with its file and line; "" as long as nothing does.
    """

    def __init__(self, **predicates: Callable[..., Any]) -> None:
        self.reason = ""
        self._reader = _Reader(_home(next(iter(predicates.values()))))
        for name, predicate in predicates.items():
            self._try(functools.partial(self._reader.read, predicate, f"the {name}"))

    def member(self, member: Any, number: int, called: str = "member") -> None:
        """Look at a member before the predicate is run at it."""
        if type(member) is not int:
            self._try(lambda: self._member(member, f"{called} number {number}"))

    def _member(self, member: Any, where: str) -> None:
        if not exact_value(member):
            self._reader.read(member, where)

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Watch what the predicate's divisions and powers make, in this thread."""
        if self.reason:
            yield
            return
        with watching() as seen, self._reader.installed():
            yield
        if not self.reason and seen:
            self.reason = seen[0]

    def _try(self, read: Callable[[], None]) -> None:
        if self.reason:
            return
        try:
            read()
        except Rounds as found:
            self.reason = str(found)
        except Exception as error:  # an object that cannot be looked at costs the grade alone
            self.reason = f"what the predicate reaches cannot be read ({type(error).__name__})"


class _Reader:
    """Reads all that can be reached from a value; raises `Rounds` at what may be inexact."""

    def __init__(self, home: str) -> None:
        self.home = {home, "theorykit"} - {""}
        self.seen: dict[int, Any] = {}  # by identity; the values are kept, so that none comes again
        self.names = set(_ASKED_FOR)  # that stand in the code that has been read
        self.unnamed: dict[str, list[tuple[Any, str]]] = {}  # methods that no name leads to yet
        self.guards: dict[types.FunctionType, types.CodeType] = {}
        self.caches: list[Any] = []
        self.put: dict[types.FunctionType, types.CodeType] | None = None

    @contextlib.contextmanager
    def installed(self) -> Iterator[None]:
        """Run the functions that divide or raise to a power in their guarded form."""
        with _ONE_AT_A_TIME if self.guards else contextlib.nullcontext():
            self.put = {}
            try:
                for function in self.guards:
                    self._install(function)
                for cached in self.caches if self.guards else ():
                    cached.cache_clear()  # what it remembers was computed without the guards
                yield
            finally:
                for function, code in self.put.items():
                    function.__code__ = code
                self.put = None

    def _install(self, function: types.FunctionType) -> None:
        assert self.put is not None
        self.put[function] = function.__code__
        function.__code__ = self.guards[function]

    def read(self, value: Any, where: str) -> None:
        """Read a value and all that is reached from it. `where` says what holds it."""
        waiting = [(value, where)]
        while waiting:
            value, where = waiting.pop()
            if id(value) in self.seen:
                continue
            self.seen[id(value)] = value
            if exact_value(value):
                continue
            if len(self.seen) > _LIMIT:
                raise Rounds(f"{where} holds too much to read")
            waiting.extend(self.within(value, where))

    def within(self, value: Any, where: str) -> Iterator[tuple[Any, str]]:
        """Yield what a value holds, or raise if the value itself is not exact."""
        if isinstance(value, float | complex):
            raise Rounds(f"{where} is {value!r}, a {type(value).__name__}")
        if type(value) is str:
            raise Rounds(f"{where} is {shown(value)}, which can write a float")
        if isinstance(value, types.FunctionType):
            yield from self.function(value, where)
        elif isinstance(value, functools._lru_cache_wrapper):
            self.caches.append(value)
            if self.put:
                value.cache_clear()
            yield value.__wrapped__, where
        elif isinstance(value, functools.partial):
            yield value.func, where
            yield value.args, f"{where} is given what"
            yield value.keywords, f"{where} is given what"
        elif isinstance(value, types.MethodType):
            yield value.__func__, where
            yield value.__self__, where
        elif isinstance(value, staticmethod | classmethod):
            yield value.__func__, where
        elif isinstance(value, property):
            for part in (value.fget, value.fset, value.fdel):
                yield part, where
        elif isinstance(value, functools.cached_property):
            yield value.func, where
        elif isinstance(value, type):
            yield from self.type(value, where)
        elif isinstance(value, types.BuiltinFunctionType):
            self.builtin(value, where)
            if value is hasattr:  # runs properties, whose names may be computed
                yield from self.named(list(self.unnamed))
            if not isinstance(value.__self__, types.ModuleType | type(None)):
                yield value.__self__, where
        elif isinstance(value, types.MethodDescriptorType | types.WrapperDescriptorType):
            _named(value.__name__, where)
            yield value.__objclass__, where
        elif (
            isinstance(value, _SLOTS)
            or type(value) is types.GenericAlias
            or type(value).__module__ == "typing"
        ):
            return
        else:
            yield from self.object(value, where)

    def object(self, value: Any, where: str) -> Iterator[tuple[Any, str]]:
        kind = type(value)
        if not (kind in _BUILTIN or self.owns(kind) or _exact_name(kind)):
            raise Rounds(f"{where} is {an(kind.__name__)}{_unknown(kind)}")
        yield kind, where
        if isinstance(value, dict | types.MappingProxyType):
            yield from ((part, where) for pair in value.items() for part in pair)
            yield getattr(value, "default_factory", None), where
        elif isinstance(value, tuple | list | set | frozenset | collections.deque):
            yield from ((part, where) for part in value)
        for name, part in getattr(value, "__dict__", {}).items():
            yield part, f"{name} of {an(kind.__name__)}"
        for owner in kind.__mro__:
            for name, slot in vars(owner).items():
                if isinstance(slot, types.MemberDescriptorType) and hasattr(value, name):
                    yield getattr(value, name), f"{name} of {an(kind.__name__)}"

    def type(self, value: type, where: str) -> Iterator[tuple[Any, str]]:
        if value.__module__ == "builtins":
            if value.__name__ in _ROUNDING:
                raise Rounds(f"{where} is {value.__name__}, which makes floats")
            return
        if not self.owns(value):
            if not _exact_name(value):
                raise Rounds(f"{where} is {_called(value)}{_unknown(value)}")
            return
        for part in value.__mro__[1:]:
            yield part, where
        yield type(value), where
        # Code that is not read calls methods too: of classes that derive from its own, and fields.
        own = all(part is object or self.owns(part) for part in value.__mro__)
        yield from self.named(() if own else dir(value))
        for names in ("__match_args__", "__dataclass_fields__"):
            yield from self.named(getattr(value, names, ()))
        for name, part in vars(value).items():
            if name in _ASIDE:
                continue
            held = part, f"{name} of {value.__name__}"
            if isinstance(part, property):
                yield from ((setter, held[1]) for setter in (part.fset, part.fdel))
            if self._unnamed(name, part):
                self.unnamed.setdefault(name, []).append(held)
            else:
                yield held

    def _unnamed(self, name: str, part: Any) -> bool:
        """Whether a part of a class is a method, and no name that has been read leads to it."""
        special = name.startswith("__") and name.endswith("__")
        return isinstance(part, _METHODS) and not special and name not in self.names

    def named(self, names: Iterable[str]) -> Iterator[tuple[Any, str]]:
        """Yield the methods with these names."""
        for name in names:
            self.names.add(name)
            yield from self.unnamed.pop(name, ())

    def builtin(self, value: Any, where: str) -> None:
        module = value.__module__ or ""
        if isinstance(value.__self__, types.ModuleType) and module == "builtins":
            if value.__name__ in _ROUNDING or value is pow:
                raise Rounds(f"{where} is {value.__name__}, which can make floats")
        elif not isinstance(value.__self__, types.ModuleType | type(None)):
            _named(value.__name__, where)
        elif not _exact_name(value):
            raise Rounds(f"{where} is {_called(value)}{_unknown(value)}")

    def owns(self, value: Any) -> bool:
        return (value.__module__ or "").partition(".")[0] in self.home

    def function(self, f: types.FunctionType, where: str) -> Iterator[tuple[Any, str]]:
        module = f.__globals__.get("__name__", "")
        if module.partition(".")[0] not in self.home:
            if not (_exact_name(f, module) or module.startswith("namedtuple_")):
                raise Rounds(f"{where} is {_called(f, module)}{_unknown(f)}")
            return
        code = f.__code__
        if unguarded(code):
            code = guarded(code) or code
            if code is not f.__code__:
                self.guards[f] = code
                if self.put is not None:
                    self._install(f)
        for name, value in vars(f).items():
            yield value, f"{name} of {_at(f.__code__)}"
        for values in (f.__defaults__ or (), (f.__kwdefaults__ or {}).values()):
            for value in values:
                yield value, f"a default of {_at(f.__code__)}"
        cells = dict(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
        yield from self.code(code, {**vars(builtins), **f.__globals__}, cells)

    def code(
        self, code: types.CodeType, known: dict[str, Any], cells: dict[str, Any]
    ) -> Iterator[tuple[Any, str]]:
        yield from self.named(names_in(code))
        for kind, name, before, path, line in loads(code):
            at = f"line {line} of {Path(code.co_filename).name}"
            if kind == "code":
                yield from self.code(name, known, cells)
            elif kind == "rounds":
                raise Rounds(f"{at} {name}")
            elif kind == "import":
                module, level = name
                package = known.get("__package__") or ""
                made = importlib.import_module("." * level + module, package)
                for part in path:
                    value = getattr(made, part, None)
                    if isinstance(value, types.ModuleType):
                        raise Rounds(f"{at} imports a module; import it outside the predicate")
                    yield value, f"{at} uses {part}, which"
                continue
            if kind == "cell":
                if name not in cells:
                    continue
                try:
                    value = cells[name].cell_contents
                except ValueError:  # not yet filled
                    continue
            elif kind == "global" and name in known:
                value = known[name]
            else:
                continue
            if before is GUARDED_POWER and value is pow:
                continue
            if before is ASKED and type(value) is type and known["isinstance"] is isinstance:
                continue
            yield from self.loaded(value, name, path, at)

    def loaded(
        self, value: Any, name: str, path: tuple[str, ...], at: str
    ) -> Iterator[tuple[Any, str]]:
        for part in path:
            if isinstance(value, types.ModuleType):
                value, name = getattr(value, part, None), f"{name}.{part}"
        if isinstance(value, types.ModuleType):
            raise Rounds(f"{at} passes the module {name} on, so what is used of it is not known")
        yield value, f"{at} uses {name}, which"


_ONE_AT_A_TIME = threading.RLock()


def _named(name: str, where: str) -> None:
    if unsafe(name) or name == "format":
        raise Rounds(f"{where} is {name}, which can make or write floats")


def _exact_name(value: Any, module: str | None = None) -> bool:
    """Whether a function or type of Python's own library is known to be exact."""
    module = (module or getattr(value, "__module__", None) or "").lstrip("_").partition(".")[0]
    name = getattr(value, "__name__", "")
    if module in _EXACT:
        return name in _EXACT[module]
    return module in _MODULES and name not in _INEXACT.get(module, ())


def _called(value: Any, module: str | None = None) -> str:
    module = module or getattr(value, "__module__", None) or ""
    name = getattr(value, "__qualname__", repr(value))
    return f"{module}.{name}".lstrip(".")


def _unknown(value: Any) -> str:
    if (getattr(value, "__module__", None) or "").partition(".")[0] in ("numpy", "jax", "jaxlib"):
        return ": arrays round, and their integers wrap round silently"
    return " and is not known to be exact"


def _at(code: types.CodeType) -> str:
    return f"the function in line {code.co_firstlineno} of {Path(code.co_filename).name}"


def _home(predicate: Any) -> str:
    """Return the package that a predicate belongs to."""
    while not isinstance(predicate, types.FunctionType):
        inner = getattr(predicate, "func", None) or getattr(predicate, "__func__", None)
        inner = inner or getattr(predicate, "__wrapped__", None)
        if inner is None:
            break
        predicate = inner
    if not isinstance(predicate, types.FunctionType):
        return "" if _foreign(type(predicate)) else type(predicate).__module__.partition(".")[0]
    top = predicate.__globals__.get("__name__", "").partition(".")[0]
    return "" if top in _FOREIGN else top


_FOREIGN = {*sys.stdlib_module_names, "numpy", "jax", "jaxlib", "scipy"} - {"__main__"}


def _foreign(value: type) -> bool:
    return value.__module__.partition(".")[0] in _FOREIGN

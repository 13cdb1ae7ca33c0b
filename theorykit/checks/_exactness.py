"""Tell whether a predicate works with integers, fractions and text only, so that nothing rounds.

In two parts. Before it runs, all that it can reach is read: each function of the claim's package,
with the constants, globals, closures, defaults and attributes that it loads. A float among them, a
function that is not known to be exact, or a format that writes floats makes it inexact. While it
runs, the operations that leave the integers for some operands only, division and powers, are
replaced by ones that look at what they make. So `2**n` and the quotient of two fractions stay
exact, and `len(s) / 2` is seen when it is a float. What cannot be told counts as inexact.
"""

import builtins
import collections
import contextlib
import dis
import functools
import importlib
import itertools
import operator
import re
import string
import sys
import threading
import types
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from theorykit.checks._guards import GUARDED_POWER, guarded, unguarded, watching

_PLAIN = {int, bool, str, bytes, Fraction, type(None), range, type(Ellipsis), type(NotImplemented)}
_BUILTIN = {
    *_PLAIN, tuple, list, set, frozenset, dict, object, type, super, property, bytearray, slice,
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
_NAMES = {
    "__name__", "__qualname__", "__class__", "__doc__", "__init__", "__post_init__", "__new__",
    "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__", "__len__", "__iter__",
    "__next__", "__getitem__", "__contains__", "__add__", "__sub__", "__mul__", "__neg__",
    "__setattr__", "__delattr__", "__str__", "__repr__", "__wrapped__",
}  # fmt: skip
_FROM_FLOATS = {"fromhex", "from_float", "from_decimal", "format_map", "cast"}
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
_SAFE_PERCENT = re.compile(r"%(?:\(\w*\))?[-#0 +]*[\d*]*(?:\.[\d*]+)?[diouxXcrsa%]")
_FLOAT_FIELD = re.compile(r"\{[^{}]*:[^{}]*[eEfFgGn%]\}")
_LOADS = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_CLOSURE"}
_LIMIT = 100_000  # values that are looked at before a predicate is too large to read


class Rounds(Exception):
    """What makes a predicate inexact, in a sentence without its stop."""


def exact_value(value: Any) -> bool:
    """Whether a value is made of integers, fractions, truth values and text."""
    kind = type(value)
    if kind in _PLAIN:
        return kind is not str or not ("%" in value or "{" in value) or _written_exactly(value)
    if kind in (tuple, list, set, frozenset):
        return all(map(exact_value, value))
    if kind is dict:
        return all(map(exact_value, value)) and all(map(exact_value, value.values()))
    return False


class Exactness:
    """Whether all that a predicate does is exact, as far as it has been read and run.

    **Fields:** `reason`: what makes it inexact, with its file and line; "" as long as nothing does.
    """

    def __init__(self, predicate: Callable[..., Any]) -> None:
        self.reason = ""
        self._reader = _Reader(_home(predicate))
        self._try(lambda: self._reader.read(predicate, "the predicate"))

    def member(self, member: Any, number: int) -> None:
        """Look at a member before the predicate is run at it."""
        if not self.reason and type(member) is not int:
            self._try(lambda: self._member(member, number))

    def _member(self, member: Any, number: int) -> None:
        if not exact_value(member):
            self._reader.read(member, f"member number {number}")

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
                raise Rounds(f"{where} holds too much to be read")
            waiting.extend(self.within(value, where))

    def within(self, value: Any, where: str) -> Iterator[tuple[Any, str]]:
        """Yield what a value holds, or raise if the value itself is not exact."""
        if isinstance(value, float | complex):
            raise Rounds(f"{where} is {value!r}, a {type(value).__name__}")
        if type(value) is str:
            raise Rounds(f"{where} is {value!r}, by which a float can be written")
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
            for part in (value.fget, value.fset):
                yield part, where
        elif isinstance(value, functools.cached_property):
            yield value.func, where
        elif isinstance(value, type):
            yield from self.type(value, where)
        elif isinstance(value, types.BuiltinFunctionType):
            self.builtin(value, where)
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
            raise Rounds(f"{where} is {_a(kind.__name__)}{_unknown(kind)}")
        yield kind, where
        if isinstance(value, dict | types.MappingProxyType):
            yield from ((part, where) for pair in value.items() for part in pair)
            yield getattr(value, "default_factory", None), where
        elif isinstance(value, tuple | list | set | frozenset | collections.deque):
            yield from ((part, where) for part in value)
        for name, part in getattr(value, "__dict__", {}).items():
            yield part, f"{name} of {_a(kind.__name__)}"
        for owner in kind.__mro__:
            for name, slot in vars(owner).items():
                if isinstance(slot, types.MemberDescriptorType) and hasattr(value, name):
                    yield getattr(value, name), f"{name} of {_a(kind.__name__)}"

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
        for name, part in vars(value).items():
            if name not in _ASIDE:
                yield part, f"{name} of {value.__name__}"

    def builtin(self, value: Any, where: str) -> None:
        module = value.__module__ or ""
        if isinstance(value.__self__, types.ModuleType) and module == "builtins":
            if value.__name__ in _ROUNDING or value is pow:
                raise Rounds(f"{where} is {value.__name__}, by which floats can be made")
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
        for kind, name, before, path, line in _loads(code):
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
            elif kind == "cell":
                if name in cells:
                    with contextlib.suppress(ValueError):  # not yet filled
                        yield from self.loaded(cells[name].cell_contents, name, path, at)
            elif name in known:
                if known[name] is pow and before is GUARDED_POWER:
                    continue
                yield from self.loaded(known[name], name, path, at)

    def loaded(
        self, value: Any, name: str, path: tuple[str, ...], at: str
    ) -> Iterator[tuple[Any, str]]:
        for part in path:
            if isinstance(value, types.ModuleType):
                value, name = getattr(value, part, None), f"{name}.{part}"
        if isinstance(value, types.ModuleType):
            raise Rounds(f"{at} hands on the module {name}; what is taken of it cannot be told")
        yield value, f"{at} uses {name}, which"


_ONE_AT_A_TIME = threading.RLock()


@functools.lru_cache(maxsize=4096)
def _loads(code: types.CodeType) -> list[tuple[str, Any, Any, tuple[str, ...], int]]:
    """Return what a code object loads: kind, name, the constant before, attributes after, line."""
    found: list[tuple[str, Any, Any, tuple[str, ...], int]] = []
    steps = [s for s in dis.get_instructions(code) if s.opname not in ("CACHE", "EXTENDED_ARG")]
    for i, step in enumerate(steps):
        line = (step.positions.lineno if step.positions else None) or code.co_firstlineno
        say = lambda kind, name, path=(), line=line, before=None: found.append(
            (kind, name, before, path, line)
        )
        alone = i and steps[i - 1].opname == "LOAD_CONST" and not step.is_jump_target
        previous = steps[i - 1].argval if alone else None
        after = tuple(
            itertools.takewhile(
                bool,
                (
                    s.argval if s.opname in ("LOAD_ATTR", "LOAD_METHOD") else ""
                    for s in steps[i + 1 : i + 9]
                ),
            )
        )
        match step.opname:
            case "LOAD_CONST" | "RETURN_CONST":
                if isinstance(step.argval, types.CodeType):
                    say("code", step.argval)
                elif not (exact_value(step.argval) or callable(step.argval)):
                    text = "writes with" if isinstance(step.argval, str) else "uses"
                    say("rounds", f"{text} {step.argval!r}, {_why(step.argval)}")
            case "LOAD_ATTR" | "LOAD_METHOD" | "LOAD_SUPER_ATTR":
                rounds = _unsafe(step.argval)
                if step.argval == "format":
                    rounds = not (isinstance(previous, str) and _formats_exactly(previous))
                if rounds:
                    say("rounds", f"uses {step.argval}, by which floats can be made or written")
            case "BINARY_OP" if step.argrepr in ("/", "/=", "**", "**="):
                say(
                    "rounds",
                    f"uses {step.argrepr}, which is not watched there: the source is not to be "
                    "found, or it changes a part of something in place",
                )
            case "FORMAT_VALUE" | "FORMAT_WITH_SPEC" if (
                step.opname == "FORMAT_WITH_SPEC" or (step.arg or 0) & 4
            ):
                if not isinstance(previous, str) or previous[-1:] in tuple("eEfFgGn%"):
                    say("rounds", f"writes with the format {previous or 'that is computed'!r}, "
                        "which is for floats")  # fmt: skip
            case "IMPORT_NAME":
                names = tuple(
                    s.argval
                    for s in itertools.takewhile(
                        lambda s: s.opname in ("IMPORT_FROM", "STORE_FAST", "STORE_DEREF"),
                        steps[i + 1 :],
                    )
                    if s.opname == "IMPORT_FROM"
                )
                level = steps[i - 2].argval
                if names:
                    say("import", (step.argval, level if isinstance(level, int) else 0), names)
                else:
                    say("rounds", "imports a module; import it outside the predicate")
            case name if name in _LOADS:
                cell = name in ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_CLOSURE")
                say("cell" if cell else "global", step.argval, after, before=previous)
    return found


def _why(value: Any) -> str:
    if isinstance(value, str):
        return "by which a float can be written"
    if isinstance(value, float | complex):
        return f"which is {_a(type(value).__name__)}"
    return "which holds a float"


def _written_exactly(text: str) -> bool:
    """Whether no `%`, and no field in braces, can write a float."""
    return "%" not in _SAFE_PERCENT.sub("", text) and not _FLOAT_FIELD.search(text)


def _formats_exactly(text: str) -> bool:
    try:
        specs = [spec or "" for _, _, spec, _ in string.Formatter().parse(text)]
    except ValueError:
        return False
    return not any("{" in s or s[-1:] in tuple("eEfFgGn%") for s in specs if s)


def _unsafe(name: str) -> bool:
    return (name.startswith("__") and name not in _NAMES) or name in _FROM_FLOATS


def _named(name: str, where: str) -> None:
    if _unsafe(name) or name == "format":
        raise Rounds(f"{where} is {name}, by which floats can be made or written")


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


def _a(noun: str) -> str:
    return f"{'an' if noun[:1].lower() in tuple('aeio') else 'a'} {noun}"


def _at(code: types.CodeType) -> str:
    return f"the function in line {code.co_firstlineno} of {Path(code.co_filename).name}"


def _home(predicate: Any) -> str:
    """Return the package that a predicate is of."""
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

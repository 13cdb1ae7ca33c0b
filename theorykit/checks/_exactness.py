"""Tell whether a predicate works with integers and fractions only, so that nothing rounds.

By reading: its code, and that of the Python functions that it calls, is looked through for floats,
true division and anything that is not known to be exact. What cannot be told counts as inexact.
"""

import builtins
import dis
import functools
import types
from collections.abc import Callable
from fractions import Fraction
from typing import Any

_EXACT_MODULES = {"itertools", "fractions", "operator", "functools", "collections", "string"}
_EXACT_MATH = {
    "ceil", "comb", "factorial", "floor", "gcd", "isqrt", "lcm", "perm", "prod", "trunc",
}  # fmt: skip
_INEXACT_BUILTINS = {
    "float", "complex", "eval", "exec", "compile", "__import__", "open", "input", "globals",
    "vars", "getattr", "divmod", "pow",
}  # fmt: skip


def exact_value(value: Any) -> bool:
    """Whether a value is made of integers, fractions, truth values and text."""
    if isinstance(value, bool | int | Fraction | str | bytes | types.NoneType):
        return True
    if isinstance(value, tuple | list | set | frozenset):
        return all(map(exact_value, value))
    if isinstance(value, dict):
        return all(exact_value(k) and exact_value(v) for k, v in value.items())
    return isinstance(value, range)


def inexact(function: Callable[..., Any]) -> str:
    """Return what in a function may be inexact, or "" if all of it is exact."""
    return _Reader().callable(function)


class _Reader:
    def __init__(self) -> None:
        self.seen: set[int] = set()

    def callable(self, f: Any) -> str:
        if isinstance(f, types.FunctionType):
            return self.function(f)
        if isinstance(f, functools.partial):
            for value in (*f.args, *f.keywords.values()):
                found = self.callable(value) if callable(value) else ""
                if found or not (callable(value) or exact_value(value)):
                    return found or f"it is given {value!r}"
            return self.callable(f.func)
        if not isinstance(f, type | types.BuiltinFunctionType):
            return f"it calls an object, {f!r}"
        if f is Fraction or (isinstance(f, type) and f in (int, bool, str, tuple, list, set, dict)):
            return ""
        module = getattr(f, "__module__", None) or ""
        if module == "builtins":
            return f"it calls {f.__name__}" if f.__name__ in _INEXACT_BUILTINS else ""
        if module == "math":
            return "" if f.__name__ in _EXACT_MATH else f"it calls math.{f.__name__}"
        if module.split(".")[0] in _EXACT_MODULES:
            return ""
        return f"it calls {getattr(f, '__qualname__', f)!s}, which may round"

    def function(self, f: types.FunctionType) -> str:
        if id(f) in self.seen:
            return ""
        self.seen.add(id(f))
        cells = {
            name: cell.cell_contents
            for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True)
        }
        known = {**vars(builtins), **f.__globals__, **cells}
        for default in (*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values()):
            if not exact_value(default):
                return f"it has the default {default!r}"
        return self.code(f.__code__, known)

    def code(self, code: types.CodeType, known: dict[str, Any]) -> str:
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                found = self.code(constant, known)
                if found:
                    return found
            elif not exact_value(constant) and constant is not Ellipsis:
                return f"it has the constant {constant!r}"
        for name in code.co_names:
            if name.startswith("__") or name in ("real", "imag", "conjugate", "from_float"):
                return f"it uses {name}"
        steps = list(dis.get_instructions(code))
        for i, step in enumerate(steps):
            if step.opname == "BINARY_OP" and step.argrepr in ("/", "/=", "**", "**="):
                return f"it uses {step.argrepr}, which makes floats of integers"
            if step.opname in ("IMPORT_NAME", "STORE_GLOBAL"):
                return f"it imports or sets {step.argval}"
            if step.opname in ("LOAD_GLOBAL", "LOAD_DEREF", "LOAD_NAME", "LOAD_CLASSDEREF"):
                found = self.name(step.argval, known, steps[i + 1] if i + 1 < len(steps) else None)
                if found:
                    return found
        return ""

    def name(self, name: str, known: dict[str, Any], after: Any) -> str:
        if name not in known:
            return ""  # a local of the function around it
        value = known[name]
        if isinstance(value, types.ModuleType):
            if after is None or after.opname not in ("LOAD_ATTR", "LOAD_METHOD"):
                return f"it uses the module {name}"
            return self.callable(getattr(value, after.argval, None))
        if callable(value):
            return self.callable(value)
        return "" if exact_value(value) else f"it uses {name}, which is {type(value).__name__}"

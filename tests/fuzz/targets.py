"""What can be called in a package, and a right call of each."""

import dataclasses
import functools
import importlib
import inspect
import typing

import valid
from flax import nnx


@dataclasses.dataclass
class Target:
    """One function or constructor: `call(**arguments)`.

    **Fields:** `arguments`: what makes a right value of each; `types`: their annotations.
    """

    package: str
    name: str
    call: typing.Callable
    arguments: dict[str, typing.Callable]
    types: dict[str, typing.Any] = dataclasses.field(default_factory=dict)

    def right(self) -> dict[str, typing.Any]:
        """Return right arguments, made anew."""
        return {name: make() for name, make in self.arguments.items()}


def targets(package: str):
    """Yield everything that can be called in a package: each definition once."""
    seen = set()
    for name, found in public(package):
        if not inspect.isclass(found):
            if callable(found):
                yield target(package, name, found, found)
            continue
        if not is_record(found) and not inspect.isabstract(found):
            yield target(package, name, found, found)
        for method, function in inspect.getmembers(found, callable):
            module = str(getattr(function, "__module__", ""))
            if (method.startswith("_") and method != "__call__") or found not in valid.INSTANCES:
                continue
            if not module.startswith("theorykit") or {method, f"{name}.{method}"} & valid.HOOKS:
                continue
            if function.__qualname__ not in seen:
                seen.add(function.__qualname__)
                bound = lambda found=found, method=method: getattr(valid.INSTANCES[found](), method)
                yield target(
                    package,
                    f"{name}.{method}",
                    lambda b=bound, **arguments: invoke(b(), arguments),
                    bound(),
                )


def public(package: str):
    """Yield name and object of what a package exports."""
    module = importlib.import_module(f"theorykit.{package}")
    for name in getattr(module, "__all__", None) or vars(module) | getattr(module, "_LATER", {}):
        found = getattr(module, name)
        if inspect.ismodule(found) and found.__name__.endswith(f"._{name}"):  # a room of its own
            inside = inspect.getmembers(found, inspect.isfunction)
            yield from ((n, f) for n, f in inside if f.__module__ == found.__name__ and n[0] != "_")
        else:
            home = str(getattr(found, "__module__", ""))
            wide = hasattr(module, "__path__") or hasattr(module, "__all__")
            own = home.startswith("theorykit" if wide else module.__name__)
            if own and not name.startswith("_"):
                yield name, found


def is_record(cls: type) -> bool:
    """Return whether a class is fields only, with a constructor that Python wrote."""
    made = dataclasses.is_dataclass(cls) and not hasattr(cls, "__post_init__")
    return (
        issubclass(cls, tuple | BaseException)
        or (made and "__init__" in vars(cls))
        or (cls.__init__ is object.__init__)
    )


def target(package: str, name: str, call, signed) -> Target:
    """Return a target with an example for every argument."""
    examples = valid.EXAMPLES[package]
    special = examples.get(f"{name}()", {})
    arguments, missing = {}, []
    if inspect.isclass(signed) and issubclass(signed, nnx.Module):
        signed = signed.__init__
    for p in inspect.signature(signed).parameters.values():
        if p.name == "self":
            continue
        if p.kind is p.VAR_KEYWORD:
            arguments |= special  # those among them that have no parameter of their own
        elif p.name in special:
            arguments[p.name] = special[p.name]
        elif p.default is not p.empty:
            arguments[p.name] = examples.get(f"{p.name}=", lambda p=p: p.default)
        elif p.name in examples:
            arguments[p.name] = examples[p.name]
        else:
            missing.append(p.name)
    if missing:
        call = functools.partial(lack, f"an example of {', '.join(missing)}")
    return Target(package, name, lambda **given: invoke(call, given), arguments, types_of(signed))


def lack(what: str, **_):
    """Say what `valid.py` lacks."""
    raise LookupError(f"{what} is not in tests/fuzz/valid.py")


def types_of(signed) -> dict[str, typing.Any]:
    """Return the annotations of a function, or of a class's constructor; none if one is broken."""
    try:
        return typing.get_type_hints(signed.__init__ if inspect.isclass(signed) else signed)
    except (NameError, TypeError, AttributeError):
        return {}


def invoke(function, arguments: dict):
    """Call with keywords, or by position what has none."""
    if inspect.isclass(function):
        return function(**arguments)
    first = []
    parameters = inspect.signature(function).parameters.values()
    several = any(p.kind is p.VAR_POSITIONAL and p.name in arguments for p in parameters)
    for p in parameters:
        if p.name not in arguments:
            continue
        if p.kind is p.VAR_POSITIONAL:
            given = arguments.pop(p.name)
            first += given if isinstance(given, tuple | list) else [given]
        elif p.kind is p.POSITIONAL_ONLY or (several and p.kind is p.POSITIONAL_OR_KEYWORD):
            first.append(arguments.pop(p.name))
    return function(*first, **arguments)

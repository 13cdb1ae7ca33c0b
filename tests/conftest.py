"""Holds every function against the shapes in its annotations, while tests run.

A function whose annotations hold jaxtyping types is called first. What it raises stands: many
functions refuse a wrong shape with a sentence of their own. Once it has returned, its arguments
and its result are checked, one name of a dimension being one size throughout the call. What runs
under `jit`, `vmap` or `scan` is checked on the values that JAX traces it with. A dataclass is
checked when one is made. All other annotations are the type checker's.
"""

import ast
import dataclasses
import functools
import inspect
import os
import socket
import subprocess
import sys
import typing
from importlib.abc import MetaPathFinder
from importlib.machinery import PathFinder, SourceFileLoader

import jaxtyping
import pytest

try:
    import hypothesis

    # How long an example takes says how busy the machine is.
    hypothesis.settings.register_profile("untimed", deadline=None)
    hypothesis.settings.load_profile("untimed")
except ImportError:  # where only what users install is there
    pass

try:
    from beartype import BeartypeConf
    from beartype.door import is_bearable

    AS_MYPY = BeartypeConf(is_pep484_tower=True)  # an int is a float
except ImportError:  # where only what users install is there, as with the oldest JAX
    is_bearable = None

SCALARS = bool | int | float | complex | str


class ShapeError(AssertionError):
    """A value is not what its annotation says: a mistake in the package, which no test expects."""


def states_shapes(hint: object) -> bool:
    """Return whether a jaxtyping type stands somewhere in an annotation."""
    if isinstance(hint, type) and issubclass(hint, (jaxtyping.AbstractArray, jaxtyping.PyTree)):
        return True
    return any(map(states_shapes, hint if isinstance(hint, list) else typing.get_args(hint)))


def checked(function):
    """Return a function that checks its arguments and its result; itself if it states no shape."""
    hints = {n: h for n, h in function.__annotations__.items() if states_shapes(h)}
    if not hints:
        return function
    signature = inspect.signature(function)
    parameters = signature.parameters.values()
    several = {
        p.name: tuple if p.kind is p.VAR_POSITIONAL else dict.values
        for p in parameters
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    }

    def hold(*values):
        __tracebackhide__ = True
        named = dict(zip(["return", *signature.parameters], values, strict=True))
        for name, hint in hints.items():
            for value in several.get(name, lambda one: [one])(named[name]):
                if not is_bearable(value, hint, conf=AS_MYPY):
                    raise ShapeError(
                        f"{function.__module__}.{function.__qualname__}: `{name}` is not {hint}, "
                        f"but {_shown(value)}."
                    )

    # In the scope of `jaxtyped`, "{n}" is an argument in the name of a dimension.
    names = ("returned", *signature.parameters)
    hold.__signature__ = inspect.Signature(
        [inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY) for name in names]
    )
    hold = jaxtyping.jaxtyped(typechecker=None)(hold)

    # What was once found right is right for all arrays of the same shapes and dtypes.
    places = [(k, p.name, p.default) for k, p in enumerate(parameters) if p.name in hints]
    alike = not several and not any("{" in str(hint) for hint in hints.values())
    right = set()

    @functools.wraps(function)
    def call(*args, **kwargs):
        __tracebackhide__ = True
        result = function(*args, **kwargs)
        kinds = None
        if alike:
            given = [args[k] if k < len(args) else kwargs.get(n, d) for k, n, d in places]
            kinds = _kind((result, *given))
        if kinds is None or kinds not in right:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            hold(result, *bound.arguments.values())
            right.add(kinds)
        return result

    return call


def _kind(value):
    """Return what the check of a value depends on; None if that is more than can be compared."""
    if type(value) is tuple:
        kinds = tuple(map(_kind, value))
        return None if None in kinds else kinds
    if hasattr(value, "dtype"):
        return type(value), value.shape, value.dtype
    return type(value) if value is None or isinstance(value, SCALARS) else None


def _shown(value):
    shape = f" of {value.dtype}{list(value.shape)}" if hasattr(value, "dtype") else ""
    return f"{type(value).__name__}{shape}: {value!r:.200}"


def checked_fields(cls):
    """Return a class whose fields, if it is a dataclass, are checked when an instance is made."""
    if dataclasses.is_dataclass(cls) and "__init__" in vars(cls):
        cls.__init__ = checked(cls.__init__)
    return cls


class _Decorate(ast.NodeTransformer):
    """Decorates functions innermost, below `jit` and the like, and classes outermost."""

    def visit_FunctionDef(self, node):
        self.generic_visit(node)
        node.decorator_list.append(ast.copy_location(ast.Name("__checked__", ast.Load()), node))
        return node

    def visit_ClassDef(self, node):
        self.generic_visit(node)
        node.decorator_list.insert(0, ast.copy_location(ast.Name("__fields__", ast.Load()), node))
        return node


class _Loader(SourceFileLoader):
    def get_code(self, fullname):
        source = self.get_data(self.path)
        if b"jaxtyping" not in source:
            return super().get_code(fullname)  # from its cache
        return compile(_Decorate().visit(ast.parse(source)), self.path, "exec", dont_inherit=True)

    def exec_module(self, module):
        module.__checked__, module.__fields__ = checked, checked_fields
        super().exec_module(module)


class Finder(MetaPathFinder):
    """Finds the modules of a package as Python would, and has their functions checked."""

    def __init__(self, package: str):
        self.package = package

    def find_spec(self, fullname, path=None, target=None):
        if fullname.split(".")[0] != self.package:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


assert "theorykit" not in sys.modules, "theorykit was imported before its shapes could be checked"
if is_bearable is not None:
    sys.meta_path.insert(0, Finder("theorykit"))


@pytest.fixture
def shapes():
    """This module: pytest alone knows its name."""
    return sys.modules[__name__]


@pytest.fixture
def two_processes():
    """Run a command twice at once, each time with two CPU devices, and return what both print.

    It is given an address at which the two find each other, and its number, 0 or 1. They end with
    these `codes`.
    """
    running = []

    def run(command, timeout, codes=(0, 0)):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{free.getsockname()[1]}"
        flags = "--xla_backend_optimization_level=0 --xla_force_host_platform_device_count=2"
        env = os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
        pipes = dict(stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
        for number in ("0", "1"):
            running.append(subprocess.Popen([*command, address, number], **pipes))
        said = [process.communicate(timeout=timeout) for process in running]
        for process, (_, error), code in zip(running, said, codes, strict=True):
            assert process.returncode == code, error
        return [out for out, _ in said]

    yield run
    for process in running:
        process.kill()
        process.wait()


MOST_MAPPINGS = 20_000
"""Linux gives a process 65,530; a process that asks for more is ended, or a library in it fails."""


@pytest.fixture(autouse=True, scope="module")
def drops_what_it_compiled():
    """After each module: compiled programs take mappings of memory, a dozen each."""
    yield
    try:
        with open("/proc/self/maps") as file:
            many = sum(1 for _ in file) > MOST_MAPPINGS
    except OSError:  # not on every system
        return
    if many and "jax" in sys.modules:
        sys.modules["jax"].clear_caches()

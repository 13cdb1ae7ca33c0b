"""Calls everything public with one wrong argument at a time, and judges what comes of it.

`python tests/fuzz/harness.py [PACKAGE ...] [--most=20]` tries at most so many values an argument,
and prints the table and each fault. A process of its own, since the tests' checks of shapes would
speak before the functions do.
"""

import dataclasses
import dis
import importlib
import inspect
import os
import signal
import sys
import tempfile
import time
import typing
import warnings
import zlib
from collections import Counter
from pathlib import Path

os.environ["JAX_TRACEBACK_FILTERING"] = "off"
os.environ["XLA_FLAGS"] = "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"
sys.path.insert(0, str(Path(__file__).parents[2]))

import hypothesis
import jax
import numpy as np
import valid
import wrong
from flax import nnx

SECONDS = 10
HOUSE = tuple(str(Path(__file__).parents[2] / room) for room in ("theorykit", "kernels"))
TRACED = ("kernels",)  # packages whose functions are tried under `jit` as well


class TooSlow(BaseException):
    """The alarm; no `except Exception` stops it."""


@dataclasses.dataclass
class Target:
    """One function or constructor: `call(**arguments)`, and how its arguments are made."""

    package: str
    name: str
    call: typing.Callable
    arguments: dict[str, typing.Callable]


def public(package: str):
    """Yield name and object of what a package exports."""
    module = importlib.import_module(f"theorykit.{package}")
    for name in getattr(module, "__all__", None) or vars(module) | getattr(module, "_LATER", {}):
        found = getattr(module, name)
        if inspect.ismodule(found) and found.__name__.endswith(f"._{name}"):  # a room of its own
            inside = inspect.getmembers(found, inspect.isfunction)
            yield from ((n, f) for n, f in inside if f.__module__ == found.__name__ and n[0] != "_")
        elif not name.startswith("_") and str(getattr(found, "__module__", "")).startswith(
            "theorykit"
        ):
            yield name, found


def is_record(cls: type) -> bool:
    """Return whether a class is fields only, with a constructor that Python wrote."""
    made = dataclasses.is_dataclass(cls) and not hasattr(cls, "__post_init__")
    return (
        issubclass(cls, tuple | BaseException)
        or (made and "__init__" in vars(cls))
        or (cls.__init__ is object.__init__)
    )


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
            if not module.startswith("theorykit") or method in valid.HOOKS:
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


def invoke(function, arguments: dict):
    """Call with keywords, or by position what has none."""
    if inspect.isclass(function):
        return function(**arguments)
    parameters = inspect.signature(function).parameters.values()
    first = [
        arguments.pop(p.name)
        for p in parameters
        if p.kind is p.POSITIONAL_ONLY and p.name in arguments
    ]
    several = [p.name for p in parameters if p.kind is p.VAR_POSITIONAL and p.name in arguments]
    for given in map(arguments.pop, several):
        first += given if isinstance(given, tuple | list) else [given]
    for p in parameters:
        if p.kind is p.VAR_KEYWORD and isinstance(arguments.get(p.name), dict):
            arguments |= arguments.pop(p.name)
    return function(*first, **arguments)


def target(package: str, name: str, call, signed) -> Target:
    """Return a target with an example for every argument."""
    examples = valid.EXAMPLES[package]
    special = examples.get(f"{name}()", {})
    arguments = {}
    parameters = inspect.signature(
        signed.__init__ if inspect.isclass(signed) and issubclass(signed, nnx.Module) else signed
    ).parameters.values()
    for p in parameters:
        if p.name == "self":
            continue
        if p.name in special:
            arguments[p.name] = special[p.name]
        elif p.kind is p.VAR_KEYWORD:
            continue
        elif p.default is not p.empty:
            arguments[p.name] = examples.get(f"{p.name}=", lambda p=p: p.default)
        elif p.name in examples:
            arguments[p.name] = examples[p.name]
        else:
            raise LookupError(f"tests/fuzz/valid.py: {package}.{name} lacks an example of {p.name}")
    return Target(package, name, lambda **given: invoke(call, given), arguments)


def numbers(value, depth: int = 6):
    """Yield all numbers inside a value, as arrays."""
    if depth == 0 or value is None or isinstance(value, str | bytes | type):
        return
    if isinstance(value, jax.Array | np.ndarray | np.generic | bool | int | float | complex):
        if not (isinstance(value, jax.Array) and value.dtype.name.startswith("key")):
            yield np.asarray(value)
    elif isinstance(value, dict):
        for part in value.values():
            yield from numbers(part, depth - 1)
    elif isinstance(value, tuple | list | set | frozenset):
        for part in value:
            yield from numbers(part, depth - 1)
    elif isinstance(value, nnx.Module):
        for leaf in jax.tree.leaves(nnx.state(value)):
            yield from numbers(leaf, depth - 1)
        yield from numbers(vars(value), depth - 1)
    elif hasattr(value, "__dict__"):
        yield from numbers(vars(value), depth - 1)


def holds(value, test) -> bool:
    """Return whether a number inside a value passes a test."""
    found = False
    for array in numbers(value):
        if array.dtype == object:
            found |= array.ndim > 0 and any(holds(v, test) for v in array.ravel().tolist())
        elif array.dtype.kind in "fc" or array.dtype.name == "bfloat16":
            found |= bool(test(array).any())
    return found


is_nan = lambda value: holds(value, np.isnan)
imaginary = lambda value: holds(value, lambda a: np.imag(a) != 0)


def same(a, b) -> bool:
    """Return whether two results hold the same numbers, of which some are not whole."""
    a, b = list(numbers(a)), list(numbers(b))
    close = len(a) == len(b) and all(
        x.shape == y.shape and np.array_equal(x, y) for x, y in zip(a, b, strict=True)
    )
    return close and any(x.dtype.kind in "fc" for x in a)


def refusal(error: BaseException) -> str | None:
    """Return None if the project raised this itself and as it should, else what happened."""
    frames, trace = [], error.__traceback__
    while trace is not None:
        frames.append(trace)
        trace = trace.tb_next
    last = frames[-1]
    code = last.tb_frame.f_code
    ours = code.co_filename.startswith(HOUSE)
    op = dis.opname[code.co_code[last.tb_lasti]]
    if isinstance(error, OSError) and error.filename is not None:
        return None  # the file system's own answer, which names the file
    written = isinstance(error, ValueError) or type(error).__module__.startswith("theorykit")
    if ours and op == "RAISE_VARARGS" and written:
        return None
    near = next(
        (f for f in reversed(frames) if f.tb_frame.f_code.co_filename.startswith(HOUSE)), last
    )
    where = f"{Path(near.tb_frame.f_code.co_filename).name}:{near.tb_lineno}"
    return f"{type(error).__name__} at {where}: {' '.join(str(error).split())[:110]}"


def limited(call, seconds: float | None = None):
    """Return what a call returns within its time, of the processor's seconds.

    **Raises:** what it raises, or `TooSlow`.
    """

    def ring(*_):
        raise TooSlow

    signal.signal(signal.SIGPROF, ring)
    most = SECONDS if seconds is None else seconds
    signal.setitimer(signal.ITIMER_PROF, most, 0.5)  # again and again: some callbacks swallow one
    try:
        return call()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def judged(one: Target, name: str, make, right) -> tuple[str, str] | None:
    """Return the kind of fault and what happened, if the wrong argument leads to one."""
    given = {n: example() for n, example in one.arguments.items()}
    try:
        given[name] = make()
    except Exception:
        return None  # it refuses to exist: its constructor is judged elsewhere
    shown = f"{one.package}.{one.name}({name}={describe(given[name])})"
    nan, odd = is_nan(given[name]), imaginary(given[name])
    try:
        result = limited(lambda: one.call(**given))
    except TooSlow:
        return "slow", shown
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        found = refusal(error)
        return found and ("raw", f"{shown}: {found}")
    lost = (nan and not is_nan(result)) or (odd and not imaginary(result))
    if lost and list(numbers(result)) and not same(result, right):
        return "silent", f"{shown} -> {describe(result)}"
    return None


def describe(value) -> str:
    """Return a value in a few words."""
    if isinstance(value, np.ndarray) and value.ndim:
        value = f"{value.dtype}{list(value.shape)} {value.ravel()[:3]}"
    return " ".join(repr(value).split())[:90]


def traced(one: Target, faults: list) -> int:
    """Try NaN in each array under `jit`; return how many were tried."""
    tried = 0
    for name, example in one.arguments.items():
        value = example()
        if not hasattr(value, "dtype") or str(value.dtype)[:5] != "float":
            continue
        fixed = {n: e() for n, e in one.arguments.items() if n != name}
        run = jax.jit(
            lambda v, name=name, fixed=fixed: jax.tree.leaves(one.call(**fixed, **{name: v}))
        )
        try:
            limited(lambda run=run, value=value: run(jax.numpy.asarray(value)), 60)
        except Exception:
            continue  # not traceable in this argument
        for at in range(0, max(1, value.size), max(1, value.size // 3)):
            tried += 1
            if not is_nan(run(jax.numpy.asarray(wrong.poked(value, np.nan, at), value.dtype))):
                faults.append(("silent", f"jit: {one.package}.{one.name}({name}: NaN at {at})"))
    return tried


def spoil(one: Target, name: str, right, most: int) -> tuple[int, list[tuple[str, str]]]:
    """Return how many wrong values of one argument were tried, and the faults."""
    tried, faults = set(), []

    @hypothesis.seed(zlib.crc32(f"{one.package}.{one.name}.{name}".encode()))
    @hypothesis.settings(
        max_examples=most, database=None, deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck), phases=[hypothesis.Phase.generate],
    )  # fmt: skip
    @hypothesis.given(wrong.wrong(one.arguments[name]))
    def attempt(make):
        if make not in tried:
            tried.add(make)
            fault = judged(one, name, make, right)
            if fault is not None and not valid.allowed(*fault):
                faults.append(fault)
                print(f"{fault[0]:8}{fault[1]}", flush=True)

    attempt()
    return len(tried), faults


def fuzz(package: str, most: int, chosen: str = "") -> tuple[Counter, list[tuple[str, str]]]:
    """Return counts, and the faults of a package."""
    counts, faults = Counter(), []
    for one in targets(package):
        if chosen and chosen not in one.name:
            continue
        counts["functions"] += 1
        begun = time.monotonic()
        try:
            right = limited(
                lambda one=one: one.call(**{n: e() for n, e in one.arguments.items()}), 60
            )
        except (Exception, TooSlow) as error:
            faults.append(("example", f"{package}.{one.name}: {error!r:.300}"))
            continue
        for name in one.arguments:
            tried, found = spoil(one, name, right, most)
            counts["inputs"] += tried
            faults += found
        if package in TRACED:
            counts["inputs"] += traced(one, faults)
        if os.environ.get("FUZZ_TIMES"):
            print(f"{time.monotonic() - begun:6.1f} s {package}.{one.name}", file=sys.stderr)
    counts.update(kind for kind, _ in faults)
    return counts, faults


def main(arguments: list[str]) -> int:
    """Print the table; return 1 if there are faults."""
    warnings.simplefilter("ignore")
    warnings.simplefilter("error", np.exceptions.ComplexWarning)
    packages = [a for a in arguments if not a.startswith("-")] or list(valid.EXAMPLES)
    most = int(next((a.removeprefix("--most=") for a in arguments if "--most=" in a), "20"))
    os.chdir(tempfile.mkdtemp())  # for what is told to write to the file "x"
    columns = ("functions", "inputs", "raw", "silent", "slow", "example")
    rows, all_faults = [], []
    for each in packages:
        package, _, chosen = each.partition(".")
        begun = time.monotonic()
        counts, faults = fuzz(package, most, chosen)
        rows.append((each, counts, time.monotonic() - begun))
        all_faults += faults
    for kind, what in all_faults:
        if kind == "example" or what.startswith("jit"):
            print(f"{kind:8}{what}")
    print(f"\n{'package':16}" + "".join(f"{c:>11}" for c in columns) + f"{'seconds':>11}")
    for package, counts, seconds in rows:
        print(f"{package:16}" + "".join(f"{counts[c]:11}" for c in columns) + f"{seconds:11.0f}")
    total = sum((c for _, c, _ in rows), Counter())
    print(f"{'all':16}" + "".join(f"{total[c]:11}" for c in columns))
    return 1 if all_faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

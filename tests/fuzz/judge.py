"""What comes of a call with one wrong argument: a sentence, an answer, or a fault."""

import dis
import signal
import types
import warnings
from pathlib import Path

import jax
import numpy as np
from beartype import BeartypeConf
from beartype.door import is_bearable
from flax import nnx
from flint import acb, arb
from targets import Target

SECONDS = 10
HOUSE = tuple(str(Path(__file__).parents[2] / room) for room in ("theorykit", "kernels"))

FAULTS = ("raw", "silent", "slow")


class TooSlow(BaseException):
    """The alarm; no `except Exception` stops it."""


def judged(one: Target, name: str, make, right) -> tuple[str, str]:
    """Return what a wrong argument leads to, and how it is written.

    **Returns:** one of

    - "unmade": it refuses to exist; its own constructor is judged elsewhere.
    - "sentence": the project refuses it, and says so itself.
    - "answer": a result. NaN stays NaN there, and nothing that was wrong is taken for a number.
    - "raw": an exception that the project did not write.
    - "silent": a number, though NaN went in, an imaginary part, or what the type excludes.
    - "slow": nothing within `SECONDS`.
    """
    given = one.right()
    try:
        given[name] = make()
    except Exception:
        return "unmade", ""
    shown = f"{one.package}.{one.name}({name}={describe(given[name])})"
    nan, odd = is_nan(given[name]), imaginary(given[name])
    strange = excluded(given[name], one.arguments[name](), one.types.get(name))
    try:
        result = limited(lambda: one.call(**given))
    except TooSlow:
        return "slow", shown
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        found = refusal(error)
        return ("raw", f"{shown}: {found}") if found else ("sentence", f"{shown}: {error}")
    lost = (nan and not is_nan(result)) or (odd and not imaginary(result))
    wrong = strange or (lost and not same(result, right))
    return "silent" if wrong and list(
        numbers(result)
    ) else "answer", f"{shown} -> {describe(result)}"


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


# Numbers in a result -----------------------------------------------------------------------


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
            kinds = float | complex | arb | acb
            parts = [complex(acb(v)) for v in array.ravel().tolist() if isinstance(v, kinds)]
            found |= bool(test(np.array(parts)).any())
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


# Types -------------------------------------------------------------------------------------

ALIEN = (str, bytes, type(None), type, dict, types.GeneratorType)
"""What is no number, and stands for none."""


def excluded(given, example, annotation) -> bool:
    """Return whether a value holds what its type rules out, and its example lacks."""
    if not aliens(given) - aliens(example):
        return False
    tower = BeartypeConf(is_pep484_tower=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of types that beartype looks at on the surface only
        # It looks at one entry of a list, drawn at random.
        return annotation is not None and not all(
            is_bearable(given, annotation, conf=tower) for _ in range(30)
        )


def aliens(value) -> set[type]:
    """Return the kinds of things other than numbers that a value is, or has in its lists."""
    if isinstance(value, jax.Array | np.ndarray | np.generic):
        if jax.numpy.issubdtype(value.dtype, np.floating):
            return {float} if (np.asarray(value) % 1 != 0).any() else set()
        return {str} if jax.numpy.issubdtype(value.dtype, np.character) else set()
    found = {kind for kind in ALIEN if isinstance(value, kind)}
    if type(value) is object:
        found.add(object)
    if isinstance(value, float) and not value.is_integer():
        found.add(float)  # no whole number
    if isinstance(value, tuple | list):
        found = found.union(*map(aliens, value))
    return found


def describe(value) -> str:
    """Return a value in a few words."""
    if isinstance(value, np.ndarray) and value.ndim:
        value = f"{value.dtype}{list(value.shape)} {value.ravel()[:3]}"
    return " ".join(repr(value).split())[:90]

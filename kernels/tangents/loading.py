"""Imports neural-tangents 0.6.5 on a JAX it was never released for, and leaves JAX as it was.

How it works. neural-tangents uses names that JAX has since moved or dropped. Its modules are read
from their own unchanged files, but run with an `import` of their own: where they ask for one of
the few modules in `_views`, they get a view of it that has the old names and passes every other
name through. The view lives in the globals of neural-tangents' modules only, so a name that it
looks up as late as in a call is found too, and nobody else ever sees it. Three functions that use
the internals of JAX's differentiation and compilation are replaced by ones that do not, and
`nt.predict.gradient_descent_mse` is wrapped so that it takes traced kernels again.

After this import `import neural_tangents` gives the same, working package. A copy that somebody
else managed to import before stays where it is, and `tangents.nt` is then a second one beside it;
the leftovers of a failed import are cleared away.
"""

import builtins
import contextlib
import functools
import importlib
import importlib.metadata
import math
import re
import sys
import types
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy
import numpy as np

if TYPE_CHECKING:
    import neural_tangents as nt
    from neural_tangents import stax

__all__ = ["SUPPORTED", "UnsupportedVersion", "nt", "stax"]

SUPPORTED = ">=0.8,<0.11"
"""The JAX versions on which this module is tested, at both ends."""

_LOWEST, _BEYOND = (0, 8), (0, 11)
_RELEASE = "0.6.5"
_ROOT = "neural_tangents"
_STAGED = ContextVar("_STAGED", default=False)


class UnsupportedVersion(ImportError):
    """The installed JAX or neural-tangents is not one that this module works on."""


def _check_versions(jax_version: str, nt_version: str | None) -> None:
    """Raise `UnsupportedVersion`, in one sentence, unless both versions are supported."""
    found = tuple(int(n) for n in re.findall(r"\d+", jax_version)[:2])
    if not _LOWEST <= found < _BEYOND:
        raise UnsupportedVersion(
            f"theorykit.kernels.tangents supports jax {SUPPORTED}, but jax {jax_version} is"
            " installed; install a supported one."
        )
    if nt_version != _RELEASE:
        there = "none" if nt_version is None else nt_version
        raise UnsupportedVersion(
            f"theorykit.kernels.tangents needs neural-tangents {_RELEASE}, but {there} is "
            "installed; pip install 'theorykit[tangents]', or without tensorflow as "
            "docs/install.md says."
        )


class _View(types.ModuleType):
    """A module with some names of its own, and all other names of a real one."""

    def __init__(self, real: types.ModuleType | None, name: str, **names: Any):
        super().__init__(name)
        self.__dict__.update(names, _real=real)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_real"], name)


class _DShapedArray:
    """The type of shapes with symbols in them: JAX has given them up, so nothing has it."""


def _safe_map(f: Callable, *args: Iterable) -> list:
    return [f(*each) for each in zip(*map(list, args), strict=True)]


def _safe_zip(*args: Iterable) -> list:
    return list(zip(*args, strict=True))


# Both are asked of things that have the attribute; JAX's own insist on arrays, or on a dtype.
def _size(a: Any, axis: int | None = None) -> int:
    shape = np.shape(a)
    return math.prod(shape) if axis is None else shape[axis]


def _dtype(a: Any) -> np.dtype:
    return jax.numpy.dtype(getattr(a, "dtype", a))


def _eigvalsh(a: Any, *, eigvals: tuple[int, int] | None = None, **options: Any) -> Any:
    import scipy.linalg

    return scipy.linalg.eigvalsh(a, subset_by_index=eigvals, **options)


def _eval_context() -> contextlib.AbstractContextManager:
    return contextlib.nullcontext() if _STAGED.get() else jax.core.eval_context()


def _views() -> dict[str, _View]:
    """What neural-tangents gets to see in place of the modules of these names."""
    import jax.extend.core as extend
    import jax.interpreters.ad
    import scipy.linalg

    core = _View(
        jax.core,
        "jax.core",
        DShapedArray=_DShapedArray,
        Jaxpr=extend.Jaxpr,
        JaxprEqn=extend.JaxprEqn,
        Literal=extend.Literal,
        Primitive=extend.Primitive,
        Var=extend.Var,
        eval_context=_eval_context,
    )
    ad = _View(
        jax.interpreters.ad,
        "jax.interpreters.ad",
        # Neither is of use here: one names stretches of the compiled program, the other
        # switches on assertions about types that JAX no longer has.
        source_info_util=types.SimpleNamespace(
            transform_name_stack=lambda _: contextlib.nullcontext()
        ),
        config=types.SimpleNamespace(jax_enable_checks=False),
        # Only a key in a table of rules: JAX does not emit this primitive any more.
        zeros_like_p=extend.Primitive("zeros_like"),
    )
    numpy = _View(jax.numpy, "jax.numpy", size=_size, dtype=_dtype)
    interpreters = _View(jax.interpreters, "jax.interpreters", ad=ad)
    util = _View(None, "jax.util", safe_map=_safe_map, safe_zip=_safe_zip)
    linalg = _View(scipy.linalg, "scipy.linalg", eigvalsh=_eigvalsh)
    views = [
        _View(jax, "jax", core=core, interpreters=interpreters, numpy=numpy, util=util),
        _View(scipy, "scipy", linalg=linalg),
        *(core, interpreters, ad, numpy, util, linalg),
    ]
    return {view.__name__: view for view in views}


def _importer(views: dict[str, _View]) -> Callable:
    """`__import__` for neural-tangents' modules."""

    def import_(
        name: str,
        globals: Any = None,
        locals: Any = None,
        fromlist: tuple[str, ...] | None = (),
        level: int = 0,
    ) -> Any:
        # As with the real one: `import a.b` gives `a`, `from a.b import c` gives `a.b`.
        wanted = name if fromlist else name.partition(".")[0]
        if level or wanted not in views:
            return builtins.__import__(name, globals, locals, fromlist or (), level)
        if name not in views:
            importlib.import_module(name)
        return views[wanted]

    return import_


class _Finder:
    """Finds neural-tangents' modules where they are, and has them run with their own `import`."""

    def __init__(self) -> None:
        self.builtins = {**vars(builtins), "__import__": _importer(_views())}

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name.partition(".")[0] != _ROOT:
            return None
        spec = PathFinder.find_spec(name, path)
        if spec is None or spec.origin is None:
            return None
        spec.loader = _Loader(name, spec.origin)
        spec.loader.builtins = self.builtins
        return spec


class _Loader(SourceFileLoader):
    builtins: dict[str, Any]

    def exec_module(self, module: types.ModuleType) -> None:
        # `exec` keeps builtins that are there already; every function defined in it has them.
        module.__dict__["__builtins__"] = self.builtins
        super().exec_module(module)


def _repair_empirical(empirical: Any) -> None:
    """Put public JAX under the structured-derivatives NTK, in place of what JAX changed."""
    ad = empirical.ad

    def primals_out_and_pullback(
        fn: Callable, mode: Any, _j_rules: bool, _s_rules: bool, _fwd: bool | None, *primals: Any
    ) -> tuple[Any, Callable]:
        # The rules know primitives, not calls: without jit the linear map is one flat list.
        with jax.disable_jit():
            out, pushforward = jax.linearize(fn, *primals)
            linear = jax.make_jaxpr(pushforward)(*primals)
        unknown = [ad.UndefinedPrimal(v.aval) for v in linear.jaxpr.invars]

        def pullback(*cotangents: Any) -> Any:
            collected = empirical._backward_pass(
                linear.jaxpr,
                mode=mode,
                consts=linear.consts,
                primals_in=unknown,
                cotangents_in=tuple(jax.tree.leaves(cotangents)),
                _j_rules=_j_rules,
                _s_rules=_s_rules,
                _fwd=_fwd,
            )
            return jax.tree.unflatten(jax.tree.structure(primals), collected)

        return out, pullback

    def eqn_vjp(eqn: Any, cotangent: Any, *invals: Any) -> Any:
        if eqn is None:  # the identity
            return (cotangent,)
        return ad.get_primitive_transpose(eqn.primitive)(cotangent, *invals, **eqn.params)

    def flops(f: Callable, optimize: bool, *args: Any, **options: Any) -> float:
        lowered = jax.jit(f).lower(*args, **options)
        cost: Any = (lowered.compile() if optimize else lowered).cost_analysis()
        return (cost[0] if isinstance(cost, list) else cost)["flops"]

    empirical._get_flops = flops
    empirical._get_primals_out_and_pullback = primals_out_and_pullback
    empirical._eqn_vjp_fn = eqn_vjp


def _repair_predict(predict: Any) -> None:
    """Let a predictor be made from traced kernels again."""
    original = predict.gradient_descent_mse

    @functools.wraps(original)
    def gradient_descent_mse(*args: Any, **options: Any) -> Callable:
        predict_fn = original(*args, **options)
        leaves = jax.tree.leaves((args, options))
        if not any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
            return predict_fn

        # What a predictor keeps between its calls it computes in an `eval_context`, so that it
        # outlives a trace. JAX used to let tracers through that context; now they must avoid it.
        @functools.wraps(predict_fn)
        def staged(*args: Any, **options: Any) -> Any:
            token = _STAGED.set(True)
            try:
                return predict_fn(*args, **options)
            finally:
                _STAGED.reset(token)

        return staged

    predict.gradient_descent_mse = gradient_descent_mse


def _load() -> types.ModuleType:
    """Import neural-tangents, repaired, or return the copy that an earlier call imported."""
    ours = sys.modules.get(_ROOT)
    if hasattr(ours, "_repaired_by_theorykit"):
        return ours  # type: ignore[return-value]

    def take_out() -> dict[str, types.ModuleType]:
        names = [name for name in sys.modules if name.partition(".")[0] == _ROOT]
        return {name: sys.modules.pop(name) for name in names}

    others = take_out()
    finder = _Finder()
    experimental = f"{_ROOT}.experimental"
    sys.modules[experimental] = types.ModuleType(experimental, "Left out: it needs tensorflow.")
    sys.meta_path.insert(0, finder)
    try:
        package = importlib.import_module(_ROOT)
        _repair_empirical(importlib.import_module(f"{_ROOT}._src.empirical"))
        _repair_predict(package.predict)
    except BaseException:
        take_out()
        sys.modules.update(others)
        raise
    finally:
        sys.meta_path.remove(finder)
    package.__dict__["_repaired_by_theorykit"] = True
    if _ROOT in others:
        take_out()
        sys.modules.update(others)
    return package


def _installed(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


_check_versions(jax.__version__, _installed("neural-tangents"))
if not TYPE_CHECKING:
    nt = _load()
    stax = nt.stax

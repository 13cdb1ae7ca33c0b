"""What the tests themselves check: the shapes that functions state."""

import importlib
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

SOURCE = """
import dataclasses

import jax
from jaxtyping import Array, Float, Int, PyTree


def product(A: Float[Array, "rows inner"], B: Float[Array, "inner columns"]) -> Float[
    Array, "rows columns"
]:
    if A.ndim != 2:
        raise ValueError("A has two axes.")
    return A @ B if A.shape[1] == B.shape[0] else A @ B.T


def transposed(A: Float[Array, "rows columns"]) -> Float[Array, "rows columns"]:
    return A.T


@jax.jit
def compiled(x: Float[Array, " n"], *more: Float[Array, " n"]) -> Float[Array, ""]:
    return x.sum() + sum(m[:1].sum() for m in more)


def optional(x: Float[Array, " n"] | None, names: list[str], **other: Int[Array, ""]) -> None:
    pass


def filled(n: int, step: int = 1) -> Float[Array, "{n} {n}+{step}"]:
    return jax.numpy.ones((n, n + 1))


def nested(tree: PyTree[Float[Array, "*_"]], pair: tuple[Float[Array, " n"], float]) -> int:
    return 3


@dataclasses.dataclass(frozen=True)
class Line:
    slope: Float[Array, " n"]
    offset: Float[Array, " n"]

    def __call__(self, x: Float[Array, " n"]) -> Float[Array, " n"]:
        def inner(x: Float[Array, ""]) -> Float[Array, ""]:
            return x[None]

        return inner(x.sum())
"""


@pytest.fixture
def stated(shapes, tmp_path, monkeypatch):
    """A package with the source above, imported as the tests import theorykit."""
    (tmp_path / "stated").mkdir()
    (tmp_path / "stated" / "__init__.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", [shapes.Finder("stated"), *sys.meta_path])
    yield importlib.import_module("stated")
    del sys.modules["stated"]


A, B, x = jnp.ones((2, 3)), jnp.ones((3, 4)), jnp.ones(3)


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.product(A, B),
        lambda m: jax.vmap(m.product)(A[None], B[None]),
        lambda m: m.transposed(B[:, :3]),
        lambda m: m.compiled(x, x, x),
        lambda m: m.optional(None, [1]),
        lambda m: m.optional(x, [], more=jnp.array(1)),
        lambda m: m.filled(3),
        lambda m: m.nested({"a": x, "b": [A, B]}, (x, 3)),
        lambda m: m.Line(x, x),
    ],
)
def test_what_is_as_stated_passes(stated, call):
    call(stated)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("product: `B`", lambda m: m.product(A, B.T)),
        ("product: `A`", lambda m: m.product(A.astype(int), B)),
        ("product: `A`", lambda m: m.product(np.ones((2, 3)), B)),
        ("product: `B`", lambda m: jax.vmap(m.product)(A[None], B.T[None])),
        ("product: `B`", lambda m: jax.jit(m.product)(A, B.T)),
        ("transposed: `return`", lambda m: m.transposed(A)),
        ("compiled: `more`", lambda m: m.compiled(x, x, x[:2])),
        ("optional: `x`", lambda m: m.optional(A, [])),
        ("optional: `other`", lambda m: m.optional(x, [], more=x)),
        ("filled: `return`", lambda m: m.filled(3, step=2)),
        ("nested: `tree`", lambda m: m.nested({"a": x, "b": [A, 1]}, (x, 3))),
        ("nested: `pair`", lambda m: m.nested({"a": x}, (A, 3))),
        ("Line.__init__: `offset`", lambda m: m.Line(x, x[:2])),
        ("inner: `return`", lambda m: m.Line(x, x)(x)),
    ],
)
def test_what_is_not_as_stated_fails(shapes, stated, name, call):
    with pytest.raises(shapes.ShapeError, match=name):
        call(stated)


def test_a_refusal_of_the_function_itself_comes_first(stated):
    with pytest.raises(ValueError, match="A has two axes"):
        stated.product(x, B)


def test_the_package_is_checked(shapes):
    import theorykit.kernels.activations
    import theorykit.proofs_numeric.capture
    import theorykit.subjects.crasp

    for module in (theorykit.kernels, theorykit.proofs_numeric.capture, theorykit.subjects.crasp):
        assert type(module.__loader__) is shapes._Loader

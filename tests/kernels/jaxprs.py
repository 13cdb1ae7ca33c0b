"""Jaxprs: which of their products state no precision, and what one would cost that states none."""

from contextlib import contextmanager

import jax
import jax.numpy as jnp
from jax._src.lax.convolution import conv_general_dilated_p
from jax._src.lax.lax import dot_general_p

PRODUCTS = {p.name: p for p in (dot_general_p, conv_general_dilated_p)}
CALLS = ("pjit", "jit", "custom_jvp_call", "custom_vjp_call", "closed_call")
is_program = lambda value: hasattr(value, "eqns") or hasattr(value, "jaxpr")


def equations(jaxpr):
    """Yield the equations of a jaxpr and of those inside it, of any primitive whatever."""
    for equation in getattr(jaxpr, "jaxpr", jaxpr).eqns:
        yield equation
        for value in jax.tree.leaves(list(equation.params.values()), is_leaf=is_program):
            if is_program(value):
                yield from equations(value)


def full(precision, dtype):
    """Whether a product of a dtype has the full precision of it."""
    stated = precision if isinstance(precision, tuple) else (precision,) * 2
    return not jnp.issubdtype(dtype, jnp.floating) or stated == (jax.lax.Precision.HIGHEST,) * 2


def products(jaxpr):
    """Return the products of a jaxpr, and those of them that are not of full precision."""
    found = [e for e in equations(jaxpr) if e.primitive.name in PRODUCTS]
    poor = [e for e in found if not full(e.params["precision"], e.outvars[0].aval.dtype)]
    return found, poor


@contextmanager
def watched(patch):
    """Note each product that is traced or computed: its precision and its dtype."""
    seen = []
    with patch.context() as here:
        for primitive in PRODUCTS.values():

            def bind(*args, bind=primitive.bind, **params):
                seen.append((params["precision"], jnp.result_type(args[0])))
                return bind(*args, **params)

            here.setattr(primitive, "bind", bind)
        yield seen


def evaluate(closed, *arguments, rounding=True):
    """Evaluate a jaxpr, with operands of products that state no precision rounded to bfloat16."""
    values = {}
    read = lambda v: v.val if hasattr(v, "val") else values[v]
    values.update(zip(closed.jaxpr.constvars, closed.consts, strict=True))
    values.update(zip(closed.jaxpr.invars, arguments, strict=True))
    for equation in closed.jaxpr.eqns:
        given, params = [read(v) for v in equation.invars], dict(equation.params)
        name = equation.primitive.name
        if name in CALLS:
            inside = next(v for v in params.values() if hasattr(v, "consts"))
            found = evaluate(inside, *given, rounding=rounding)
        else:
            if rounding and name in PRODUCTS and not full(params["precision"], given[0].dtype):
                given = [a.astype("bfloat16").astype(a.dtype) for a in given]
            params = jax.tree.map(
                lambda v: _rewritten(v, rounding) if hasattr(v, "consts") else v,
                params,
                is_leaf=is_program,
            )
            bound = equation.primitive.get_bind_params(params)
            functions, params = bound if isinstance(bound, tuple) else ((), bound)  # before 0.10
            found = equation.primitive.bind(*functions, *given, **params)
            found = found if equation.primitive.multiple_results else [found]
        values.update(zip(equation.outvars, found, strict=True))
    return [read(v) for v in closed.jaxpr.outvars]


def _rewritten(closed, rounding):
    """Return the body of a loop or a branch, as `evaluate` evaluates it."""
    like = lambda v: jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype, weak_type=v.aval.weak_type)
    body = lambda *args: evaluate(closed, *args, rounding=rounding)
    return jax.make_jaxpr(body)(*map(like, closed.jaxpr.invars))

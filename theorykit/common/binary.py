"""Powers of 2 and leading digits of floats, used to avoid rounding.

They are JAX primitives, because real numbers have neither: in ball arithmetic any power of 2 will
do, and all digits are leading (`theorykit.certify`).
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir
from jaxtyping import Array, Float


def halving(
    k: Float[Array, "*shape"],
) -> tuple[Float[Array, "*shape"], Float[Array, "*shape"]]:
    """Return a power of 2 near `1 / sqrt(k)` and its inverse; products with both are exact."""
    return power_p.bind(k, up=False), power_p.bind(k, up=True)


def leading(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Return the first half of the digits of each number; products of two of these are exact."""
    return leading_p.bind(x)


def _bits(x: Array) -> Array:
    return jax.lax.bitcast_convert_type(x, jnp.dtype(f"int{jnp.finfo(x.dtype).bits}"))


def _power(k: Array, *, up: bool) -> Array:
    kind = jnp.finfo(k.dtype)
    half = ((_bits(jnp.abs(k)) >> kind.nmant) - (kind.maxexp - 1)) // 2
    exponent = kind.maxexp - 1 + (half if up else -half)
    return jax.lax.bitcast_convert_type(exponent << kind.nmant, k.dtype)


def _leading(x: Array) -> Array:
    kept = ~((1 << (jnp.finfo(x.dtype).nmant // 2 + 1)) - 1)
    return jax.lax.bitcast_convert_type(_bits(x) & kept, x.dtype)


def _primitive(name: str, of: Any) -> Primitive:
    """Return an elementwise primitive without a derivative."""
    made = Primitive(name)
    made.def_impl(jax.jit(of, static_argnames="up") if name == "power_of_2" else jax.jit(of))
    made.def_abstract_eval(lambda x, **_: x)
    mlir.register_lowering(made, mlir.lower_fun(of, multiple_results=False))
    batching.defvectorized(made)
    ad.defjvp(made, None)
    return made


power_p = _primitive("power_of_2", _power)
leading_p = _primitive("leading_digits", _leading)

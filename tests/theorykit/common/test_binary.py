"""Powers of 2 and leading digits, in floats and as real numbers."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from theorykit import certify
from theorykit.common.binary import halving, leading


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_power_is_near_the_root_and_exact(dtype):
    with jax.enable_x64(True):
        tiny = np.finfo(dtype).tiny
        k = np.geomspace(float(tiny), float(np.finfo(dtype).max) / 4, 200).astype(dtype)
        down, up = map(np.asarray, halving(jnp.asarray(k)))
        assert (down.dtype, up.dtype) == (dtype, dtype)
        assert (down.astype(float) * up.astype(float) == 1).all()
        mantissas, _ = np.frexp(down)
        assert (mantissas == 0.5).all()
        near = down.astype(float) ** 2 * k.astype(float)
        assert ((near > 0.49) & (near < 4.01)).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_of_leading_digits_are_exact(dtype):
    with jax.enable_x64(True):
        x = np.random.default_rng(0).standard_normal(100).astype(dtype)
        high = np.asarray(leading(jnp.asarray(x)))
        square = np.asarray(high * high)
        assert all(
            Fraction(float(h)) ** 2 == Fraction(float(s)) for h, s in zip(high, square, strict=True)
        )
        assert (np.abs(x - high) <= 2.0 ** -(np.finfo(dtype).nmant // 2 - 1) * np.abs(x)).all()


def test_they_go_through_transformations():
    with jax.enable_x64(True):
        x = jnp.asarray([0.3, 7.0])
        assert (jax.jit(jax.vmap(leading))(x) == leading(x)).all()
        assert jax.grad(lambda k: halving(k)[0] * k)(2.0) == 1.0
        assert jax.jacfwd(leading)(x[0]) == 0


def test_a_real_number_has_neither():
    scaled = lambda k: (k * halving(k)[0]) * halving(k)[1]
    rest = lambda x: leading(x) + (x - leading(x))
    for f in (scaled, rest):
        assert certify.enclose(f, "1/3", bits=128).contains(Fraction(1, 3))
        found = certify.prove(lambda x, f=f: (f(x) * f(x), 2.0 * x), dict(x=(0.5, 2)))
        assert found.status == "proved"

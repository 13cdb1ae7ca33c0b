"""Seeds and keys."""

import jax
import numpy as np
import pytest

from theorykit.common.keys import as_key, generator, is_key, seed_of

KEY = jax.random.key(7)


@pytest.mark.parametrize("given", [7, np.int64(7), KEY, jax.random.PRNGKey(7)])
def test_seeds_and_keys_of_both_kinds_are_one_key(given):
    found = as_key(given)
    assert found.dtype == KEY.dtype
    assert (jax.random.key_data(found) == jax.random.key_data(KEY)).all()


@pytest.mark.parametrize(
    "given", [-1, 2**32, 1.0, "7", None, jax.random.split(KEY), np.zeros((2, 2), np.uint32)]
)
def test_anything_else_is_refused(given):
    assert not is_key(given)
    with pytest.raises(ValueError, match="one"):
        as_key(given)
    for make in (generator, seed_of):
        with pytest.raises(ValueError, match="one JAX key"):
            make(given)


def test_a_traced_key_is_a_key():
    draw = jax.jit(lambda key: jax.random.normal(as_key(key), (3,)))
    np.testing.assert_array_equal(draw(KEY), jax.random.normal(KEY, (3,)))


def test_numpy_draws_and_seeds_follow_from_key_and_path():
    """Recorded numbers: results of earlier runs rest on them."""
    assert generator(KEY).integers(1000, size=3).tolist() == [796, 38, 225]
    assert generator(KEY, 1, 2).integers(1000, size=3).tolist() == [389, 514, 400]
    other = jax.random.fold_in(KEY, 1)
    assert (seed_of(other), seed_of(other, 2**20), seed_of(other, 2**32)) == (
        1914721983,
        22207,
        4062205631,
    )

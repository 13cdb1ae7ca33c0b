"""The algebra of descriptions: inputs, masks, laws, derivatives, and what is refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theorykit.kernels import layers as k
from theorykit.kernels.attention import Linear

from ..tiers import tiers

IDS = np.array([[0, 1, 2], [2, 2, 1]])
DRAWN = dict(key=jax.random.key(0), draws=8, replicates=2)
ONE = k.Attention("softmax", mask="causal")
BODY = (k.Positions(0.5), k.residual(k.serial(k.LayerNorm(), ONE)), k.MLP("erf"))
net = lambda *body, reading="mean": k.serial(
    k.Embed(vocabulary=3), *(body or BODY), k.Readout(reading)
)


def test_token_ids_stand_for_one_hot_vectors():
    one = net().kernel(IDS, **DRAWN)
    hot = np.eye(3, dtype=np.float32)[IDS]
    other = k.serial(k.Embed(features=3), *BODY, k.Readout("mean")).kernel(hot, **DRAWN)
    np.testing.assert_allclose(one.ntk, other.ntk, rtol=1e-5)
    cross = net().kernel(IDS[:1], IDS[1:], **DRAWN)
    np.testing.assert_allclose(cross.ntk, one.ntk[:1, 1:], rtol=1e-5)


def test_a_vocabulary_of_any_size_takes_no_more_than_the_tokens():
    """Kernels of ids know only which are equal; the scale is that of a larger table."""
    few, many = (
        k.serial(k.Embed(vocabulary=v), k.Attention("identity"), k.Readout()).kernel(IDS)
        for v in (3, 50_000)
    )
    np.testing.assert_allclose(many.ntk * (50_000 / 3) ** 3, few.ntk, rtol=1e-4)


def test_padding_and_what_stands_in_it_count_for_nothing():
    mask = np.array([[1, 1, 1], [1, 1, 0]], bool)
    other = np.array([[0, 1, 2], [2, 2, 0]])
    for reading in ("last", "mean"):
        one, two = (net(reading=reading).kernel(x, mask1=mask, **DRAWN) for x in (IDS, other))
        np.testing.assert_allclose(one.ntk, two.ntk, rtol=1e-5)
    short = net(k.MLP("erf"), k.Pool(), k.MLP("erf")).kernel(IDS[1:, :2])
    padded = net(k.MLP("erf"), k.Pool(), k.MLP("erf")).kernel(IDS, mask1=mask)
    np.testing.assert_allclose(padded.ntk[1:, 1:], short.ntk, rtol=1e-5)


def test_masks_by_hand():
    sees = lambda mask: k.masks.seen(mask, jnp.ones(3, bool)).astype(int).tolist()
    assert sees(k.Causal()) == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert sees(k.Window(1)) == [[1, 0, 0], [1, 1, 0], [0, 1, 1]]
    assert sees(k.Window(1, causal=False)) == [[1, 1, 0], [1, 1, 1], [0, 1, 1]]
    assert sees(k.Prefix(2)) == [[1, 1, 0], [1, 1, 0], [1, 1, 1]]
    given = np.array([[1, 0, 1, 0]] * 4, bool)
    assert sees(k.Attention(mask=given).mask) == [[1, 0, 1]] * 3


@pytest.mark.parametrize(
    ("mask", "same"),
    [(k.Window(2), k.Causal()), (k.Prefix(3), None), (np.tri(3, dtype=bool), k.Causal())],
)
def test_masks_that_say_the_same_give_the_same(mask, same):
    one, other = (net(k.Attention(mask=m)).kernel(IDS, **DRAWN).ntk for m in (mask, same))
    np.testing.assert_array_equal(one, other)


@given(cut=st.integers(0, 3))
@settings(max_examples=4, deadline=None)
def test_serial_is_associative_and_numbers_do_not_know_the_brackets(cut):
    layers = (k.Embed(vocabulary=3), *BODY, k.Readout("mean"))
    nested = k.serial(*layers[:cut], k.serial(*layers[cut:4]), *layers[4:])
    assert nested == net()
    wrapped = k.serial(*layers[:1], k.parallel(k.serial(*BODY)), k.Readout("mean"))
    np.testing.assert_allclose(
        wrapped.kernel(IDS, **DRAWN).ntk, net().kernel(IDS, **DRAWN).ntk, rtol=1e-5
    )


def test_laws_of_sums():
    """A residual of scale 0 is nothing, and the order of branches does not matter."""
    without = net(k.MLP("erf")).kernel(IDS)
    skipped = net(k.residual(k.Dense(), 0.0), k.MLP("erf")).kernel(IDS)
    np.testing.assert_allclose(skipped.ntk, without.ntk, rtol=1e-6)
    a, b = k.Dense(0.5, 0.2), k.MLP("relu")
    one, other = (net(k.parallel(*p)).kernel(IDS).ntk for p in ((a, b), (b, a)))
    np.testing.assert_allclose(one, other, rtol=1e-6)
    # Two independent maps of the same tokens are one map with the sum of the variances.
    two = net(k.parallel(k.Dense(3.0), k.Dense(4.0))).kernel(IDS)
    np.testing.assert_allclose(two.ntk, net(k.Dense(5.0)).kernel(IDS).ntk, rtol=1e-6)


OFFSETS = [
    (None, np.float64),
    (k.RoPE(frequencies=2), np.float32),
    (k.RelativeBias(0.7), np.float64),
    (k.ALiBi((1.0, 0.5)), np.float32),
]


@pytest.mark.parametrize(("positions", "dtype"), tiers(OFFSETS, OFFSETS[1:3]))
def test_repeated_and_collinear_inputs_have_positive_semidefinite_kernels(positions, dtype):
    x = np.random.default_rng(2).normal(size=(2, 3, 2))
    x = np.concatenate([x, x, 2 * x, -x, 0 * x]).astype(dtype)
    attention = k.Attention(scale=1.5, mask="causal", positions=positions)
    description = k.serial(
        k.Embed(features=2), k.residual(k.serial(k.LayerNorm(), attention)), k.MLP("relu"),
        k.Attention(), k.GatedMLP("erf"), k.Readout("last"),
    )  # fmt: skip
    with jax.enable_x64(dtype == np.float64):
        found = description.kernel(x, key=jax.random.key(0), draws=8, replicates=1)
    assert found.ntk.dtype == dtype
    assert found.smallest_eigenvalue > (-1e-5 if dtype == np.float32 else -1e-8)


def test_under_jit_vmap_and_grad():
    """Derivatives in every parameter and input are those of finite differences."""
    with jax.enable_x64(True):
        x = jnp.asarray(np.random.default_rng(3).normal(size=(2, 3, 2)))
        attention = k.Attention(scale=1.1, positions=k.RelativeBias(0.6))
        description = k.serial(
            k.Embed(features=2), k.Positions(0.5), attention, k.MLP("erf", True, 1.2, 0.3),
            k.Readout("mean"),
        )  # fmt: skip

        def entry(net, x):
            return net.kernel(x, key=jax.random.key(0), draws=8, replicates=1).ntk[0, 1]

        value, slopes = jax.jit(jax.value_and_grad(entry, argnums=(0, 1)))(description, x)
        compiled = jax.jit(entry)
        np.testing.assert_allclose(value, compiled(description, x), rtol=1e-10)
        leaves, tree = jax.tree.flatten(description)
        assert len(leaves) == 5  # positions, scores, biases, and the MLP's two
        for i, slope in enumerate(jax.tree.leaves(slopes[0])):
            moved = [tree.unflatten([v + h * (i == n) for n, v in enumerate(leaves)])
                     for h in (1e-5, -1e-5)]  # fmt: skip
            numeric = (compiled(moved[0], x) - compiled(moved[1], x)) / 2e-5
            np.testing.assert_allclose(slope, numeric, rtol=1e-5)
        step = jnp.zeros_like(x).at[1, 2, 0].set(1e-5)
        numeric = (compiled(description, x + step) - compiled(description, x - step)) / 2e-5
        np.testing.assert_allclose(slopes[1][1, 2, 0], numeric, rtol=1e-5)
        many = jax.jit(jax.vmap(lambda x: entry(description, x)))(jnp.stack([x, 2 * x]))
        np.testing.assert_allclose(many, [value, compiled(description, 2 * x)], rtol=1e-10)


class Bare(k.TokenLayer):
    """A layer that is not registered as a pytree."""

    def carry(self, z, at):
        return z

    def build(self, sizes, rngs):
        return None


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: k.residual(k.Activation()), "a summand ends with weights of its own"),
        (lambda: k.residual("relu"), "residual takes a layer, got 'relu'"),
        (lambda: k.parallel(k.MLP(), k.LayerNorm()), "a summand ends with weights of its own"),
        (lambda: k.parallel(), "parallel sums one or more layers"),
        (lambda: k.serial(k.Activation(), k.LayerNorm()), r"LayerNorm\(\) reads Gaussian tokens"),
        (lambda: k.serial(k.Activation(), k.Positions(), k.Activation()), "reads Gaussian tokens"),
        (lambda: k.serial(k.MLP(), "relu"), "serial puts layers one after the other, got 'relu'"),
        (lambda: k.serial(Bare()), "a layer is a pytree, but Bare is not: put @parameters"),
        (lambda: k.serial(k.MLP(), k.Embed(vocabulary=2)), "Embed comes first and Readout last"),
        (lambda: k.serial(k.MLP(), k.Readout()).kernel(IDS), "Embed as its first layer"),
        (lambda: k.Embed(), "Embed takes vocabulary=V"),
        (lambda: k.Attention(mask="diagonal"), 'mask is None, "causal"'),
        (lambda: k.Given(np.ones((2, 3), bool)), r"\(T, T\) booleans, got bool in shape \(2, 3\)"),
        (lambda: k.Attention(Linear(), positions=k.RoPE()), "does not draw"),
        (lambda: k.Attention(positions=k.Positions()), "are layers, Positions"),
        (lambda: k.ALiBi(()), "slopes are one or more numbers"),
        (lambda: net().kernel(IDS), "give key=jax.random.key"),
        (lambda: net().kernel(IDS + 1, **DRAWN), "between 0 and 2, got 1 to 3"),
        (lambda: net().kernel(IDS * 1.0, **DRAWN), "holds token ids, integers in shape"),
        (
            lambda: net(k.Attention(mask=np.ones((2, 2), bool))).kernel(IDS, **DRAWN),
            "a mask of 2 tokens is too small for 3",
        ),
        (lambda: net().module(width=4, heads=3), "3 heads do not divide the width 4"),
        (lambda: net(k.Attention(positions=k.RoPE())).module(width=4), "a multiple of 32"),
        (lambda: net(k.Attention(positions=k.ALiBi())).module(width=4), "8 slopes takes"),
        (lambda: net(k.Positions(most=2)).module(width=4)(IDS[0]), "longer than the 2 positions"),
    ],
)  # fmt: skip
def test_descriptions_that_would_be_wrong_are_refused(make, said):
    with pytest.raises(ValueError, match=said):
        make()

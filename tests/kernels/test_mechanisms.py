"""Attentions and activations of one's own: derivatives follow; what would be wrong is refused."""

import itertools
import math
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from theorykit import kernels
from theorykit.kernels import InfiniteTransformer, attention, oracle, recursion
from theorykit.kernels.activations import Activation, Quadrature, Relu
from theorykit.kernels.attention import (
    NAMES,
    Concentrated,
    Elementwise,
    Exact,
    Identity,
    Linear,
    Mechanism,
    Normalised,
    NormalisedRelu,
    Sigmoid,
    Softmax,
    Tokens,
    mechanism,
)
from theorykit.kernels.attention.linear import mean
from theorykit.kernels.attention.rows import Ratio, step

from .tiers import tiers

X = np.random.default_rng(0).normal(size=(2, 3, 2)).astype(np.float32)
NNGP = np.einsum("iac,jbc->iajb", *[X.astype(float)] * 2)
OPTIONS = dict(key=jax.random.key(0), draws=8, replicates=1)


@dataclass(frozen=True)
class Bumps(Elementwise):
    """Written outside: a function of each score."""

    def function(self, score):
        return jnp.exp(-(score**2) / 2) + score


@dataclass(frozen=True)
class Powers(Normalised):
    """Written outside: a function of each score over its sum."""

    def function(self, score):
        return 2 + score**2


@dataclass(frozen=True)
class Gated(Mechanism):
    """Written outside: weights that no other class has the derivatives of."""

    def weights(self, scores, allowed):
        return jnp.tanh(scores) * jax.nn.softmax(scores, -1, where=allowed)


@dataclass(frozen=True)
class Raised(Exact):
    """Written outside: scores and a half, whose layer is that of scores and a quarter of a sum."""

    def weights(self, scores, allowed):
        return jnp.where(allowed, scores + 0.5, 0.0)

    def settled(self, variances, allowed):
        return Identity().settled(variances, allowed)

    def closed(self, through, tokens, scale2, ntk):
        nngp, w = Identity().closed(through, tokens, scale2, ntk)
        sums = through(tokens.nngp) / 4
        if not ntk:
            return nngp + sums, None
        return nngp + sums, w + sums + through(
            tokens.nngp if tokens.ntk is None else tokens.ntk
        ) / 4


@dataclass(frozen=True)
class Closed(Mechanism):
    """Written outside: said to be exact, without a closed form."""

    exact = True

    def weights(self, scores, allowed):
        return jnp.where(allowed, scores, 0.0)


@dataclass(frozen=True)
class Bent(Linear):
    """Written outside: said to be linear, with a closed form that is not."""

    closed = Raised.closed


@dataclass(frozen=True)
class Plain(Mechanism):
    """The weights of another, with the derivatives left to automatic differentiation."""

    of: Mechanism

    def weights(self, scores, allowed):
        return self.of.weights(scores, allowed)


@dataclass(frozen=True)
class Changed(Softmax):
    """Weights that do not know of each other, with softmax's derivatives: a wrong NTK."""

    def weights(self, scores, allowed):
        return jax.nn.sigmoid(scores) * allowed


@dataclass
class Loose(Mechanism):
    """Compared by its fields, and so not hashed."""

    def weights(self, scores, allowed):
        return scores * allowed


@dataclass(frozen=True)
class Seeing(Mechanism):
    """Weights of tokens that a row may not see."""

    def weights(self, scores, allowed):
        return jax.nn.sigmoid(scores)


@dataclass(frozen=True)
class Summed(Elementwise):
    """What looks like a sum over tokens is one over a single number."""

    def function(self, score):
        return score / jnp.sum(score**2)


DRAWN = [Softmax(), Sigmoid(-0.7), NormalisedRelu(0.5), Bumps(), Powers(), Gated()]


# --- derivatives


def case(of, seed=0):
    """Rows of two inputs, their scores, kernels of the tokens, and what is allowed."""
    rng = np.random.default_rng(seed)
    scores = [jnp.asarray(rng.normal(size=(2, 3, t))) for t in (4, 3)]
    allowed = [jnp.ones((2, 1, t), bool) for t in (4, 3)]
    allowed[0] = allowed[0].at[1, :, 2:].set(False)
    tokens = Tokens(*map(jnp.asarray, (*rng.normal(size=(2, 4, 3)), *rng.normal(size=(2, 2, 2)))))
    rows = [of.rows(s, see, True) for s, see in zip(scores, allowed, strict=True)]
    return scores, allowed, tokens, rows


def jacobians(of, scores, allowed):
    """(R, N, T, T) derivatives of the weights, one row at a time."""
    seen = jnp.broadcast_to(allowed, scores.shape)
    one = lambda s, see: jax.jacrev(lambda s: of.weights(s, see))(s)
    return jax.vmap(jax.vmap(one))(scores, seen)


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize(
    "of", tiers(DRAWN, [Sigmoid(-0.7), NormalisedRelu(0.5), Gated()]), ids=repr
)
def test_layer_and_features_are_their_definition(of):
    def both():
        scores, allowed, tokens, rows = case(of)
        got = of.step(*rows, tokens, 1.7, True)
        (a1, j1), (a2, j2) = (
            (of.weights(s, see), jacobians(of, s, see))
            for s, see in zip(scores, allowed, strict=True)
        )
        s, w, s_rows, w_rows = tokens
        values = lambda v: jnp.einsum("anc,ce,bne->ab", a1, v, a2) / 3
        moved = lambda v: 1.7 * jnp.einsum("anck,kl,ce,bnel->ab", j1, v, s, j2) / 3
        ntk = values(s) + values(w) + (2 * s_rows + w_rows) * moved(s) + s_rows * moved(w)
        # One row of two inputs, and a factor of their tokens.
        f = jnp.asarray(np.random.default_rng(5).normal(size=(2, 4, 3)))
        phi = jnp.einsum("nbt,ntr->nbr", a1, f)
        psi = rows[0].features(f, phi).reshape(2, -1)
        whole = jnp.einsum("ncr,nbck,nks->nbrs", f, j1, f)
        return got, (values(s), ntk), psi @ psi.T, jnp.einsum("ibrs,jbrs->ij", whole, whole)

    got, expected, gram, inner = jax.jit(both)()
    np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(gram, inner, rtol=1e-10)


@pytest.mark.usefixtures("x64")
def test_normalised_rows_have_every_product_with_its_sign():
    """The coefficients are read off the code by regression on the four products."""

    def one(seed):
        rng = np.random.default_rng(seed)
        a1, b1, a2, b2 = (rng.normal(size=(2, 3, t)) for t in (4, 4, 3, 3))
        s, v = rng.normal(size=(2, 4, 3))
        rows = (Ratio(*map(jnp.asarray, k)) for k in ((a1, b1), (a2, b2)))
        one, two = rows
        _, q = one.moments(two, [jnp.asarray(s), jnp.asarray(v)])
        m1, m2 = a1 @ s, a2 @ s.T
        mean = lambda x: x.mean(0)
        t = lambda k: k.transpose(1, 0, 2)
        over = lambda p, r: np.einsum("ane,bne->nab", p, r)
        products = [
            over(b1 @ (s * v), b2),
            over(m1 * (b1 @ v), b2),
            over(b1, m2 * (b2 @ v.T)),
            over(m1, a2) * over(b1 @ v, b2),
        ]
        assert t(a1).shape == (3, 2, 4)
        return np.ravel(q[1]), np.stack([np.ravel(mean(p)) for p in products], -1)

    values, design = zip(*map(one, range(4)), strict=True)
    found = np.linalg.lstsq(np.concatenate(design), np.concatenate(values), rcond=None)[0]
    np.testing.assert_allclose(found, [1, -1, -1, 1], atol=1e-9)


BLOCKS = dict(depth=2, readout="mean", causal=True, residual=True)


WAYS = {"features": ("joint", {}), "blocks": ("joint", BLOCKS), "pairs": ("pairwise", BLOCKS)}


@pytest.mark.parametrize(
    ("of", "way"),
    tiers(
        list(itertools.product((Sigmoid(0.4), Powers()), WAYS)),
        [(Powers(), "features")],
    ),
)
def test_every_way_to_a_kernel_is_that_of_the_plain_jacobian(of, way):
    """Features, rows of a top block, and whole blocks: the same draws, the same numbers."""
    draw, options = WAYS[way]
    net = InfiniteTransformer(attention=of, score_scale=0.8, **options)
    one = net(X, draw=draw, **OPTIONS)
    other = replace(net, attention=Plain(of))(X, draw=draw, **OPTIONS)
    np.testing.assert_allclose(one.nngp, other.nngp, rtol=2e-5)
    np.testing.assert_allclose(one.ntk, other.ntk, rtol=1e-4)


SEVERAL = [Bumps(), Powers(), NormalisedRelu(0.7), Sigmoid(), Sigmoid(-0.7)]


@pytest.mark.parametrize("of", tiers(SEVERAL, [Powers(), Sigmoid(-0.7)]), ids=repr)
def test_joint_and_pairwise_draws_agree_with_the_oracle(of):
    """A mechanism from outside: what was once 91 by joint draws was 20 by pairwise ones."""
    x = X[:, :2].astype(float)
    net = InfiniteTransformer(attention=of, activation="erf", score_scale=0.7)
    exact = oracle.kernel(net, x, order=14)
    for draw in ("joint", "pairwise"):
        k = net(x, key=jax.random.key(1), draws=1024, replicates=32, draw=draw)
        for value, error, right, slack in (
            (k.nngp, k.nngp_stderr, exact.nngp, exact.nngp_stderr),
            (k.ntk, k.ntk_stderr, exact.ntk, exact.ntk_stderr),
        ):
            assert np.all(np.abs(value - right) < 4 * error + slack)
            assert np.all(slack < 0.02 * np.abs(right).max())
            assert np.all(error < 0.1 * np.abs(right).max())


@pytest.mark.parametrize("of", tiers([NormalisedRelu(), Gated()], [Gated()]), ids=repr)
@pytest.mark.parametrize(
    "options",
    [
        pytest.param(dict(readout="last"), marks=pytest.mark.slow),
        dict(depth=2, readout="mean"),
    ],
)
def test_joint_kernels_are_positive_semidefinite(of, options):
    """Also of repeated and collinear inputs, in float32."""
    x = np.concatenate([X, X[:1], 2 * X[:1], -X[1:]])
    net = InfiniteTransformer(attention=of, **options)
    k = net(x, draw="joint", key=jax.random.key(2), draws=16, replicates=1)
    assert k.smallest_eigenvalue > -2e-6


def test_kernels_have_derivatives_in_the_parameters_of_a_mechanism():
    def entry(bias):
        net = InfiniteTransformer(attention=Sigmoid(bias), activation="identity")
        return net(X, **OPTIONS).ntk[0, 1]

    slope = jax.jit(jax.grad(entry))(0.3)
    low, high = jax.jit(jax.vmap(entry))(jnp.array([0.29, 0.31]))
    np.testing.assert_allclose(slope, (high - low) / 0.02, rtol=2e-2)
    assert np.isfinite(slope)
    assert slope != 0


# --- limits without draws


def test_linear_attention_weighs_tokens_by_the_mean_of_their_features():
    """m(v) = E[elu(sqrt(v) g) + 1] by a sum over a fine grid, and a layer made of it by hand."""
    g = np.linspace(-10, 10, 200001)
    density = np.exp(-(g**2) / 2) / math.sqrt(2 * math.pi)
    for v in (0.0, 1e-3, 0.5, 4.0, 400.0):
        z = math.sqrt(v) * g
        right = np.trapezoid(density * np.where(z > 0, z + 1, np.exp(np.minimum(z, 0))), g)
        np.testing.assert_allclose(mean(jnp.asarray(v)), right, rtol=2e-6)
    net = InfiniteTransformer(attention=Linear(), activation="identity", causal=True)
    k = net(X, get=("nngp", "ntk"))
    m = np.asarray(mean(jnp.asarray(np.sum(X**2, -1) / 2)))
    a = m / m.sum(1, keepdims=True)
    s = np.einsum("ia,iac,jbc,jb->ij", a, X, X, a) / 2
    np.testing.assert_allclose(k.nngp, s, rtol=1e-5)
    np.testing.assert_allclose(k.ntk, 4 * s, rtol=1e-5)  # embedding, values, MLP, readout
    assert (k.draw, k.draws) == ("exact", 0)
    normed = replace(net, layer_norm=True), replace(net, layer_norm=True, attention=Concentrated())
    np.testing.assert_allclose(*(n(X).ntk for n in normed), rtol=1e-6)


def test_scores_over_the_head_size_vanish():
    uniform = InfiniteTransformer(attention=Concentrated(), readout="mean")
    small = InfiniteTransformer(score_scale=1e-4, readout="mean")
    np.testing.assert_allclose(uniform(X).ntk, small(X, **OPTIONS).ntk, rtol=1e-3)
    half = InfiniteTransformer(attention=Concentrated(Sigmoid()), activation="identity")
    np.testing.assert_allclose(half(X).nngp, np.einsum("iac,jbc->ij", X, X) / 8, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("of", [Linear(), Concentrated(Sigmoid())], ids=repr)
def test_the_oracle_knows_settled_weights(of):
    net = InfiniteTransformer(attention=of, depth=2, readout="mean", causal=True, residual=True)
    np.testing.assert_allclose(net(X).ntk, oracle.kernel(net, X).ntk, rtol=1e-5)


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("readout", ["last", "mean"])
def test_a_closed_form_written_outside(readout, depth):
    net = InfiniteTransformer(attention=Raised(), depth=depth, readout=readout, score_scale=0.7)
    k, expected = net(X), oracle.kernel(net, X, order=8)
    assert (k.draw, k.draws) == ("exact", 0)
    np.testing.assert_allclose(k.nngp, expected.nngp, rtol=1e-4)
    np.testing.assert_allclose(k.ntk, expected.ntk, rtol=1e-4)


# --- sharp attention


def test_sharp_attention_says_how_many_draws_it_needs():
    seen = np.ones((1, 2), bool)
    gram, rows = np.array([[[4.0, 1.0], [1.0, 9.0]]]), np.array([[16.0, 1.0]])
    given = [jnp.asarray(a) for a in (gram, rows, seen)]
    steep = lambda of: float(recursion.steepness(of, -2.0, *given)[0])
    assert steep(Softmax()) == pytest.approx(2 * 4 * math.sqrt(11))
    assert steep(Sigmoid()) == pytest.approx(2 * 4 * 3)
    assert steep(NormalisedRelu()) == steep(Identity()) == 0
    net = InfiniteTransformer(attention=Sigmoid(), score_scale=1e4)
    with pytest.warns(UserWarning, match="draws whose scores are close to zero, of which"):
        k = net(X, key=jax.random.key(0), draws=64, replicates=2)
    assert np.isinf(k.ntk_stderr).all()
    k = replace(net, attention=NormalisedRelu())(X, key=jax.random.key(0), draws=64, replicates=2)
    assert np.isfinite(k.ntk_stderr).all()


# --- what is refused


@pytest.mark.parametrize("given", [Sigmoid, "sigmoid", None, 3])
@pytest.mark.parametrize(
    "enter",
    [
        mechanism,
        lambda given: InfiniteTransformer(attention=given),
        lambda given: replace(InfiniteTransformer(), attention=given),
        lambda given: oracle.attention_step(NNGP, NNGP, attention=given),
        lambda given: recursion.attend(given, NNGP, None, np.ones((4, 6, 6), np.float32)),
    ],
)
def test_what_is_no_mechanism_is_refused(enter, given):
    with pytest.raises(
        ValueError, match=r"attention is (one of 'softmax', 'identity', got|an object, and)"
    ):
        enter(given)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (Changed, "Changed changes the weights of Softmax and keeps its derivatives"),
        (Loose, "make Loose a frozen dataclass"),
        (Closed, r"an exact mechanism is derived from Exact or Settled, but Closed\(\) is not"),
        (Bent, "the layer of a Settled mechanism is A V A', and Bent has another.*from Exact"),
        (Seeing, r"not allowed have weight 0 and change no other weight.*Seeing\(\)"),
        (
            lambda: Concentrated(Identity()),
            r"of is a mechanism that draws its scores.*Identity\(\)",
        ),
        (lambda: Concentrated("softmax"), "of is a mechanism that draws its scores.*'softmax'"),
        (lambda: NormalisedRelu(0.0), "floor is a positive number, got 0.0"),
        (lambda: NormalisedRelu(math.nan), "floor"),
        (lambda: Sigmoid("big"), "bias"),
    ],
)
def test_mechanisms_that_would_be_wrong_are_refused(make, said):
    with pytest.raises(ValueError, match=said):
        mechanism(make())


def test_a_function_of_a_score_sees_no_other():
    scores, seen = jnp.array([[1.0, 2.0, 4.0]]), jnp.ones((1, 3), bool)
    np.testing.assert_allclose(Summed().weights(scores, seen), 1 / scores)
    np.testing.assert_allclose(Summed().rows(scores, seen, True).slopes, -1 / scores**2)


def test_the_table_of_names_takes_no_others():
    with pytest.raises(TypeError):
        NAMES["sigmoid"] = Sigmoid()


@pytest.mark.parametrize(("name", "object"), [("softmax", Softmax()), ("identity", Identity())])
def test_an_object_and_its_name_are_one(name, object):
    one, other = (InfiniteTransformer(attention=a)(X, **OPTIONS) for a in (name, object))
    np.testing.assert_array_equal(one.ntk, other.ntk)
    coarse = dict(order=4, resolve=False)
    one, other = (oracle.attention_step(NNGP, NNGP, attention=a, **coarse) for a in (name, object))
    np.testing.assert_array_equal(one[1], other[1])


def test_shipped_mechanisms_are_listed_with_a_file_each():
    shipped = {n for n, c in vars(attention).items() if isinstance(c, type)}
    assert {"Softmax", "Identity", "Sigmoid", "NormalisedRelu", "Linear", "Concentrated"} <= shipped


# --- activations


@dataclass(frozen=True)
class Square:
    """phi(x) = x^2, written outside, for kernels only."""

    def dual(self, k11, k12, k22):
        return k11 * k22 + 2 * k12**2

    def dual_derivative(self, k11, k12, k22):
        return 4 * k12


@dataclass(frozen=True)
class Cubic(Activation):
    """phi(x) = x + x^3, written outside, with duals that nobody worked out."""

    def __call__(self, x):
        return x + x**3


def test_an_activation_may_be_any_object():
    square = kernels.activations.Quadrature(lambda x: x**2)
    one, other = (InfiniteTransformer(activation=a)(X, **OPTIONS) for a in (Square(), square))
    np.testing.assert_allclose(one.ntk, other.ntk, rtol=1e-4)


def test_an_activation_of_one_function_has_its_duals():
    """E uv = k, E u v^3 = 3 k b, E u^3 v^3 = 9 a b k + 6 k^3, and the derivative in k."""
    a, b, k = 0.7, 1.3, -0.4
    value = k + 3 * k * (a + b) + 9 * a * b * k + 6 * k**3
    slope = 1 + 3 * a + 3 * b + 9 * a * b + 18 * k**2
    of = Cubic()
    np.testing.assert_allclose(of.dual(a, k, b), value, rtol=1e-5)
    np.testing.assert_allclose(of.dual_derivative(a, k, b), slope, rtol=1e-5)


@pytest.mark.parametrize("name", kernels.activations.NAMES)
def test_a_shipped_activation_is_the_function_that_its_duals_are_of(name):
    phi = kernels.activations.NAMES[name]
    by_quadrature = Quadrature(phi, points=200 if isinstance(phi, Relu) else 48)
    for f in ("dual", "dual_derivative"):
        got, right = (getattr(p, f)(0.8, 0.3, 1.1) for p in (phi, by_quadrature))
        np.testing.assert_allclose(got, right, atol=0.02 if isinstance(phi, Relu) else 1e-5)


def test_names_that_come_when_asked_for_are_listed():
    assert {"monte_carlo", "tangents", "empirical", "ridge"} <= set(dir(kernels))
    assert kernels.monte_carlo.__name__ == "monte_carlo"
    assert kernels.tangents.__name__ == "theorykit.kernels.tangents"
    with pytest.raises(AttributeError, match="no attribute 'monte_karlo'"):
        kernels.monte_karlo  # noqa: B018


def test_every_pair_of_mechanisms_is_told_apart():
    """No two share compiled code or a cache by mistake."""
    every = [*DRAWN, Identity(), Linear(), Concentrated(), Sigmoid(0.1), NormalisedRelu(0.6)]
    assert all(a != b for a, b in itertools.combinations(every, 2))


def test_the_layer_does_without_derivatives_where_no_ntk_is_asked_for():
    scores, allowed, tokens, rows = case(Bumps())
    bare = [Bumps().rows(s, see, False) for s, see in zip(scores, allowed, strict=True)]
    one, other = (step(*r, tokens, 1.7, False) for r in (rows, bare))
    np.testing.assert_allclose(one[0], other[0])
    assert one[1] is other[1] is None

"""The attention step against its definition: softmax Jacobians, term by term, sign by sign."""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from theorykit.kernels import InfiniteTransformer, oracle, pairs, recursion
from theorykit.kernels import plan as plans
from theorykit.kernels.attention import (
    Concentrated,
    Identity,
    NormalisedRelu,
    Sigmoid,
    Softmax,
    Tokens,
)
from theorykit.kernels.attention.rows import Fixed, Shares

from .tiers import tiers

# The NTK after the layer is this combination of products; see `products`.
COEFFICIENTS = {
    "A S A'": 1,
    "A W A'": 1,
    "S o A (S o S) A'": 2,
    "S o (A S o A S) A'": -2,
    "S o A (S A' o S A')": -2,
    "S o A S A' o A S A'": 2,
    "W o A (S o S) A'": 1,
    "W o (A S o A S) A'": -1,
    "W o A (S A' o S A')": -1,
    "W o A S A' o A S A'": 1,
    "S o A (S o W) A'": 1,
    "S o (A S o A W) A'": -1,
    "S o A (S A' o W A')": -1,
    "S o A S A' o A W A'": 1,
}
pytestmark = pytest.mark.usefixtures("x64")


def softmax(scores):
    e = np.exp(scores)
    return e / e.sum(-1, keepdims=True)


def rows_first(a):
    """Turn (draws, rows, tokens) into the layout of the code."""
    return a.swapaxes(0, 1)


def case(seed=0):
    """Random weights with the scores they came from, and random kernels of a pair of inputs."""
    rng = np.random.default_rng(seed)
    scores = [rng.normal(size=(4, 3, t)) for t in (5, 4)]
    kernels = Tokens(*rng.normal(size=(2, 5, 4)), *rng.normal(size=(2, 3, 3)))
    return scores, *map(softmax, scores), kernels


@functools.partial(jax.jit, static_argnames="ntk")
def step(a1, a2, tokens, scale2, ntk=True):
    return Softmax().step(Shares(rows_first(a1)), Shares(rows_first(a2)), tokens, scale2, ntk)


@jax.jit
def jacobian(scores):
    return jax.vmap(jax.vmap(jax.jacobian(jax.nn.softmax)))(scores)


def products(a1, a2, tokens):
    """Return the mean over draws of each product in `COEFFICIENTS`."""
    s, w, s_rows, w_rows = tokens
    mean = lambda x: np.mean(x, 0)
    b2 = np.swapaxes(a2, 1, 2)

    def q(v):
        return (
            mean(a1 @ (s * v) @ b2),
            mean((a1 @ s) * (a1 @ v) @ b2),
            mean(a1 @ ((s @ b2) * (v @ b2))),
            mean((a1 @ s @ b2) * (a1 @ v @ b2)),
        )

    factors = [(s_rows, q(s)), (w_rows, q(s)), (s_rows, q(w))]
    terms = [mean(a1 @ s @ b2), mean(a1 @ w @ b2), *(f * p for f, ps in factors for p in ps)]
    return np.stack(terms)


def by_definition(scores, tokens, scale2):
    """NNGP and NTK of `f = sum_c A_ac v_c` from the derivatives of A in the scores."""
    s, w, s_rows, w_rows = tokens
    (a1, j1), (a2, j2) = ((softmax(x), jacobian(x)) for x in scores)
    mean = lambda spec, *args: np.einsum(spec, *args, optimize=True) / len(a1)
    values = lambda v: mean("nac,ce,nbe->ab", a1, v, a2)
    moved = lambda v: scale2 * mean("nack,kl,ce,nbel->ab", j1, v, s, j2)
    out = values(s)
    return out, out + values(w) + (2 * s_rows + w_rows) * moved(s) + s_rows * moved(w)


def test_step_is_its_definition():
    scores, a1, a2, tokens = case()
    nngp, ntk = step(a1, a2, tokens, 1.7)
    expected = by_definition(scores, tokens, 1.7)
    np.testing.assert_allclose(nngp, expected[0], rtol=1e-12)
    np.testing.assert_allclose(ntk, expected[1], rtol=1e-12, atol=1e-12)
    alone, nothing = step(a1, a2, tokens, 1.7, ntk=False)
    np.testing.assert_allclose(alone, expected[0], rtol=1e-12)
    assert nothing is None


def test_step_has_every_term_with_its_sign():
    """The coefficients are read off the code by regression on the products."""
    cases = [case(seed)[1:] for seed in range(6)]
    ntk = np.concatenate([np.ravel(step(*c, 1.0)[1]) for c in cases])
    design = np.concatenate([products(*c).reshape(len(COEFFICIENTS), -1).T for c in cases])
    found = np.linalg.lstsq(design, ntk, rcond=None)[0]
    np.testing.assert_allclose(found, list(COEFFICIENTS.values()), atol=1e-9)


def test_absent_ntk_stands_for_the_nngp():
    _, a1, a2, (s, _, s_rows, _) = case()
    a1, a2 = rows_first(a1), rows_first(a2)
    for attention, rows in ((Softmax(), Shares), (Identity(), Fixed)):
        one, two, step = rows(jnp.asarray(a1)), rows(jnp.asarray(a2)), attention.step
        both = jax.jit(lambda *k, f=(step, one, two): f[0](*f[1:], Tokens(*k), 1.3, True))
        short, long = both(s, None, s_rows, None), both(s, s, s_rows, s_rows)
        np.testing.assert_allclose(short, long, rtol=1e-12)


def test_rows_and_columns_without_weight():
    """Hidden tokens count for nothing, whatever their kernels; a blind row puts out zero."""
    scores, _, _, tokens = case()
    allowed = [np.array([t * [0], [1, 1, 1] + (t - 3) * [0], t * [1]], bool) for t in (5, 4)]
    weights = [
        np.asarray(Softmax().weights(x, see)) for x, see in zip(scores, allowed, strict=True)
    ]
    for a, see in zip(weights, allowed, strict=True):
        assert np.all(a[:, ~see] == 0)
        np.testing.assert_allclose(a.sum(-1), np.broadcast_to(see.any(1), (4, 3)))
    got = np.stack(step(*weights, tokens, 1.0))
    assert np.all(got[:, 0] == 0)
    assert np.all(got[:, :, 0] == 0)
    s, w = np.array(tokens[:2])
    s[3:], w[:, 3:] = 1e3, -1e3  # the middle rows see three tokens
    noisy = np.stack(step(*weights, tokens._replace(nngp=s, ntk=w), 1.0))
    np.testing.assert_allclose(noisy[:, 1, 1], got[:, 1, 1], rtol=1e-12)
    cut = Tokens(*(k[:3, :3] for k in tokens[:2]), *(k[1:2, 1:2] for k in tokens[2:]))
    expected = by_definition([x[:, 1:2, :3] for x in scores], cut, 1.0)
    np.testing.assert_allclose(got[:, 1:2, 1:2], expected, rtol=1e-12)


def test_weights_of_huge_scores_and_their_derivative():
    scores = jnp.array([[[1e5, 0.0, 1e5 - 1.0]]])
    allowed = jnp.array([[[True, True, False]]])
    np.testing.assert_allclose(Softmax().weights(scores, allowed), [[[1.0, 0.0, 0.0]]])
    blind = lambda x: Softmax().weights(x, ~allowed & ~allowed.any()).sum()
    assert np.all(jax.jit(jax.grad(blind))(scores) == 0)


def set_of_inputs():
    """Kernels of two inputs of three tokens; the last token of the second is padding."""
    rng = np.random.default_rng(3)
    root, tangent = rng.normal(size=(2, 6, 6)) / np.sqrt(6) + 0.3
    mask = np.array([[True, True, True], [True, True, False]])
    real = np.outer(mask, mask)
    gram = lambda f: (f @ f.T * real).reshape(2, 3, 2, 3)
    return gram(root), gram(tangent), mask


@pytest.fixture(scope="module")
def estimates():
    """The products of one entry (input 0, token 2; input 1, token 0) in batches, and its oracle."""
    nngp, ntk, mask = set_of_inputs()
    # Other entries are too sharp for so few nodes; the one that is looked at is not.
    options = dict(mask=mask, score_scale=1.5, order=20, resolve=False)
    _, exact = oracle.attention_step(nngp, ntk, **options)
    root = np.linalg.cholesky(nngp.reshape(6, 6) + 1e-12 * np.eye(6)).reshape(2, 3, 6)
    u = np.random.default_rng(4).normal(size=(8, 4096, 6, 6))
    allowed = recursion.visible(mask, False)
    rows = []
    for batch in u:
        a1, a2 = (
            np.exp(1.5 * np.einsum("r,nrs,cs->nc", root[i, a], batch, root[i]))[:, None]
            * np.asarray(allowed[i, a])
            for i, a in ((0, 2), (1, 0))
        )
        a1, a2 = a1 / a1.sum(-1, keepdims=True), a2 / a2.sum(-1, keepdims=True)
        tokens = Tokens(nngp[0, :, 1], ntk[0, :, 1], nngp[0, 2, 1, :1], ntk[0, 2, 1, :1])
        rows.append(products(a1, a2, tokens).ravel())
    return np.array(rows) * np.array([1, 1, *[1.5**2] * 12]), exact[0, 2, 1, 0]


def distance(estimates, coefficients):
    """How many standard errors the combination lies from the oracle."""
    rows, exact = estimates
    values = rows @ coefficients
    return np.abs(values.mean() - exact) / (values.std(ddof=1) / np.sqrt(len(values)))


def test_formula_agrees_with_the_oracle(estimates):
    assert distance(estimates, list(COEFFICIENTS.values())) < 4


@pytest.mark.parametrize("change", [-1, 0], ids=["sign", "dropped"])
@pytest.mark.parametrize("term", COEFFICIENTS)
def test_oracle_tells_a_wrong_term(estimates, term, change):
    wrong = {**COEFFICIENTS, term: change * COEFFICIENTS[term]}
    assert distance(estimates, list(wrong.values())) > 8


def test_identity_step_is_exact():
    """Scores without a softmax are polynomials: the oracle has no error either."""
    nngp, ntk, mask = set_of_inputs()
    options = {"mask": mask, "causal": True, "score_scale": 1.3}
    expected = oracle.attention_step(nngp, ntk, attention="identity", order=2, **options)

    @functools.partial(jax.jit, static_argnames="tangent")
    def attend(tangent):
        u = np.ones((1, 6, 6))
        return recursion.attend(Identity(), nngp, ntk, u, tangent=tangent, **options)

    np.testing.assert_allclose(attend(True), expected, rtol=1e-10, atol=1e-12)
    only = attend(False)
    np.testing.assert_allclose(only[0], expected[0], rtol=1e-10, atol=1e-12)
    assert only[1] is None


PARTED = list(
    itertools.product((Softmax(), Sigmoid(), NormalisedRelu(), Concentrated()), (True, False))
)


@pytest.mark.parametrize(
    ("mechanism", "first"),
    tiers(PARTED, [(Softmax(), False), (Sigmoid(), True), (Concentrated(), False)]),
)
def test_draws_in_parts_are_all_draws(mechanism, first, monkeypatch):
    monkeypatch.setattr(plans, "IN_CACHE", 200)
    monkeypatch.setattr(plans, "platform", lambda: "cpu")
    rng = np.random.default_rng(5)
    scores = rng.normal(size=(2, 3, 12, 4))
    sees = np.ones((3, 1, 4), bool)
    if mechanism.exact:
        rows = [mechanism.settled(jnp.ones((3, 1, 4)), sees) for _ in scores]
    else:
        rows = [mechanism.rows(jnp.asarray(s), sees, True) for s in scores]
        assert plans.parts(12, 4 * 3 * 4 * mechanism.cost(4)) > 1
    normal = lambda *shape: jnp.asarray(rng.normal(size=shape))
    tokens = Tokens(normal(4, 4), normal(4, 4), normal(3, 3), normal(3, 3))
    tokens = tokens._replace(ntk=None, ntk_rows=None) if first else tokens
    found = recursion.in_parts(mechanism, *rows, tokens, 0.7, True)
    expected = mechanism.step(*rows, tokens, 0.7, True)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("tokens", [4, 2000])
@pytest.mark.parametrize(("n", "n1"), [(1, 1), (2, 2), (5, 5), (64, 64), (67, 67), (7, 3), (50, 1)])
def test_groups_are_of_all_pairs(n, n1, tokens):
    """In the order of rows, whatever the order of inputs in pairs; and few of them twice."""
    rank = jnp.asarray(np.random.default_rng(n).permutation(n))
    groups, place, swapped = pairs.grouped(n1, rank, tokens)
    first = np.take_along_axis(np.asarray(groups.firsts), np.asarray(groups.whose), 1)
    i, j = (np.ravel(k)[place] for k in (first, groups.seconds))
    assert (rank[i] <= rank[j]).all()
    i, j = np.where(swapped, j, i), np.where(swapped, i, j)
    rows, columns = np.triu_indices(n) if n1 == n else np.indices((n1, n - n1)).reshape(2, -1)
    np.testing.assert_array_equal(i, rows)
    np.testing.assert_array_equal(j, columns if n1 == n else columns + n1)
    count, size = groups.seconds.shape
    assert size <= (1 if tokens == 2000 else pairs.TOGETHER)
    assert count * size <= 1.1 * place.size + n


@pytest.mark.parametrize("readout", ["last", "tokens"])
@pytest.mark.parametrize("draw", ["pairwise", "auto"])
def test_an_entry_depends_on_its_two_inputs_alone(draw, readout, x64):
    """Not on where they stand, so that equal inputs have equal rows."""
    x = np.random.default_rng(1).normal(size=(6, 3, 3))
    x, key = np.concatenate([x, x]), jax.random.key(0)
    net = InfiniteTransformer(depth=2, residual=True, readout=readout)
    kernel = lambda *x: net(*x, key=key, draws=16, replicates=2, draw=draw)
    whole = kernel(x)
    assert "pairwise" in whole.draw
    assert whole.smallest_eigenvalue > -1e-12
    flip = lambda k: k[::-1, ::-1] if k.ndim == 2 else k[::-1, :, ::-1]
    for name in ("nngp", "ntk"):
        k = np.asarray(getattr(whole, name))
        np.testing.assert_allclose(k[:6], k[6:], rtol=1e-10)
        np.testing.assert_allclose(flip(getattr(kernel(x[::-1]), name)), k, rtol=1e-10)
        np.testing.assert_allclose(getattr(kernel(x, x), name), k, rtol=1e-10)


@pytest.mark.parametrize("form", ["pairwise", "conditional"])
def test_pairs_in_groups_and_draws_in_parts_are_all_of_them(form, monkeypatch):
    monkeypatch.setattr(plans, "platform", lambda: "cpu")
    net = InfiniteTransformer(depth=2, readout="tokens")
    rng = np.random.default_rng(6)
    f0, mask = jnp.asarray(rng.normal(size=(5, 4, 9))), jnp.ones((5, 4), bool)
    plan = plans.Plan(12, 1, True, form, "independent")

    def run():
        groups, place, _ = pairs.grouped(2, jnp.arange(5), 4)
        found = pairs.pairwise(net, None, f0, mask, groups, jax.random.key(1), plan, 2, form)
        return groups, [k.reshape(-1, *k.shape[2:])[place] for k in found]

    rows, whole = run()
    monkeypatch.setattr(plans, "IN_CACHE", 200)
    monkeypatch.setattr(pairs, "FACTORS", 2 * 8**2)
    assert plans.parts(12, 4 * 4 * 4) > 1
    groups, found = run()
    assert rows.seconds.shape == (1, 6)
    assert groups.seconds.shape == (3, 2)
    for one, other in zip(found, whole, strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-10)


def test_parts_are_equal_and_only_where_caches_are_small(monkeypatch):
    monkeypatch.setattr(plans, "platform", lambda: "cpu")
    for size, entries in ((64, 4096), (60, 4096), (61, 4096), (8, 10), (1, 2**20)):
        count = plans.parts(size, entries)
        assert size % count == 0
        assert count == 1 or size * entries > plans.IN_CACHE
    assert plans.parts(64, plans.IN_CACHE // 16) == 4
    monkeypatch.setattr(plans, "platform", lambda: "gpu")
    assert plans.parts(64, 4096) == 1

"""Every product of kernels, predictors and comparisons states that it has full precision."""

import contextlib
import dataclasses
import inspect

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.sharding import Mesh, PartitionSpec

from theorykit import kernels
from theorykit.common import precision
from theorykit.kernels import (
    InfiniteTransformer,
    activations,
    attention,
    draws,
    empirical,
    engine,
    oracle,
    recursion,
)
from theorykit.kernels.attention.rows import Fixed, Shares, Tokens
from theorykit.networks import compare, training
from theorykit.networks.nets import MLP, Transformer

from .jaxprs import evaluate, full, products, watched
from .tiers import tiers

KEY = jax.random.key(0)
RNG = np.random.default_rng(0)
array = lambda *shape: RNG.normal(size=shape).astype("f4")
X, X2 = array(3, 5, 2), array(2, 5, 2)
HALF = array(6, 7)
GRAM = HALF @ HALF.T + np.eye(6, dtype="f4")
STRINGS = np.array([[0, 1, 9], [1, 1, 9], [2, 3, 9]])
FEW = dict(key=KEY, draws=4, replicates=2)
NET = Transformer(features=2, width=4, heads=2, rngs=0)
TANH = activations.Quadrature(jnp.tanh, points=6)


def network(**options):
    how = {k: options.pop(k) for k in ("draw", "rank", "get") if k in options}
    return lambda x, y: InfiniteTransformer(**options)(x, y, **FEW, **how)[:4]


@dataclasses.dataclass(frozen=True)
class Tilted(attention.Mechanism):
    """Weights whose Jacobian JAX has to find."""

    def weights(self, scores, allowed):
        seen = jnp.where(allowed, scores, 0.0)
        return jnp.where(allowed, jnp.tanh(seen + seen.sum(-1, keepdims=True)), 0.0)


def mixed(x):
    return recursion.attend("softmax", x.reshape(3, 2, 3, 2), None, array(4, 6, 6))


# What can be traced: functions of arrays, and these.
TRACED = {
    "InfiniteTransformer": (network(), X, X2),
    "features and NNGP": (network(get="nngp"), X, X2),
    "pairwise": (network(draw="pairwise", depth=2, readout="mean"), X, X2),
    "conditional": (network(draw="conditional", causal=True), X, X2),
    "joint draws": (network(draw="joint", depth=2, layer_norm=True, residual=True), X, X2),
    "tokens": (network(readout="tokens", positions=0.5, draw="joint"), X, X2),
    "low rank": (network(depth=2, draw="joint", rank=3, activation="erf"), X, X2),
    "identity": (network(attention="identity", depth=2, activation=TANH), X, X2),
    **{
        f"{of}, {draw}": (network(attention=of, draw=draw, depth=2), X, X2)
        for of in (
            attention.Sigmoid(), attention.NormalisedRelu(), attention.Linear(),
            attention.Concentrated(), Tilted(),
        )
        for draw in ("joint", "pairwise")
    },
    "joint": (lambda x, y: kernels.joint(InfiniteTransformer(), x, y, **FEW).train[:4], X, X2),
    "empirical": (lambda x, y: empirical(NET, x, y)[:2], X, X2),
    "empirical, of a function": (
        lambda w: empirical((lambda w, x: jnp.tanh(x @ w) @ w[:2].T, w), X[:, 0], block=2)[:2],
        array(2, 2),
    ),
    "from_features": (lambda phi: kernels.from_features(phi, replicates=2)[:3:2], array(3, 8)),
    "features of inputs": (
        lambda x: InfiniteTransformer().features(x, key=KEY, draws=4, units=8),
        X,
    ),
    "ridge": (lambda k, y: kernels.ridge(k, y, k[:2], ridge=0.1)[:3:2], GRAM, GRAM[0]),
    "gp_posterior": (
        lambda k, y: kernels.gp_posterior(k, y, k[:2], k[:2, :2], noise=0.1)[:2],
        GRAM,
        GRAM[0],
    ),
    "gradient_flow": (
        lambda k, y: kernels.gradient_flow(
            k, y, k[:2], time=jnp.asarray([0.5, 2.0]), nngp=(k, k[:2], k[:2, :2])
        ),
        GRAM,
        GRAM[0],
    ),
    "the end of gradient_flow": (
        lambda k, y: kernels.gradient_flow(k, y, k[:2], time=None), GRAM, GRAM[0],
    ),
    "template_attention": (
        lambda b: kernels.template_attention(STRINGS, None, b, b, **FEW)[:4:2], np.float32(0.7),
    ),
    "template_transformer": (
        lambda b: kernels.template_transformer(STRINGS, None, b, b, activation="relu", **FEW)[:4:2],
        np.float32(0.7),
    ),
    "template_mlp": (
        lambda s: kernels.template_mlp(STRINGS, sigma_w=s, activation=TANH)[:2], np.float32(0.7),
    ),
    "draws.factor": (draws.factor, GRAM),
    "draws.Ordered": (
        lambda k: draws.Ordered.of(k[:3, :3])[0].then(k[:3, 3:], k[3:, 3:]), GRAM,
    ),
    "draws.conditional": (lambda k: draws.conditional(k, k / 2, k, array(2, 2, 6, 6)), GRAM),
    "recursion.attend": (mixed, GRAM),
    "recursion.drawn_rows": (
        lambda f: recursion.drawn_rows(
            attention.Softmax(), f, f, array(4, 2, 2), 1.0, jnp.ones((3, 5, 5), bool), True
        ).weights,
        X,
    ),
    "recursion.scores": (lambda f: recursion.scores(f, f, array(4, 2, 2), 1.0), X),
    "recursion.scores_of": (lambda f: recursion.scores_of(f, f, array(2, 4, 2), 1.0), X),
    "attention.Softmax.step": (
        lambda s: attention.Softmax().step(
            *map(Shares, jnp.asarray(array(2, 6, 4, 6))), Tokens(s, None, s, None), 1.0, True
        ),
        GRAM,
    ),
    "attention.Identity.step": (
        lambda s: attention.Identity().step(
            *map(Fixed, jnp.asarray(array(2, 6, 4, 6))), Tokens(s, None, s, None), 1.0, True
        ),
        GRAM,
    ),
    "activations.Quadrature.dual": (lambda k: TANH.dual(k, k / 2, k), array(3) ** 2),
    "compare.trained": (
        lambda x, y: compare.trained(
            MLP(width=4, features=2, rngs=0), x, y, X2[:, 0], steps=2, learning_rate=0.1
        ),
        X[:, 0],
        array(3),
    ),
}  # fmt: skip

MAKE = lambda width, rngs: MLP(width=width, features=2, depth=1, rngs=rngs)
EXACT = lambda x, y=None: kernels.template_mlp(
    np.arange(len(x))[:, None], None if y is None else np.arange(len(y))[:, None], depth=1
)
DATA = dict(widths=[4], seeds=3, key=0)


def stax():
    from theorykit.kernels.tangents import stax

    return stax.serial(stax.Dense(4), stax.Relu(), stax.Dense(1))


# What runs on known values: no function is traced as a whole. No other test has these sizes.
WATCHED = {
    "features": lambda: InfiniteTransformer()(array(3, 7, 3), **FEW),
    "piece by piece": lambda: InfiniteTransformer(depth=2)(array(3, 7, 3), draw="joint", **FEW),
    "pairs": lambda: InfiniteTransformer(depth=2)(array(3, 7, 3), draw="pairwise", **FEW),
    "gram": lambda: kernels.gram(InfiniteTransformer(), array(3, 7, 3), tile=2, **FEW),
    "primal_ridge": lambda: kernels.primal_ridge(
        InfiniteTransformer(), array(5, 3, 2), array(5), ridge=0.1, key=KEY, draws=4, units=8
    ),
    "monte_carlo": lambda: kernels.monte_carlo(stax(), array(3, 7), **FEW),
    "template_matrix": lambda: kernels.template_matrix(
        np.array([[0, -1, 2, 9], [1, 1, 3, 9]]),
        lambda x, y: kernels.template_attention(x, y, 1.0, 1.0, **FEW),
    ),
    "oracle.kernel": lambda: oracle.kernel(InfiniteTransformer(activation=TANH), X[:2, :2]),
    "compare.kernels": lambda: compare.kernels(MAKE, EXACT, array(7, 2), **DATA),
    "compare.last_layer": lambda: compare.last_layer(
        MAKE, EXACT, array(7, 2), array(7), array(3, 2), ridge=0.1, steps=2, **DATA
    ),
    "compare.gradient_descent": lambda: compare.gradient_descent(
        MAKE, EXACT, array(7, 2), array(7), array(3, 2), steps=[1, 2], learning_rate=0.1, **DATA
    ),
    "compare.two_stage": lambda: compare.two_stage(
        MAKE, EXACT, (array(7, 2), array(7)), (array(6, 2), array(6)), array(3, 2),
        steps=(1, [1, 2]), learning_rates=(0.1, 0.1), **DATA
    ),
}  # fmt: skip

WITHOUT = {
    "template_derivative", "template_expansion",  # fractions
    "draws.normals", "draws.blocks", "recursion.mlp", "recursion.layer_norm", "recursion.add",
    "recursion.again", "recursion.visible", "recursion.steepness", "recursion.fill",
    "recursion.aside", "recursion.at", "recursion.average",  # they call what does
    "recursion.in_parts", "recursion.between",
    "attention.mechanism",
    "activations.activation", "oracle.gaussian_points", "oracle.attention_step",
    "oracle.positive_semidefinite",
}  # fmt: skip
"""Public functions that make no product of floating-point arrays on the device."""


def public():
    """Yield the names of all public functions of kernels and compare."""
    for room, name in ((kernels, ""), (compare, "compare.")):
        for each in getattr(room, "__all__", [n for n in dir(room) if n[0] != "_"]):
            found = getattr(room, each)
            if inspect.isfunction(found):
                yield f"{name}{each}"
            elif inspect.ismodule(found) and each in (
                "activations", "attention", "draws", "oracle", "recursion",
            ):  # fmt: skip
                inside = inspect.getmembers(found, inspect.isfunction)
                yield from (
                    f"{each}.{n}"
                    for n, f in inside
                    if f.__module__ == found.__name__ and n[0] != "_"
                )


# Each public function, each kind of draws, and mechanisms with derivatives of either kind.
FAST = TRACED.keys() - {
    "low rank", "joint draws", "pairwise",
    *(
        f"{of}, {draw}"
        for of in (
            attention.Sigmoid(), attention.NormalisedRelu(), attention.Linear(),
            attention.Concentrated(),
        )
        for draw in ("joint", "pairwise")
    ),
    f"{Tilted()}, joint",
}  # fmt: skip
FAST_WATCHED = WATCHED.keys() - {
    "piece by piece", "pairs", "compare.last_layer", "compare.two_stage"
}  # fmt: skip


def test_no_public_function_is_left_out():
    named = {*TRACED, *WATCHED, *WITHOUT}
    missing = set(public()) - named
    assert not missing


def traced(name):
    function, *arrays = TRACED[name]
    return jax.make_jaxpr(lambda *a: function(*a))(*arrays), arrays


@pytest.mark.parametrize("name", tiers(TRACED, FAST))
def test_every_product_has_full_precision(name):
    found, poor = products(traced(name)[0])
    assert found
    assert not poor


def slopes(name, kind):
    """Return the products of a derivative that lack precision."""
    function, *arrays = TRACED[name]
    total = lambda *a: sum(jnp.sum(v) for v in jax.tree.leaves(jax.jit(function)(*a)))
    slope = {"grad": jax.grad(total), "jvp": lambda *a: jax.jvp(total, a, a)}[kind]
    return products(jax.make_jaxpr(slope)(*arrays))[1]


@pytest.mark.parametrize("name", tiers(TRACED, FAST))
def test_every_product_of_a_gradient_has_full_precision(name):
    """It is traced when the function's scope is long closed."""
    assert not slopes(name, "grad")


# A gradient is a transposed tangent, so that these are seldom missed.
@pytest.mark.parametrize("name", tiers(TRACED, ["InfiniteTransformer", "ridge"]))
def test_every_product_of_a_tangent_has_full_precision(name):
    assert not slopes(name, "jvp")


@pytest.mark.parametrize("name", tiers(WATCHED, FAST_WATCHED))
def test_every_product_has_full_precision_piece_by_piece(name, monkeypatch):
    if name in ("features", "piece by piece", "pairs"):
        monkeypatch.setattr(engine, "AT_ONCE", -1.0)
    with watched(monkeypatch) as seen:
        WATCHED[name]()
    assert seen
    assert all(full(*product) for product in seen)


@pytest.mark.parametrize(
    "name", tiers(TRACED, ["InfiniteTransformer", "empirical", "ridge", "template_mlp"])
)
def test_a_dropped_scope_is_noticed(name, monkeypatch):
    """The first test above, where no function has a scope."""
    monkeypatch.setattr(precision, "scope", lambda _: contextlib.nullcontext())
    assert products(traced(name)[0])[1]


def test_a_dropped_scope_is_noticed_piece_by_piece(monkeypatch):
    monkeypatch.setattr(precision, "scope", lambda _: contextlib.nullcontext())
    with watched(monkeypatch) as seen:
        InfiniteTransformer()(array(3, 6, 3), **FEW)
    assert not all(full(*product) for product in seen)


def test_under_shard_map():
    mesh, parts = Mesh(np.array(jax.devices()[:1]), "x"), PartitionSpec("x")
    run = jax.shard_map(
        lambda x: InfiniteTransformer()(x, X2, **FEW).ntk,
        mesh=mesh,
        in_specs=parts,
        out_specs=parts,
    )
    found, poor = products(jax.make_jaxpr(run)(X))
    assert found
    assert not poor


# What it costs ----------------------------------------------------------------------------------

NUMBERS = [n for n in TRACED if n not in ("empirical", "compare.trained")]


# Where no product is unmarked, nothing is rounded: the tests above say so without numbers.
@pytest.mark.parametrize("name", tiers(NUMBERS, ["ridge", "template_mlp"]))
def test_rounding_what_is_unmarked_changes_nothing(name):
    program, arrays = traced(name)
    plain, rounded = (evaluate(program, *arrays, rounding=r) for r in (False, True))
    for a, b in zip(plain, rounded, strict=True):
        assert np.array_equal(a, b, equal_nan=True)


def test_it_would_change_the_numbers(monkeypatch):
    """Without a scope three digits are left of the kernel."""
    program, arrays = traced("InfiniteTransformer")
    exact = evaluate(program, *arrays)
    monkeypatch.setattr(precision, "scope", lambda _: contextlib.nullcontext())
    program, arrays = traced("InfiniteTransformer")
    wrong = evaluate(program, *arrays)
    off = [float(abs(w / e - 1).max()) for w, e in zip(wrong[:2], exact[:2], strict=True)]
    assert 1e-4 < max(off) < 1e-1


# Training ---------------------------------------------------------------------------------------


def fitted(**options):
    make = lambda rngs: MLP(width=4, features=2, rngs=rngs)
    problem = training.OnData(X[:, 0], array(3, 1))
    few = dict(steps=2, every=1, seeds=2, progress=False)
    return training.fit(make, problem, optax.sgd(0.1), **few, **options)


PRECISIONS = [
    ("highest", "highest", True), (None, "default of cpu", False), ("high", "high", False),
    ("default", "default of cpu", False),
]  # fmt: skip


@pytest.mark.parametrize(("given", "used", "right"), tiers(PRECISIONS, PRECISIONS[:2]))
def test_training_takes_a_precision(given, used, right, monkeypatch):
    jax.clear_caches()
    with watched(monkeypatch) as seen:
        assert fitted(precision=given).precision == used
    assert seen
    assert all(full(*product) for product in seen) is right


def test_training_says_which_precision_it_used():
    with jax.default_matmul_precision("highest"):
        assert fitted().precision == "highest"
        assert fitted(precision="default").precision == "default of cpu"
    with pytest.raises(ValueError, match="precision is one of 'default', 'high', 'highest', got"):
        fitted(precision="best")


def test_a_folder_is_of_one_precision(tmp_path):
    fitted(folder=tmp_path)
    with pytest.raises(ValueError, match="precision"):
        fitted(folder=tmp_path, precision="highest")


def test_what_the_caller_states_stays():
    """A network that says how it multiplies is left alone."""
    apply = lambda w, x: jnp.dot(x, w, precision="default")
    seen = jax.make_jaxpr(lambda w: empirical((apply, w), X[:, 0], get="nngp").nngp)(array(2, 2))
    found, poor = products(seen)
    assert 0 < len(poor) < len(found)

"""Right arguments for everything public, by the names of parameters, and what the fuzz lets pass.

`EXAMPLES[package]` maps a parameter to what makes its value; `"name="` stands for a parameter with
a default, and `"function()"` holds what is different in one function. `INSTANCES` makes the objects
whose methods are called.
"""

import dataclasses
import functools
import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import valid_engine
from flax import nnx

from theorykit import (
    boolean,
    compare,
    crasp,
    kernels,
    limit,
    nets,
    pacbayes,
    predict,
    simulation,
    tasks,
    templates,
    training,
)

key = lambda: jax.random.key(0)
rng = lambda: np.random.default_rng(0)
array = lambda *shape: lambda: np.random.default_rng(1).normal(size=shape).astype(np.float32)
value = lambda v: lambda: v
file = lambda: str(Path(tempfile.mkdtemp()) / "file.json")

XOR = boolean.Parities(3, ((0, 1), (1, 2)), (1.0, 2.0))
PROGRAM = crasp.parse(crasp.source("contains_ab"))
LANGUAGE = tasks.RegularLanguage("ab", "(ab)*", "ab")
TEMPLATES = templates.templates("αα -> +1", "αβ -> -1")
DRAWN = templates.Distribution(TEMPLATES, 4)
one_layer = functools.cache(lambda seed=0: simulation.random_one_layer(
    np.random.default_rng(seed), "ab", 1, 1))  # fmt: skip
two_layers = functools.cache(lambda seed=0: simulation.random_two_layers(
    np.random.default_rng(seed), "ab", 1))  # fmt: skip


@functools.cache
def limited(context=None):
    """A transformer of the limit paper with a local head, with or without a context."""
    some = lambda *shape: np.random.default_rng(sum(shape)).integers(-2, 3, shape) / 2
    head = limit.Head(some(2, 3), some(2, 3), some(3, 3), limit.Local((0.0, 0.5)))
    layer = limit.Layer((head,), some(2, 3), some(3, 2), some(2), np.array([True, False]))
    return limit.Transformer(
        ("$", "0", "1"), some(3, 3), some(context or 2, 3), (layer,), some(2, 3), context, 2,
        "length", True,
    )  # fmt: skip


finite = functools.partial(limited, 6)
shiftless = lambda: dataclasses.replace(limited(), shift=False, precision=3)
built = lambda: boolean.transformer(XOR, 3)
mlp = lambda: nets.MLP(width=4, features=2)
wide = lambda width, rngs: nets.MLP(width=width, features=2, depth=1, rngs=rngs)
transformer = lambda: nets.Transformer(width=4, heads=2, vocabulary=3)
kernel = lambda x1, x2=None: kernels.template_mlp(
    np.arange(len(x1))[:, None], None if x2 is None else np.arange(len(x2))[:, None], depth=1
)
gram = lambda: np.array([[2.0, 0.5], [0.5, 1.0]], np.float32)
history = lambda: training.History([1, 2], {"loss": np.ones((2, 3))}, (0, 1, 2))
problem = lambda: training.OnData(array(3, 2)(), array(3, 1)())
soft = lambda w, mu: jnp.exp(-mu[:1]) * (w[-1] == 1)


@functools.cache
def fitted():
    return training.fit(
        lambda rngs: nets.MLP(width=4, features=2, rngs=rngs), problem(), optax.sgd(0.1), steps=2,
        every=1, seeds=2, progress=False,
    )  # fmt: skip


EXAMPLES = {
    "pacbayes": dict(
        squared_norm=value(2.0), trace=value(3.0), n=value(100), constant=value(1.0), kl=value(2.0),
        loss=value(0.1), level=value(0.9), dimension=value(3), tokens=value(4), network=mlp,
        x=array(3, 2), y=array(3, 1), sigma=value(0.1), key=key, losses=array(50),
        squared_distance=value(2.0), value=value(lambda n: 1 / n), layers=lambda: [
            pacbayes.Layer(np.eye(2), np.eye(2), np.eye(2))], readout=array(2),
        **{"perturbation=": array(3), "sigmas=": lambda: np.array([0.1, 0.2, 0.3]),
           "weights=": lambda: np.array([0.5, 1.0]), "draws=": value(4)},
    ),
    "sharpness": dict(
        network=mlp, x=array(3, 2), y=array(3, 1), key=key, sigmas=lambda: np.array([0.1, 0.2]),
        networks=mlp, **{"draws=": value(2)},
    ),
    "templates": dict(
        z=value("αβa"), x=value("xya"), s=value({"α": "x", "β": "y"}), other=value("αβb"),
        text=value("αβa"), texts=value(("αα", "αβ")), templates=lambda: TEMPLATES,
        found=lambda: TEMPLATES, symbols=value(4), label=value(1.0), key=key, n=value(3),
        names=value(("α", "β")), alphabet=value("xyz"), train=value(DRAWN),
        test=lambda: DRAWN.held_out(4), length=value(3), substitutions=lambda: {
            "αβ": templates.uniform_maps(("α", "β"), "xyz")},
        k=value(3), count=value(2),
        **{"Template()": dict(symbols=value(("α", "b"))), "labels=": value((1.0, -1.0)),
           "random_templates()": dict(wildcards=value(2), tokens=value(1)),
           "weights=": value((0.5, 0.5)),
           "alphabet=": value("xyz")},
    ),
    "simulation": dict(
        f=one_layer, g=functools.partial(one_layer, 1), weights=value([1, 2]), total=value(9),
        eps=value(0.5), alpha=value([1.0, 2.0]), symbols=value(2), period=value(1), tau=value(1),
        gamma=value(0.5), delta=value(0.05), N=value(50), rng=rng, length=value(60),
        share=value(0.5), q=value(0.2), n=value(20), x=value("abba" * 25), hard=value(1),
        m=lambda: np.array([[2], [3]]), prefix=value(7), fillers=lambda: np.array([1]),
        residue=value(0), least=value(3), alphabet=value("ab"), key=key, p=value(soft),
        longest=value(6), w=lambda: np.array([[0, 1]]), mu=lambda: np.array([[0.5, 0.5]]),
        i=lambda: np.array([2]),
        **{"counts()": dict(x=lambda: np.array([0, 1] * 9)),
           "in_bulk()": dict(x=lambda: np.array([0, 1] * 9), p=lambda: np.array([0.5, 0.5])),
           "counted()": dict(n=lambda: np.array([4, 5]), Af=lambda: np.array([True, False]),
                             Ag=lambda: np.array([True, True])),
           "last_outputs()": dict(f=two_layers, x=lambda: np.array([0, 1] * 9)),
           "windows()": dict(x=lambda: np.array([0, 1] * 9)),
           "path_average()": dict(x=lambda: np.array([0, 1] * 9)),
           "simulate_soft()": dict(x=lambda: np.array([0, 1] * 90), candidates=value(4)),
           "first_layer()": dict(f=two_layers), "first_layer_constants()": dict(f=two_layers),
           "average_length()": dict(alpha=value([1.0, 2.0])),
           "soft_output()": dict(f=two_layers), "complexity()": dict(f=two_layers),
           "training_length()": dict(f=two_layers, g=functools.partial(two_layers, 1)),
           "needed_length()": dict(longest=value(18)),
           "positional_margin()": dict(f=two_layers),
           "simulate_two_layers()": dict(f=two_layers, g=functools.partial(two_layers, 1),
                                         candidates=value(2))},
    ),
    "boolean": dict(
        f=value(XOR), T=value(3), sets=value(((0, 1),)), coefficients=value((1.0,)),
        x=lambda: np.array([0, 1, 1]), table=value([0.0, 1.0, 1.0, 0.0]), degree=value(2),
        sparsity=value(2), d=value(2), z=value(0.5), network=built, hidden=value(3),
        test=value(boolean.has_degree),
        design=value(boolean.Design(XOR, 3)), encodings=value(None), dtype=value(None),
        **{"first_accepted()": dict(f=value(XOR)), "ParityChain()": dict(T=value(3)),
           "Transformer.set_blocks()": dict(values=dict), "tiling()": dict(T=value(4))},
    ),
    "crasp": dict(
        program=value(PROGRAM), x=lambda: np.array([0, 1]), string=value("ab"), text=lambda:
        crasp.source("contains_ab"), name=value("contains_ab"),
        number=value(2), u=value("ab"), rng=rng,
        alphabet=value(("a", "b")), language=value(lambda w: len(w) == 3), neutral=value("c"),
        keep=value(("a", "b")), blocks=value({"a": "ab", "b": "a"}), strings=value(["ab", "aab"]),
        word=value("ab"), formula=lambda: crasp.formula(PROGRAM), n=value(3), right=value(
        lambda n: True), w=value(("a",)), definitions=value(PROGRAM.definitions),
        modulus=value(3), residues=value(frozenset({1})), symbol=value("a"), body=value(
        crasp.Symbol("a")), left=value(crasp.Integer(1)), other=value(2), yes=value(1),
        no=value(2), value=value(2), message=value("wrong"),
        **{"tries=": value(50), "longest=": value(6),
           "program()": dict(A=value(crasp.Symbol("a"))),
           "inverse_image()": dict(blocks=value({"a": "ab", "b": "ba"})),
           "search()": dict(
               task=value({"a": True, "b": False, "ab": True}), fragment=crasp.Fragment,
               most=value(1), alphabet=value("ab"), folder=lambda: file(), say=value(str.strip)),
           "unpad()": dict(neutral=value("b"), keep=value(("a",))),
           "impossible()": dict(language=value(LANGUAGE), alphabet=value("ab")),
           "score()": dict(program=lambda: crasp.parse("alphabet: a\nL(i) := exists[j<=i] Q_a(j)")),
           "needed()": dict(
               task=value({"a": True, "b": False, "ab": True}), fragment=crasp.Fragment,
               most=value(1), alphabet=value("ab")),
           "labelled()": dict(task=value(lambda s: "a" in s), lengths=value([1, 3]), count=value(4),
                              alphabet=value("ab"))},
    ),
    "limit": dict(
        transformer=limited, strings=value(["01", "11"]), string=value("01"),
        x=lambda: np.array([0, 1, 2]), array=array(3), n=value(3), symbols=value(2), order=value(2),
        beta=value(4.0), d=value(2), period=value(2), omega=value(2.0), context=value(6),
        alphabet=value(("$", "a")), E=array(2, 3), positions=lambda: np.zeros((1, 3)),
        layers=lambda: limited().layers, heads=lambda: limited().layers[0].heads,
        K=array(2, 3), Q=array(2, 3), V=array(3, 3), phi=value(None), A=array(2, 3), B=array(3, 2),
        b=array(2), heaviside=lambda: np.array([True, False]),
        U=array(2, 3), l=value(1), h=value(1), first=value(()),
        second=value(()), path=value(()), v=array(2, 3), w=array(2, 3), length=value(3),
        j=lambda: np.array([1]), i=lambda: np.array([2]), values=value((1.0, 2.0)),
        **{"to_limit()": dict(transformer=lambda: limit.to_finite(shiftless(), 5)),
           "to_finite()": dict(transformer=lambda: shiftless()),
           "communicate()": dict(string=value("011"), transformer=limited)},
        **{f"{name}()": dict(transformer=finite) for name in (
            "regularizer", "variant_product", "in_hypothesis_class", "alpha", "beta")},
    ),
    "tasks": dict(
        key=key, length=value(6), task=tasks.Majority, count=value(2), name=value("ab"),
        pattern=value("(ab)*"), alphabet=value("ab"), language=value(LANGUAGE), low=value(2),
        high=value(6), words=value(["ab", "ba"]), word=value("ab"), ids=lambda: LANGUAGE.ids("ab"),
        sample=lambda: tasks.Majority().sample(key(), 6), places=value(20),
        u=lambda: jnp.array(0.5), size=value(8),
    ),
    "predict": dict(
        task=value("a*b*"), alphabet=value("ab"), most=value(1), train=value(False),
        say=value(str.strip), folder=lambda: file(),
        found=functools.cache(lambda: predict.predict("a*b*", most=1)),
    ),
    "training": dict(
        make=value(lambda rngs: nets.MLP(width=4, features=2, rngs=rngs)), problem=problem,
        optimizer=lambda: optax.sgd(0.1), loss=value(lambda w: (w**2).sum()), weights=array(3),
        memory=lambda: optax.sgd(0.1).init(np.ones(3, np.float32)), task=tasks.Majority,
        x=array(3, 2), y=array(3, 1), train=value("readout"), network=mlp, steps=value([1, 2]),
        values=lambda: {"loss": np.ones((2, 3))}, seeds=value((0, 1, 2)), file=file,
        metric=value("loss"), value=value(0.5), metrics=value({"loss": 0.3}), index=value(1),
        count=value(2),
        **{"steps=": value(2), "every=": value(1), "progress=": value(False),
           "minibatch=": value(2), "seeds=": value(2), "evaluate=": value({}),
           "stop=": value(training.reaches("loss", 0.0, True)),
           "start=": fitted, "History.plot()": dict(file=lambda: file() + ".png"),
           "History.load()": dict(file=lambda: saved())},
    ),
    "kernels": dict(
        x1=array(2, 2, 2), network=mlp, k_train=gram, y=array(2), k_test=array(3, 2), key=key,
        k_test_test=lambda: np.eye(3, dtype=np.float32) * 9, noise=value(0.1), ridge=value(0.1),
        time=value(2.0), draws=value(4), beta=value(2), gamma=value(2), z=lambda: np.array(
        [[0, -1, 9], [1, 1, 9]]), kernel=value(lambda a, b: kernels.template_mlp(a, b)),
        **{"draws=": value(4), "replicates=": value(2), "key=": key, "progress=": value(False),
           "score_scale=": lambda: np.float32(1.5),
           "template_attention()": dict(x=lambda: np.array([[0, 1, 9], [2, 2, 9]])),
           "template_transformer()": dict(x=lambda: np.array([[0, 1, 9], [2, 2, 9]])),
           "template_mlp()": dict(x=lambda: np.array([[0, 1], [2, 2]])),
           "template_derivative()": dict(x=value("aab"), y=value("abb")),
           "empirical()": dict(x1=array(2, 2), x2=array(3, 2)),
           "gram()": dict(network=kernels.InfiniteTransformer, x=array(2, 2, 2), tile=value(2),
                          x_test=array(1, 2, 2), key=key, draws=value(4), replicates=value(2)),
           "InfiniteTransformer.description()": dict(features=value(2)),
           "InfiniteTransformer.features()": dict(x=array(2, 2, 2), key=key, draws=value(4),
                                                  units=value(4)),
           "from_features()": dict(phi1=array(2, 4), phi2=array(3, 4), replicates=value(2)),
           "primal_ridge()": dict(network=kernels.InfiniteTransformer, x=array(2, 2, 2),
                                  y=array(2), key=key, draws=value(4), units=value(4)),
           "joint()": dict(network=kernels.InfiniteTransformer, train=array(2, 2, 2),
                           test=array(1, 2, 2), key=key, draws=value(4), replicates=value(2)),
           "monte_carlo()": dict(network=lambda: stax(), x1=array(2, 2), x2=array(3, 2))},
    ),
    "nets": dict(
        width=value(4), heads=value(2), vocabulary=value(3), x=lambda: np.array([0, 1, 2]),
        rngs=lambda: nnx.Rngs(0), shape=value((2, 3)), fan_in=value(2), tokens=value(3),
        kind=value("ntk"), parameterisation=value("ntk"), t=value(3), mask=value(None),
        z=array(3, 4), readout=value(False),
        **{"vocabulary=": value(3), "MLP()": dict(tokens=value(3)), "tokens=": value(3),
           "MLP.__call__()": dict(x=array(2)), "heads=": value((1,)), "width=": value(4),
           "mlp_width=": value(4)},
    ),
    "compare": dict(
        make=value(wide), kernel=value(kernel), x=array(3, 2), y=array(3), x_test=array(2, 2),
        ridge=value(0.1), widths=value([4, 8]), seeds=value(3), key=value(0), network=mlp,
        steps=value([1, 2]), learning_rate=value(0.1), file=lambda: file() + ".png",
        first=lambda: (array(3, 2)(), array(3)()), second=lambda: (array(3, 2)(), array(3)()),
        **{"trained()": dict(steps=value(2)), "two_stage()": dict(steps=value((2, [1, 2]))),
           "steps=": value(3)},
    ),
    **valid_engine.EXAMPLES,
}  # fmt: skip


def stax():
    from theorykit.kernels.tangents import stax

    return stax.serial(stax.Dense(4), stax.Relu(), stax.Dense(1))


def saved():
    place = file()
    history().save(place)
    return place


@functools.cache
def gap():
    return compare.kernels(
        wide, lambda a, b: kernels.Kernel(np.eye(len(a)), np.eye(len(a))), array(3, 2)(),
        widths=[4, 8], seeds=3, key=0,
    )  # fmt: skip


INSTANCES = {
    boolean.Parities: value(XOR),
    boolean.Construction: built,
    boolean.ParityChain: lambda: boolean.ParityChain(3),
    boolean.Transformer: lambda: boolean.Transformer(3, hidden=3),
    crasp.Program: value(PROGRAM),
    crasp.Compiled: functools.cache(lambda: crasp.compile(PROGRAM)),
    crasp.Pumped: functools.cache(lambda: crasp.pump(PROGRAM, "ab")),
    crasp.Fragment: crasp.Fragment,
    crasp.Found: functools.cache(lambda: crasp.search({"a": True, "b": False}, most=1)),
    crasp.Symbol: lambda: crasp.Symbol("a"),
    crasp.Integer: lambda: crasp.Integer(1),
    limit.Local: lambda: limit.Local((1.0, 2.0)),
    limit.Transformer: limited,
    templates.Distribution: lambda: DRAWN.with_cls(),
    templates.Template: lambda: TEMPLATES[0],
    tasks.Majority: tasks.Majority,
    tasks.RegularLanguage: value(LANGUAGE),
    tasks.SimpleTask: tasks.SimpleTask,
    tasks.InductionHead: tasks.InductionHead,
    tasks.LengthBins: lambda: tasks.LengthBins(tasks.Majority(), 4),
    tasks.ShortestPath: lambda: tasks.ShortestPath(max_nodes=8),
    training.History: history,
    training.Fit: fitted,
    training.OnData: problem,
    training.reaches: lambda: training.reaches("loss", 0.5),
    kernels.InfiniteTransformer: kernels.InfiniteTransformer,
    nets.MLP: mlp,
    nets.Transformer: transformer,
    nets.LocalTransformer: lambda: nets.LocalTransformer(vocabulary=3),
    compare.KernelGap: gap,
    **valid_engine.INSTANCES,
}

HOOKS = {
    # What others write for a task or a problem, and what `sample` and `fit` call inside `jit` once
    # they have checked everything.
    "draw", "instance", "padded", "most", "following", "counts", "features", "graph", "labels",
    "radius", "cut_value", "distance", "problem", "loss", "metrics", "errors", "solution",
    "objective", "measure", "describe", "inputs", "batches", "check_seeds",
    # What a network's own `__call__` does step by step.
    "embed", "hidden", "read", "rotation", "visible", "activations", "tokens", "last", "step",
    "refuse_other_lengths", "set_blocks", "attention",
    # What a check's `test` does with its domain.
    "meet", "admits", "cases", "random", "squash", "point", "settings", "Inputs.contains",
}  # fmt: skip

ALLOWED = {
    "certify.Balls.contains(value=1j) -> False": "no real ball holds it",
    "certify.enclose(args={'a': 1}": "a tree goes to the function, which refuses it itself",
    "training.reaches.__call__(metrics={'loss': nan})": "NaN reaches nothing; `fit` says Diverged",
    "training.fit(start=Fit(": "of an earlier fit only the state is read, and looked at",
}
"""The beginnings of faults that are none, and why."""


def allowed(what: str) -> bool:
    """Return whether a fault is one of those that are let pass."""
    return any(what.startswith(start) for start in ALLOWED)

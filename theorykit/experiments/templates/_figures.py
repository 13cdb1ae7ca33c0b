"""The figures of the template paper: what networks learn of relations between unseen symbols.

As in its appendix A, n samples over an alphabet of n symbols are trained on, and 100 samples over
100 other symbols each are for validation, which says when to stop, and for the test. Every trial
has samples of its own. Regression is judged by the mean squared error (0 predicted: 1 for labels of
variance 1), prediction of symbols by the cross entropy. Beside the networks stands ridge regression
with the transformer's kernel on the same samples. The trainable a and b begin at 1, but at 0 where
a head has nothing to do but to copy (Fig. 5).
"""

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from theorykit.common import exponents
from theorykit.experiments._experiment import Finding, Setting, experiment
from theorykit.subjects.templates import Distribution, Template, families

HELD_OUT = 100  # symbols, and samples, of the validation and of the test
RIDGE = dict(beta=30.0, gamma=1.0, phase=0.5, frequency=0.5, ridge=1e-3)
"""The kernel that stands beside the networks: parameters of the paper's, one choice for all."""


@dataclasses.dataclass(frozen=True)
class Budget:
    """How large the networks are and how long they train.

    **Fields:** `samples`: the values of n; `rates`: learning rates of Adam, of which the one with
    the least validation loss counts; `draws`: of the kernel, 0 for none.
    """

    samples: tuple[int, ...]
    trials: int
    steps: int
    every: int
    rates: tuple[float, ...]
    width: int
    heads: int
    head_size: int
    mlp_width: int
    depth: int = 2
    draws: int = 2048

    def transformer(self, **more: Any) -> dict[str, Any]:
        """Return the options of the paper's transformer, with others put in."""
        return dict(
            width=self.width, heads=self.heads, head_size=self.head_size, depth=self.depth,
            mlp="two", mlp_width=self.mlp_width, activation="gelu", norm="layer", residual=True,
            positions="learned", parameterisation="standard",
        ) | more  # fmt: skip


BUDGETS = {
    "cpu": Budget(
        samples=(64, 128, 256), trials=4, steps=200, every=20, rates=(1e-3,), width=32,
        heads=4, head_size=16, mlp_width=64,
    ),
    "paper": Budget(
        samples=(64, 128, 256, 512, 1024, 2048), trials=5, steps=1000, every=10,
        rates=(1e-5, 1e-4, 1e-3, 1e-2), width=128, heads=16, head_size=64, mlp_width=256,
        draws=8192,
    ),
}  # fmt: skip
"""As printed, except that a step takes all n samples: the paper's batches have 1,024."""


def network(kind: str, task: Distribution, budget: Budget, **options: Any) -> Callable:
    """Return what makes a network of a kind: "transformer", "mlp" or "incidence".

    The last is an MLP that is also given XX', the paper's data augmentation.
    """
    from theorykit.networks import nets

    symbol = isinstance(task.templates[0].label, str)
    vocabulary = task.vocabulary + 2 * HELD_OUT
    if kind == "transformer":
        plain = budget.transformer(**options)
        plain |= dict(vocabulary=vocabulary, max_tokens=task.length)
        plain |= dict(tied=True, outputs=vocabulary) if symbol else dict(outputs=1)
        return lambda rngs: nets.Transformer(rngs=rngs, **plain)
    dense = dict(width=4 * budget.width, depth=2, parameterisation="standard", **options)
    if kind == "mlp":
        return lambda rngs: nets.MLP(vocabulary=vocabulary, tokens=task.length, rngs=rngs, **dense)
    return lambda rngs: _incidence(vocabulary, task.length, dense, rngs)


def _incidence(vocabulary: int, k: int, options: dict[str, Any], rngs: Any) -> Any:
    import jax
    import jax.numpy as jnp
    from flax import nnx

    from theorykit.networks import nets

    class Incidence(nnx.Module):
        def __init__(self):
            self.mlp = nets.MLP(features=k * vocabulary + k * k, rngs=rngs, **options)

        def __call__(self, x):
            same = (x[:, None] == x[None, :]).astype(float)
            return self.mlp(jnp.append(jax.nn.one_hot(x, vocabulary).ravel(), same.ravel()))

    return Incidence()


def data(found: Sequence[Template], n: int, trials: int, seed: int) -> tuple[Distribution, dict]:
    """Return the training distribution, and (x, y) of training, validation and test.

    One data set a trial, along the first axis. Templates with numbers get a [CLS] at the end.
    """
    import jax

    task = Distribution(found, symbols=n)
    if not isinstance(found[0].label, str):
        task = task.with_cls()
    validation = task.held_out(HELD_OUT)
    parts = {"train": (task, n), "validation": (validation, HELD_OUT)}
    parts["test"] = (task.held_out(HELD_OUT, after=validation), HELD_OUT)
    pairs = {}
    for number, (name, (d, size)) in enumerate(parts.items()):
        key = jax.random.fold_in(jax.random.key(seed), 10 * n + number)
        drawn = jax.jit(jax.vmap(lambda key, d=d, size=size: d.sample(key, size)))(
            jax.random.split(key, trials)
        )
        pairs[name] = tuple(np.asarray(a) for a in drawn[:2])
    return task, pairs


def cross_entropy(out: Any, y: Any) -> Any:
    """Return the cross entropy of one symbol."""
    import jax

    return -jax.nn.log_softmax(out)[y]


def squared_error(out: Any, y: Any) -> Any:
    """Return the squared error of one number."""
    return (out[0] - y) ** 2


def learn(
    kind: str,
    found: Sequence[Template],
    n: int,
    budget: Budget,
    setting: Setting,
    where: str,
    **options: Any,
) -> np.ndarray:
    """Return the test loss at the least validation loss, a number a trial."""
    import optax

    from theorykit.networks import training

    task, pairs = data(found, n, budget.trials, setting.seed)
    loss = cross_entropy if isinstance(found[0].label, str) else squared_error
    best = np.full(budget.trials, np.inf), np.full(budget.trials, np.inf)
    for rate in budget.rates:
        fit = training.fit(
            network(kind, task, budget, **options),
            optimizer=optax.adam(rate),
            data=pairs["train"],
            evaluate={name: pairs[name] for name in ("validation", "test")},
            loss=loss,
            each=True,
            steps=budget.steps,
            every=budget.every,
            seeds=budget.trials,
            key=setting.seed,
            folder=setting.at(where, f"n{n}_rate{rate:g}"),
            config=dict(rate=rate, kind=kind),
            progress=False,
        )
        validation, test = fit.history["validation/loss"], fit.history["test/loss"]
        at = validation.argmin(0), np.arange(budget.trials)
        better = validation[at] < best[0]
        best = tuple(
            np.where(better, new[at], old)
            for new, old in zip((validation, test), best, strict=True)
        )  # type: ignore[assignment]
    return best[1]


def regress(found: Sequence[Template], n: int, budget: Budget, seed: int) -> np.ndarray:
    """Return the test error of ridge regression with the transformer's kernel, a number a trial."""
    import jax

    from theorykit import kernels
    from theorykit.kernels.activations import Cos

    _, pairs = data(found, n, budget.trials, seed)
    errors = []
    for trial in range(budget.trials):
        (x, y), (x_test, y_test) = ([a[trial] for a in pairs[p]] for p in ("train", "test"))
        K = kernels.template_transformer(
            np.concatenate([x, x_test]),
            None,
            RIDGE["beta"],
            RIDGE["gamma"],
            activation=Cos(RIDGE["frequency"], RIDGE["phase"]),
            key=jax.random.fold_in(jax.random.key(seed), trial),
            draws=budget.draws,
            replicates=1,
        ).nngp
        assert K is not None
        K = np.asarray(K, float)
        alpha = np.linalg.solve(K[:n, :n] + RIDGE["ridge"] * np.eye(n), y)
        errors.append(np.mean((K[n:, :n] @ alpha - y_test) ** 2))
    return np.array(errors)


Curve = tuple[str, Sequence[Template], dict[str, Any]]
"""A kind of network (or "ridge"), templates, and options of the network."""


def curves(
    lines: Mapping[str, Curve],
    budget: Budget,
    setting: Setting,
    printed: str,
    axis: str = "n",
    at: Sequence[Any] | None = None,
) -> Finding:
    """Return the test losses of several networks over n, or over another option of the network.

    **Arguments:** `lines`: name -> curve; `printed`: what the paper says; `axis`, `at`: an option
    of the network that takes the place of n, and its values; n is then the largest.
    """
    values = list(budget.samples if at is None else at)
    table: dict[str, np.ndarray] = {}
    for name, (kind, found, options) in lines.items():
        losses = []
        for value in values:
            setting.say(f"{name}, {axis} = {value}")
            n = value if at is None else budget.samples[-1]
            more = options if at is None else options | {axis: value}
            if kind == "ridge":
                losses.append(regress(found, n, budget, setting.seed))
            else:
                where = f"{name}_{axis}{value}".replace(" ", "_").replace("/", "_")
                losses.append(learn(kind, found, n, budget, setting, where, **more))
        table[name] = np.array(losses)  # (values, trials)
    rows = [
        {axis: value, **{name: _said(losses[i]) for name, losses in table.items()}}
        for i, value in enumerate(values)
    ]
    last = {name: _said(losses[-1]) for name, losses in table.items()}
    summary = (
        f"Test losses on unseen symbols, means of {budget.trials} trials with 95% intervals; at "
        f"{axis} = {values[-1]}: "
        + "; ".join(f"{name} {said}" for name, said in last.items())
        + f". The paper: {printed}."
    )
    numbers = {axis: values, **{name: losses.tolist() for name, losses in table.items()}}
    return Finding(summary, rows, numbers, functools.partial(draw, axis, values, table))


def interval(values: np.ndarray) -> tuple[float, float, float]:
    """Return the mean over trials and its 95% interval, unknown for one trial."""
    if len(values) < 2:
        return float(values.mean()), float("nan"), float("nan")
    return exponents.mean(values, 0.95)


def _said(values: np.ndarray) -> str:
    mean, low, high = interval(values)
    return f"{mean:.3f} [{low:.3f}, {high:.3f}]"


def draw(axis: str, values: Sequence[Any], table: Mapping[str, np.ndarray], file: Path) -> None:
    """Draw the mean test loss of each curve with its interval."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.5, 3.8), layout="constrained")
    axes = figure.subplots()
    for name, losses in table.items():
        mean, low, high = np.array([interval(row) for row in losses]).T
        (line,) = axes.plot(values, mean, "o-", markersize=4, label=name)
        axes.fill_between(values, low, high, alpha=0.15, color=line.get_color(), linewidth=0)
    axes.set(xscale="log", xlabel=axis, ylabel="test loss, unseen symbols")
    axes.legend(frameon=False, fontsize="small")
    figure.savefig(file, dpi=150)


def compared(found: Sequence[Template]) -> dict[str, Curve]:
    """Return the curves of one regression task: both transformers, ridge regression, an MLP."""
    return {
        "transformer": ("transformer", found, {}),
        "with aI": ("transformer", found, dict(scalars=(1.0, 0.0))),
        "kernel ridge": ("ridge", found, {}),
        "MLP": ("mlp", found, {}),
    }


@experiment("templates", "fig2", ref="Fig. 2")
def programs(setting: Setting) -> Finding:
    """Two programs that print one of two variables: W_K W_Q' + a I needs fewer samples."""
    return curves(
        compared(families.programs()), BUDGETS[setting.size], setting,
        "the error falls with n, an order of magnitude earlier with a I; MLPs fail",
    )  # fmt: skip


@experiment("templates", "fig3", ref="Fig. 3")
def symbol_programs(setting: Setting) -> Finding:
    """Two programs whose output is a symbol: with b I, and a I, fewer samples are needed."""
    budget = BUDGETS[setting.size]
    if setting.size == "paper":
        budget = dataclasses.replace(budget, depth=4, width=512)
    found = families.symbol_programs()
    lines: dict[str, Curve] = {
        "transformer": ("transformer", found, {}),
        "with bI": ("transformer", found, dict(scalars=(0.0, 1.0))),
        "with aI, bI": ("transformer", found, dict(scalars=(1.0, 1.0))),
    }
    return curves(lines, budget, setting, "with the scalars the loss falls with less data")


@experiment("templates", "fig5", ref="Fig. 5, Theorems 4.1 and 4.2")
def copying(setting: Setting) -> Finding:
    """Copying one token by attention alone: fails as the embedding grows, not with b I."""
    budget = BUDGETS[setting.size]
    budget = (
        dataclasses.replace(budget, samples=(256,), rates=(1e-2,), steps=300)
        if setting.size == "cpu"
        else dataclasses.replace(budget, samples=(1024,))
    )
    plain = dict(mlp=None, norm=None, residual=False, positions=None, depth=1)
    found = families.copying()
    lines: dict[str, Curve] = {
        "transformer": ("transformer", found, plain),
        "with bI": ("transformer", found, plain | dict(scalars=(0.0, 0.0))),
    }
    widths = (16, 64, 256) if setting.size == "cpu" else (32, 64, 128, 256, 512, 1024, 2048)
    return curves(
        lines, budget, setting, "fails as d_emb grows, succeeds with b I", axis="width", at=widths
    )


def tasks() -> dict[str, Sequence[Template]]:
    """Return the tasks of Fig. 17."""
    return {
        "αβα, αββ": families.aba_abb(),
        "αβαβ, ααββ": families.abab_aabb(),
        "majority 3": families.majority(3),
        "majority 4": families.majority(4),
        "majority 5": families.majority(5),
    }


@experiment("templates", "fig17", ref="Fig. 17")
def difficulty(setting: Setting) -> Finding:
    """A transformer on the simple tasks."""
    lines: dict[str, Curve] = {n: ("transformer", found, {}) for n, found in tasks().items()}
    return curves(lines, BUDGETS[setting.size], setting, "tasks differ; all improve with n")


def random_tasks(setting: Setting, name: str, options: Sequence[dict], printed: str) -> Finding:
    """Return the curves of random templates, one a choice of options."""
    lines: dict[str, Curve] = {}
    for chosen in options:
        many = chosen.get("count", 2)
        labels = (1.0, -1.0) if many == 2 else None
        arguments = dict(count=2, length=5, wildcards=2, tokens=0, labels=labels) | chosen
        found = families.random_templates(seed=setting.seed, **arguments)
        lines[f"{name} {chosen[name]}"] = ("transformer", found, {})
    return curves(lines, BUDGETS[setting.size], setting, printed)


@experiment("templates", "fig18", ref="Fig. 18")
def random_lengths(setting: Setting) -> Finding:
    """Two random templates of two wildcards: longer ones are harder."""
    lengths = (3, 5, 8) if setting.size == "cpu" else (3, 5, 10, 20)
    options = [dict(length=k) for k in lengths]
    return random_tasks(setting, "length", options, "performance degrades with the length")


@experiment("templates", "fig19", ref="Fig. 19")
def random_wildcards(setting: Setting) -> Finding:
    """Two random templates of length five: more wildcards are generally harder."""
    options = [dict(wildcards=w) for w in (2, 3, 4)]
    return random_tasks(setting, "wildcards", options, "performance generally degrades with |W|")


@experiment("templates", "fig20", ref="Fig. 20")
def random_tokens(setting: Setting) -> Finding:
    """Two random templates of length five, two wildcards: regular tokens make it easy."""
    options = [dict(tokens=t) for t in (0, 1, 2)]
    return random_tasks(setting, "tokens", options, "performance quickly improves with |X|")


@experiment("templates", "fig21", ref="Fig. 21, appendix B.2")
def random_counts(setting: Setting) -> Finding:
    """Several random templates of length five (the caption repeats Fig. 20's)."""
    options = [dict(count=r, wildcards=3) for r in (2, 4, 8)]
    return random_tasks(setting, "count", options, "the effect of the number of templates")


@experiment("templates", "fig22", ref="Fig. 22")
def architectures(setting: Setting) -> Finding:
    """αβα against αββ: transformers with and without a I and b I, ridge regression, an MLP."""
    found = families.aba_abb()
    lines: dict[str, Curve] = compared(found) | {
        "with bI": ("transformer", found, dict(scalars=(0.0, 1.0))),
        "with aI, bI": ("transformer", found, dict(scalars=(1.0, 1.0))),
    }
    return curves(
        lines, BUDGETS[setting.size], setting, "transformers are best, with the identities most"
    )


@experiment("templates", "fig23", ref="Fig. 23")
def majorities(setting: Setting) -> Finding:
    """Majority of several lengths: with a I and b I less data is needed."""
    lines: dict[str, Curve] = {}
    for k in (3, 5) if setting.size == "cpu" else (3, 4, 5, 6):
        found = families.majority(k)
        lines[f"length {k}"] = ("transformer", found, {})
        lines[f"length {k} with aI, bI"] = ("transformer", found, dict(scalars=(1.0, 1.0)))
    return curves(
        lines, BUDGETS[setting.size], setting, "an order of magnitude less data with the scalars"
    )


@experiment("templates", "fig25", ref="Fig. 25")
def augmented(setting: Setting) -> Finding:
    """αβα against αββ: an MLP that is also given XX' learns it."""
    found = families.aba_abb()
    lines: dict[str, Curve] = {
        "transformer": ("transformer", found, {}),
        "MLP": ("mlp", found, {}),
        "MLP with XX'": ("incidence", found, {}),
    }
    return curves(lines, BUDGETS[setting.size], setting, "XX' helps the MLP")


@experiment("templates", "hyper", ref="Figs. 8 to 14")
def hyperparameters(setting: Setting) -> Finding:
    """αβα against αββ: depth, heads, width and learning rate, one at a time."""
    found = families.aba_abb()
    budget = BUDGETS[setting.size]
    budget = dataclasses.replace(
        budget, samples=budget.samples[-1:] if setting.size == "cpu" else (512, 1024)
    )
    lines: dict[str, Curve] = {"base": ("transformer", found, {})}
    for name, values in {"depth": (1, 4), "heads": (1, 16), "width": (16, 64)}.items():
        for value in values:
            lines[f"{name} {value}"] = ("transformer", found, {name: value})
    return curves(lines, budget, setting, "more heads help; smaller embeddings are better")

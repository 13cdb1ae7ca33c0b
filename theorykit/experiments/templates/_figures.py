"""The figures of the template paper: what networks learn about relations between unseen symbols.

As in its appendix A, training uses n samples over an alphabet of n symbols. Validation, for early
stopping, and test use 100 samples each over 100 other symbols each. Every trial has its own
samples. Regression is measured by the mean squared error (1 for predicting 0 if labels have
variance 1), prediction of symbols by the cross entropy. The networks are compared with ridge
regression with the transformer's kernel on the same samples. The trainable a and b start at 1,
except at 0 where a head only has to copy (Fig. 5).
"""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from theorykit.experiments import Curves, Finding, Setting, reproduces
from theorykit.experiments.templates._losses import learn, regress
from theorykit.experiments.templates._networks import BUDGETS, Budget
from theorykit.subjects.templates import Template, families

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
    """Return the test losses of several networks against n, or against another option.

    **Arguments:** `lines`: name -> curve; `printed`: what the paper says; `axis`, `at`: an option
    of the network used in place of n, and its values; then n is the largest value.
    """
    values = list(budget.samples if at is None else at)

    def one(name: str, value: Any) -> np.ndarray:
        kind, found, options = lines[name]
        setting.say(f"{name}, {axis} = {value}")
        n = value if at is None else budget.samples[-1]
        more = options if at is None else options | {axis: value}
        if kind == "ridge":
            return setting.call(regress, found, n, budget, setting.seed)
        where = f"{name}_{axis}{value}".replace(" ", "_").replace("/", "_")
        return learn(kind, found, n, budget, setting, where, **more)

    losses = setting.each(one, itertools.product(lines, values))
    shape = len(lines), len(values), -1
    table = dict(zip(lines, np.array(losses).reshape(shape), strict=True))  # (values, trials) each
    tested = Curves(axis, values, table, "test losses on unseen symbols", runs="trials")
    return tested.finding(printed, xscale="log")


def compared(found: Sequence[Template]) -> dict[str, Curve]:
    """Return the curves of one regression task: both transformers, ridge regression, an MLP."""
    return {
        "transformer": ("transformer", found, {}),
        "with aI": ("transformer", found, dict(scalars=(1.0, 0.0))),
        "kernel ridge": ("ridge", found, {}),
        "MLP": ("mlp", found, {}),
    }


@reproduces("templates", "fig2", ref="Fig. 2")
def programs(setting: Setting) -> Finding:
    """Two programs that print one of two variables: W_K W_Q' + a I needs fewer samples."""
    return curves(
        compared(families.programs()), BUDGETS[setting.size], setting,
        "the error falls with n, an order of magnitude earlier with a I; MLPs fail",
    )  # fmt: skip


@reproduces("templates", "fig3", ref="Fig. 3")
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


@reproduces("templates", "fig5", ref="Fig. 5, Theorems 4.1 and 4.2")
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


@reproduces("templates", "fig17", ref="Fig. 17")
def difficulty(setting: Setting) -> Finding:
    """A transformer on the simple tasks."""
    lines: dict[str, Curve] = {n: ("transformer", found, {}) for n, found in tasks().items()}
    return curves(lines, BUDGETS[setting.size], setting, "tasks differ; all improve with n")


def random_tasks(setting: Setting, name: str, options: Sequence[dict], printed: str) -> Finding:
    """Return the curves of random templates, one per choice of options."""
    lines: dict[str, Curve] = {}
    for chosen in options:
        many = chosen.get("count", 2)
        labels = (1.0, -1.0) if many == 2 else None
        arguments = dict(count=2, length=5, wildcards=2, tokens=0, labels=labels) | chosen
        found = families.random_templates(seed=setting.seed, **arguments)
        lines[f"{name} {chosen[name]}"] = ("transformer", found, {})
    return curves(lines, BUDGETS[setting.size], setting, printed)


@reproduces("templates", "fig18", ref="Fig. 18")
def random_lengths(setting: Setting) -> Finding:
    """Two random templates of two wildcards: longer ones are harder."""
    lengths = (3, 5, 8) if setting.size == "cpu" else (3, 5, 10, 20)
    options = [dict(length=k) for k in lengths]
    return random_tasks(setting, "length", options, "performance degrades with the length")


@reproduces("templates", "fig19", ref="Fig. 19")
def random_wildcards(setting: Setting) -> Finding:
    """Two random templates of length five: more wildcards are generally harder."""
    options = [dict(wildcards=w) for w in (2, 3, 4)]
    return random_tasks(setting, "wildcards", options, "performance generally degrades with |W|")


@reproduces("templates", "fig20", ref="Fig. 20")
def random_tokens(setting: Setting) -> Finding:
    """Two random templates of length five, two wildcards: regular tokens make it easy."""
    options = [dict(tokens=t) for t in (0, 1, 2)]
    return random_tasks(setting, "tokens", options, "performance quickly improves with |X|")


@reproduces("templates", "fig21", ref="Fig. 21, appendix B.2")
def random_counts(setting: Setting) -> Finding:
    """Several random templates of length five (the caption repeats Fig. 20's)."""
    options = [dict(count=r, wildcards=3) for r in (2, 4, 8)]
    return random_tasks(setting, "count", options, "the effect of the number of templates")


@reproduces("templates", "fig22", ref="Fig. 22")
def architectures(setting: Setting) -> Finding:
    """αβα versus αββ: transformers with and without a I and b I, ridge regression, an MLP."""
    found = families.aba_abb()
    lines: dict[str, Curve] = compared(found) | {
        "with bI": ("transformer", found, dict(scalars=(0.0, 1.0))),
        "with aI, bI": ("transformer", found, dict(scalars=(1.0, 1.0))),
    }
    return curves(
        lines, BUDGETS[setting.size], setting, "transformers are best, with the identities most"
    )


@reproduces("templates", "fig23", ref="Fig. 23")
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


@reproduces("templates", "fig25", ref="Fig. 25")
def augmented(setting: Setting) -> Finding:
    """αβα versus αββ: an MLP that is also given XX' learns it."""
    found = families.aba_abb()
    lines: dict[str, Curve] = {
        "transformer": ("transformer", found, {}),
        "MLP": ("mlp", found, {}),
        "MLP with XX'": ("incidence", found, {}),
    }
    return curves(lines, BUDGETS[setting.size], setting, "XX' helps the MLP")


@reproduces("templates", "hyper", ref="Figs. 8 to 14")
def hyperparameters(setting: Setting) -> Finding:
    """αβα versus αββ: depth, heads, width and learning rate, one at a time."""
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

"""Test losses of networks and of ridge regression on symbols unseen in training."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Float, Int

from theorykit import kernels
from theorykit.experiments import Adam, Plan, Setting
from theorykit.experiments.templates._networks import HELD_OUT, Budget, network
from theorykit.kernels.activations import Cos
from theorykit.subjects.templates import Distribution, Template

RIDGE = dict(beta=30.0, gamma=1.0, phase=0.5, frequency=0.5, ridge=1e-3)
"""The kernel that networks are compared with: one choice of the paper's parameters for all."""


def data(
    found: Sequence[Template], n: int, trials: int, seed: int
) -> tuple[Distribution, dict[str, Any]]:
    """Return the training distribution, and (x, y) of training, validation and test.

    One data set per trial, along the first axis. Templates with numeric labels get a [CLS] at the
    end.
    """
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


def cross_entropy(out: Float[Array, " symbols"], y: Int[Array, ""]) -> Float[Array, ""]:
    """Return the cross entropy of one symbol."""
    return -jax.nn.log_softmax(out)[y]


def squared_error(out: Float[Array, "1"], y: Float[Array, ""]) -> Float[Array, ""]:
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
) -> Float[np.ndarray, " trials"]:
    """Return the test loss at the smallest validation loss, one number per trial."""
    from theorykit.networks.training import OnData

    task, pairs = data(found, n, budget.trials, setting.seed)
    loss = cross_entropy if isinstance(found[0].label, str) else squared_error
    plan = Plan(
        OnData(
            *pairs["train"], loss=loss, each=True,
            evaluate={name: pairs[name] for name in ("validation", "test")},
        ),
        network(kind, task, budget, **options),
        steps=budget.steps,
        every=budget.every,
        seeds=budget.trials,
    )  # fmt: skip

    def train(rate: float) -> Any:
        return dataclasses.replace(plan, optimizer=Adam(rate)).train(
            setting, where, f"n{n}_rate{rate:g}", config=dict(rate=rate, kind=kind)
        )

    best = np.full(budget.trials, np.inf), np.full(budget.trials, np.inf)
    for fit in setting.each(train, [(rate,) for rate in budget.rates]):
        validation, test = fit.history["validation/loss"], fit.history["test/loss"]
        at = validation.argmin(0), np.arange(budget.trials)
        better = validation[at] < best[0]
        best = tuple(
            np.where(better, new[at], old)
            for new, old in zip((validation, test), best, strict=True)
        )  # type: ignore[assignment]
    return best[1]


def regress(
    found: Sequence[Template], n: int, budget: Budget, seed: int
) -> Float[np.ndarray, " trials"]:
    """Return the test error of ridge regression with the transformer's kernel, one per trial."""
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

"""A plan: a problem, networks, an optimiser and a budget, in the same form for every experiment."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import jax

from theorykit.common.spelling import Spelt
from theorykit.experiments._experiment import Setting
from theorykit.experiments._training import Training, joined


@dataclasses.dataclass(frozen=True)
class Adam(Spelt):
    """Adam, or AdamW if weights decay, at a rate that may fall to 0 over the steps.

    **Fields:** `rate`; `falling`: None, "linear" or "cosine"; `warmup`: the number of steps in
    which the rate rises from 0, before a linear fall; `decay`: the weight decay.

    **Raises:** `ValueError` for an unknown `falling`, or a warmup without a linear fall.
    """

    rate: float = 1e-3
    falling: str | None = None
    warmup: int = 0
    decay: float = 0.0

    def __post_init__(self):
        if self.falling not in (None, "linear", "cosine"):
            raise ValueError(
                f"a learning rate falls as 'linear' or 'cosine', not {self.falling!r}."
            )
        if self.warmup and self.falling != "linear":
            raise ValueError("a warmup needs a learning rate that falls linearly.")

    def __call__(self, steps: int) -> Any:
        """Return the optax transformation for this many steps."""
        import optax

        rate: Any = self.rate
        if self.falling == "cosine":
            rate = optax.cosine_decay_schedule(self.rate, steps)
        elif self.falling == "linear":
            fall = optax.linear_schedule(self.rate, 0.0, steps - self.warmup)
            rise = optax.linear_schedule(0.0, self.rate, max(self.warmup, 1))
            rate = optax.join_schedules([rise, fall], [self.warmup])
        return optax.adamw(rate, weight_decay=self.decay) if self.decay else optax.adam(rate)


@dataclasses.dataclass(frozen=True)
class Plan(Spelt):
    """What is trained, with which networks, how, and for how long.

    **Fields:**

    - `problem`: `training.OnTask` (a task, with length and batch) or `training.OnData`.
    - `network`: options of `nets.Transformer`, in addition to those of the task; or a function of
      `nnx.Rngs` that makes another network.
    - `optimizer`: `Adam`, or another function of the number of steps whose repr shows its settings.
    - `steps`: the most steps; `every`: the number of steps between evaluations; `seeds`: the number
      of networks that train in parallel; `stop`: a stopping rule, such as `training.reaches`.
    """

    problem: Any
    network: Mapping[str, Any] | Callable[[Any], Any]
    optimizer: Callable[[int], Any] = Adam()
    steps: int = 1000
    every: int = 100
    seeds: int = 4
    stop: Callable[[dict[str, Any]], Any] | None = None

    def make(self, rngs: Any) -> Any:
        """Return a network at initialisation."""
        from theorykit.networks.nets import Transformer

        if not isinstance(self.network, Mapping):
            return self.network(rngs)
        needed = getattr(getattr(self.problem, "task", None), "options", {})
        return Transformer(**{**needed, **self.network}, rngs=rngs)

    def train(
        self,
        setting: Setting,
        *where: str,
        start: Any = None,
        config: Mapping[str, Any] | None = None,
        progress: bool = False,
    ) -> Any:
        """Train all seeds and return the `training.Fit`; a killed run resumes.

        They train in parallel, all of them or as many as the setting's `together`.

        **Arguments:** `where`: a folder for this training inside that of the run; `start`: an
        earlier fit whose networks continue to train; `config`: anything else on which the numbers
        depend; `progress`: whether to show a bar.
        """
        facts = {"optimizer": repr(self.optimizer), **(config or {})}
        if isinstance(self.network, Mapping):
            facts["network"] = repr(dict(self.network))
        state = getattr(start, "state", start)

        def train(places: range, *folder: str) -> Any:
            part = dataclasses.replace(self, problem=self.problem.of_seeds(places))
            own = jax.tree.map(lambda a: a[places.start : places.stop], state)
            training = Training(part, places, setting.seed, own, facts)
            return training.run(setting, (*where, *folder), progress)

        if setting.together is None or setting.together >= self.seeds:
            return train(range(self.seeds))
        firsts = range(0, self.seeds, setting.together)
        groups = [range(a, min(a + setting.together, self.seeds)) for a in firsts]
        folders = [f"seeds_{g.start}_to_{g.stop - 1}" for g in groups]
        return joined(setting.each(train, zip(groups, folders, strict=True)))

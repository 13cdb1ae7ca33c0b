"""Section 6, Figs. 1 to 4: plateaus, trends and attention of trained networks, at a small size.

`theorykit experiment quantitative NAME` trains all panels and draws them; the small plans are in
`theorykit.experiments.quantitative`. Here every claim trains what it needs with four seeds, or with
sixteen where four were tried and left it open. A control says what would be measured if the claim
were false: the nearest exponent or number that so many seeds can distinguish from the claim's.
"""

import dataclasses

import numpy as np

from theorykit import claim
from theorykit.checks import alternative, experiment
from theorykit.common import exponents
from theorykit.common.keys import seed_of

FEW, MANY = 4, 16


def setting(key):
    """Return the setting of a cpu-sized run with the key's seed."""
    from theorykit.experiments import Setting

    return Setting("cpu", seed=seed_of(key))


def trained(which, number, key, values=None, lengths=None, seeds=FEW):
    """Return a sweep, with some of its values and trained lengths, its losses and its fits."""
    from theorykit.experiments import quantitative

    sweep = quantitative.sweeps(which, "cpu")[number]
    plan = dataclasses.replace(sweep.plan, seeds=seeds, trained=lengths or sweep.plan.trained)
    tasks = {v: sweep.tasks[v] for v in values or sweep.tasks}
    known: dict = {}
    losses = quantitative.losses_beyond(plan, list(tasks.values()), setting(key), known)
    return dataclasses.replace(sweep, tasks=tasks, plan=plan), losses, known


def flat(which, value, bound=0.25, seeds=FEW):
    """Return the check that the loss no longer moves at the end, trained to 16.

    The measurement is the logarithm of the loss at 512 over that at 256, one number per seed.
    """

    def measure(key, progress):
        _, losses, _ = trained(which, 0, key, (value,), (16,), seeds)
        return np.log(losses[0, 0, -1] / losses[0, 0, -2])

    return experiment(
        measure=measure, between=(-bound, bound), control=alternative(float(np.log(2)))
    )


def falls(which, value, seeds=FEW, rising=1.0):
    """Return the check that the last loss falls with the trained length: one slope per seed."""

    def measure(key, progress):
        sweep, losses, _ = trained(which, 0, key, (value,), seeds=seeds)
        return exponents.slopes(sweep.plan.trained, losses[0, :, -1].T)

    return experiment(measure=measure, at_most=0.0, control=alternative(rising))


def rises(which, number=0, seeds=FEW, falling=-2.0):
    """Return the check that the last loss, trained to 16, rises with the sweep's parameter."""

    def measure(key, progress):
        sweep, losses, _ = trained(which, number, key, lengths=(16,), seeds=seeds)
        return exponents.slopes(list(sweep.tasks), losses[:, 0, -1].T)

    return experiment(measure=measure, at_least=0.0, control=alternative(falling))


@claim(
    "quantitative.fig1.plateau",
    ref="Fig. 1 (left), Sec. 6",
    statement=r"\text{for each train length the test loss plateaus as test length increases}",
    tier="slow",
)
def simple_plateau():
    """SimpleTask at omega = 3: the logarithm of the loss changes by at most 1/4 from 256 to 512.

    Control: the loss doubles, as it would in proportion to the length.
    """
    return flat("simple", 3.0)


@claim(
    "quantitative.fig1.train_length",
    ref="Fig. 1 (right), Sec. 6",
    statement=r"\text{the plateau decreases monotonically with train length}",
    tier="slow",
)
def simple_train_length():
    """SimpleTask at omega = 3, trained to 8, 16 and 32. Control: it rises like the square."""
    return falls("simple", 3.0, rising=2.0)


@claim(
    "quantitative.fig1.omega",
    ref="Fig. 1 (right), Sec. 6",
    statement=r"\text{the plateau increases monotonically with } \omega",
    tier="slow",
)
def simple_omega():
    """SimpleTask trained to 16, omega = 2, 3 and 4. Control: it falls like omega^-3."""
    return rises("simple", falling=-3.0)


@claim(
    "quantitative.fig2.plateau",
    ref="Fig. 2 (left), Sec. 6",
    statement=r"\text{for each train length the test loss plateaus as test length increases}",
    tier="slow",
)
def modp_plateau():
    """ModPTask at p = 4. Control: it doubles."""
    return flat("modp", 4)


@claim(
    "quantitative.fig2.train_length",
    ref="Fig. 2 (right), Sec. 6",
    statement=r"\text{the plateau decreases monotonically with train length}",
    tier="slow",
)
def modp_train_length():
    """ModPTask at p = 4, trained to 8, 16 and 32. Control: it rises in proportion."""
    return falls("modp", 4)


@claim(
    "quantitative.fig2.period",
    ref="Fig. 2 (right), Sec. 6",
    statement=r"\text{the plateau increases monotonically with } \Delta",
    tier="slow",
)
def modp_period():
    """ModPTask trained to 16, p = 3, 4 and 5, sixteen seeds. Control: it falls like p^-2."""
    return rises("modp", seeds=MANY)


def looked(what, seeds=FEW):
    """Return the measure: how a network trained to 32 at p = 5 attends at length 64, per seed."""

    def measure(key, progress):
        from theorykit.experiments import quantitative

        sweep, _, known = trained("modp", 0, key, (5,), (32,), seeds)
        fit, _ = known[sweep.plan, sweep.tasks[5], 32]
        return quantitative.attention(sweep.tasks[5], fit, 64, setting(key).seed)[what]

    return measure


@claim(
    "quantitative.fig3.other",
    ref="Fig. 3, Sec. 6",
    statement=r"\text{positions not equal to } k \bmod p \text{ receive near zero attention}",
    tier="slow",
)
def attention_elsewhere():
    """At p = 5 another position has at most a twentieth of the weight of one = k mod p.

    Control: it has a tenth.
    """
    return experiment(measure=looked("other"), at_most=0.05, control=alternative(0.1))


@claim(
    "quantitative.fig3.uniform",
    ref="Fig. 3, Sec. 6",
    statement=r"\text{positions equal to } k \bmod p \text{ receive nearly the same attention}",
    tier="slow",
)
def attention_uniform():
    """At p = 5 the weights of positions = k mod p spread by at most a fifth of their mean.

    With sixteen seeds. Control: by three tenths.
    """
    return experiment(measure=looked("spread", MANY), at_most=0.2, control=alternative(0.3))


@claim(
    "quantitative.fig4.plateau",
    ref="Fig. 4 (left), Sec. 6",
    statement=r"\text{for each train length the test loss plateaus as test length increases}",
    tier="slow",
)
def kgram_plateau():
    """In-context k-gram at k = 2, S = 3, sixteen seeds. Control: it doubles."""
    return flat("kgram", 3, seeds=MANY)


@claim(
    "quantitative.fig4.train_length",
    ref="Fig. 4 (middle), Sec. 6",
    statement=r"\text{the plateau decreases monotonically with training length}",
    tier="slow",
)
def kgram_train_length():
    """In-context k-gram at k = 2, S = 3, trained to 8, 16 and 32, sixteen seeds.

    Control: it rises in proportion.
    """
    return falls("kgram", 3, seeds=MANY)


@claim(
    "quantitative.fig4.symbols",
    ref="Fig. 4 (middle), Sec. 6",
    statement=r"\text{the plateau increases with } S",
    tier="slow",
)
def kgram_symbols():
    """In-context 2-gram trained to 16, S = 2, 3 and 4. Control: it falls like S^-2."""
    return rises("kgram")


@claim(
    "quantitative.fig4.order",
    ref="Fig. 4 (right), Sec. 6",
    statement=r"\text{the plateau increases monotonically with } k",
    tier="slow",
)
def kgram_order():
    """In-context k-gram of two symbols trained to 16, k = 2, 3 and 4. Control: like k^-3."""
    return rises("kgram", 1, falling=-3.0)

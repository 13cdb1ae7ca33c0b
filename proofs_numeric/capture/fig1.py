"""Figure 1: samples to carry a trained network over to longer inputs, at the size of a laptop.

`theorykit experiment capture NAME` runs the same and draws it. Sizes, budgets and the readings of
the tasks that the paper leaves open are in `theorykit.experiments.capture` and `theorykit.tasks`.
"""

import jax
import numpy as np

from theorykit import claim
from theorykit.checks import experiment


def exponent(name):
    """Return the measure: the exponent of the samples in log(T / T0), a seed."""

    def measure(key, progress):
        from theorykit.experiments import Setting, capture

        plan = capture.PLANS[name]("cpu")
        seed = int(np.asarray(jax.random.key_data(key))[-1]) % 2**31
        found = capture.adapt(plan, Setting("cpu", seed=seed))
        return np.array(capture.growth(plan.lengths, plan.first, found["samples"])["log"]["values"])

    return measure


@claim(
    "capture.fig1.induction",
    ref="Fig. 1, Sec. 6",
    statement=r"P(T) \sim \log(T / T_0) \text{ for the induction head}",
    tier="slow",
)
def induction_is_captured():
    """Samples to re-reach 95% accuracy grow like log(T / T0), up to four times the length.

    Their exponent in log(T / T0) is at most 1.2, where growth in proportion to T - T0 has 1.36.
    """
    return experiment(measure=exponent("induction"), at_most=1.2, control=dict(at_least=1.36))

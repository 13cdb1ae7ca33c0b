"""Tables 4 to 7 of the limit paper, and smaller plans that take minutes on two cores."""

import dataclasses

from theorykit.experiments.limit._extrapolate import POSITIONS, Extrapolation
from theorykit.networks.tasks import ALGORITHMIC, LANGUAGES, AnyLength

ALGORITHMIC_PLANS: dict[tuple[str, str], tuple[int, int, int, float]] = {
    ("bin_majority", "APE"): (1, 1, 16, 1e-3),
    ("bin_majority_interleave", "APE"): (2, 4, 256, 1e-4),
    ("majority", "APE"): (1, 2, 256, 1e-3),
    ("sort", "APE"): (1, 2, 256, 1e-4),
    ("unique_copy", "APE"): (2, 1, 64, 1e-3),
    ("repeat_copy", "APE"): (4, 4, 256, 1e-3),
    ("parity", "APE"): (4, 2, 256, 1e-4),
    ("addition", "APE"): (12, 12, 768, 1e-4),
    ("bin_majority", "NoPE"): (1, 1, 16, 1e-3),
    ("bin_majority_interleave", "NoPE"): (12, 12, 768, 1e-4),
    ("majority", "NoPE"): (1, 1, 64, 1e-3),
    ("sort", "NoPE"): (1, 1, 256, 1e-3),
    ("unique_copy", "NoPE"): (4, 4, 256, 1e-3),
    ("repeat_copy", "NoPE"): (4, 4, 256, 1e-3),
    ("parity", "NoPE"): (12, 12, 768, 3e-5),
    ("addition", "NoPE"): (12, 12, 768, 1e-4),
}
"""Tables 6 and 7: layers, heads, width and rate."""

_GROUPS = {
    "APE": {
        "tomita1 tomita2": (1, 1, 16, 1e-3, 30_000),
        "d2 d3 d4 d12": (1, 4, 128, 1e-4, 30_000),
        "tomita4 tomita7": (4, 2, 128, 1e-3, 30_000),
        "ab_d_bc abcde": (4, 4, 64, 1e-4, 30_000),
        "aa_star aaaa_star abab_star parity": (4, 4, 128, 1e-4, 40_000),
        "012_02 tomita3 tomita5 tomita6": (6, 4, 128, 1e-3, 30_000),
    },
    "NoPE": {
        "tomita1 tomita2": (1, 1, 16, 1e-3, 30_000),
        "d2 d3 d4 d12": (1, 4, 128, 1e-4, 30_000),
        "tomita4 tomita7": (4, 2, 64, 1e-3, 30_000),
        "ab_d_bc abcde": (6, 4, 64, 1e-4, 30_000),
        "aa_star aaaa_star abab_star": (6, 4, 256, 1e-4, 60_000),
        "tomita3 tomita5 tomita6": (6, 4, 256, 1e-4, 60_000),
        "012_02 parity": (6, 4, 256, 1e-4, 60_000),
    },
}

LANGUAGE_PLANS = {
    (name, positions): row
    for positions, groups in _GROUPS.items()
    for names, row in groups.items()
    for name in names.split()
}
"""Tables 4 and 5: layers, heads, width, rate and steps."""


def algorithmic_plan(name: str, positions: str, size: str = "paper") -> Extrapolation:
    """Return the plan of an algorithmic task, of Tables 6 and 7 or small.

    **Raises:** `KeyError` if there is none.
    """
    if size == "cpu":
        return SMALL_ALGORITHMIC[name, positions]
    layers, heads, width, rate = ALGORITHMIC_PLANS[name, positions]
    plan = Extrapolation(ALGORITHMIC[name], positions, layers, heads, width, rate)
    return plan if layers < 12 else dataclasses.replace(plan, steps=60_000, warmup=3_000)


def language_plan(name: str, positions: str, size: str = "paper") -> Extrapolation:
    """Return the plan of a regular language, of Tables 4 and 5 or small.

    **Raises:** `KeyError` if there is none.
    """
    if size == "cpu":
        return SMALL_LANGUAGES[name, positions]
    layers, heads, width, rate, steps = LANGUAGE_PLANS[name, positions]
    return Extrapolation(LANGUAGES[name], positions, layers, heads, width, rate, steps)


def small(
    task: AnyLength,
    positions: str,
    layers: int,
    heads: int,
    width: int,
    batch: int = 32,
    trained: int = 50,
) -> Extrapolation:
    """Return a plan for minutes on two cores.

    Networks are evaluated once, after 3,000 steps, the authors' interval: a network that stops as
    soon as the first bin is right generalises less well.
    """
    return Extrapolation(
        task, positions, layers, heads, width, rate=1e-3, steps=3_000, batch=batch, seeds=2,
        judged=500, every=3_000, trained=trained,
    )  # fmt: skip


SMALL_ALGORITHMIC = {
    **{
        ("bin_majority", p): small(ALGORITHMIC["bin_majority"], p, 1, 1, 16, batch=64)
        for p in POSITIONS
    },
    **{("parity", p): small(ALGORITHMIC["parity"], p, 2, 2, 32, trained=8) for p in POSITIONS},
}
SMALL_LANGUAGES = {
    (name, p): small(LANGUAGES[name], p, layers, 2, 32, trained=16)
    for name, layers in {"d2": 1, "tomita4": 2, "012_02": 2}.items()
    for p in POSITIONS
}

"""Trends of losses with a size, and whether they still change at the longest inputs."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from theorykit.common import exponents
from theorykit.experiments import Mean


def trend(
    sizes: Sequence[float], losses: Float[np.ndarray, "*runs sizes"], falling: bool
) -> dict[str, Any]:
    """Return the trend of losses (..., sizes) in the sizes.

    **Returns:** `exponent`: the mean over all leading axes of the slope of log(loss) against
    log(size), with its 95% t `interval`; `p`: for Page's test for a rise (or fall), one block per
    row. All are NaN if there are too few sizes.
    """
    from scipy.stats import page_trend_test

    nan = float("nan")
    if len(sizes) < 2:
        return {"exponent": nan, "interval": (nan, nan), "p": nan}

    rows = np.asarray(losses, float).reshape(-1, len(sizes))
    slope = Mean.of(exponents.slopes(sizes, rows))
    p = nan if len(sizes) < 3 else float(page_trend_test(-rows if falling else rows).pvalue)
    return {"exponent": slope.value, "interval": slope.interval, "p": p}


def plateau(losses: Float[np.ndarray, "*runs judged seeds"]) -> dict[str, Any]:
    """Return how much the losses (..., judged, seeds) still change at the end.

    **Returns:** `factor`, the geometric mean of the ratio of the loss at the longest length to that
    at the one before, with a 95% t `interval`; `before`, the same one step earlier.
    """
    logs = np.log(losses)
    ends = lambda k: np.exp(Mean.of(logs[..., k, :] - logs[..., k - 1, :]))
    last, before = ends(-1), ends(-2)
    return {"factor": float(last[0]), "interval": tuple(last[1:].tolist()), "before": before[0]}

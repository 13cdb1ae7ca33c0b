"""The bound, its optima over the KL weight and over sigma, and quantities derived from it."""

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxtyping import ArrayLike, Float, Real

from theorykit.common.arguments import (
    approximately,
    as_array,
    at_least_0,
    number,
    positive,
    reals,
    shown,
    whole,
)

MESH = np.linspace(1e-5, 1e-2, 20)
"""The 20 values of sigma of the paper's section 2.1."""

Values = Real[ArrayLike, "*values"] | Sequence[float]


@dataclasses.dataclass(frozen=True)
class Bound:
    """A bound on the expected loss of N(theta, sigma^2 I), and its parts.

    **Fields:** `value` = `loss` + `complexity`; `loss`: the perturbed training loss; `weight`: the
    weight of the loss against the KL divergence (lambda); `sigma`, None if it was not chosen.
    """

    value: float
    loss: float
    complexity: float
    weight: float
    sigma: float | None = None


def gaussian_kl(squared_distance: Real[ArrayLike, "..."], sigma: Real[ArrayLike, "..."]) -> Any:
    """Return KL(N(a, sigma^2 I) || N(b, sigma^2 I)) = |a - b|^2 / (2 sigma^2).

    Returns a number for numbers, an array for arrays.

    **Raises:** `ValueError` for a sigma that is not positive, or a negative distance.
    """
    _positive("sigma", sigma)
    _positive("a squared distance", squared_distance, zero=True)
    with np.errstate(all="ignore"):
        square = 2 * np.square(np.asarray(sigma, float))
        known = (square > 1e-300) & (square < math.inf)
        apart = np.divide(np.divide(squared_distance, sigma), sigma) / 2
        direct = np.divide(squared_distance, np.where(known, square, 1.0))
        return np.where(known, direct, apart)[()]


def best_weight(kl: float, n: int, constant: float, delta: float = 0.05) -> float:
    """Return the lambda that minimises the bound: sqrt(2 n (KL + log 1/delta)) / C (E.2).

    **Raises:** `ValueError` for arguments outside of their ranges.
    """
    _check(constant, delta)
    kl = at_least_0("the KL divergence", kl)
    return _best_weight(kl + log_inverse(delta), samples(n), constant)


def _best_weight(penalty: float, n: int, constant: float) -> float:
    return math.sqrt(2 * n * penalty) / constant


def log_inverse(delta: float, ways: int = 1) -> float:
    """Return log(ways / delta), also for a delta whose inverse overflows."""
    share = delta / ways
    if share > 1e-300:
        return math.log(1 / share)
    return math.log(ways) - math.log(delta)


def samples(n: int) -> int:
    """Return a number of samples, checked to fit into a float.

    **Raises:** `ValueError` for any other.
    """
    n = whole("n", n)
    if n > 10**300:
        raise ValueError(f"n is at most 1e300, got {approximately(n)}.")
    return n


def square(value: float) -> float:
    """Return the square, or infinity if it overflows."""
    try:
        return float(value) ** 2
    except OverflowError:
        return math.inf


def bound(
    loss: float,
    kl: float,
    n: int,
    constant: float,
    delta: float = 0.05,
    weights: Values | None = None,
    choices: int = 1,
) -> Bound:
    """Return the PAC-Bayes bound for losses with sub-Gaussian constant C (E.2).

    With probability at least 1 - delta over n samples, for all posteriors Q at once,

        E_Q L <= E_Q L^ + (KL(Q || P) + log 1/delta) / lambda + lambda C^2 / (2 n).

    lambda must not depend on the sample. Without `weights` it is the optimum, and the complexity is
    C sqrt(2 (KL + log 1/delta) / n); this is valid if the KL divergence, or its stand-in, is known
    beforehand, as it is for a construction.

    **Arguments:**

    - `loss`: E_Q of the training loss. `kl`: from the prior to the posterior. `n`: the number of
      samples.
    - `constant`: C, with E exp(t (E l - l)) <= exp(t^2 C^2 / 2) for t >= 0 and the loss l of every
      network in the support of the posterior.
    - `weights`: values of lambda fixed beforehand; the best of them is taken, and delta is split
      among them. `choices`: a further number of ways to split delta, such as over values of sigma.

    **Raises:** `ValueError` for arguments outside of their ranges.
    """
    n, choices = samples(n), whole("choices", choices)
    _check(constant, delta)
    loss, kl = at_least_0("the loss", loss), at_least_0("the KL divergence", kl)
    if weights is None:
        penalty = kl + log_inverse(delta, choices)
        weight = _best_weight(penalty, n, constant)
    else:
        weights = _positive("a weight", weights)
        penalty = kl + log_inverse(delta / choices, weights.size)
        best = _best_weight(penalty, n, constant)
        # minimise lambda / best + best / lambda: take the nearest in the logarithm
        weight = float(weights.flat[np.argmin(np.abs(np.log(weights / best)))])
    complexity = float(penalty / weight + weight * square(constant) / (2 * n))
    if not math.isfinite(complexity):  # use that of the best weight if the weight or C^2 overflows
        complexity = constant * math.sqrt(2 * penalty / n) if weights is None else math.inf
    return Bound(float(loss) + complexity, float(loss), complexity, weight)


def confidence(level: float, loss: float, kl: float, n: int, constant: float) -> float:
    """Return the delta at which `bound` equals a level, at the best lambda; 1 if there is none.

    It is exp(KL - n (level - loss)^2 / (2 C^2)), for which appendix G solves.

    **Raises:** `ValueError` for arguments outside of their ranges.
    """
    _check(constant)
    n = samples(n)
    level, loss = at_least_0("the level", level), at_least_0("the loss", loss)
    kl = at_least_0("the KL divergence", kl)
    if level <= loss:
        return 1.0
    above, below = square(level - loss), 2 * square(constant)
    if not (1e-300 < above < math.inf and 1e-300 < below < math.inf):
        above, below = square((level - loss) / constant), 2.0
    return math.exp(min(0.0, kl - n * above / below))


def best_sigma(squared_norm: float, trace: float, n: int, constant: float) -> float:
    """Return the sigma that minimises sigma^2 trace / 2 + C |theta| / (sigma sqrt(n)).

    E.2, with the perturbation and log 1/delta left out: sigma^3 = C |theta| / (sqrt(n) trace).

    **Raises:** `ValueError` for a norm, trace or constant that is not positive.
    """
    n = samples(n)
    _check(constant)
    squared_norm = positive("the squared norm", squared_norm)
    trace = positive("the trace", trace)
    cube = constant * math.sqrt(squared_norm / n) / trace
    if 1e-300 < cube < math.inf:
        return cube ** (1 / 3)
    logs = math.log(constant) + (math.log(squared_norm) - math.log(n)) / 2 - math.log(trace)
    return math.exp(logs / 3)


def semi_analytic(
    squared_norm: float,
    trace: float,
    n: int,
    constant: float,
    delta: float = 0.05,
    sigmas: Values | None = None,
    perturbation: Values | None = None,
) -> Bound:
    """Return the bound of Theorem 2 at the best sigma.

        E L(theta + eps) <= sigma^2 / 2 (trace + perturbation(sigma))
                            + C sqrt((|theta|^2 / sigma^2 + 2 log 1/delta) / n)

    This is for an interpolator whose norm and perturbed sharpness are at most those given. The
    given values come from a construction, so they do not depend on the sample, and sigma and lambda
    may be optimised for them. Without `perturbation` it is 0, the truncated bound of E.3.

    **Arguments:** `squared_norm`: |theta|^2; `trace`: of the Hessian of the loss; `sigmas`: a mesh,
    and `perturbation`: the term to add to the trace at each of them, E tr H(theta + eps) - tr
    H(theta), measured or bounded. Without a mesh, sigma ranges over all positive numbers.

    **Raises:** `ValueError` for a sigma, trace or norm that is not positive, NaN, a perturbation
    without a mesh or of another length, or a best sigma whose square overflows.
    """
    n = samples(n)
    _check(constant, delta)
    squared_norm = positive("the squared norm", squared_norm)
    trace = positive("the trace", trace)

    def at(sigma: float, extra: float = 0.0) -> Bound:
        loss = max(0.0, square(sigma) / 2 * (trace + extra))
        found = bound(loss, gaussian_kl(squared_norm, sigma), n, constant, delta)
        return dataclasses.replace(found, sigma=float(sigma))

    if sigmas is None:
        if perturbation is not None:
            raise ValueError("a perturbation is measured on a mesh; give its sigmas.")
        return at(_truncated_sigma(squared_norm, trace, n, constant, delta))
    sigmas = np.atleast_1d(_positive("sigma", sigmas))
    extra = np.zeros_like(sigmas) if perturbation is None else perturbation
    extra = np.atleast_1d(reals("the perturbation", extra))
    if extra.shape != sigmas.shape:
        raise ValueError(
            f"the perturbation has one number per sigma, {sigmas.shape}, not {extra.shape}."
        )
    return min((at(*pair) for pair in zip(sigmas, extra, strict=True)), key=lambda b: b.value)


def _truncated_sigma(norm2: float, trace: float, n: int, constant: float, delta: float) -> float:
    """Return where the derivative in sigma vanishes; log 1/delta moves it below `best_sigma`."""
    from scipy.optimize import brentq

    logs = [math.log(v) for v in (norm2, trace, constant, n, 2 * log_inverse(delta))]
    norm, curvature, C, samples, chance = logs

    def slope(u: float) -> float:
        """Log sigma^4 trace - log C |theta|^2 / sqrt(n (|theta|^2 / sigma^2 + 2 log 1/delta))."""
        root = float(np.logaddexp(norm - 2 * u, chance)) / 2
        return 4 * u + curvature - C - norm + samples / 2 + root

    high = (C + (norm - samples) / 2 - curvature) / 3  # `best_sigma`
    # The slope is at least 3 everywhere, so there is a root above this.
    u = brentq(slope, high - max(slope(high), 0.0) / 3 - 1e-9, high + 1e-9, xtol=1e-12)
    if not abs(u) < 340:
        raise ValueError(
            f"the best sigma is exp({u:.0f}), beyond floats, at |theta|^2 = {norm2} and the "
            f"trace {trace}; measure them in other units."
        )
    return math.exp(u)


def sample_size(value: Callable[[int], float], level: float, most: float = 1e18) -> int | float:
    """Return the least n at which a bound that decreases in n is below a level.

    Infinity if it is not below the level at `most` samples. A bound is vacuous at a level that a
    trivial predictor attains, such as the variance of the target for the best constant.

    **Raises:** `ValueError` for a level that is NaN, `most` below 1, or a bound that is NaN or not
    a number at some n.
    """
    level = _known("the level", level)
    if not callable(value):
        raise ValueError(f"the bound is a function of n, got {shown(value)}.")
    most, low, high = whole("most", most), 0, 1
    at = lambda n: _known(f"the bound at n = {n}", value(n))
    while not at(high) < level:
        if high == most:
            return math.inf
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if at(middle) < level else (middle, high)
    return high


def _known(name: str, value: Any) -> float:
    """Return a number that may be infinite and is not NaN."""
    try:
        if not isinstance(value, str | bytes | bool) and not math.isnan(found := float(value)):
            return found
    except (TypeError, ValueError, OverflowError):
        pass
    raise ValueError(f"{name} is a number, got {shown(value)}.")


def _positive(name: str, value: Any, zero: bool = False) -> Float[np.ndarray, "*values"]:
    """Return an array of finite numbers above 0, or at least 0."""
    what = "a number of at least 0" if zero else "a positive number"
    found = np.asarray(as_array(name, value), float)
    good = np.isfinite(found) & ((found > 0) | (zero & (found == 0)))
    if found.size == 0 or not good.all():
        raise ValueError(f"{name} is {what}, got {np.ravel(found[~good])[:1].tolist()}.")
    return found


def _check(constant: float, delta: float = 0.5) -> None:
    positive("the sub-Gaussian constant", constant)
    number("delta, a probability,", delta, "a number between 0 and 1", lambda v: 0 < v < 1)

"""The bound, its optima over the KL weight and over sigma, and what can be read off it."""

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxtyping import ArrayLike, Real

from theorykit.common.arguments import finite, whole

MESH = np.linspace(1e-5, 1e-2, 20)
"""The 20 values of sigma of the paper's section 2.1."""

Values = Real[ArrayLike, "*values"] | Sequence[float]


@dataclasses.dataclass(frozen=True)
class Bound:
    """A bound on the expected loss of N(theta, sigma^2 I), and what it is made of.

    **Fields:** `value` = `loss` + `complexity`; `loss`: the perturbed training loss; `weight`: of
    the loss against the KL divergence (lambda); `sigma`, None where there was none to choose.
    """

    value: float
    loss: float
    complexity: float
    weight: float
    sigma: float | None = None


def gaussian_kl(squared_distance: Real[ArrayLike, "..."], sigma: Real[ArrayLike, "..."]) -> Any:
    """Return KL(N(a, sigma^2 I) || N(b, sigma^2 I)) = |a - b|^2 / (2 sigma^2).

    A number for numbers, an array for arrays.

    **Raises:** `ValueError` for a sigma that is not positive, or a negative distance.
    """
    _positive("sigma", sigma)
    if np.min(squared_distance) < 0 or np.isnan(squared_distance).any():
        raise ValueError(f"a squared distance is at least 0, got {squared_distance}.")
    return squared_distance / (2 * np.square(sigma))


def best_weight(kl: float, n: int, constant: float, delta: float = 0.05) -> float:
    """Return the lambda that makes the bound least: sqrt(2 n (KL + log 1/delta)) / C (E.2).

    **Raises:** `ValueError` for arguments outside of their ranges.
    """
    _check(constant, delta)
    _at_least_0("the KL divergence", kl)
    n = whole("n", n)
    return math.sqrt(2 * n * (kl + math.log(1 / delta))) / constant


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

    lambda must not depend on the sample. Without `weights` it is the optimum, and the complexity
    is C sqrt(2 (KL + log 1/delta) / n): right where the KL divergence, or what stands in for it, is
    known beforehand, as that of a construction is.

    **Arguments:**

    - `loss`: E_Q of the training loss. `kl`: of the posterior from the prior. `n`: samples.
    - `constant`: C, with E exp(t (E l - l)) <= exp(t^2 C^2 / 2) for the loss l of every network of
      the posterior's support, t >= 0.
    - `weights`: values of lambda that were fixed beforehand; the best of them is taken, and delta
      shared among them. `choices`: how many more ways it is shared, such as over values of sigma.

    **Raises:** `ValueError` for arguments outside of their ranges.
    """
    n, choices = whole("n", n), whole("choices", choices)
    _check(constant, delta)
    _at_least_0("the loss", loss)
    _at_least_0("the KL divergence", kl)
    if weights is None:
        share = delta / choices
        weight = best_weight(kl, n, constant, share)
    else:
        weights = np.asarray(weights, float)
        _positive("a weight", weights)
        share = delta / choices / weights.size
        best = best_weight(kl, n, constant, share)
        # lambda / best + best / lambda is what counts: the nearest in the logarithm.
        weight = float(weights.flat[np.argmin(np.abs(np.log(weights / best)))])
    complexity = float((kl + math.log(1 / share)) / weight + weight * constant**2 / (2 * n))
    return Bound(float(loss) + complexity, float(loss), complexity, weight)


def confidence(level: float, loss: float, kl: float, n: int, constant: float) -> float:
    """Return the delta at which `bound` equals a level, at the best lambda; 1 if none does.

    exp(KL - n (level - loss)^2 / (2 C^2)), what appendix G solves for.

    **Raises:** `ValueError` for arguments outside of their ranges.
    """
    _check(constant)
    n = whole("n", n)
    for name, value in {"the level": level, "the loss": loss, "the KL divergence": kl}.items():
        _at_least_0(name, value)
    if level <= loss:
        return 1.0
    return math.exp(min(0.0, kl - n * (level - loss) ** 2 / (2 * constant**2)))


def best_sigma(squared_norm: float, trace: float, n: int, constant: float) -> float:
    """Return the sigma that makes sigma^2 trace / 2 + C |theta| / (sigma sqrt(n)) least.

    E.2, with the perturbation and log 1/delta left out: sigma^3 = C |theta| / (sqrt(n) trace).

    **Raises:** `ValueError` for a norm, trace or constant that is not positive.
    """
    n = whole("n", n)
    _check(constant)
    _positive("the squared norm", squared_norm)
    _positive("the trace", trace)
    return (constant * math.sqrt(squared_norm / n) / trace) ** (1 / 3)


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

    For an interpolator whose norm and perturbed sharpness are at most those given, which are a
    construction's: they do not depend on the sample, so that sigma and lambda may be chosen for
    them. Left out, the perturbation is 0: the truncated bound of E.3.

    **Arguments:** `squared_norm`: |theta|^2; `trace`: of the Hessian of the loss; `sigmas`: a mesh,
    and `perturbation`: what to add to the trace at each of them, E tr H(theta + eps) - tr H(theta),
    measured or bounded. Without a mesh sigma is any positive number.

    **Raises:** `ValueError` for a sigma, trace or norm that is not positive, NaN, a perturbation
    without a mesh or of another length, or a best sigma whose square no float holds.
    """
    n = whole("n", n)
    _check(constant, delta)
    _positive("the squared norm", squared_norm)
    _positive("the trace", trace)

    def at(sigma: float, extra: float = 0.0) -> Bound:
        loss = max(0.0, sigma**2 / 2 * (trace + extra))
        found = bound(loss, gaussian_kl(squared_norm, sigma), n, constant, delta)
        return dataclasses.replace(found, sigma=float(sigma))

    if sigmas is None:
        if perturbation is not None:
            raise ValueError("a perturbation is measured on a mesh; give its sigmas.")
        return at(_truncated_sigma(squared_norm, trace, n, constant, delta))
    sigmas = np.atleast_1d(np.asarray(sigmas, float))
    _positive("sigma", sigmas)
    extra = np.zeros_like(sigmas) if perturbation is None else np.asarray(perturbation, float)
    finite("the perturbation", extra)
    if extra.shape != sigmas.shape:
        raise ValueError(
            f"the perturbation has a number a sigma, {sigmas.shape}, and not {extra.shape}."
        )
    return min((at(*pair) for pair in zip(sigmas, extra, strict=True)), key=lambda b: b.value)


def _truncated_sigma(norm2: float, trace: float, n: int, constant: float, delta: float) -> float:
    """Return where the derivative in sigma vanishes; log 1/delta moves it below `best_sigma`."""
    from scipy.optimize import brentq

    logs = [math.log(v) for v in (norm2, trace, constant, n, 2 * math.log(1 / delta))]
    norm, curvature, C, samples, chance = logs

    def slope(u: float) -> float:
        """Log sigma^4 trace - log C |theta|^2 / sqrt(n (|theta|^2 / sigma^2 + 2 log 1/delta))."""
        root = float(np.logaddexp(norm - 2 * u, chance)) / 2
        return 4 * u + curvature - C - norm + samples / 2 + root

    high = (C + (norm - samples) / 2 - curvature) / 3  # `best_sigma`
    # The slope is 3 or more everywhere, so that there is a root above this.
    u = brentq(slope, high - max(slope(high), 0.0) / 3 - 1e-9, high + 1e-9, xtol=1e-12)
    if not abs(u) < 340:
        raise ValueError(
            f"the best sigma is exp({u:.0f}), beyond floats, at |theta|^2 = {norm2} and the "
            f"trace {trace}; measure them in other units."
        )
    return math.exp(u)


def sample_size(value: Callable[[int], float], level: float, most: float = 1e18) -> int | float:
    """Return the least n at which a bound that falls with n is below a level.

    Infinity if it is not below it at `most` samples. A bound says nothing at a level that a trivial
    predictor has, such as the variance of the target for the best constant.

    **Raises:** `ValueError` for a level that is NaN, or `most` below 1.
    """
    if math.isnan(level):
        raise ValueError("the level is a number, got nan.")
    most, low, high = whole("most", most), 0, 1
    while not value(high) < level:
        if high == most:
            return math.inf
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if value(middle) < level else (middle, high)
    return high


def _at_least_0(name: str, value: float) -> None:
    if not 0 <= value < math.inf:
        raise ValueError(f"{name} is a finite number of at least 0, got {value}.")


def _positive(name: str, value: ArrayLike) -> None:
    value = np.asarray(value, float)
    if value.size == 0 or not (np.isfinite(value) & (value > 0)).all():
        wrong = value[~(np.isfinite(value) & (value > 0))] if value.ndim else value
        raise ValueError(f"{name} is a positive number, got {np.ravel(wrong)[:1].tolist()}.")


def _check(constant: float, delta: float = 0.5) -> None:
    _positive("the sub-Gaussian constant", constant)
    if not 0 < delta < 1:
        raise ValueError(f"delta, a probability, lies between 0 and 1, got {delta}.")

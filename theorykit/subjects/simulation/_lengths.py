"""Training lengths: those that the theorems require, and those that are needed."""

import dataclasses
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from numbers import Real

import numpy as np
from jaxtyping import Float, Int

from theorykit.common.arguments import affordable, approximately, between, shown, size
from theorykit.subjects.limit import Transformer
from theorykit.subjects.simulation._layout import slots
from theorykit.subjects.simulation._margins import (
    complexity,
    exponential,
    hard_length,
    logit_margin,
    output_bound,
    positional_margin,
    sensitivity,
    two_layers,
)
from theorykit.subjects.simulation._one_layer import (
    attention,
    limit_transformer,
    one_layer,
    readout,
    together,
    tokens,
)
from theorykit.subjects.simulation._simulate_hard import length_bound, share_error
from theorykit.subjects.simulation._two_layers import last_outputs


@dataclasses.dataclass(frozen=True)
class TrainingLength:
    """A length up to which agreement within eps suffices, by a theorem.

    **Fields:** `length`: with the explicit constants of the repaired proof; infinity if it
    overflows; `error`: the resulting bound on |f(x) - g(x)| on every string (on average, for
    Theorem 4.2); `printed`: the theorem's expression, with the constant 1.
    """

    length: float
    error: float
    printed: float


def training_length(f: Transformer, g: Transformer, eps: float) -> TrainingLength:
    """Return the bound of Theorem 4.1 (one layer) or of Theorem 5.2 (two layers).

    The proof of Theorem 5.2 gives no constants for Lemma 5.3; those of `complexity` are used, with
    the constant 1.

    **Raises:** `ValueError` for transformers of neither kind, or eps outside (0, 1).
    """
    eps = between("eps", eps)
    for name, t in (("f", f), ("g", g)):
        limit_transformer(t, name)
    if f.depth == 2:
        return _two(f, g, eps)
    for name, t in (("f", f), ("g", g)):
        one_layer(t, name)
    period, tau = together(f, g)
    S, both = len(f.alphabet), sensitivity(f) + sensitivity(g)
    small = min(eps / max(both * share_error(S, period, tau, 1.0), eps), 1 / (8 * S * period))
    hard = max(hard_length(f), hard_length(g))
    L = output_bound(f, True) + output_bound(g, True)
    margin = min(logit_margin(f, False), logit_margin(g, False))
    bits = max(f.precision or 0, g.precision or 0)
    rest = L * L * period**7 * S**6 * tau**2 / eps / eps if tau else 0.0  # not infinity times 0
    return TrainingLength(
        _rounded(length_bound(S, period, tau, small, hard)),
        2 * eps,
        max(_power(2.0, bits / margin), rest),
    )


def _two(f: Transformer, g: Transformer, eps: float) -> TrainingLength:
    for name, t in (("f", f), ("g", g)):
        two_layers(t, name)
    together(f, g)

    def length(printed: bool) -> float:
        C = max(complexity(t, printed=printed) for t in (f, g))
        least = min(positional_margin(t, not printed) for t in (f, g))
        return max(1.0, _power(max(C / eps, 1e-300), max(1 / least, 3.0)))

    return TrainingLength(length(False), 3 * eps, length(True))


def _rounded(number: int) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf


def _power(base: float, exponent: float) -> float:
    return math.exp(exponent * math.log(base)) if exponent * math.log(base) < 700 else math.inf


def average_length(
    f: Transformer, g: Transformer, eps: float, alpha: Sequence[float] | Mapping[str, float]
) -> TrainingLength:
    """Return the bound of Theorem 4.2, for token distributions drawn from a Dirichlet distribution.

    Uses the proof's choice of eta, rho, gamma and delta, and eq. (39) with its constants from (37)
    and Lemma A.9. The printed statement has eps^(-2 - 2/alpha_0); the proof needs eps^(-1 -
    1/alpha_0).

    **Arguments:** `alpha`: the parameters of the Dirichlet distribution, one per symbol.

    **Raises:** `ValueError` as `training_length`, or for a parameter at or below 0.
    """
    eps = between("eps", eps)
    for name, t in (("f", f), ("g", g)):
        one_layer(t, name)
    period, tau = together(f, g)
    weights = dirichlet(alpha, f.alphabet)
    S, least = len(f.alphabet), min(weights)
    M = output_bound(f) + output_bound(g)
    pairs = S * period
    root = math.sqrt(eps)
    rho = root / max(M, 1.0)
    # In logarithms: 4^total and least^(1 / least) may lie far beyond floats where N does not.
    more = sum(w / least for w in weights)
    size = math.log(S) + math.log(max(M, 1.0))
    log_low = (math.log(least) + math.log(eps) / 2 - size) / least - math.log(4) * more
    small = log_low < math.log(0.5)  # gamma is this, unless 0.5 is less
    log_gamma, ratio = min(log_low, math.log(0.5)), root / (max(M, 1.0) * pairs**2)
    gamma = math.exp(log_gamma)
    delta = ratio * gamma
    log_delta = math.log(eps) / 2 - math.log(max(M, 1.0)) - 2 * math.log(pairs) + log_gamma
    log = math.log(2 * pairs) + math.log(max(M, 1.0)) - math.log(eps) / 2
    N = exponential(math.log(period) + math.log(log) - 2 * log_delta)
    hard = max(hard_length(f), hard_length(g))
    both = sensitivity(f) + sensitivity(g)
    mass = 2 * root / max(M, 1.0)
    if not small:
        mass = 2 * S * math.exp(least * (math.log(4) * more - math.log(2)) - math.log(least))
    error = M * (mass + eps / root + 2 * rho) + root
    suffix = (tau + 1) * period / ((gamma - delta) * N) if math.isfinite(N) else 0.0
    error += 6 * both * (pairs**2 * ratio + suffix)
    L = max(output_bound(f, True) + output_bound(g, True), 1e-300)
    printed = 2 * math.log(4) * more + (2 + 2 / least) * (math.log(L) - math.log(eps))
    printed += (4 + 2 / least) * math.log(S) + 5 * math.log(period)
    printed -= 2 / least * math.log(least)
    last = math.log(pairs) + math.log(L) - math.log(eps)
    return TrainingLength(
        max(N, float(hard)), error, _power(math.e, printed) * last if last > 0 else math.inf
    )


def dirichlet(alpha: Sequence[float] | Mapping[str, float], alphabet: Sequence[str]) -> list[float]:
    """Return the parameters in the alphabet's order.

    **Raises:** `ValueError` for a parameter that is not positive, a wrong number of them, or a
    symbol without one.
    """
    if isinstance(alpha, Mapping) and (missing := [s for s in alphabet if s not in alpha]):
        raise ValueError(f"a Dirichlet has one parameter per symbol; {missing[0]!r} has none.")
    if not isinstance(alpha, Mapping | Sequence | np.ndarray) or isinstance(alpha, str | bytes):
        raise ValueError(f"a Dirichlet's parameters are a list of numbers, got {shown(alpha)}.")
    found = [alpha[s] for s in alphabet] if isinstance(alpha, Mapping) else list(alpha)
    if len(found) != len(alphabet):
        raise ValueError(f"a Dirichlet over {len(alphabet)} symbols has as many parameters, not "
                         f"{len(found)}.")  # fmt: skip
    if bad := [a for a in found if not isinstance(a, Real) or not 0 < a < math.inf]:
        raise ValueError(f"a Dirichlet's parameters are numbers above 0, not {bad[0]!r}.")
    return [float(a) for a in found]


@dataclasses.dataclass(frozen=True, eq=False)
class NeededLength:
    """The training length that is needed, by exhaustive search.

    **Fields:** `length`: the smallest N such that strings up to length N show, within eps, the
    largest difference over all lengths tested; `lengths`, `differences`: the largest |f(x) - g(x)|
    at each length.
    """

    length: int
    lengths: Int[np.ndarray, " lengths"]
    differences: Float[np.ndarray, " lengths"]


def needed_length(
    f: Transformer, g: Transformer, eps: float, longest: int, most: int = 10**6
) -> NeededLength:
    """Return the smallest N for which agreement up to N implies agreement at all tested lengths.

    If |f - g| <= e on all strings up to N, then |f - g| <= e + eps on all up to `longest`. For one
    layer, all suffixes and all numbers of tokens are tried, from the length at which attention is
    hard; for two layers, all strings.

    **Arguments:** `most`: the largest number of cases for one length; all lengths together may have
    a hundred times as many.

    **Raises:** `ValueError` as `training_length`, for more cases than that, before any is tried, or
    for a longest length at which attention is not yet hard.
    """
    most = size("most", most)
    eps = between("eps", eps)
    longest = size("longest", longest)
    for name, t in (("f", f), ("g", g)):
        limit_transformer(t, name)
    if f.depth == 2:
        for name, t in (("f", f), ("g", g)):
            two_layers(t, name)
        first, at = 1, _all_strings
    else:
        for name, t in (("f", f), ("g", g)):
            one_layer(t, name)
        first, at = max(hard_length(f), hard_length(g), together(f, g)[1] + 1), _all_counts
    together(f, g)
    if first > longest:
        raise ValueError(f"attention is hard from {first} symbols on; longest={longest} is less.")
    _affordable(f, g, first, longest, most)
    lengths = np.arange(first, longest + 1)
    largest = np.array([max(d.max() for d in at(f, g, int(T), most)) for T in lengths])
    enough = np.maximum.accumulate(largest) + eps >= largest.max()
    return NeededLength(int(lengths[enough.argmax()]), lengths, largest)


def _affordable(f: Transformer, g: Transformer, first: int, longest: int, most: int) -> None:
    """Raise a `ValueError` if one length, or all together, have too many cases."""
    cases = _strings if f.depth == 2 else _counts
    low, high = first - 1, longest  # the number of cases grows with the length
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if cases(f, g, middle, most) <= most else (low, middle)
    if (many := cases(f, g, high, most)) > most:
        some = f"{many if many < 10**12 else approximately(many)} cases"
        what = some if f.depth == 1 else f"{len(f.alphabet)}^{high} strings"
        raise ValueError(f"{what} at length {high} are more than most={most}.")
    sizes = range(first, longest + 1)
    step = max(1, len(sizes) // 1000)  # sample 1000 lengths or more
    each = 1000  # the overhead of one length
    total = step * sum(each + cases(f, g, T, most) for T in sizes[::step])
    affordable(f"trying all lengths up to {longest}", total, 100 * most, "cases")


def _strings(f: Transformer, g: Transformer, T: int, most: int) -> int:
    """Return the number of strings of a length, or a number above `most` if it exceeds `most`."""
    S = len(f.alphabet)
    return S**T if T * math.log(S) < math.log(most) + 50 else most + 1


def _counts(f: Transformer, g: Transformer, T: int, most: int) -> int:
    """Return the number of suffixes and of token counts of a length."""
    period, tau = together(f, g)
    S, ways = len(f.alphabet), 1
    if (tau + 1) * math.log(S) > math.log(most) + 50:
        return most + 1
    for room in slots(T - tau - 1, period).tolist():
        ways *= math.comb(room + S - 1, S - 1)
        if ways > most:
            break
    return ways * S ** (tau + 1)


def _all_strings(f: Transformer, g: Transformer, T: int, most: int) -> Iterator[np.ndarray]:
    S = len(f.alphabet)
    x = np.array(list(itertools.product(range(S), repeat=T)))
    yield np.linalg.norm(last_outputs(f, x) - last_outputs(g, x), axis=-1)


def _all_counts(f: Transformer, g: Transformer, T: int, most: int) -> Iterator[np.ndarray]:
    """Yield |f - g| for every suffix, over all numbers of tokens of the prefix."""
    period, tau = together(f, g)
    S, room = len(f.alphabet), slots(T - tau - 1, period)
    ways = [_compositions(int(r), S) for r in room]
    n = np.array(list(itertools.product(*ways))).reshape(-1, period, S).transpose(0, 2, 1)
    for suffix in itertools.product(range(S), repeat=tau + 1):
        last = np.array(suffix), (T - 1) % period
        yield np.linalg.norm(_outputs(f, n, *last) - _outputs(g, n, *last), axis=-1)


def _compositions(total: int, parts: int) -> list[tuple[int, ...]]:
    """Return all ways to write a total as a sum of `parts` nonnegative integers."""
    if parts == 1:
        return [(total,)]
    return [(k, *rest) for k in range(total + 1) for rest in _compositions(total - k, parts - 1)]


def _outputs(
    f: Transformer,
    n: Int[np.ndarray, "cases symbols period"],
    suffix: Int[np.ndarray, " suffix"],
    residue: int,
) -> Float[np.ndarray, "cases outputs"]:
    """Return f under hard attention for a batch of prefixes n."""
    period = n.shape[-1]
    found = np.empty((len(n), len(f.U)))
    values = tokens(f, period) @ f.layers[0].heads[0].V.T
    near = values[suffix, (residue - np.arange(len(suffix))) % period]
    _, group = np.unique((n > 0).reshape(len(n), -1), axis=0, return_inverse=True)
    for k in range(group.max() + 1):  # attention depends on which pairs occur
        some = n[group.ravel() == k]
        seen = attention(f, some[0], suffix, residue)
        weight = np.where(seen.pairs, some, 0)
        total = np.tensordot(weight, values, 2) + near[seen.suffix].sum(0)
        mean = total / (weight.sum((1, 2)) + seen.suffix.sum())[:, None]
        found[group.ravel() == k] = readout(f, tokens(f, period)[suffix[0], residue] + mean)
    return found

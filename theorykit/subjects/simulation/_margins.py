"""The margins and norms in the bounds, computed from weights."""

import math

import numpy as np
from jaxtyping import Float

from theorykit.common.arguments import flag, real
from theorykit.subjects.limit import Layer, Local, Phi, Transformer
from theorykit.subjects.simulation._one_layer import (
    limit_transformer,
    offsets,
    one_layer,
    rounded,
    scores,
    tokens,
)


def logit_margin(f: Transformer, far: bool = True) -> float:
    """Return gamma(f), the least gap between two logits that one query can see (section 3.2).

    Infinity where a query sees one logit only.

    **Arguments:** `far`: whether the logits of tokens beyond tau count, as they must. The paper's
    set has only those at distance 0 ... tau, and then softmax need not be hard.

    **Raises:** `ValueError` unless f has one layer of one head, is periodic, local and of finite
    precision.
    """
    one_layer(f)
    period, tau, far = f.period or 1, f.locality or 0, flag("far", far)
    table, phi = scores(f, period), offsets(f, tau)
    least = math.inf
    for y in range(len(f.alphabet)):
        for i in range(period):
            near = [table[y, i, :, (i - k) % period] + phi[k] for k in range(tau + 1)]
            seen = np.concatenate([*near, *([table[y, i].ravel()] if far else [])])
            gaps = np.diff(np.unique(rounded(seen, f.precision)))
            least = min(least, float(gaps.min())) if len(gaps) else least
    return least


def hard_length(f: Transformer) -> int:
    """Return a length from which on softmax is a uniform average over the largest logits.

    It is 2^((p + 1) / gamma) plus one, since anything below half of 2^-p rounds to 0. (The paper
    cuts off at 2^-p and has 2^(p / gamma).)

    **Raises:** `ValueError` as `logit_margin`, or if the length has more than 300 digits.
    """
    one_layer(f)
    bits = ((f.precision or 0) + 1) / logit_margin(f)
    if bits > 1000:
        raise ValueError(f"softmax is hard only from 2^{bits:.0f} symbols on, which is too long.")
    return math.floor(2.0**bits) + 1


def positional_margin(f: Transformer, zero: bool = True) -> float:
    """Return gamma(f) of Definition 5.1, the least gap between the largest two of phi and 1.

    Infinity where a head has one value only.

    **Arguments:** `zero`: whether 0 is among the values. It must be, since the tokens of the suffix
    also count among all tokens, with exponent 0. The paper leaves it out.

    **Raises:** `ValueError` unless f is one of `two_layers`.
    """
    two_layers(f)
    least, zero = math.inf, flag("zero", zero)
    for head in f.layers[0].heads:
        values = {1.0, *([0.0] if zero else [])}
        phi = head.phi.values if isinstance(head.phi, Local) else ()
        values |= set(np.asarray([*phi, 0.0][: (f.locality or 0) + 1], float).tolist())
        largest = sorted(values)[::-1]
        if len(largest) > 1:
            least = min(least, largest[0] - largest[1])
    return least


def two_layers(f: Transformer, name: str = "f") -> None:
    """Raise a `ValueError` unless f is in the class of Definition 5.1.

    Two layers, one head in the second, local, phi >= 0 and only in the first layer, no encodings,
    embeddings of norm at most 1, no rounding, and log i scaling phi only.
    """
    limit_transformer(f, name)
    if f.depth != 2 or len(f.layers[1].heads) != 1:
        raise ValueError(f"{name} must have two layers, with one head in the second.")
    if f.precision is not None or f.scaling != "suffix":
        raise ValueError(
            f'{name} has precision=None and scaling="suffix", not {f.precision} and {f.scaling!r}.'
        )
    values = [phi.values if isinstance(phi, Local) else () for phi in _phis(f)]
    if any(v < 0 for row in values for v in row):
        raise ValueError(f"the positional functions of {name} are at least 0.")
    if f.positions.any() or any(values[-1]):
        raise ValueError(
            f"{name} has no encodings p_i, and no positional function in its second layer."
        )
    if (np.linalg.norm(f.E, axis=1) > 1 + 1e-12).any():
        raise ValueError(f"the embeddings of {name} have norm at most 1.")


def _phis(f: Transformer) -> list[Phi | None]:
    return [h.phi for l in f.layers for h in l.heads]


def norm(matrix: Float[np.ndarray, "rows columns"]) -> float:
    """Return the operator norm, 0 for an empty matrix."""
    return float(np.linalg.norm(matrix, 2)) if matrix.size else 0.0


def exponential(power: float) -> float:
    """Return the exponential, or infinity if it overflows."""
    return math.exp(power) if power < 709 else math.inf


def product(*factors: float) -> float:
    """Return the product; it is 0 if any factor is, even if another is infinite."""
    return 0.0 if 0.0 in factors else math.prod(factors)


def mlp_lipschitz(f: Transformer) -> float:
    """Return L_MLP = |U| (1 + |A| |B|) of the last layer; psi is 1-Lipschitz (Lemma A.2).

    **Raises:** `ValueError` for a Heaviside unit, which is not Lipschitz.
    """
    limit_transformer(f, "f")
    if not f.layers:
        raise ValueError("f must have at least one layer.")
    layer = f.layers[-1]
    return norm(f.U) * lipschitz(layer)


def lipschitz(layer: Layer) -> float:
    """Return 1 + |A| |B|."""
    if layer.heaviside.any():
        raise ValueError("a Heaviside unit is not Lipschitz; the bounds need ReLU units.")
    return 1 + norm(layer.A) * norm(layer.B)


def value_norm(f: Transformer) -> float:
    """Return M^V, the largest |V (E_s + p_i)| (Lemma A.3)."""
    values = tokens(f, f.period or 1) @ f.layers[0].heads[0].V.T
    return float(np.linalg.norm(values, axis=-1).max())


def output_bound(f: Transformer, printed: bool = False) -> float:
    """Return M_f, which bounds |f(x)| for all x (Lemma A.3).

    **Arguments:** `printed`: L_f of section 4, which has the same token in both norms, and L_MLP
    |b| in place of |U| |B| |b|; it is not a bound.
    """
    one_layer(f)
    printed = flag("printed", printed)
    e = tokens(f, f.period or 1)
    length, values = (
        np.linalg.norm(e, axis=-1),
        np.linalg.norm(e @ f.layers[0].heads[0].V.T, axis=-1),
    )
    layer, L, bias = f.layers[0], mlp_lipschitz(f), float(np.linalg.norm(f.layers[0].b))
    if printed:
        return L * float((length + values).max()) + L * bias
    return L * (float(length.max()) + float(values.max())) + norm(f.U) * norm(layer.B) * bias


def sensitivity(f: Transformer) -> float:
    """Return L_MLP M^V, the factor on errors of ratios in the proof of Theorem 4.1."""
    one_layer(f)
    return mlp_lipschitz(f) * value_norm(f)


def first_layer_constants(f: Transformer, printed: bool = False) -> tuple[float, float, float]:
    """Return G_f, H_f and L_f of Lemma B.1: a bound, the drift in i, and the slope in mu.

    Infinity beyond the largest float.

    **Arguments:** `printed`: H_f without |V| and G_f without the bias, which are not bounds.
    """
    two_layers(f)
    layer, tau, printed = f.layers[0], f.locality or 0, flag("printed", printed)
    slope = lipschitz(layer)
    V = [norm(h.V) for h in layer.heads]
    sharp = [exponential(4 * norm(h.KQ)) for h in layer.heads]
    bias = 0.0 if printed else norm(layer.B) * float(np.linalg.norm(layer.b))
    G = (1 + sum(V)) * slope + bias
    weights = [1.0] * len(V) if printed else V
    factor = tau**2 + 1 if printed else (2 * tau + 3) ** 2
    H = slope * factor * sum(map(product, weights, sharp))
    L = 2 * len(f.alphabet) * sum(map(product, V, sharp)) * slope
    return G, H, L


def complexity(f: Transformer, C: float = 5.0, printed: bool = False) -> float:
    """Return C(f) of Definition 5.1, with the polynomials of the proof (end of section B.2).

    exp(C G^2 |K2^T Q2|) (1 + |V2|) (1 + |A1| |B1|) (1 + sum |V1| exp(4 |K1^T Q1|))
    (1 + |A2| |B2|) |U| (tau^2 + 1) S, where G = (1 + sum |V1|) (1 + |A1| |B1|) + |B1| |b1|.

    **Arguments:** `C`: the constant in the exponent, 5 in the proof; `printed`: without the factor
    1 + |A1| |B1|, the bias, and the 1 beside the sum. That is 0 for a transformer without attention
    in its first layer, although its error is not 0.

    Infinity beyond the largest float.

    **Raises:** `ValueError` unless f is one of `two_layers`.
    """
    two_layers(f)
    C = real("C", C)
    printed = flag("printed", printed)
    first, second = f.layers
    V = [norm(h.V) for h in first.heads]
    sharp = sum(
        product(v, exponential(4 * norm(h.KQ))) for v, h in zip(V, first.heads, strict=True)
    )
    G = first_layer_constants(f, printed)[0]
    size = exponential(product(C, G, G, norm(second.heads[0].KQ)))
    inner = sharp if printed else (1 + sharp) * lipschitz(first)
    outer = (1 + norm(second.heads[0].V)) * lipschitz(second) * norm(f.U)
    return product(size, outer, inner, (f.locality or 0) ** 2 + 1, len(f.alphabet))

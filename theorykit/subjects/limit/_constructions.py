"""The transformers that the quantitative paper constructs for its tasks (B.3, C.1).

Its infinite logits are finite here. Under rounding to p bits with the largest logit subtracted, a
margin of p + 2 rounds every other weight to zero from length 2 on, since n^-(p+2) < 2^-(p+1).
"""

import math

import numpy as np
from jaxtyping import Float

from theorykit.common.arguments import affordable, number, positive, real, whole
from theorykit.subjects.limit._transformer import Head, Layer, Local, Transformer, Unit, mlp

WEIGHT_BITS = 24
"""The fewest fractional bits of the MLP of `simple_task`, few enough for `exact` to be quick."""

MOST = 2**28
"""The most parameters of a transformer: two GiB."""

MOST_PIECES = 2**20
"""The most pieces of its sine: hidden units take memory and time."""


def simple_task(omega: float, error: float = 0.01, precision: int = 8) -> Transformer:
    """Return the Limit Transformer of SimpleTask: sin(omega (c_0 - c_1) / (c_0 + c_1)) at the end.

    Appendix C.1: uniform attention to the symbols 0 and 1 of the alphabet 0, 1, 2, with values of
    opposite sign, and an MLP for the sine. Coordinates: the symbol (3), the mean z of the signs,
    the output. The MLP interpolates the sine on [0, 1] by ReLUs and extends it as an odd function;
    its A has norm 1, so its B has norm about 4 omega^2 / pi + 2 omega.

    **Arguments:** `omega`; `error`, the largest error of the sine at any z; `precision`, p.

    **Raises:** `ValueError` for an omega or error that is not positive and finite, or an error that
    is out of reach for weights in floats.
    """
    omega, error = positive("omega", omega), positive("error", error)
    precision = whole("precision", precision)
    row = lambda *entries: np.array([entries], float)
    V = np.zeros((5, 5))
    V[3, :3] = 1, -1, 0
    head = Head((precision + 2) * row(1, 1, 0, 0, 0), row(1, 1, 1, 0, 0), V)
    layer = Layer((head,), *mlp(5, _sine(omega, error)))
    E, positions = np.eye(3, 5), np.zeros((1, 5))
    return Transformer(
        tuple("012"), E, positions, (layer,), row(0, 0, 0, 0, 1), precision=precision, shift=True
    )


def _sine(omega: float, error: float) -> list[Unit]:
    """Return units that read z at 3 and write sin(omega z) at 4, linear on pieces of [0, 1].

    Half of the error is allowed for the interpolation, at most (omega / pieces)^2 / 8, and half for
    rounding to multiples of 2 u: a unit (c / a) ReLU(a z - a knot) is off by u (a + |c| / a) to
    first order, which sums to at most sqrt(pieces) u (1 + norm^2). A product c of an input and an
    output weight is split as a, c / a with a proportional to sqrt|c|; this minimises |A| |B|, which
    is then sum |c|.
    """
    need = omega / (2 * math.sqrt(error))
    if need > MOST_PIECES:
        raise ValueError(
            f"an error of {error} at omega = {omega} takes {need:.3g} pieces of the sine, more "
            f"than {MOST_PIECES}; take a larger error."
        )
    pieces = math.ceil(need)
    knots = np.arange(pieces + 1) / pieces
    slopes = np.diff(np.sin(omega * knots)) * pieces
    bends = np.diff(slopes, prepend=0.0)
    norm = math.sqrt(2 * np.abs(bends).sum())
    bits = max(WEIGHT_BITS, math.ceil(math.log2(2 * math.sqrt(pieces) * (1 + norm**2) / error)))
    if bits + 2 * math.log2(norm) > 52:  # weights are at most norm^2, and floats hold 53 bits
        raise ValueError(
            f"an error of {error} at omega = {omega} takes {bits} bits of the weights of the sine, "
            "more than floats hold; take a larger error."
        )
    short = lambda v: round(v * 2**bits) / 2**bits
    units: list[Unit] = []
    for knot, c in zip(knots, bends, strict=False):
        a = short(math.sqrt(abs(c)) / norm)
        for sign in (1, -1) if a else ():
            units.append(({3: sign * a}, short(-a * knot), False, {4: sign * short(c / a)}))
    return units


def mod_p_task(period: int, index: int = 0, precision: int = 8) -> Transformer:
    """Return the Limit Transformer of ModPTask: the mean bit at positions = index mod p.

    Appendix C.1: orthogonal encodings of period p, added to orthogonal symbols 0 and 1; attention
    to the one relevant encoding, and a value that ignores encodings. Coordinates: the symbol (2),
    the position mod p (p), the output. Positions count from 1.

    **Arguments:** `period`, p; `index`, taken mod p; `precision`, in bits.

    **Raises:** `ValueError` for a period below 1 or an index below 0.
    """
    period, index = whole("period", period), whole("index", index, 0)
    precision = whole("precision", precision)
    d = 2 + period + 1
    affordable("this transformer", 3 * d**2, MOST)
    E, positions, K, Q, V, U = (np.zeros((n, d)) for n in (2, period, 1, 1, d, 1))
    E[:, :2] = np.eye(2)
    for place in range(period):
        positions[place, 2 + (place + 1) % period] = 1
    K[0, 2 + index % period] = precision + 2
    Q[0, :2] = 1
    V[-1, 1] = U[0, -1] = 1
    layers = (Layer((Head(K, Q, V),), *mlp(d)),)
    return Transformer(tuple("01"), E, positions, layers, U, precision=precision, shift=True)


def kgram(symbols: int, order: int, beta: float, phi: float = 2.0) -> Transformer:
    """Return the two-layer transformer of the in-context k-gram at infinite precision.

    Appendix B.3: head h = 1 ... k - 1 of the first layer copies the symbol h places back, by phi(i
    - h, i) = phi and log i scaling; the second layer multiplies the weight of a position by e^beta
      for each of the last k - 1 symbols that agrees with what came before that position, and copies
      the symbol there. Coordinates: k blocks for x_i ... x_(i-k+1), then a block for the output.
      With k blocks alone, as in the paper, the output would be added to x_i, which the residual
      stream keeps.

    A position at most h from the start has nothing h places back: head h then attends to all
    symbols so far uniformly, and the position may wrongly agree.

    **Arguments:** `symbols`, S; `order`, k: the average is over what followed the last k - 1
    symbols; `beta`; `phi`, above 1 so that positions dominate, with margin phi - 1.

    **Raises:** `ValueError` for fewer than two symbols, an order below 2, a phi of 1 or less, or
    a beta or phi that is not finite.
    """
    symbols, order = whole("symbols", symbols, 2), whole("order", order, 2)
    beta = real("beta", beta)
    phi = number("phi", phi, "a number above 1, where positions dominate", lambda v: v > 1)
    S, tau = symbols, order - 1
    d = (tau + 2) * S
    affordable("this transformer", order * d**2, MOST)
    block = lambda n: slice(n * S, (n + 1) * S)

    def copy(source: int, target: int) -> Float[np.ndarray, "d d"]:
        V = np.zeros((d, d))
        V[block(target), block(source)] = np.eye(S)
        return V

    nothing = np.zeros((0, d))
    back = lambda h: Local(tuple(phi if n == h else 0.0 for n in range(h + 1)))
    heads = tuple(Head(nothing, nothing, copy(0, h), back(h)) for h in range(1, tau + 1))
    agree = np.eye(tau * S, d)
    second = Head(np.roll(agree, S, 1), beta * agree, copy(0, tau + 1))
    layers = (Layer(heads, *mlp(d)), Layer((second,), *mlp(d)))
    names = tuple(map(str, range(S)))
    U = np.eye(d)[block(tau + 1)]
    return Transformer(
        names, np.eye(S, d), np.zeros((1, d)), layers, U, precision=None, scaling="suffix"
    )

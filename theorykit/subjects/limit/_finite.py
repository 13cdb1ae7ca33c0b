"""Limit Transformers to finite ones in the hypothesis class (Lemma 47).

Two initial layers determine the position relative to `$` through attention weights alone, so that
no product function with positional encodings depends on the offset. Then the Limit Transformer runs
on the result. The printed construction is changed where it fails: there is one more head, since
`max(1, H, Delta)` heads are not enough for the Delta + 1 of layer 2; and the period is 2 or more,
since with period 1 no head attends to `$` more than the uniform one does.
"""

import numpy as np
from jaxtyping import Float, Int

from theorykit.common.arguments import affordable, instance, whole
from theorykit.subjects.limit._transformer import SOS, Head, Layer, Local, Transformer, Unit, mlp

MOST = 2**28
"""The most parameters of a transformer: two GiB."""


def to_finite(transformer: Transformer, context: int) -> Transformer:
    """Return a transformer of Theta_N that computes T_inf(x, 0) at every offset (Lemma 47).

    Its width is d + N + 3 Delta + 2.

    **Raises:** `ValueError` for a transformer that already has a context, is not LOCAL, has no `$`,
    or does not round its logits.
    """
    t = instance("transformer", transformer, Transformer, "a limit.Transformer")
    context = whole("context", context)
    if t.context is not None or t.locality is None:
        raise ValueError("to_finite takes a Limit Transformer that is LOCAL.")
    if t.alphabet[0] != SOS or t.precision is None:
        raise ValueError(f"to_finite needs the start symbol {SOS!r} and a precision.")
    table = t.positions if t.positions.any() else t.positions[:1]
    table = table[: t.period or 1]
    if len(table) == 1 and table.any():
        table = np.concatenate([table, table])
    period = len(table)
    space = _Space(t.width, context, period)
    heads = sum(len(layer.heads) for layer in t.layers) + (period + 2 if table.any() else 0)
    rows = 2 * sum(len(layer.b) for layer in t.layers) + 3 * (1 + heads) * space.width
    affordable("this transformer", rows * space.width, MOST)
    layers = [] if not table.any() else [space.copying(t.precision), space.locating(table)]
    layers += [space.lifted(layer) for layer in t.layers]
    E = np.zeros((len(t.alphabet), space.width))
    E[:, space.main] = t.E
    E[0, space.sos] = 1
    positions = np.zeros((context, space.width))
    positions[:, space.place] = np.eye(context)
    places = np.arange(1, context + 1)
    positions[places - 1, space.residue[places % period]] = 1
    if t.nope:
        positions[:] = 0
    U = np.zeros((len(t.U), space.width))
    U[:, space.main] = t.U
    return Transformer(t.alphabet, E, positions, tuple(layers), U, context, t.precision)


class _Space:
    """The six regions of eq. (13), as ranges of dimensions."""

    def __init__(self, d: int, context: int, period: int):
        sizes = [d, context, period, period, 1, period + 1]
        ends = np.cumsum(sizes)
        regions = [np.arange(e - s, e) for s, e in zip(sizes, ends, strict=True)]
        self.main, self.place, self.residue, self.copied, sos, self.shares = regions
        self.sos, self.width, self.period = int(sos[0]), int(ends[-1]), period

    def zeros(self, *shape: int) -> Float[np.ndarray, "*shape width"]:
        return np.zeros((*shape, self.width))

    def copying(self, precision: int) -> Layer:
        """Layer 1: each position attends to itself and copies its residue.

        Omega is so large that contributions of other positions are lost in the rounding of layer 2.
        """
        K = self.zeros(len(self.place))
        K[np.arange(len(self.place)), self.place] = 1
        V = self.zeros(self.width)
        V[self.copied, self.residue] = 1
        heads = (Head(K, (precision + 3) * K, V),)
        return Layer(heads, *mlp(self.width))

    def locating(self, table: Float[np.ndarray, "period d"]) -> Layer:
        """Layer 2: one head per residue s, sharper on `$` if its distance is s; and a uniform head.

        The MLP writes p_(s + 1) where head s attends to `$` more than the uniform head does.
        """
        heads, units = [], list[Unit]()
        for s in range(self.period + 1):
            V = self.zeros(self.width)
            V[self.shares[s], self.sos] = 1
            K, Q = self.zeros(0), self.zeros(0)
            if s < self.period:
                K, Q = self.zeros(self.period), self.zeros(self.period)
                for r in range(self.period):  # key residue r, query residue r + s
                    K[r, self.copied[r]] = 1
                    Q[r, self.copied[(r + s) % self.period]] = 1
                at_most = {int(self.shares[-1]): 1.0, int(self.shares[s]): -1.0, self.sos: 2.0}
                units.append((at_most, 0, True, self.written(-table[s])))
                units.append(({}, 0, True, self.written(table[s])))
            heads.append(Head(K, Q, V))
        units.append(({self.sos: 1}, -1, True, self.written(table[0])))
        return Layer(tuple(heads), *mlp(self.width, units))

    def written(self, p: Float[np.ndarray, " d"]) -> dict[int, float]:
        return {int(self.main[k]): float(p[k]) for k in np.flatnonzero(p)}

    def lifted(self, layer: Layer) -> Layer:
        """A layer of the Limit Transformer on region I, with phi from positions in region II."""
        widen = lambda a: self.widened(a, self.main)
        heads = []
        for head in layer.heads:
            V = self.zeros(self.width)
            V[np.ix_(self.main, self.main)] = head.V
            K, Q = widen(head.K), widen(head.Q)
            if isinstance(head.phi, Local) and any(head.phi.values):
                n = len(self.place)
                j = np.arange(1, n + 1)
                W = head.phi(j[:, None], j[None, :])  # keys along rows, queries along columns
                K = np.concatenate([K, self.widened(np.eye(n), self.place)])
                Q = np.concatenate([Q, self.widened(W, self.place)])
            heads.append(Head(K, Q, V))
        B = np.zeros((self.width, layer.B.shape[1]))
        B[self.main] = layer.B
        return Layer(tuple(heads), widen(layer.A), B, layer.b, layer.heaviside)

    def widened(
        self, a: Float[np.ndarray, "rows d"], region: Int[np.ndarray, " d"]
    ) -> Float[np.ndarray, "rows width"]:
        found = self.zeros(len(a))
        found[:, region] = a
        return found

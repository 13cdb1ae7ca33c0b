"""The convergence of finite-width kernels to the infinite-width kernels."""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Array, Float, Key, Real

from theorykit.common.precision import highest
from theorykit.kernels import empirical
from theorykit.networks.compare._gaps import Curve, curves, plot
from theorykit.networks.compare._networks import Ensemble, Make, inputs, known, readout_features


@dataclasses.dataclass(frozen=True)
class KernelGap:
    """Kernels of finite networks and their distance to the infinite-width kernels.

    **Fields:** `nngp_bias`, `ntk_bias`: distance of the mean over networks, corrected for the noise
    of this mean and of the kernel; `nngp_spread`, `ntk_spread`: root mean square distance of a
    network to the mean; `nngp`, `ntk`: the infinite-width kernels; `nngp_means`, `ntk_means`: their
    means over networks. Distances are in the Frobenius norm, relative to the kernel.
    """

    nngp_bias: Curve
    nngp_spread: Curve
    ntk_bias: Curve
    ntk_spread: Curve
    nngp: Float[np.ndarray, "inputs1 inputs2"]
    ntk: Float[np.ndarray, "inputs1 inputs2"]
    nngp_means: Float[np.ndarray, "widths inputs1 inputs2"]
    ntk_means: Float[np.ndarray, "widths inputs1 inputs2"]

    def plot(self, file: str | Path) -> None:
        """Plot the four distances against the widths."""
        names = ("nngp_bias", "nngp_spread", "ntk_bias", "ntk_spread")
        lines = {name.replace("_", " "): getattr(self, name) for name in names}
        plot(file, lines, "Kernels of finite networks")


@highest
def kernels(
    make: Make,
    kernel: Callable[..., Any],
    x: Real[Array | np.ndarray, "inputs1 ..."],
    x2: Real[Array | np.ndarray, "inputs2 ..."] | None = None,
    *,
    widths: Sequence[int],
    seeds: int | Sequence[int],
    key: Key[Array, ""] | int,
    batch: int = 16,
) -> KernelGap:
    """Compare the NNGP and NTK kernels of finite networks with the infinite-width kernels.

    The NNGP kernel of one network is averaged over its readout weights (the readout's part of the
    NTK), since the product of its outputs would not converge as the width grows.

    **Arguments:**

    - `make`, `kernel`: see `theorykit.networks.compare`.
    - `x`, `x2`: inputs; without `x2` the Gram matrices of `x`.
    - `widths`, `seeds`: of the networks; `key`: for their weights.
    - `batch`: the number of networks per batch.

    **Raises:** `ValueError` for fewer than three seeds.
    """
    ensemble = Ensemble(make, widths, seeds, key, batch)
    x, x2 = inputs("x", x), None if x2 is None else inputs("x2", x2)
    exact = known(kernel, x, x2)
    if exact.nngp is None or exact.ntk is None:
        raise ValueError("the kernel must have both nngp and ntk; this one lacks one of them.")

    def both(network):
        rows = readout_features(network, x)
        columns = rows if x2 is None else readout_features(network, x2)
        return rows @ columns.T, empirical(network, x, x2, get="ntk").ntk

    found = ensemble.map(both)
    parts: dict[str, Any] = {}
    for i, name in enumerate(("nngp", "ntk")):
        samples = [np.asarray(pair[i], float) for pair in found]
        stderr = getattr(exact, f"{name}_stderr")
        noise = 0.0 if stderr is None else float((np.asarray(stderr, float) ** 2).sum())
        reference = np.asarray(getattr(exact, name), float)
        lines = curves(widths, samples, reference, noise=noise)
        parts |= {f"{name}_bias": lines["bias"], f"{name}_spread": lines["spread"]}
        parts |= {name: reference, f"{name}_means": np.stack([s.mean(0) for s in samples])}
    return KernelGap(**parts)

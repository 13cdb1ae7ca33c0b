"""The convergence of networks with only the last layer trained to the NNGP posterior."""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, Real

from theorykit.common.arguments import as_array, finite, number, size
from theorykit.common.precision import highest
from theorykit.kernels import ridge as kernel_ridge
from theorykit.networks.compare._gaps import Curve, curves, plot
from theorykit.networks.compare._networks import Ensemble, Make, inputs, known, readout_features


@dataclasses.dataclass(frozen=True)
class LastLayerGap:
    """Outputs of networks with a trained last layer, and their distance to the NNGP posterior.

    **Fields:** `bias`: distance of the mean over networks, corrected for noise; `single`: root mean
    square distance of one network; both relative to the posterior mean. `unfinished`: the same
    distance between gradient descent and its limit, the closed form. `posterior`: the posterior
    mean; `means`: means over networks of the closed form.
    """

    bias: Curve
    single: Curve
    unfinished: Float[np.ndarray, " widths"]
    posterior: Float[np.ndarray, " tested"]
    means: Float[np.ndarray, "widths tested"]

    def plot(self, file: str | Path) -> None:
        """Plot the distances against the widths."""
        lines = {"mean of networks": self.bias, "one network": self.single}
        plot(file, lines, "Trained last layer and the NNGP posterior")


@highest
def last_layer(
    make: Make,
    kernel: Callable[..., Any],
    x: Real[Array | np.ndarray, "inputs ..."],
    y: Real[Array | np.ndarray, " inputs"],
    x_test: Real[Array | np.ndarray, "tested ..."],
    *,
    ridge: float,
    widths: Sequence[int],
    seeds: int | Sequence[int],
    key: Key[Array, ""] | int,
    steps: int = 1000,
    batch: int = 16,
) -> LastLayerGap:
    """Compare training the last layer, from zero and with weight decay, with the NNGP posterior.

    The loss is sum (f - y)^2 / 2 + ridge |w|^2 / 2, so the ridge is the variance of the observation
    noise. Its minimum has a closed form, which gradient descent approaches in `steps` steps. A
    network is linear in its last layer, so gradients are computed once for all steps.

    **Arguments:**

    - `make`, `kernel`: see `theorykit.networks.compare`; networks have one output.
    - `x`, `y`: inputs and targets; `x_test`: test inputs, of any length.
    - `ridge`: above 0. `widths`, `seeds`, `key`, `batch`: as for `gradient_descent`.

    **Raises:** `ValueError` for a ridge that is not positive, fewer than three seeds, or targets of
    the wrong shape.
    """
    ridge = number("the ridge", ridge, "above 0", lambda v: v > 0)
    ensemble = Ensemble(make, widths, seeds, key, batch)
    x, x_test, y = inputs("x", x), inputs("x_test", x_test), as_array("targets", y)
    if np.shape(y) != (len(x),):
        raise ValueError(f"{len(x)} inputs need targets of shape ({len(x)},), got {np.shape(y)}")
    for name, values in dict(inputs=x, targets=y, x_test=x_test).items():
        finite(name, values)
    steps = size("steps", steps)
    k, k_test = (np.asarray(known(kernel, *pair).nngp) for pair in ((x, None), (x_test, x)))
    posterior = np.asarray(kernel_ridge(k, np.asarray(y, k.dtype), k_test, ridge=ridge).mean)
    y = jnp.asarray(y)

    def both(network):
        if (size := jax.eval_shape(network, x[0]).size) != 1:
            raise ValueError(f"the network must have one output, not {size}")
        rows, test = readout_features(network, x), readout_features(network, x_test)
        gram = rows @ rows.T
        alpha = jnp.linalg.solve(gram + ridge * jnp.eye(len(y), dtype=gram.dtype), y)
        rate = 1 / (jnp.linalg.eigvalsh(gram)[-1] + ridge)
        step = lambda _, w: w - rate * (rows.T @ (rows @ w - y) + ridge * w)
        w = jax.lax.fori_loop(0, steps, step, jnp.zeros(rows.shape[1], rows.dtype))
        return test @ rows.T @ alpha, test @ w

    found = ensemble.map(both)
    closed = [np.asarray(pair[0], float) for pair in found]
    gaps = [np.asarray(pair[1], float) - c for pair, c in zip(found, closed, strict=True)]
    left = [(gap**2).sum(1).mean() for gap in gaps]
    lines = curves(widths, closed, posterior)
    return LastLayerGap(
        bias=lines["bias"],
        single=lines["single"],
        unfinished=np.sqrt(left) / np.linalg.norm(posterior),
        posterior=posterior,
        means=np.stack([c.mean(0) for c in closed]),
    )

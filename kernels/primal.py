"""Kernels with their errors from features of inputs, and regressions that read inputs in chunks.

With features `Phi` and targets y, kernel ridge regression is that of the weights
`w = (Phi' Phi + ridge)^-1 Phi' y`, since `Phi (Phi' Phi + ridge)^-1 = (Phi Phi' + ridge)^-1 Phi`.
The sums over inputs are all that is kept.
"""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Real
from scipy.linalg import cho_factor, cho_solve, lapack

from theorykit.common.arguments import as_array, one_of, size
from theorykit.common.precision import highest
from theorykit.common.spelling import spelt
from theorykit.kernels import tileable, tiles
from theorykit.kernels.inputs import computed, floating, number
from theorykit.kernels.layers.network import Description
from theorykit.kernels.moments import Moments
from theorykit.kernels.progress import bar
from theorykit.kernels.result import Kernel
from theorykit.kernels.systems import finite
from theorykit.kernels.transformer import InfiniteTransformer


@highest
def from_features(
    phi1: Float[ArrayLike, "inputs1 width"],
    phi2: Float[ArrayLike, "inputs2 width"] | None = None,
    *,
    replicates: int = 1,
    get: str = "nngp",
) -> Kernel:
    """Return the kernel that features estimate, and its standard error from their replicates.

    **Arguments:**

    - `phi1`, `phi2`: features of row and column inputs by one key; None: the rows again.
    - `replicates`: how many of them were asked for.
    - `get`: what they are of, "nngp" or "ntk".

    **Returns:** `Kernel` of (P1, P2) arrays, with the draws left at 0: features do not know them.

    **Raises:** `ValueError` for features of another number of replicates, or of unequal widths.
    """
    one = jnp.asarray(as_array("phi1", phi1))
    two = one if phi2 is None else jnp.asarray(as_array("phi2", phi2))
    count = size("replicates", replicates)
    one_of("get", get, ("nngp", "ntk"))
    if one.ndim != 2 or two.ndim != 2 or one.shape[1] != two.shape[1] or one.shape[1] % count:
        raise ValueError(
            f"features are (inputs, width) arrays of one width, a multiple of the {count} "
            f"replicates, got {one.shape} and {two.shape}"
        )
    parts = [jnp.split(a * count**0.5, count, -1) for a in (one, two)]
    found: Moments | None = None
    for a, b in zip(*parts, strict=True):
        found = Moments(a @ b.T) if found is None else found.add(a @ b.T)
    assert found is not None
    named = {get: found.mean, f"{get}_stderr": found.stderr()}
    return Kernel(**named, replicates=count, draw="features")


@dataclass(frozen=True, eq=False)
class Chunks:
    """The source of the features of inputs, which are read in chunks of one size.

    **Fields:** `network`; `options`, of its `features`; `size`, the inputs of a chunk; `tokens`,
    those that inputs are padded to. Draws depend on both.
    """

    network: Description
    options: dict[str, Any]
    size: int
    tokens: int

    def laid(self, x: Any, mask: Any) -> tiles.Set:
        """Return inputs as a set of such chunks, unread."""
        x = tileable.lazy_tokens(self.network, "x", x)
        mask = None if mask is None else tiles.lazy("mask", mask, "buif")
        found = tiles.laid([("x", x, mask)], self.size, lambda tokens, features: self.size)
        if found.tokens > self.tokens:
            raise ValueError(
                f"inputs of {found.tokens} tokens met features of up to {self.tokens}: give "
                f"primal_ridge tokens={found.tokens}"
            )
        return found._replace(tile=self.size, tokens=self.tokens)

    def features(self, x: Any, mask: Any) -> Float[Array, "chunk width"]:
        """Return the features of a chunk, as a set gives it."""
        x = self.network.ends()[0].tokens(x)
        return self.network.features(x, mask=mask, inputs=self.size, **self.options)


@dataclass(frozen=True, eq=False)
class Primal:
    """A ridge regression on the features of a network.

    **Fields:**

    - `weights`: (width,) or (width, outputs), in float64: the outputs are `phi @ weights`.
    - `condition`: condition number of `Phi' Phi + ridge` in the 1-norm, as LAPACK estimates it.
    - `residual`: |b - (Phi' Phi + ridge) w| / |b| with `b = Phi' y`, the worst over all outputs.
    - `inputs`: how many inputs it was fitted to.
    - `chunks`: where features come from.
    - `dtype`: of the outputs.
    """

    weights: Float[np.ndarray, "width ..."]
    condition: float
    residual: float
    inputs: int
    chunks: Chunks
    dtype: Any

    def predict(
        self, x: Any, *, mask: Any = None, progress: bool | None = None
    ) -> Float[np.ndarray, "test ..."]:
        """Return the outputs at other inputs, which are read in chunks too.

        **Arguments:** as for `primal_ridge`.

        **Raises:** `ValueError` for inputs that do not fit those of the regression.
        """
        inputs = self.chunks.laid(x, mask)
        found = np.empty((inputs.total, *self.weights.shape[1:]), self.dtype)
        with bar("chunks", inputs.tiles, progress) as tick:
            for i in range(inputs.tiles):
                at = inputs.bounds(i)
                phi = np.asarray(self.chunks.features(*inputs.tile_at(i)), np.float64)
                found[at] = (phi @ self.weights)[: at.stop - at.start]
                tick.replicate()
        return found


@spelt
@highest
def primal_ridge(
    network: InfiniteTransformer | Description,
    x: Any,
    y: Real[ArrayLike, "train ..."],
    *,
    ridge: Any,
    mask: Any = None,
    chunk: int = 1024,
    tokens: int | None = None,
    progress: bool | None = None,
    **options: Any,
) -> Primal:
    """Kernel ridge regression in time linear in the number of inputs, which are read in chunks.

    The predictions are those of `ridge` with the Gram matrix of the features, to rounding. Memory
    is that of a chunk, and of the (width, width) matrix that is solved:

        fit = primal_ridge(network, x, y, ridge=0.1, key=key, draws=64, units=1024)
        fit.predict(x_test)

    **Arguments:**

    - `network`: a description, or an `InfiniteTransformer` of joint draws.
    - `x`: (P, T, d) vectors, or (P, T) token ids; an array, or anything with a shape and a dtype
      that is sliced like one, such as `numpy.memmap` or a zarr array.
    - `y`: (P,) or (P, outputs) targets.
    - `ridge`: kappa >= 0, of the Gram matrix and so of the weights.
    - `mask`: (P, T) booleans, true at real tokens.
    - `chunk`: inputs that are read at a time. All chunks have the same draws, which may depend on
      the chunk size.
    - `tokens`: the length that inputs are padded to; None: T. For longer ones to predict at.
    - `progress`: whether to show a bar, see `InfiniteTransformer`.
    - `options`: `key`, `draws`, `replicates`, `units`, `get` and `sampler`, as for `features`.

    **Returns:** `Primal`, a regression to `predict` with. Products are in the dtype of the inputs,
    sums over chunks and the solution in float64.

    **Raises:** `ValueError` for a network without features, shapes that do not fit, NaN, a negative
    ridge, or one that leaves the system singular to rounding.
    """
    kappa = float(number("ridge", ridge, 0))
    if not isinstance(network, InfiniteTransformer | Description):
        raise ValueError(f"network is an InfiniteTransformer or a description, got {network!r}")
    x = tileable.lazy_tokens(network, "x", x)
    if isinstance(network, InfiniteTransformer):
        if len(x.shape) != 3:
            raise ValueError(f"x has shape (inputs, tokens, features), got {x.shape}")
        network = network.description(features=x.shape[-1])
    targets: Any = as_array("targets", y)
    finite("targets", targets)
    if targets.ndim < 1 or len(targets) != x.shape[0]:
        raise ValueError(
            f"there must be one target per input: {x.shape[0]} inputs, targets of shape "
            f"{targets.shape}"
        )
    chunk = min(size("chunk", chunk), x.shape[0])
    length = x.shape[1] if tokens is None else size("tokens", tokens)
    chunks = Chunks(network, options, chunk, length)
    inputs = chunks.laid(x, mask)
    gram, moment = _sums(chunks, inputs, targets.reshape(len(targets), -1), progress)
    weights, condition, residual = _solved(gram, moment, kappa, inputs.dtype)
    weights = weights.reshape(-1, *targets.shape[1:])
    return Primal(weights, condition, residual, len(targets), chunks, floating(x, targets))


def _sums(
    chunks: Chunks, inputs: tiles.Set, y: Any, progress: bool | None
) -> tuple[Float[np.ndarray, "width width"], Float[np.ndarray, "width outputs"]]:
    """Return Phi' Phi and Phi' y over all chunks, in float64."""
    gram: Any = 0.0
    moment: Any = 0.0
    with bar("chunks", inputs.tiles, progress) as tick:
        for i in range(inputs.tiles):
            at = inputs.bounds(i)
            count = at.stop - at.start
            here = np.zeros((inputs.tile, y.shape[1]), inputs.dtype)
            here[:count] = y[at]
            found = _products(chunks.features(*inputs.tile_at(i)), here, count)
            gram, moment = (
                total + np.asarray(part, np.float64)
                for total, part in zip((gram, moment), found, strict=True)
            )
            tick.replicate()
    return gram, moment


@jax.jit
def _products(phi: Any, y: Any, count: Any) -> tuple[Any, Any]:
    """Return Phi' Phi and Phi' y of the first inputs of a chunk: others fill it up."""
    phi = jnp.where((jnp.arange(len(phi)) < count)[:, None], phi, 0.0)
    return phi.T @ phi, phi.T @ y.astype(phi.dtype)


def _solved(
    gram: Float[np.ndarray, "width width"],
    moment: Float[np.ndarray, "width outputs"],
    ridge: float,
    dtype: Any,
) -> tuple[Float[np.ndarray, "width outputs"], float, float]:
    """Return the weights, the condition number and the relative residual.

    **Raises:** `ValueError` for features beyond the range of their dtype, or a singular system.
    """
    if not (np.isfinite(gram).all() and np.isfinite(moment).all()):
        raise ValueError(
            "the features are beyond the range of their dtype: smaller inputs or scales, or a "
            "wider dtype, would be right"
        )
    matrix = gram + ridge * np.eye(len(gram))
    norm = np.abs(matrix).sum(0).max()
    try:
        factor = cho_factor(matrix, lower=True)
        reciprocal = float(lapack.dpocon(factor[0], norm, uplo="L")[0])
    except np.linalg.LinAlgError:
        reciprocal = 0.0
    # What rounding in the dtype of the features has left of zero eigenvalues.
    least = float(np.finfo(computed(dtype)).eps) * float(np.trace(gram))
    if reciprocal <= np.finfo(np.float64).eps:
        raise ValueError(
            f"{len(gram)} features make a system that is singular to rounding; give a ridge of "
            f"{least:.1g} or more, got {ridge:.3g}"
        )
    weights = cho_solve(factor, moment)
    size_of = np.linalg.norm(moment, axis=0)
    left = np.linalg.norm(moment - matrix @ weights, axis=0)
    residual = float((left / np.where(size_of > 0, size_of, 1.0)).max(initial=0.0))
    return weights, 1 / reciprocal, residual

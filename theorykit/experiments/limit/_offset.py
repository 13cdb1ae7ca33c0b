"""How far products of positions in trained heads depend on the distance only (G.6)."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from theorykit.experiments import Finding, Setting, over_seeds, reproduces
from theorykit.experiments._plots import figure
from theorykit.experiments._tables import share
from theorykit.experiments.limit._extrapolate import Decoder, Extrapolation
from theorykit.experiments.limit._plans import algorithmic_plan


@reproduces("limit", "offset-variance", ref="App. G.6.2, eq. (81), Fig. 7")
def offset_variances(setting: Setting) -> Finding:
    """How far products of positions in trained heads are from a function of the distance."""
    names = ["bin_majority", "bin_majority_interleave", "majority", "sort", "unique_copy"]
    names = names if setting.size == "paper" else names[:1]
    points = [(algorithmic_plan(name, "APE", setting.size), setting, name) for name in names]
    rows, numbers = [], {}
    for name, found in zip(names, setting.each(variances, points), strict=True):
        numbers[name] = found["offset"].tolist()
        for layer, head in np.ndindex(found["offset"].shape[1:]):
            row = {"task": name, "layer": layer, "head": head}
            for what in ("offset", "whole"):
                row[f"{what} variance"] = round(float(found[what][:, layer, head].mean()), 4)
            rows.append(row | {"fitted": share(found["fitted"])})
    values = np.concatenate([np.ravel(v) for v in numbers.values()])
    summary = (
        f"Of {len(values)} heads {(values < 0.5).sum()} have an offset variance below 0.5; the "
        f"largest has {values.max():.2f}. The paper: most are close to 0, one of five networks' "
        "has 8.4."
    )

    def plot(file):
        with figure(file, 4, 2.8) as drawn:
            axes = drawn.subplots()
            axes.hist(values, bins=20)
            axes.set(xlabel="offset variance, eq. (81)", ylabel="heads")

    return Finding(summary, rows, numbers, plot)


def variances(study: Extrapolation, setting: Setting, name: str) -> dict[str, np.ndarray]:
    """Train and return the offset variance of each head, (seeds, layers, heads).

    **Returns:** `offset`; `whole`, the variance of all products of a head on and below the
    diagonal; `fitted`, which seeds got the first bin right.
    """
    fit = study.train(setting, name)
    products = setting.call(products_of, study, fit, setting.seed)
    over = lambda f: np.apply_along_axis(
        lambda M: f(M.reshape(study.places, study.places)),
        -1,
        products.reshape(*products.shape[:3], -1),
    )
    causal = np.tri(study.places, dtype=bool)
    return {
        "offset": over(offset_variance),
        "whole": over(lambda M: M[causal].var()),
        "fitted": fit.stopped_at >= 0,
    }


def products_of(
    study: Extrapolation, fit: Any, seed: int
) -> Float[np.ndarray, "seeds layers heads places places"]:
    """Return the products of positions in every head of every seed's network."""
    key = jax.random.key(seed)
    return over_seeds(fit, lambda network: head_products(network, study, key))()


def offset_variance(products: Any) -> float:
    """Return the variance of products (N, N) along each subdiagonal, averaged over all entries.

    Limit paper, eqs. (80) and (81): entries above the diagonal do not count. It is 0 exactly when
    the products depend on the distance only.
    """
    M = np.asarray(products)
    along = [np.diagonal(M, -c) for c in range(len(M))]
    spread = sum(((d - d.mean()) ** 2).sum() for d in along)
    return 2 * spread / (len(M) * (len(M) + 1))


def head_products(
    decoder: Decoder, study: Extrapolation, key: Array, count: int = 64
) -> Float[Array, "layers heads places places"]:
    """Return the products of positions in every head, (layers, heads, places, places).

    Layer norm becomes a linear map once its variance is fixed at its mean over the tokens of
    `samples` samples, as in the paper. The scale of the scores, 1 / sqrt(head size), is included.
    """
    network = decoder.network
    if not network.learned:
        raise ValueError("offset variance needs learned positions; this network has none.")
    samples = jax.vmap(lambda k: study.bins.sample(k, study.trained))(jax.random.split(key, count))
    (ids, offsets), counts = samples.x, samples.weight
    used = jnp.cumsum(counts[:, ::-1], 1)[:, ::-1] > 0

    def entering(ids: Array, offset: Array) -> list[Array]:
        z, found = network.embed(ids, offset), []
        for block in network.blocks:
            found.append(z.var(-1))
            z = block(z, network.visible(len(ids), None), None)
        return found

    positions = network.positions * network.position_table[...][: study.places]
    found = []
    for block, variance in zip(network.blocks, jax.vmap(entering)(ids, offsets), strict=True):
        p = positions
        if network.options.norm == "layer":
            p = (p - p.mean(-1, keepdims=True)) / jnp.sqrt((variance * used).sum() / used.sum())
        q = jnp.einsum("td,hde->hte", p, block.attention.query.effective())
        k = jnp.einsum("td,hde->hte", p, block.attention.key.effective())
        found.append(jnp.einsum("hae,hce->hac", q, k) / math.sqrt(network.options.head_size))
    return jnp.asarray(found)

"""A description as a whole: its kernels, and its networks."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from theorykit.common.arguments import as_array, instance, one_of, size
from theorykit.common.keys import as_key
from theorykit.kernels.draws import SAMPLERS
from theorykit.kernels.inputs import known, lay_out, wanted
from theorykit.kernels.layers.base import Layer, Setting, Size
from theorykit.kernels.layers.combine import Serial, hide
from theorykit.kernels.layers.tokens import Embed, Readout
from theorykit.kernels.parameters import parameters
from theorykit.kernels.plan import Plan
from theorykit.kernels.result import Kernel


@parameters("body")
@dataclass(frozen=True)
class Network:
    """A transformer, written once: kernels at infinite width, and modules at finite width.

    **Fields:** `embed`, `body`, `readout`: layers one after the other.
    """

    embed: Embed
    body: Serial
    readout: Readout

    def kernel(
        self,
        x1: Any,
        x2: Any = None,
        *,
        key: Any = None,
        draws: int = 256,
        replicates: int = 4,
        get: Any = ("nngp", "ntk"),
        mask1: Any = None,
        mask2: Any = None,
        sampler: str = "independent",
    ) -> Kernel:
        """Return NNGP and NTK between `x1` and `x2`, or of `x1`, from joint draws of all inputs.

        **Arguments:** `x1`, `x2`: (P, T) token ids or (P, T, d) vectors; the others as for
        `InfiniteTransformer`.

        **Returns:** `Kernel`, means over the replicates with their standard errors.
        """
        get = wanted(get)
        ids = self.embed.vocabulary is not None
        given = [None if x is None else self._entered(n, x) for n, x in (("x1", x1), ("x2", x2))]
        inputs = lay_out(*given, mask1, mask2)
        x = inputs.x[..., 0].astype(int) if ids else inputs.x
        plan = Plan(
            draws=size("draws", draws),
            replicates=size("replicates", replicates),
            ntk="ntk" in get,
            draw="joint",
            sampler=one_of("sampler", sampler, SAMPLERS),
        )
        key = jax.random.key(0) if key is None else as_key(key)
        mask, rows = jnp.asarray(inputs.mask), inputs.n1
        mean, stderr = _estimate(self, jnp.asarray(x), mask, key, plan, inputs.x.dtype)
        side = slice(None) if rows == len(mask) else slice(rows, None)

        def block(k):
            if k is None:
                return None
            return k[:rows, :, side] if self.readout.reading == "tokens" else k[:rows, side]

        (s, w), (s_error, w_error) = (tuple(map(block, k)) for k in (mean, stderr))
        return Kernel(s, w, s_error, w_error, plan.draws, plan.replicates, "joint")

    def _entered(self, name: str, x: Any) -> Any:
        x = as_array(name, x)
        if self.embed.vocabulary is None:
            return x
        if x.ndim != 2 or not jnp.issubdtype(x.dtype, jnp.integer):
            raise ValueError(f"{name} holds token ids in shape (inputs, tokens), got {x.shape}")
        if known(x) and not 0 <= np.min(x) <= np.max(x) < self.embed.vocabulary:
            raise ValueError(
                f"token ids of {name} lie between 0 and {self.embed.vocabulary - 1}, "
                f"got {np.min(x)} to {np.max(x)}"
            )
        return x[..., None].astype(float)

    def module(
        self, *, width: int, heads: int = 1, head_size: int | None = None, rngs: Any = 0
    ) -> nnx.Module:
        """Return a finite network: a function of one input and, optionally, its mask."""
        width, heads = size("width", width), size("heads", heads)
        head_size = max(1, width // heads) if head_size is None else size("head_size", head_size)
        rngs = rngs if isinstance(rngs, nnx.Rngs) else nnx.Rngs(params=as_key(rngs))
        whole = Serial((self.embed, *self.body.layers, self.readout))
        return _Network(whole.module(Size(width, heads, head_size), rngs))


def network(*layers: Layer) -> Network:
    """Return the description of a network: `Embed` first, `Readout` last.

    **Raises:** `ValueError` for other ends.
    """
    if len(layers) < 2:
        raise ValueError(f"a network has an Embed and a Readout, got {layers!r}")
    first, *body, last = layers
    instance("the first layer", first, Embed, "an Embed")
    instance("the last layer", last, Readout, "a Readout")
    Serial(layers)
    return Network(first, Serial(tuple(body)), last)  # type: ignore[arg-type]


class _Network(nnx.Module):
    def __init__(self, layers: nnx.Module):
        self.layers = layers

    def __call__(self, x, mask=None):
        return self.layers(x, jnp.ones(len(x), bool) if mask is None else mask)


@partial(jax.jit, static_argnames=("plan", "dtype"))
def _estimate(net: Network, x, mask, key, plan: Plan, dtype: Any):
    def one(replicate):
        at = Setting(mask, jax.random.fold_in(key, replicate), plan)
        z = net.embed.enter(x, plan.ntk)
        z = z._replace(**{n: k.astype(dtype) for n, k in z._asdict().items() if k is not None})
        z = net.readout.carry(net.body.carry(hide(z, at), at), at)
        return [None if k is None else net.readout.read(k, at) for k in hide(z, at)[:2]]

    every = jax.lax.map(one, jnp.arange(plan.replicates))
    mean = jax.tree.map(lambda k: k.mean(0), every)
    if plan.replicates == 1:
        return mean, [None, None]
    return mean, jax.tree.map(lambda k: k.std(0, ddof=1) / plan.replicates**0.5, every)

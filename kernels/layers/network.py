"""A description as a whole: its kernels at infinite width, and its networks."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Num

from theorykit.common.arguments import as_array, one_of, size
from theorykit.common.keys import as_key
from theorykit.common.precision import highest
from theorykit.kernels import engine
from theorykit.kernels.attention import mechanism
from theorykit.kernels.devices import home, spread, varying
from theorykit.kernels.draws import SAMPLERS
from theorykit.kernels.inputs import Inputs, known, lay_out, wanted
from theorykit.kernels.layers import groups as _groups
from theorykit.kernels.layers import maps
from theorykit.kernels.layers.apart import each_pair
from theorykit.kernels.layers.attention import Attention
from theorykit.kernels.layers.base import Factored, Layer, Setting, Sizes
from theorykit.kernels.layers.tokens import Embed, Readout
from theorykit.kernels.plan import Plan
from theorykit.kernels.result import Kernel


class Description:
    """A sequence of layers as a whole network, if `Embed` is the first and `Readout` the last."""

    layers: tuple[Layer, ...]

    @highest
    def kernel(
        self,
        x1: Num[ArrayLike, "inputs1 side1 *sides1"],
        x2: Num[ArrayLike, "inputs2 side2 *sides2"] | None = None,
        *,
        key: Any = None,
        draws: int = 1024,
        replicates: int = 8,
        get: tuple[str, ...] | str = ("nngp", "ntk"),
        mask1: Bool[ArrayLike, "inputs1 tokens1"] | None = None,
        mask2: Bool[ArrayLike, "inputs2 tokens2"] | None = None,
        draw: str = "joint",
        sampler: str = "independent",
        rank: int | None = None,
        groups: bool | Callable[[tuple], str] | None = None,
        progress: bool | None = None,
    ) -> Kernel:
        """Return NNGP and NTK between `x1` and `x2`, or of `x1`.

        Gram matrices from joint draws are positive semidefinite by construction, up to rounding.

        **Arguments:**

        - `x1`, `x2`: (P, T) token ids where `Embed` has a vocabulary, (P, T, d) vectors, or
          (P, height, width, channels) images where the first layer is `Patches`.
        - `groups`: split the NTK by weights. True: by each of them, under the name that `group`
          gives to the parameters of a module; or a function of their path, such as ("layers", 1,
          "query"), which returns the name of a group. The query, key, value, output and positions
          of an attention are separate weights; every other layer is one.
        - `draw`: "joint", the same draws for all inputs, or "pairwise", each pair as a set of its
          own: this suits many inputs after the first attention, where joint draws take as many
          normals as there are tokens in all. Then Gram matrices are positive up to the Monte-Carlo
          error.
        - the others: as for `kernels.InfiniteTransformer`.

        **Returns:** `Kernel` of (P1, P2) arrays, means over replicates with their standard errors;
        (P1, T1, P2, T2) with the reading "tokens", zero at padding. With groups `ntk` and its error
        are dictionaries of such arrays, which add up to the whole. In the dtype of vectors, or
        JAX's default float for ids. Works under `jit`, `vmap` and `grad`, also in the parameters of
        the description, which is a pytree.

        **Raises:** `ValueError` for a description that is not a whole network, and as
        `InfiniteTransformer` does.
        """
        embed, _ = self.ends()
        get, split = wanted(get), _groups.names(self, groups)  # type: ignore[arg-type]
        inputs = laid(embed, x1, x2, mask1, mask2)
        plan = Plan(
            draws=size("draws", draws),
            replicates=size("replicates", replicates),
            ntk="ntk" in get,
            draw=one_of("draw", draw, ("joint", "pairwise")),
            sampler=one_of("sampler", sampler, SAMPLERS),
            rank=None if rank is None else size("rank", rank),
        )
        if not self.draws:  # type: ignore[attr-defined]
            plan, key = plan.without_draws(), jax.random.key(0)
        elif key is None:
            raise ValueError(
                "these kernels are Monte-Carlo averages: give key=jax.random.key(0), or another"
            )
        result = run(self, inputs, as_key(key), plan, progress, home(x1, x2), split)
        result = spread(result, x1, x2)
        return result if "nngp" in get else result._replace(nngp=None, nngp_stderr=None)

    @highest
    def features(
        self,
        x: Num[ArrayLike, "inputs tokens *features"],
        *,
        key: Any = None,
        draws: int = 256,
        replicates: int = 1,
        units: int | None = None,
        get: str = "nngp",
        mask: Bool[ArrayLike, "inputs tokens"] | None = None,
        sampler: str = "independent",
        inputs: int | None = None,
    ) -> Float[Array, "inputs width"]:
        """Return vectors of inputs whose products are a kernel: `phi @ phi.T` is the Gram matrix.

        With linear maps, norms and one layer of attention it is, to rounding, the estimate that
        `kernel` makes from the same key with as many draws and replicates. After an activation it
        is an average over randomly drawn hidden units of what `kernel` has in closed form;
        `kernels.from_features` gives the standard error, of draws and units together. A norm or a
        second activation after one makes that a nonlinear function, with a bias of order 1 / units.

        They allow computations that are linear in the number of inputs, see `kernels.primal_ridge`.

        **Arguments:**

        - `x`: (P, T) token ids, or (P, T, d) vectors.
        - `key`, `draws`, `sampler`: as for `kernel`.
        - `replicates`: independent estimates, whose vectors are concatenated.
        - `units`: hidden units that are drawn for each activation; not needed without one.
        - `get`: "nngp" or "ntk". The latter exists only where every activation is the identity.
        - `mask`: (P, T) booleans, true at real tokens.
        - `inputs`: how many inputs the set has, if `x` is a part of it. Draws come in blocks of a
          size that depends on it. Parts are padded to the same T.

        **Returns:** (P, width), the width being `draws` times r for the NNGP of attention over
        tokens with r features (d and the positions), or `units`; in the dtype of `kernel`.

        **Raises:** `ValueError` for a description that has no such vectors: attention that is drawn
        after layers other than norms and positions, a nonlinear activation without `units` or in
        the NTK, the NTK of positions in scores, the reading "tokens"; and as `kernel` does.
        """
        embed, readout = self.ends()
        one_of("get", get, ("nngp", "ntk"))
        if readout.reading == "tokens":
            raise ValueError(
                'features are of inputs: read at "last" or as the "mean", not "tokens"'
            )
        given = laid(embed, x, None, mask, None)
        if inputs is not None and (short := given.lengths[0] - given.mask.shape[1]):
            pad = lambda a: np.pad(a, [(0, 0), (0, short)] + [(0, 0)] * (a.ndim - 2))
            given = given._replace(x=pad(given.x), mask=pad(given.mask))
        plan = Plan(
            draws=size("draws", draws),
            replicates=size("replicates", replicates),
            ntk=get == "ntk",
            draw="joint",
            sampler=one_of("sampler", sampler, SAMPLERS),
            units=None if units is None else size("units", units),
            inputs=None if inputs is None else size("inputs", inputs),
        )
        if key is None:
            if self.draws or units is not None:  # type: ignore[attr-defined]
                raise ValueError("these features are drawn: give key=jax.random.key(0), or another")
            key = jax.random.key(0)
        net = engine.typed(self, given.x.dtype)
        key, each = as_key(key), replace(plan, replicates=1)
        found = [_features(net, given.x, given.mask, key, r, each) for r in range(plan.replicates)]
        return (jnp.concatenate(found, -1) / plan.replicates**0.5).astype(given.dtype)

    def module(
        self,
        *,
        width: int,
        heads: int = 1,
        head_size: int | None = None,
        parameterisation: str = "ntk",
        dtype: Any = None,
        rngs: Any = 0,
    ) -> Any:
        """Return the network of this description at a finite width.

        At initialisation "ntk" and "standard" are the same random function, whose covariance and
        empirical NTK ("ntk") tend to the kernels as `width`, `heads` and `head_size` grow; with
        "mup" the readout is smaller by the root of the width.

        **Arguments:**

        - `width`, `heads`, `head_size`: D, H and d_k; the head size is width / heads if not given.
        - `parameterisation`: "ntk", "standard" or "mup", see `kernels.weights.Map`. It
          concerns the weights only; the scores divided by d_k that go with muP are
          `kernels.attention.Concentrated`.
        - `dtype`: of the weights. `rngs`: `nnx.Rngs`, a seed or a key.

        **Returns:** an `nnx.Module`, a function of one input, (T,) or (T, d), and of its mask (T,),
        if there is one, that returns (outputs,), or (T, outputs) with the reading "tokens".

        **Raises:** `ValueError` for a description that is not a whole network, for sizes below 1,
        another parameterisation, or heads that do not suit the positions.
        """
        from theorykit.kernels.layers import finite
        from theorykit.kernels.weights import source

        self.ends()
        sizes, rngs = sizes_of(width, heads, head_size, parameterisation, dtype), source(rngs)
        return finite.Network([layer.build(sizes, rngs) for layer in self.layers])

    def of(self, inputs: Any) -> Any:
        """Return the description for some of the inputs, which is the same for all here."""
        return self

    def beside(self, at: Setting) -> Setting:
        """Return the setting with what else its layers read: nothing here."""
        return at

    def group(self, path: tuple) -> str:
        """Return the group of a parameter of a module, given its path there.

        `kernels.empirical(net.module(...), x, groups=net.group)` has the groups of
        `net.kernel(x, groups=True)`.

        **Raises:** `ValueError` for a path that no module of this description has.
        """
        known = set(_groups.paths(self))  # type: ignore[arg-type]
        for end in range(len(path), 0, -1):
            if tuple(path[:end]) in known:
                return _groups.name(tuple(path[:end]))
        raise ValueError(f"{path} is not the path of a parameter in this description's modules")

    def ends(self) -> tuple[Embed, Readout]:
        """Return the first and the last layer.

        **Raises:** `ValueError` for a description that is not a whole network.
        """
        ends = (self.layers[0], self.layers[-1]) if self.layers else (None, None)
        if not isinstance(ends[0], Embed) or not isinstance(ends[1], Readout):
            raise ValueError(
                "a whole network has an Embed as its first layer and a Readout as its last, got "
                f"{self!r}"
            )
        return ends  # type: ignore[return-value]


def sizes_of(width: Any, heads: Any, head_size: Any, parameterisation: Any, dtype: Any) -> Sizes:
    """Return the sizes of a finite network; see `Description.module`.

    **Raises:** `ValueError` for sizes below 1, or another parameterisation.
    """
    from theorykit.kernels.weights import PARAMETERISATIONS, weight_dtype

    width, heads = size("width", width), size("heads", heads)
    if head_size is None and width % heads:
        raise ValueError(
            f"{heads} heads do not divide the width {width}; give head_size, or a width such "
            f"as {heads * max(1, width // heads)}"
        )
    head_size = width // heads if head_size is None else size("head_size", head_size)
    one_of("parameterisation", parameterisation, PARAMETERISATIONS)
    return Sizes(width, heads, head_size, parameterisation, weight_dtype(dtype))


def laid(embed: Embed, x1: Any, x2: Any, mask1: Any, mask2: Any) -> Inputs:
    """Return the inputs as one set; token ids are features of size one there.

    **Raises:** `ValueError` for inputs that are not those of the embedding.
    """
    given = []
    for name, x in (("x1", x1), ("x2", x2)):
        x = None if x is None else embed.cut(as_array(name, x))
        if x is not None and embed.vocabulary is None:
            if x.ndim == 3 and x.shape[2] != embed.features:
                raise ValueError(
                    f"Embed was given features={embed.features}, but {name} has {x.shape[2]}"
                )
        elif x is not None:
            if x.ndim != 2 or not jnp.issubdtype(x.dtype, jnp.integer):
                raise ValueError(
                    f"{name} holds token ids, integers in shape (inputs, tokens), got {x.dtype} in "
                    f"shape {x.shape}"
                )
            if known(x) and x.size and not 0 <= np.min(x) <= np.max(x) < embed.columns:
                raise ValueError(
                    f"token ids of {name} lie between 0 and {embed.columns - 1}, got {np.min(x)} "
                    f"to {np.max(x)}"
                )
            x = x[..., None]
        given.append(x)
    return lay_out(given[0], given[1], mask1, mask2)


def run(
    net: Any,
    inputs: Inputs,
    key: Any,
    plan: Plan,
    progress: bool | None,
    device: Any,
    split: tuple[str, ...] | None = None,
) -> Kernel:
    """Return the mean of the replicates and its standard error, on a device that is named."""
    return engine.on_device(lambda key: _run(net, inputs, key, plan, progress, split), key, device)


def _run(net: Any, inputs: Inputs, key: Any, plan: Plan, progress: bool | None, split) -> Kernel:
    x, mask, n1, *_ = inputs
    traced = not known(x, mask, key, net)
    net, readout = engine.typed(net, x.dtype), net.layers[-1]
    if traced:
        net, x, mask, key = varying((net, x, mask, key), net, x, mask, key)
    each = replace(plan, replicates=1)  # another number of them must not recompile anything

    def one(r, tick):
        return tick(_estimate(net, x, mask, key, r, n1, each, split))

    square = n1 == mask.shape[0]
    kernel, rare = engine.replicated(one, plan, traced, square, progress)
    kernel = kernel._replace(draw="exact" if plan.exact else plan.draw)
    kernel = engine.returned(kernel, inputs.dtype)
    if not traced:
        drawing = [a for a in attentions(net) if a.draws]
        scales = ", ".join(dict.fromkeys(f"{float(a.scale):g}" for a in drawing))
        invariant = all(mechanism(a.of).invariant for a in drawing)
        engine.report(kernel, rare, f"scale {scales}", invariant)
    return engine.restore(inputs, kernel) if readout.reading == "tokens" else kernel


def attentions(tree: Any) -> list[Attention]:
    """Return the attention layers of a description."""
    is_one = lambda a: isinstance(a, Attention)
    return [a for a in jax.tree.leaves(tree, is_leaf=is_one) if is_one(a)]


@partial(jax.jit, static_argnames=("n1", "plan", "split"))
def _estimate(net: Any, x, mask, key, r, n1: int, plan: Plan, split: tuple[str, ...] | None):
    """Return a replicate: NNGP, NTK or None, the trace left out, and the share of the draws.

    The NTK is a dictionary if it is `split` into groups, the name of one for each weight.
    """
    key, x, mask = jax.random.fold_in(key, r), jnp.asarray(x), jnp.asarray(mask)

    def whole(net, at=slice(None), rows=n1):
        return _passed(net.of(at), x[at], mask[at], key, rows, plan)

    def passed(net):
        if plan.draw == "joint":
            return whole(net)
        return each_pair(lambda at, rows: whole(net, at, rows), mask.shape[0], n1)

    if split is None or not plan.ntk:
        return passed(net)
    each = tuple(dict.fromkeys(split))
    table = jnp.asarray([[group == name for name in split] for group in each], x.dtype)
    one = lambda shares: passed(_groups.counted(net, shares))
    nngp, ntk, left, share = jax.vmap(one)(table)
    return nngp[0], dict(zip(each, ntk, strict=True)), left[0], share[0]


def _passed(net: Any, x, mask, key, n1: int, plan: Plan):
    """Return what comes out of the network: as `_estimate`, without groups."""
    last = net.layers[-1]
    readout = _plain(last)
    notes: list[Any] = []
    at = net.beside(Setting(mask, readout.rows(mask), n1, key, plan, 0, notes))
    z = entered(net.layers[0], x, mask)
    z = last.carry(net.between().through(z, at), at)
    values = [None if k is None else readout.read(k, at) for k in z[:2]]
    if n1 == mask.shape[0] and readout.reading == "mean":
        # Symmetric to the last bit: sums over rows and over columns are rounded differently.
        values = [None if k is None else (k + k.T) / 2 for k in values]
    zero = jnp.zeros((), x.dtype)
    left = max_of([note[0] for note in notes], zero)
    steep = max_of([note[1] for note in notes], jnp.zeros(mask.shape[0], x.dtype))
    one, two = at.sides()
    share = engine.share_of(steep[one][:, None], steep[two], one[:, None] == two)
    return *values, left, share


@partial(jax.jit, static_argnames=("plan",))
def _features(net: Any, x, mask, key, r, plan: Plan):
    """Return the vectors of a replicate."""
    embed, readout = net.layers[0], net.layers[-1]
    mask = jnp.asarray(mask)
    at = Setting(mask, readout.rows(mask), len(mask), jax.random.fold_in(key, r), plan, 0, [])
    z = maps.through(net.between(), embed.alone(embed.tokens(x), mask, x.dtype), at)
    found = maps.mapped(maps.carry(readout, z, at), at)
    vectors: Any = found.ntk if plan.ntk else found.nngp
    return maps.read(readout, vectors, at)


def entered(embed: Any, x: Array, mask: Array) -> Factored:
    """Return the tokens of (n, T, d) inputs, in which ids are features of size one."""
    return embed.enter(_plain(embed).tokens(x), mask, x.dtype)


def _plain(layer: Any) -> Any:
    """Return a layer itself where shares of its weights are counted."""
    return layer.layer if isinstance(layer, _groups.Counted) else layer


def max_of(arrays: list[Any], zero: Any) -> Any:
    """Return the largest entries of arrays."""
    for array in arrays:
        zero = jnp.maximum(zero, array)
    return zero

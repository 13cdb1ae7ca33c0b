"""NNGP and NTK of an infinitely wide transformer."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Bool, Float, Real

from theorykit.common.arguments import as_array, flag, one_of, size, whole
from theorykit.common.keys import as_key
from theorykit.common.precision import highest
from theorykit.common.spelling import Spelt, spelt
from theorykit.kernels import activations, engine, layers
from theorykit.kernels.attention import Mechanism, mechanism
from theorykit.kernels.devices import home, spread
from theorykit.kernels.draws import SAMPLERS
from theorykit.kernels.inputs import lay_out, number, wanted
from theorykit.kernels.layers.network import laid, run
from theorykit.kernels.parameters import parameters
from theorykit.kernels.plan import DRAWS, Plan
from theorykit.kernels.result import Kernel

READOUTS = ("last", "mean", "tokens")
FLAGS = ("causal", "residual", "layer_norm")
SCALES = ("score_scale", "sigma_w", "sigma_b", "positions")


@parameters(*SCALES)
@dataclass(frozen=True, kw_only=True)
class InfiniteTransformer(Spelt):
    """A transformer of infinite width and infinitely many heads, at initialisation.

    Every weight is N(0, 1) and its scale stands in the forward pass (NTK parameterisation):

        z = x E / sqrt(d) + positions P                    embedding, learned positions
        A = softmax(score_scale q k' / sqrt(d_k)),   q = z W_q / sqrt(D),  k = z W_k / sqrt(D)
        z = sum_h A_h (z W_v) / sqrt(D H)                  attention
        z = sigma_w phi(z) W / sqrt(D) + sigma_b b         MLP (capture paper, A.1)
        f = z w / sqrt(D)                                  readout

    with the middle three repeated `depth` times. With `residual`, attention and MLP are each
    added to what enters them; with `layer_norm`, each sees its input normalised over the width.

    **Fields:**

    - `depth`: number of blocks.
    - `activation`: "relu", "erf", "gelu", "cos", "identity", or an object with two dual functions,
      such as an `activations.Activation`.
    - `readout`: "last" (the last real token), "mean" (over real tokens), or "tokens" (all).
    - `attention`: "softmax", "identity" (no softmax; exact, no draws), or a mechanism of
      `kernels.attention`, or one of your own.
    - `causal`: a token attends to itself and what stands before it.
    - `residual`, `layer_norm`: as above.
    - `score_scale`, `sigma_w`, `sigma_b`, `positions`: real scalars; kernels are differentiable in
      them.

    **Raises:** `ValueError` for a value that is none of these.

    **Example:**

    ```python
    import jax
    from theorykit import kernels

    x = jax.random.normal(jax.random.key(0), (3, 8, 16))  # 3 inputs of 8 tokens with 16 features
    net = kernels.InfiniteTransformer(depth=1, readout="last")
    kernel = net(x, key=jax.random.key(1), draws=256)
    print(kernel)
    # Kernel: nngp 3 x 3, ntk 3 x 3, 8 replicates of 256 draws (joint), standard error up to 0.01
    print(kernel.ntk.shape, kernel.ntk_stderr.shape)
    # (3, 3) (3, 3)
    ```
    """

    depth: int = 1
    activation: Any = "relu"
    readout: str = "last"
    attention: str | Mechanism = "softmax"
    causal: bool = False
    residual: bool = False
    layer_norm: bool = False
    score_scale: Any = 1.0
    sigma_w: Any = 1.0
    sigma_b: Any = 0.0
    positions: Any = 0.0

    def __post_init__(self):
        whole("depth", self.depth)
        activations.activation(self.activation)
        one_of("readout", self.readout, READOUTS)
        mechanism(self.attention)
        for name in FLAGS:
            flag(name, getattr(self, name))
        for name in SCALES:
            number(name, getattr(self, name))

    def description(
        self, *, features: int | None = None, vocabulary: int | None = None
    ) -> layers.Serial:
        """Return the same network as a description, see `kernels.layers`.

        From the same key its kernels are, to rounding, those of joint draws.

        **Arguments:** `features`, the size of an input token, or `vocabulary`, for token ids.

        **Raises:** `ValueError` unless one of the two is given.
        """
        attention = layers.Attention(
            self.attention, self.score_scale, "causal" if self.causal else None
        )
        mlp = layers.MLP(self.activation, False, self.sigma_w, self.sigma_b)
        block: list[Any] = [attention, mlp]
        if self.layer_norm:
            block = [layers.serial(layers.LayerNorm(), branch) for branch in block]
        if self.residual:
            block = [layers.residual(branch) for branch in block]
        start: list[Any] = [layers.Embed(vocabulary, features)]
        start += [layers.Positions(self.positions)] if engine.placed(self) else []
        return layers.serial(*start, *block * self.depth, layers.Readout(self.readout))

    @spelt
    def features(
        self,
        x: Real[ArrayLike, "inputs tokens features"],
        **options: Any,
    ) -> Float[Array, "inputs width"]:
        """Return vectors of inputs whose products are a kernel, `phi @ phi.T`.

        They are those of the `description`, and so of joint draws. With the activation "identity"
        these are the draws that the same key gives here; another activation takes random hidden
        `units`.

        **Arguments:** `x`, (P, T, d) inputs; options, as for the `features` of a description.

        **Raises:** `ValueError` for a depth above 1 with attention that is drawn, or an
        activation without `units`.
        """
        given: Any = as_array("x", x)
        columns = given.shape[-1] if given.ndim else 1
        return self.description(features=columns).features(given, **options)

    @spelt
    @highest
    def __call__(
        self,
        x1: Real[ArrayLike, "inputs1 tokens1 features"],
        x2: Real[ArrayLike, "inputs2 tokens2 features"] | None = None,
        *,
        key: Any = None,
        draws: int = 1024,
        replicates: int = 8,
        get: tuple[str, ...] | str = ("nngp", "ntk"),
        mask1: Bool[ArrayLike, "inputs1 tokens1"] | None = None,
        mask2: Bool[ArrayLike, "inputs2 tokens2"] | None = None,
        draw: str = "auto",
        sampler: str = "independent",
        rank: int | None = None,
        progress: bool | None = None,
    ) -> Kernel:
        """Return kernels between `x1` and `x2`, or the Gram matrices of `x1`.

        The values average `replicates` independent estimates, each of `draws` score draws per
        layer; their spread gives the standard errors. What comes after an attention (a layer norm,
        an activation, another block) is a nonlinear function of its averages, which leaves a bias
        of order 1 / draws.

        **Arguments:**

        - `x1`: (P1, T1, d) inputs. Lengths may differ between `x1` and `x2`.
        - `x2`: (P2, T2, d); None means `x1`, and gives exactly symmetric matrices.
        - `key`: JAX random key; every number follows from it. Not needed if nothing is drawn.
        - `draws`: draws in each replicate (rounded up to whole blocks; see the result).
        - `replicates`: independent estimates.
        - `get`: "nngp", "ntk" or both.
        - `mask1`, `mask2`: (P1, T1), (P2, T2) booleans, true at real tokens.
        - `draw`: "joint": one draw for the whole set, Gram matrices positive semidefinite by
          construction; "pairwise": a draw for each pair of inputs; "conditional": pairwise by the
          two-step sampler of the capture paper's appendix D; "auto": joint or pairwise in each
          layer, by estimated cost.
        - `sampler`: "independent", or "sobol".
        - `rank`: columns of a joint factor beyond the first layer; the trace that is left out is
          returned as `leftover`. None: as many as are needed.
        - `progress`: show a bar on standard error; None: only on a terminal or in a notebook, and
          only if the work is long.

        **Returns:** `Kernel` of (P1, P2) arrays, or (P1, T1, P2, T2) with readout "tokens" (zero at
        padded tokens), in the dtype of the inputs; computed in float32 at least. They are on the
        inputs' device, or spread over devices as the inputs are by their first axes. Works under
        `jit`, `vmap`, `grad`, `pmap` and `shard_map`; values are then not checked.

        Where attention is so sharp that the NTK is carried by draws that are hardly ever seen, its
        standard error is infinite, and a warning says so.

        **Raises:** `ValueError` for inputs of another shape or of complex numbers, an input of
        padding only, NaN or infinity, also in the result, counts below 1, unknown names.
        """
        self = replace(self, **{name: number(name, getattr(self, name)) for name in SCALES})
        inputs = lay_out(x1, x2, mask1, mask2)
        get = wanted(get)
        plan = Plan(
            draws=size("draws", draws),
            replicates=size("replicates", replicates),
            ntk="ntk" in get,
            draw=one_of("draw", draw, DRAWS),
            sampler=one_of("sampler", sampler, SAMPLERS),
            rank=None if rank is None else size("rank", rank),
        )
        if mechanism(self.attention).exact:
            described = self.description(features=inputs.x.shape[-1])
            plan, key = plan.without_draws(), jax.random.key(0)
            found = run(described, inputs, key, plan, progress, home(x1, x2))
        elif key is None:
            raise ValueError(
                "these kernels are Monte-Carlo averages: give key=jax.random.key(0), or another"
            )
        else:
            found = engine.run(self, inputs, as_key(key), plan, progress, home(x1, x2))
        result = spread(found, x1, x2)
        return result if "nngp" in get else result._replace(nngp=None, nngp_stderr=None)


class Joint(NamedTuple):
    """Kernels of training and test inputs from the same draws: blocks of one Gram matrix.

    **Fields:** `train`, (P, P); `cross`, (P*, P), rows are test inputs; `test`, (P*, P*).
    """

    train: Kernel
    cross: Kernel
    test: Kernel


@highest
def joint(
    network: InfiniteTransformer | layers.Serial,
    train: Real[ArrayLike, "train tokens1 *features"],
    test: Real[ArrayLike, "test tokens2 *features"],
    *,
    mask1: Bool[ArrayLike, "train tokens1"] | None = None,
    mask2: Bool[ArrayLike, "test tokens2"] | None = None,
    draw: str = "joint",
    **options: Any,
) -> Joint:
    """Return the three kernels that a posterior is made of, from the same draws.

    Kernels from separate calls have separate draws, and a posterior variance from them may be
    negative. Joint draws make one Gram matrix of training and test inputs, positive semidefinite to
    rounding, and with it all variances at least 0.

    **Arguments:**

    - `network`: an `InfiniteTransformer` or a description, with readout "last" or "mean".
    - `train`, `test`: (P, T1, d), (P*, T2, d) inputs, or ids (P, T1), (P*, T2); `mask1`, `mask2`
      belong to them.
    - `draw`, `options`: as for the network.

    **Returns:** `Joint`; `smallest_eigenvalue` is that of the whole matrix.

    **Raises:** `ValueError` as the network, or for the readout "tokens".
    """
    call: Any = network
    described = isinstance(network, layers.Serial)
    reading = call.ends()[1].reading if described else getattr(network, "readout", "tokens")
    if reading == "tokens":
        raise ValueError(
            "network is an InfiniteTransformer, or a description between Embed and Readout, with "
            f'readout "last" or "mean", got {network!r}'
        )
    test = as_array("test", test)
    if described:
        one_of("draw", draw, ("auto", "joint"))
        embed, _ = call.ends()
        inputs, call = laid(embed, train, test, mask1, mask2), call.kernel
        x = jnp.asarray(embed.tokens(inputs.x))
    else:
        inputs, options = lay_out(train, test, mask1, mask2), options | dict(draw=draw)
        x = jnp.asarray(inputs.x, inputs.dtype)
    if (device := home(train, test)) is not None:
        x = jax.device_put(x, device)
    whole = call(x, mask1=inputs.mask, **options)
    n = inputs.n1

    def block(rows: slice, columns: slice) -> Kernel:
        cut = lambda k: None if k is None else k[rows, columns]
        values: dict[str, Any] = {name: cut(getattr(whole, name)) for name in engine.VALUES}
        return whole._replace(**values)

    first, rest = slice(None, n), slice(n, None)
    return Joint(block(first, first), block(rest, first), block(rest, rest))

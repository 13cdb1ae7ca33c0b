"""What tiles ask of a network: of the preset `InfiniteTransformer`, or of any description."""

from typing import Any, TypeAlias

import jax.numpy as jnp
import numpy as np

from theorykit.kernels.attention import mechanism
from theorykit.kernels.inputs import known
from theorykit.kernels.layers import Attention, Embed, Pool, Positions, RMSNorm, Serial, Sinusoids
from theorykit.kernels.layers.base import Layer
from theorykit.kernels.layers.combine import Parallel, Residual
from theorykit.kernels.result import Kernel
from theorykit.kernels.tiles import Block, How, Ids, Set, lazy
from theorykit.kernels.transformer import InfiniteTransformer

FEATURES, PAIRS = 1024, 64  # inputs in a tile: of one-token features, and of pairs
TOKENS = 2**12  # tokens in a tile, where the covariance of all of them is held

Network: TypeAlias = InfiniteTransformer | Serial


def checked(network: Any) -> Network:
    """Return what was given, a network that is read at one place.

    **Raises:** `ValueError` for anything else.
    """
    if isinstance(network, InfiniteTransformer):
        reading = network.readout
    elif isinstance(network, Serial):
        reading = network.ends()[1].reading
    else:
        reading = "tokens"
    if reading == "tokens":
        raise ValueError(
            "network is an InfiniteTransformer, or a description between Embed and Readout, with "
            f'readout "last" or "mean", got {network!r}'
        )
    return network


def exact(network: Network) -> bool:
    """Return whether nothing is drawn."""
    if isinstance(network, InfiniteTransformer):
        return mechanism(network.attention).exact
    return not network.draws


def drawn(network: Network, draw: str) -> str:
    """Return the form of draws in which all tiles see the same ones.

    **Raises:** `ValueError` for joint draws in several layers: they would differ between tiles.
    """
    if isinstance(network, Serial):
        if draw in ("pairwise", "conditional"):
            raise ValueError(f'a description has joint draws: draw="joint", got {draw!r}')
        _factored(network, False)
        return "joint"
    if draw == "auto":
        return "joint" if exact(network) or network.depth == 1 else "pairwise"
    if draw == "joint" and network.depth > 1 and not exact(network):
        raise ValueError(
            f"a network of depth {network.depth} has no joint draws that tiles could share, since "
            'they come from the covariance of all inputs at once; take draw="pairwise"'
        )
    return draw


def _factored(layer: Layer, before: bool) -> bool:
    """Return whether the tokens after a layer are a factor that each input has by itself.

    **Raises:** `ValueError` for attention that draws scores where they are not.
    """
    if isinstance(layer, Serial):
        for one in layer.layers:
            before = _factored(one, before)
        return before
    if isinstance(layer, Residual | Parallel):
        for one in [layer.branch] if isinstance(layer, Residual) else layer.branches:
            _factored(one, before)
        return False
    if isinstance(layer, Attention) and layer.draws and not before:
        raise ValueError(
            f"{layer!r} stands behind other layers than the embedding, positions and norms: its "
            "scores come from the covariance of all inputs at once, and tiles would have "
            "different ones; take kernel()"
        )
    kept = isinstance(layer, Positions | Sinusoids | RMSNorm | Pool)
    return isinstance(layer, Embed) or (before and kept)


def usual_tile(network: Network, form: str, tokens: int, rank: int, ntk: bool) -> int:
    """Return how many inputs a tile has, so that it takes about 256 MiB."""
    if form != "joint":
        return PAIRS
    if isinstance(network, InfiniteTransformer):
        one = network.readout == "last" and network.depth == 1
    else:
        one = network.ends()[1].reading == "last"
    if one and not exact(network) and (not ntk or rank**2 <= 16 * tokens**2):
        return FEATURES
    return min(512, max(1, TOKENS // tokens))


def check_rank(network: Network, inputs: Set, rank: int) -> None:
    """Raise a `ValueError` if tiles are too small to have the draws of the embedding in common."""
    if rank > 2 * inputs.tile * inputs.tokens and not exact(network):
        least = -(-rank // (2 * inputs.tokens))
        raise ValueError(
            f"tiles of {inputs.tile} inputs of {inputs.tokens} tokens have fewer tokens than the "
            f"embedding has dimensions ({rank}); take tile={least} or more"
        )


def rank_of(network: Network, features: int, tokens: int) -> int:
    """Return the columns of the embedding's factor."""
    if isinstance(network, Serial):
        return network.ends()[0].columns  # positions are added to the factor
    placed = not (known(network.positions) and float(network.positions) == 0.0)
    return features + tokens * placed


def block(network: Network, how: How) -> Block:
    """Return the kernel between two tiles, or of the two together, as a traced function.

    It takes the key, tile and mask, and tile and mask; with `whole=True` it returns (2, 2) tiles.
    """
    options = how._asdict() | (dict(draws=1, replicates=1) if exact(network) else {})
    names = how.names(exact(network))
    call: Any = network
    tokens = lambda x: x
    if isinstance(network, Serial):
        call, tokens = network.kernel, network.ends()[0].tokens
        del options["draw"]  # it is joint

    def between(key: Any, x1: Any, mask1: Any, x2: Any, mask2: Any, *, whole: bool = False) -> Any:
        if whole:
            x1, mask1 = jnp.concatenate([x1, x2]), jnp.concatenate([mask1, mask2])
            x2 = mask2 = None
        masks = dict(mask1=mask1, mask2=mask2)
        x2 = None if x2 is None else tokens(x2)
        k: Kernel = call(tokens(x1), x2, key=key, progress=False, **masks, **options)
        return tuple(getattr(k, name) for name in names)

    return between


def lazy_tokens(network: Any, name: str, x: Any) -> Any:
    """Return the inputs of a network, unread: (P, T, d) vectors, of one feature for token ids.

    **Raises:** `ValueError` for anything else.
    """
    x = lazy(name, x)
    if isinstance(network, InfiniteTransformer) or isinstance(x, Ids):
        return x
    embed, _ = network.ends()
    if embed.vocabulary is None:
        if len(x.shape) == 3 and x.shape[2] != embed.features:
            raise ValueError(
                f"Embed was given features={embed.features}, but {name} has {x.shape[2]}"
            )
        return x
    if len(x.shape) != 2 or np.dtype(x.dtype).kind not in "ui":
        raise ValueError(
            f"{name} holds token ids, integers in shape (inputs, tokens), got {x.dtype} in shape "
            f"{x.shape}"
        )
    return Ids(name, x, embed.columns)

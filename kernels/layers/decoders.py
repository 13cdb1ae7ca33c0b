"""Encoders and decoders: attention of one input's tokens to those of another."""

from dataclasses import dataclass, replace
from typing import Any

import jax.numpy as jnp

from theorykit.kernels.attention import mechanism
from theorykit.kernels.layers.attention import Attention
from theorykit.kernels.layers.base import Layer, Memory, Setting
from theorykit.kernels.layers.combine import Serial
from theorykit.kernels.layers.network import Description, entered, laid, sizes_of
from theorykit.kernels.layers.tokens import Embed, Readout
from theorykit.kernels.parameters import parameters
from theorykit.kernels.result import Kernel


@parameters("scale")
@dataclass(frozen=True)
class CrossAttention(Attention):
    """Attention of a decoder's tokens to those of its encoder; see `encoder_decoder`.

    Queries come from the decoder, keys and values from the encoder.

    **Fields:** `of`, `scale` and `projection`, as for `Attention`.

    **Raises:** `ValueError` for anything else, and for a mask or positions.
    """

    def __post_init__(self):
        super().__post_init__()
        if self.mask is not None or self.positions is not None:
            raise ValueError(
                "the tokens of CrossAttention are of two inputs, which have no offsets and no mask "
                f"in common, got mask={self.mask!r} and positions={self.positions!r}"
            )

    def memory(self, at):
        """Return the tokens of the encoder.

        **Raises:** `ValueError` where there is none.
        """
        if at.memory is None:
            raise ValueError(
                "CrossAttention attends to the tokens of an encoder: describe the network by "
                "encoder_decoder(encoder, decoder)"
            )
        return at.memory

    def sees(self, at):
        """Return all pairs of real tokens."""
        return at.mask[:, :, None] & self.memory(at).mask[:, None]

    def build(self, sizes, rngs):
        """Return the heads."""
        from theorykit.kernels.layers import finite_decoders

        return finite_decoders.CrossAttention(
            rngs, sizes, mechanism(self.of), float(self.scale), None, self.projection, None
        )


@parameters("encoder", "decoder")
@dataclass(frozen=True)
class EncoderDecoder:
    """A network with two inputs; see `encoder_decoder`."""

    encoder: Serial
    decoder: Serial

    def __post_init__(self):
        for name in ("encoder", "decoder"):
            if not isinstance(getattr(self, name), Serial):
                raise ValueError(f"the {name} is a serial of layers, got {getattr(self, name)!r}")
        first, last = self.encoder.layers[:1], self.encoder.layers[-1:]
        if not first or not isinstance(first[0], Embed) or isinstance(last[0], Readout):
            raise ValueError(
                f"an encoder begins with an Embed and has no Readout, got {self.encoder!r}"
            )
        self.decoder.ends()

    def kernel(
        self, x1: Any, x2: Any = None, *, mask1: Any = None, mask2: Any = None, **options: Any
    ) -> Kernel:
        """Return NNGP and NTK between pairs of a source and a target.

        **Arguments:**

        - `x1`, `x2`: pairs (sources, targets) of (P, S) and (P, T) token ids, or of (P, S, d) and
          (P, T, d) vectors.
        - `mask1`, `mask2`: pairs of (P, S) and (P, T) booleans, or None.
        - `options`: as for the `kernel` of a `Serial`.

        **Returns:** `Kernel`, as from the `kernel` of a `Serial`.

        **Raises:** `ValueError` for anything but pairs, for unequal numbers of sources and targets,
        and as the `kernel` of a `Serial` does.
        """
        (s1, t1), (s2, t2) = _pair("x1", x1), _pair("x2", x2)
        (m1, n1), (m2, n2) = _pair("mask1", mask1), _pair("mask2", mask2)
        embed: Any = self.encoder.layers[0]
        source = laid(embed, s1, s2, m1, m2)
        for s, t in ((s1, t1), (s2, t2)):
            if s is not None and len(s) != len(t):
                raise ValueError(
                    f"each target has a source, got {len(s)} sources and {len(t)} targets"
                )
        arrays = jnp.asarray(source.x), jnp.asarray(source.mask)
        reading = _Reading(self.decoder.layers, self.encoder, *arrays)
        return reading.kernel(t1, t2, mask1=n1, mask2=n2, **options)

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

        **Arguments:** as for the `module` of a `Serial`.

        **Returns:** an `nnx.Module`, a function of a pair, (S,) and (T,) ids or (S, d) and (T, d)
        vectors, and of the pair of their masks, if there is one; outputs as those of a `Serial`.
        """
        from theorykit.kernels.layers import finite_decoders
        from theorykit.kernels.weights import source

        sizes, rngs = sizes_of(width, heads, head_size, parameterisation, dtype), source(rngs)
        return finite_decoders.EncoderDecoder(
            *([a.build(sizes, rngs) for a in net.layers] for net in (self.encoder, self.decoder))
        )


def encoder_decoder(encoder: Serial, decoder: Serial) -> EncoderDecoder:
    """Return a network in which a decoder's tokens attend to the output tokens of an encoder.

    The encoder is an `Embed` and layers, the decoder a whole network whose `CrossAttention` layers
    all see the same tokens. Weights of the two are independent.

    **Raises:** `ValueError` for anything else.
    """
    return EncoderDecoder(encoder, decoder)


@parameters("layers", "encoder", "source", "mask")
@dataclass(frozen=True)
class _Reading(Description):
    """A decoder at given sources: (n, S, d), and their (n, S) mask."""

    layers: tuple[Layer, ...]
    encoder: Serial
    source: Any
    mask: Any

    @property
    def draws(self) -> int:
        """The total over both."""
        return self.encoder.draws + sum(layer.draws for layer in self.layers)

    def between(self) -> Serial:
        """Return the layers of the decoder without the first and the last."""
        return Serial(self.layers[1:-1])

    def each(self, made: Any, path: tuple) -> "_Reading":
        """Return the network, with the parts of both replaced."""
        parts = Serial(self.layers).each(made, (*path, "decoder")).layers
        encoder = self.encoder.each(made, (*path, "encoder"))
        return _Reading(parts, encoder, self.source, self.mask)

    def of(self, inputs: Any) -> "_Reading":
        """Return the network at some of the sources."""
        return replace(self, source=self.source[inputs], mask=self.mask[inputs])

    def beside(self, at: Setting) -> Setting:
        """Return the setting with the tokens of the encoder."""
        mask = self.mask.astype(bool)
        around = at._replace(mask=mask, rows=None)
        z = entered(self.encoder.layers[0], self.source, mask)
        body = self.encoder.layers[1:]
        z = Serial(body).through(z, around) if body else z
        return at.after(self.encoder.draws)._replace(memory=Memory(z, mask))


def _pair(name: str, given: Any) -> tuple[Any, Any]:
    if given is None:
        return None, None
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise ValueError(f"{name} is a pair (sources, targets), got {type(given).__name__}")
    return tuple(given)

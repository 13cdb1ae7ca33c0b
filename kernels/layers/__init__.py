"""Descriptions: a transformer written once, which gives both kernels and networks.

`serial`, `residual` and `parallel` put layers together; between `Embed` and `Readout` they are a
whole network, whose `kernel` is that of infinite width and whose `module` is one of finite width;
`encoder_decoder` makes one with two inputs.
"""

from theorykit.kernels.layers.attention import Attention as Attention
from theorykit.kernels.layers.base import Layer as Layer
from theorykit.kernels.layers.base import TokenLayer as TokenLayer
from theorykit.kernels.layers.combine import Serial as Serial
from theorykit.kernels.layers.combine import parallel as parallel
from theorykit.kernels.layers.combine import residual as residual
from theorykit.kernels.layers.combine import serial as serial
from theorykit.kernels.layers.decoders import CrossAttention as CrossAttention
from theorykit.kernels.layers.decoders import EncoderDecoder as EncoderDecoder
from theorykit.kernels.layers.decoders import encoder_decoder as encoder_decoder
from theorykit.kernels.layers.masks import Causal as Causal
from theorykit.kernels.layers.masks import Given as Given
from theorykit.kernels.layers.masks import Prefix as Prefix
from theorykit.kernels.layers.masks import Window as Window
from theorykit.kernels.layers.offsets import ALiBi as ALiBi
from theorykit.kernels.layers.offsets import RelativeBias as RelativeBias
from theorykit.kernels.layers.offsets import RoPE as RoPE
from theorykit.kernels.layers.pointwise import MLP as MLP
from theorykit.kernels.layers.pointwise import Activation as Activation
from theorykit.kernels.layers.pointwise import Dense as Dense
from theorykit.kernels.layers.pointwise import GatedMLP as GatedMLP
from theorykit.kernels.layers.pointwise import LayerNorm as LayerNorm
from theorykit.kernels.layers.pointwise import RMSNorm as RMSNorm
from theorykit.kernels.layers.tokens import Embed as Embed
from theorykit.kernels.layers.tokens import Patches as Patches
from theorykit.kernels.layers.tokens import Pool as Pool
from theorykit.kernels.layers.tokens import Positions as Positions
from theorykit.kernels.layers.tokens import Readout as Readout
from theorykit.kernels.layers.tokens import Sinusoids as Sinusoids

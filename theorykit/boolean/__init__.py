"""Real functions on bits: parity expansions, their transformer, and property testers.

After *A Sharper Picture of Generalization in Transformers*.
"""

from theorykit.boolean._construction import Construction as Construction
from theorykit.boolean._construction import Lookup as Lookup
from theorykit.boolean._construction import rescaled as rescaled
from theorykit.boolean._construction import transformer as transformer
from theorykit.boolean._functions import Parities as Parities
from theorykit.boolean._functions import degree as degree
from theorykit.boolean._functions import expansion as expansion
from theorykit.boolean._functions import parity as parity
from theorykit.boolean._functions import random as random
from theorykit.boolean._functions import sparsity as sparsity
from theorykit.boolean._functions import tiling as tiling
from theorykit.boolean._network import BLOCKS as BLOCKS
from theorykit.boolean._network import Transformer as Transformer
from theorykit.boolean._walsh import bits as bits
from theorykit.boolean._walsh import walsh_hadamard as walsh_hadamard

__all__ = [
    "BLOCKS",
    "Construction",
    "Lookup",
    "Parities",
    "Transformer",
    "bits",
    "degree",
    "expansion",
    "parity",
    "random",
    "rescaled",
    "sparsity",
    "tiling",
    "transformer",
    "walsh_hadamard",
]

"""Real-valued functions on bits: parity expansions, transformers for them, property testers.

After *A Sharper Picture of Generalization in Transformers*.
"""

from theorykit.subjects.boolean._bounds import gradient_bounds as gradient_bounds
from theorykit.subjects.boolean._bounds import squared_norm as squared_norm
from theorykit.subjects.boolean._bounds import squared_norms as squared_norms
from theorykit.subjects.boolean._bounds import trace_bound as trace_bound
from theorykit.subjects.boolean._chain import ParityChain as ParityChain
from theorykit.subjects.boolean._construction import Construction as Construction
from theorykit.subjects.boolean._construction import rescaled as rescaled
from theorykit.subjects.boolean._construction import transformer as transformer
from theorykit.subjects.boolean._design import Design as Design
from theorykit.subjects.boolean._functions import Parities as Parities
from theorykit.subjects.boolean._functions import degree as degree
from theorykit.subjects.boolean._functions import expansion as expansion
from theorykit.subjects.boolean._functions import parity as parity
from theorykit.subjects.boolean._functions import random as random
from theorykit.subjects.boolean._functions import sparsity as sparsity
from theorykit.subjects.boolean._functions import spectrum as spectrum
from theorykit.subjects.boolean._functions import tiling as tiling
from theorykit.subjects.boolean._lookup import lookup as lookup
from theorykit.subjects.boolean._lookup import slopes as slopes
from theorykit.subjects.boolean._lookup import thresholds as thresholds
from theorykit.subjects.boolean._network import BLOCKS as BLOCKS
from theorykit.subjects.boolean._network import Transformer as Transformer
from theorykit.subjects.boolean._testers import Budget as Budget
from theorykit.subjects.boolean._testers import Tested as Tested
from theorykit.subjects.boolean._testers import degree_budget as degree_budget
from theorykit.subjects.boolean._testers import first_accepted as first_accepted
from theorykit.subjects.boolean._testers import has_degree as has_degree
from theorykit.subjects.boolean._testers import has_sparsity as has_sparsity
from theorykit.subjects.boolean._testers import sparsity_budget as sparsity_budget
from theorykit.subjects.boolean._walsh import bits as bits
from theorykit.subjects.boolean._walsh import passes as passes
from theorykit.subjects.boolean._walsh import walsh_hadamard as walsh_hadamard

__all__ = [
    "BLOCKS",
    "Budget",
    "Construction",
    "Design",
    "Parities",
    "ParityChain",
    "Tested",
    "Transformer",
    "bits",
    "degree",
    "degree_budget",
    "expansion",
    "first_accepted",
    "gradient_bounds",
    "has_degree",
    "has_sparsity",
    "lookup",
    "parity",
    "passes",
    "random",
    "rescaled",
    "slopes",
    "sparsity",
    "sparsity_budget",
    "spectrum",
    "squared_norm",
    "squared_norms",
    "thresholds",
    "tiling",
    "trace_bound",
    "transformer",
    "walsh_hadamard",
]

"""The proofs of the quantitative paper as functions: short strings that simulate long ones."""

from theorykit.simulation._counts import apportion as apportion
from theorykit.simulation._margins import complexity as complexity
from theorykit.simulation._margins import first_layer_constants as first_layer_constants
from theorykit.simulation._margins import hard_length as hard_length
from theorykit.simulation._margins import logit_margin as logit_margin
from theorykit.simulation._margins import mlp_lipschitz as mlp_lipschitz
from theorykit.simulation._margins import output_bound as output_bound
from theorykit.simulation._margins import positional_margin as positional_margin
from theorykit.simulation._margins import sensitivity as sensitivity
from theorykit.simulation._one_layer import hard_output as hard_output
from theorykit.simulation._random import random_one_layer as random_one_layer
from theorykit.simulation._random import random_two_layers as random_two_layers
from theorykit.simulation._simulate_hard import HardSimulation as HardSimulation
from theorykit.simulation._simulate_hard import length_bound as length_bound
from theorykit.simulation._simulate_hard import share_error as share_error
from theorykit.simulation._simulate_hard import simulate_hard as simulate_hard
from theorykit.simulation._soft import SoftSimulation as SoftSimulation
from theorykit.simulation._soft import path_average as path_average
from theorykit.simulation._soft import simulate_soft as simulate_soft
from theorykit.simulation._soft import subset as subset
from theorykit.simulation._two_layers import TwoLayerSimulation as TwoLayerSimulation
from theorykit.simulation._two_layers import first_layer as first_layer
from theorykit.simulation._two_layers import simulate_two_layers as simulate_two_layers
from theorykit.simulation._two_layers import soft_output as soft_output

"""What a kernel computation returns."""

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Array, Float

Values: TypeAlias = Float[Array | np.ndarray, "..."]


class Kernel(NamedTuple):
    """Kernel values with the Monte-Carlo error they carry.

    **Fields:**

    - `nngp`: covariance of the outputs at initialisation, or `None` if not asked for.
    - `ntk`: neural tangent kernel, or `None` if not asked for; a dictionary of them by group of
      parameters, where `empirical` was asked for groups.
    - `nngp_stderr`: standard error of `nngp`, entry by entry, from the spread of the replicates;
      zero for an exact kernel, `None` when there is one replicate.
    - `ntk_stderr`: the same for `ntk`; infinite where attention is so sharp that fewer than 16 of
      the draws are expected to have the nearly tied scores that the NTK is made of.
    - `draws`: number of draws in each replicate (0: exact).
    - `replicates`: number of independent estimates that were averaged.
    - `draw`: which form of score draws gave it: "joint", "pairwise", "conditional", a mixture such
      as "joint, pairwise" (one a layer), "networks" (finite ones), or "exact".
    - `smallest_eigenvalue`: of the NNGP and the NTK Gram matrix relative to the largest. It shows
      the Monte-Carlo error of pairwise draws, and the rounding of joint ones; None above 1,024
      rows, and for rows that are not the columns.
    - `leftover`: trace of the covariance that a low-rank factor left out, relative to the whole
      trace, the largest over layers and inputs.
    """

    nngp: Values | None = None
    ntk: Any = None
    nngp_stderr: Values | None = None
    ntk_stderr: Values | None = None
    draws: int = 0
    replicates: int = 1
    draw: str = "exact"
    smallest_eigenvalue: Any = None
    leftover: Any = None

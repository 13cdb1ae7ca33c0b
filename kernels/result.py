"""What a kernel computation returns."""

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Array, Float

from theorykit.common import picture

Values: TypeAlias = Float[Array | np.ndarray, "..."]


class Kernel(NamedTuple):
    """Kernel values with the Monte-Carlo error they carry.

    **Fields:**

    - `nngp`: covariance of the outputs at initialisation, or `None` if not asked for.
    - `ntk`: neural tangent kernel, or `None` if not asked for; a dictionary of them by group of
      parameters, where `empirical` or a description was asked for groups.
    - `nngp_stderr`: standard error of `nngp`, entry by entry, from the spread of the replicates;
      zero for an exact kernel, `None` when there is one replicate.
    - `ntk_stderr`: the same for `ntk`; infinite where attention is so sharp that fewer than 16 of
      the draws are expected to have the nearly tied scores that the NTK is made of.
    - `draws`: number of draws in each replicate (0: exact).
    - `replicates`: number of independent estimates that were averaged.
    - `draw`: which form of score draws gave it: "joint", "pairwise", "conditional", a mixture such
      as "joint, pairwise" (one per layer), "networks" (finite ones), or "exact".
    - `smallest_eigenvalue`: of the NNGP and the NTK Gram matrix relative to the largest. It shows
      the Monte-Carlo error of pairwise draws, and the rounding of joint ones; None above 1,024
      rows, and where rows and columns differ.
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

    def __str__(self) -> str:
        """Return its shapes and its error in a line."""
        parts = [f"{name} {_shape(value)}" for name, value in _matrices(self)]
        return f"Kernel: {', '.join([*parts, _made(self)])}"

    def _repr_html_(self) -> str | None:
        return picture.html(self)


@picture.pieces.register
def _(kernel: Kernel) -> list[Any]:
    shown: list[Any] = [picture.Words(f"{kernel!s}.")]
    for name, value in _matrices(kernel):
        if np.ndim(value) == 2:
            shown.append(picture.Matrix(name, np.asarray(value)))
    return shown


def _matrices(kernel: Kernel) -> list[tuple[str, Any]]:
    """Return the kernels that were asked for, with their names."""
    ntk = kernel.ntk if isinstance(kernel.ntk, dict) else {"": kernel.ntk}
    named = [("nngp", kernel.nngp), *((f"ntk {group}".strip(), k) for group, k in ntk.items())]
    return [(name, value) for name, value in named if value is not None]


def _shape(value: Any) -> str:
    return " x ".join(map(str, np.shape(value))) or "scalar"


def _made(kernel: Kernel) -> str:
    """Return how it was computed, and its largest standard error."""
    if kernel.draws == 0:
        return "exact" if kernel.draw == "exact" else kernel.draw
    errors = [kernel.nngp_stderr, *_leaves(kernel.ntk_stderr)]
    known = [np.max(e) for e in errors if e is not None and _is_known(e)]
    error = f", standard error up to {max(known):.2g}" if known else ""
    times = "replicate" if kernel.replicates == 1 else "replicates"
    return f"{kernel.replicates} {times} of {kernel.draws} draws ({kernel.draw}){error}"


def _leaves(value: Any) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else [value]


def _is_known(value: Any) -> bool:
    """Return whether it is numbers, and not what JAX traces."""
    try:
        return np.asarray(value).size > 0
    except Exception:
        return False

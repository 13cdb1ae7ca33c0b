"""Shortest path and minimum cut on random geometric graphs (capture paper, section 6).

The paper says how graphs are drawn and what is optimal. It does not say how a graph is presented to
the network (except for one mark on source and target, Sec. 3), what the network outputs, or which
of several optima is right. These are decided here, with options where there was a choice.
"""

import dataclasses
from typing import Any

import jax.numpy as jnp
from jax import random
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from theorykit.common.arguments import flag, one_of, positive, size
from theorykit.networks.tasks import _graphs
from theorykit.networks.tasks._base import Sample, Task

CRITICAL = {2: 4.512, 3: 2.735}
"""The mean degree at which a giant component appears, by dimension (continuum percolation)."""


@dataclasses.dataclass(frozen=True)
class Geometric(Task):
    """T + 2 uniform points of [-1, 1]^d, joined within a radius; source 0, target T + 1.

    **Arguments:**

    - `dimension`: d. `degree`: the expected degree, ignoring the boundary, which sets the radius;
      by default the degree at which a giant component appears (known for d = 2 and 3).
    - `encoding`: a node's features are its "coordinates", or its row of the "adjacency" matrix,
      padded to `max_nodes`, and a padded one-hot index; then a mark for the source and one for the
      target. `shared_mark`: one mark for both, as in the paper's section 3.

    **Raises:** `ValueError` for an unknown encoding, a dimension or `max_nodes` out of range, a
    degree that is not positive, and for a length that the degree or `max_nodes` rules out.
    """

    dimension: int = 2
    degree: float | None = None
    encoding: str = "coordinates"
    max_nodes: int = 66
    shared_mark: bool = False

    def __post_init__(self):
        name = type(self).__name__
        size("dimension", self.dimension)
        size("max_nodes", self.max_nodes)
        one_of("encoding", self.encoding, ("coordinates", "adjacency"))
        flag("shared_mark", self.shared_mark)
        if self.degree is None and self.dimension not in CRITICAL:
            raise ValueError(
                f"{name} knows a critical degree in dimensions 2 and 3 only; give a degree in "
                f"dimension {self.dimension}."
            )
        if self.degree is not None:
            positive("degree", self.degree)
        if self.max_nodes < self.smallest + 2:
            raise ValueError(f"{name} needs max_nodes of 4 or more, not {self.max_nodes}.")

    @property
    def expected_degree(self) -> float:
        """The degree that sets the radius."""
        return CRITICAL[self.dimension] if self.degree is None else self.degree

    def check(self, length: int) -> None:
        """Raise a `ValueError` if there are no examples of this length."""
        super().check(length)
        name = type(self).__name__
        if self.expected_degree > length + 1:
            raise ValueError(
                f"{name} of length {length} has at most {length + 1} neighbours per node, not the "
                f"degree {self.expected_degree:g}."
            )
        if self.encoding == "adjacency" and length + 2 > self.max_nodes:
            raise ValueError(
                f"{name} of length {length} has {length + 2} nodes, more than "
                f"max_nodes={self.max_nodes}."
            )

    def tokens(self, length: int) -> int:
        """Return T + 2."""
        return length + 2

    @property
    def options(self) -> dict[str, Any]:
        """Options for `nets.Transformer`: features in, two scores out at each node."""
        wide = self.dimension if self.encoding == "coordinates" else 2 * self.max_nodes
        return dict(
            features=wide + (1 if self.shared_mark else 2),
            outputs=2,
            readout="tokens",
            causal=False,
            positions=None,
        )

    def radius(self, length: int) -> float:
        """Return the radius, by Dall and Christensen's equation (7) with N = T + 2."""
        return _graphs.radius(self.tokens(length), self.dimension, self.expected_degree)

    def graph(
        self, key: PRNGKeyArray, length: int
    ) -> tuple[Float[Array, "nodes d"], Bool[Array, "nodes nodes"]]:
        """Return positions (T + 2, d) and adjacency (T + 2, T + 2) of the sample at this key."""
        self.check(length)
        shape = (self.tokens(length), self.dimension)
        positions = random.uniform(key, shape, minval=-1.0, maxval=1.0)
        return positions, _graphs.adjacency(positions, self.radius(length))

    def features(
        self, positions: Float[Array, "nodes d"], adjacency: Bool[Array, "nodes nodes"]
    ) -> Float[Array, "nodes features"]:
        """Return the features of a graph, (T + 2, features)."""
        nodes = len(positions)
        marks = jnp.zeros((nodes, 2), positions.dtype).at[0, 0].set(1).at[-1, 1].set(1)
        if self.shared_mark:
            marks = marks.sum(-1, keepdims=True)
        shown = positions
        if self.encoding == "adjacency":
            both = jnp.stack([adjacency, jnp.eye(nodes)], 1).astype(positions.dtype)
            pad = jnp.zeros((nodes, 2, self.max_nodes - nodes), positions.dtype)
            shown = jnp.concatenate([both, pad], -1).reshape(nodes, -1)
        return jnp.concatenate([shown, marks], -1)


@dataclasses.dataclass(frozen=True)
class ShortestPath(Geometric):
    """Say for every node whether it lies on a shortest path from source to target.

    If there is no path, no node does. All nodes count, including source and target; their label
    says whether there is a path. Arguments as for every graph task, and

    **Arguments:** `ties`: which path is meant if there are several: "first", the one whose node
    sequence comes first in lexicographic order, or "all", the nodes on any. The first depends on
    the order of the nodes, which a network without positions cannot see in the coordinates.
    """

    ties: str = "first"

    def __post_init__(self):
        super().__post_init__()
        one_of("ties", self.ties, ("first", "all"))

    def distance(self, key: PRNGKeyArray, length: int) -> Int[Array, ""]:
        """Return the number of edges from source to target, or -1 if there is no path."""
        _, edges = self.graph(key, length)
        steps = _graphs.distances(edges, length + 1)[0]
        return jnp.where(steps < length + 2, steps, -1)

    def labels(self, edges: Bool[Array, "nodes nodes"]) -> Int[Array, " nodes"]:
        """Return the target of a graph with this adjacency."""
        nodes = len(edges)
        source, target = 0, nodes - 1
        if self.ties == "first":
            return _graphs.shortest_path(edges, source, target)[0].astype(jnp.int32)
        there, back = _graphs.distances(edges, target), _graphs.distances(edges, source)
        on = (there + back == there[source]) & (there[source] < nodes)
        return on.astype(jnp.int32)

    def draw(self, key: PRNGKeyArray, length: int) -> Sample:
        """Return the features of a graph and the label of each node."""
        positions, edges = self.graph(key, length)
        x = self.features(positions, edges)
        return Sample(x, self.labels(edges), jnp.ones(length + 2, x.dtype))

    def problem(
        self, key: PRNGKeyArray, length: int
    ) -> tuple[Float[Array, "nodes features"], Float[Array, ""]]:
        """Return the features (T + 2, d), and +1 if there is a path, else -1."""
        found = self.distance(key, length) >= 0
        return self.features(*self.graph(key, length)), jnp.where(found, 1.0, -1.0)


@dataclasses.dataclass(frozen=True)
class MinCut(Geometric):
    """Say for every node on which side of the minimum cut it lies: 1 with the source, else 0.

    Edges of capacity 1 lead out of the source, into the target, and both ways between the others.
    Among several minimum cuts, the one with the fewest nodes on the side of the source is meant; it
    does not depend on the order of the nodes. Source and target have weight zero. Arguments as for
    every graph task.
    """

    def _cut(
        self, edges: Bool[Array, "nodes nodes"]
    ) -> tuple[Bool[Array, " nodes"], Int[Array, ""]]:
        source, target = 0, len(edges) - 1
        capacity = _graphs.directed(edges, source, target)
        return _graphs.smallest_cut(capacity, source, target)

    def cut_value(self, key: PRNGKeyArray, length: int) -> Int[Array, ""]:
        """Return the value of the minimum cut, 0 if there is no path."""
        return self._cut(self.graph(key, length)[1])[1]

    def labels(self, edges: Bool[Array, "nodes nodes"]) -> Int[Array, " nodes"]:
        """Return the target of a graph with this adjacency."""
        return self._cut(edges)[0].astype(jnp.int32)

    def draw(self, key: PRNGKeyArray, length: int) -> Sample:
        """Return the features of a graph and the label of each node."""
        positions, edges = self.graph(key, length)
        x = self.features(positions, edges)
        weight = jnp.ones(length + 2, x.dtype).at[jnp.array([0, -1])].set(0)
        return Sample(x, self.labels(edges), weight)

    def problem(
        self, key: PRNGKeyArray, length: int
    ) -> tuple[Float[Array, "nodes features"], Float[Array, ""]]:
        """Return the features (T + 2, d), and +1 if the cut has two edges or more, else -1."""
        wide = self.cut_value(key, length) >= 2
        return self.features(*self.graph(key, length)), jnp.where(wide, 1.0, -1.0)

"""Random geometric graphs, shortest paths and minimum cuts, by matrix products on the device."""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int


def ball(dimension: int) -> float:
    """Return the volume of the unit ball."""
    return math.pi ** (dimension / 2) / math.gamma(dimension / 2 + 1)


def radius(nodes: int, dimension: int, degree: float) -> float:
    """Return the r at which degree = nodes * (volume of a ball of radius r) / (that of the cube).

    The cube is [-1, 1]^d. This is Dall and Christensen's equation (7), for all N nodes and without
    a boundary; in the cube the mean degree is lower.
    """
    return 2 * (degree / (nodes * ball(dimension))) ** (1 / dimension)


def adjacency(positions: Float[Array, "nodes d"], radius: float) -> Bool[Array, "nodes nodes"]:
    """Return which pairs of distinct points (N, d) are within the radius, (N, N)."""
    steps = positions[:, None] - positions[None]
    near = jnp.sum(steps**2, -1) <= radius**2
    return near & ~jnp.eye(len(positions), dtype=bool)


def distances(edges: Bool[Array, "nodes nodes"], target: int) -> Int[Array, " nodes"]:
    """Return the distance in edges from each node to the target, or N if there is no path.

    **Arguments:** `edges` (N, N): whether an edge leads from row to column.
    """
    nodes = len(edges)
    start = jnp.full(nodes, nodes).at[target].set(0)

    def grow(state: tuple[Array, Array]) -> tuple[Array, Array]:
        found, step = state
        reached = (edges & (found < nodes)[None]).any(1)
        return jnp.where((found == nodes) & reached, step, found), step + 1

    last_found_any = lambda state: (state[0] == state[1] - 1).any()
    return jax.lax.while_loop(last_found_any, grow, (start, jnp.asarray(1)))[0]


def walk(
    edges: Bool[Array, "nodes nodes"], left: Int[Array, " nodes"], source: int, target: int
) -> Bool[Array, "nodes nodes"]:
    """Return the edges (N, N) of the shortest path whose node sequence is smallest.

    There are no edges if there is no path. **Arguments:** `left`: `distances` to the target.
    """
    nodes = len(edges)

    def step(state: tuple[Array, Array]) -> tuple[Array, Array]:
        node, path = state
        after = jnp.argmax(edges[node] & (left == left[node] - 1))
        return after, path.at[node, after].set(True)

    none = jnp.zeros((nodes, nodes), bool)
    start = jnp.where(left[source] < nodes, source, target)
    return jax.lax.while_loop(lambda state: state[0] != target, step, (start, none))[1]


def shortest_path(
    edges: Bool[Array, "nodes nodes"], source: int, target: int
) -> tuple[Bool[Array, " nodes"], Int[Array, ""]]:
    """Return which nodes lie on the smallest shortest path (N,), and its length.

    If there is none, the length is N and no node is on it. "Smallest" means first in the
    lexicographic order of node sequences.
    """
    left = distances(edges, target)
    path = walk(edges, left, source, target)
    return path.any(0) | path.any(1), left[source]


def smallest_cut(
    capacity: Int[Array, "nodes nodes"], source: int, target: int
) -> tuple[Bool[Array, " nodes"], Int[Array, ""]]:
    """Return the source's side (N,) of the smallest minimum cut, and the value of the cut.

    **Arguments:** `capacity` (N, N): integers, from row to column. Each round sends one unit of
    flow along a shortest path in the residual graph; the side is the set of nodes that the source
    still reaches when no path remains. It is contained in the side of every other minimum cut.
    """

    def left(residual: Array) -> Array:
        return distances(residual > 0, target)

    def augment(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        residual, away, flow = state
        path = walk(residual > 0, away, source, target).astype(residual.dtype)
        residual = residual - path + path.T
        return residual, left(residual), flow + 1

    more = lambda state: state[1][source] < len(capacity)
    start = (capacity, left(capacity), jnp.asarray(0))
    residual, _, flow = jax.lax.while_loop(more, augment, start)
    return distances(residual.T > 0, source) < len(capacity), flow


def directed(
    edges: Bool[Array, "nodes nodes"], source: int, target: int
) -> Int[Array, "nodes nodes"]:
    """Return unit capacities: out of the source, into the target, both ways between other nodes."""
    return edges.astype(jnp.int32).at[:, source].set(0).at[target, :].set(0)

"""Section 6: the tasks are as the paper describes them."""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
from jax import random

from theorykit import claim
from theorykit.checks import construction, exhaustive, expectation
from theorykit.networks.tasks import CRITICAL, InductionHead, MinCut, ShortestPath, Sorting

COUNT = 100

quick = functools.partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})


def batch(draw, count=COUNT, seed=0):
    """Return draw(key) at many keys, as numpy."""
    many = quick(jax.vmap(draw))(random.split(random.key(seed), count))
    return jax.tree.map(np.asarray, many)


# Sequences -----------------------------------------------------------------------------------


def ambiguous(V, T):
    """Return induction heads with the random triggers left where they were drawn."""

    def draw(key):
        x = random.randint(key, (T,), 0, V)
        trigger, place = random.randint(random.fold_in(key, 1), (2,), 0, jnp.array([V, T // 2]))
        x = x.at[jnp.stack([place, jnp.asarray(T - 1)])].set(trigger)
        return x, x[place + 1], jnp.ones(())

    return batch(draw)


def copied(x):
    """Return what a copying program outputs: the token after the first copy of the last one."""
    first = (x == x[:, -1:]).argmax(1)
    return x[np.arange(len(x)), first + 1]


@claim(
    "capture.tasks.induction",
    ref="Sec. 6",
    statement=r"y = x_{i_K + 1},\ x_{i_K} = x_{T-1} \text{ and } x_i \ne x_{T-1} "
    r"\text{ at all other } i,\ i_K \in \{0, \dots, T/2 - 1\}",
)
def induction():
    """The trigger is once in the first half and at the end; the target follows the first one.

    Control: random triggers are not replaced, so there is a third one somewhere.
    """
    return construction(
        build=lambda case: batch(lambda key: InductionHead(case[0]).sample(key, case[1])),
        has={
            "the trigger is there twice": lambda s: ((s[0] == s[0][:, -1:]).sum(1) == 2).all(),
            "first in the first half": lambda s: (
                (s[0] == s[0][:, -1:]).argmax(1) < s[0].shape[1] // 2
            ).all(),
            "the target is what follows": lambda s: (s[1] == copied(s[0])).all(),
        },
        cases=[(4, 9), (1024, 32)],
        control=dict(build=lambda case: ambiguous(*case), cases=[(4, 9)]),
    )


@claim(
    "capture.tasks.induction.next",
    ref="Sec. 6",
    statement=r"\Pr[x_{i_K + 1} = x_{T-1} + 1 \bmod V] = 2 / V",
    assumptions=[r"T \ge 3"],
)
def induction_next():
    """One more than the trigger, modulo V, is the right answer twice as often as any other symbol.

    This is not in the paper; it follows from replacing triggers by the next token. So a network
    that sees only the last token does better than chance, and at V = 2 perfectly. Control: chance,
    1 / V.
    """
    sizes = (2, 3, 16)

    def share(key):
        def right(V, key):
            x, target, _ = InductionHead(V).sample(key, 8)
            return target == (x[-1] + 1) % V

        keys = random.split(key, 64)
        return jnp.stack([jax.vmap(functools.partial(right, V))(keys).mean() for V in sizes])

    return expectation(
        statistic=share,
        value=2 / np.array(sizes),
        replicates=64,
        control=dict(value=1 / np.array(sizes)),
    )


def written(s):
    """Return the sequences [u, SEP, s] that inputs and targets were cut from."""
    return np.concatenate([s[0], s[1][:, -1:]], 1)


@claim(
    "capture.tasks.sorting",
    ref="Sec. 6",
    statement=r"x = [u, \mathrm{SEP}, s]_{<2T},\ y_j = [u, \mathrm{SEP}, s]_{j+1},\ "
    r"w_j = 1 \text{ iff } y_j \text{ is SEP or in } s",
)
def sorting():
    """The list u is distinct, s is u sorted, and exactly the predictions of SEP and s count.

    Without a causal mask every target but the last is the next input, so the remark in section 3
    that there is no such mask cannot apply to this task. Control: SEP does not count.
    """

    def sequences(counts):
        def build(case):
            V, T = case
            x, y, w = batch(lambda key: Sorting(V).sample(key, T))
            return x, y, w * (np.arange(2 * T) >= T - 1 + (not counts)), V, T

        return build

    return construction(
        build=sequences(True),
        has={
            "u is distinct, of V": lambda s: all(
                len(set(u) & set(range(s[3]))) == s[4] for u in s[0][:, : s[4]].tolist()
            ),
            "SEP follows": lambda s: (written(s)[:, s[4]] == s[3]).all(),
            "s is u sorted": lambda s: (
                written(s)[:, s[4] + 1 :] == np.sort(s[0][:, : s[4]], 1)
            ).all(),
            "the next token is asked for": lambda s: (s[1] == written(s)[:, 1:]).all(),
            "SEP and s count": lambda s: (s[2] == (np.arange(2 * s[4]) >= s[4] - 1)).all(),
        },
        cases=[(8, 5), (1000, 32)],
        control=dict(build=sequences(False)),
    )


# Graphs --------------------------------------------------------------------------------------


@functools.cache
def graphs(T=14):
    """Return adjacencies in 2 and 3 dimensions, at criticality and above, and their positions."""
    settings = [ShortestPath(d, c * CRITICAL[d]) for d, c in itertools.product((2, 3), (1, 2))]
    found = [batch(functools.partial(task.graph, length=T), COUNT // 4) for task in settings]
    return [(x, A) for xs, As in found for x, A in zip(xs, As, strict=True)]


@functools.cache
def labels(task, nodes):
    """Return the compiled labelling of graphs by a task."""
    return quick(task.labels)


def labelled(task):
    """Return the adjacency and the label of a numbered graph."""

    def build(number):
        _, A = graphs()[number]
        return A, np.asarray(labels(task, len(A))(A))

    return build


def small(nodes=5):
    """Return every graph on a few nodes, as the text of its edges, from few edges to many."""
    pairs = list(itertools.combinations(range(nodes), 2))
    for size in range(len(pairs) + 1):
        for chosen in itertools.combinations(pairs, size):
            yield " ".join(f"{a}{b}" for a, b in chosen)


def parsed(text, nodes=5):
    """Return the adjacency matrix of a graph given by its edges."""
    A = np.zeros((nodes, nodes), bool)
    for a, b in text.split():
        A[int(a), int(b)] = A[int(b), int(a)] = True
    return A


def is_first_path(A, on):
    """Whether a label is the first of all shortest paths, by networkx; zero if there is none."""
    import networkx as nx

    graph, end = nx.from_numpy_array(A), len(A) - 1
    if not nx.has_path(graph, 0, end):
        return not on.any()
    return np.flatnonzero(on).tolist() == sorted(min(nx.all_shortest_paths(graph, 0, end)))


def is_smallest_cut(A, side):
    """Whether a label is the side of the smallest minimum cut: by networkx and its residual flow.

    The printed directions are taken: out of the source, into the target.
    """
    import networkx as nx
    from networkx.algorithms.flow import edmonds_karp

    end = len(A) - 1
    capacity = A.copy()
    capacity[:, 0] = capacity[end, :] = False
    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(A)))
    graph.add_edges_from(np.argwhere(capacity).tolist(), capacity=1)
    residual = edmonds_karp(graph, 0, end)
    open_edges = [e[:2] for e in residual.edges(data=True) if e[2]["flow"] < e[2]["capacity"]]
    reached = {0, *nx.descendants(nx.DiGraph([(0, 0), *open_edges]), 0)}
    on = side.astype(bool)
    cut = capacity[on][:, ~on].sum()
    return cut == nx.maximum_flow_value(graph, 0, end) and set(np.flatnonzero(on)) == reached


def euclidean(number):
    """Return a graph labelled by the path that is shortest in the plane, not in edges."""
    import networkx as nx

    x, A = graphs()[number]
    graph = nx.from_numpy_array(A * np.linalg.norm(x[:, None] - x[None], axis=-1))
    on = np.zeros(len(A), int)
    if nx.has_path(graph, 0, len(A) - 1):
        on[nx.dijkstra_path(graph, 0, len(A) - 1)] = 1
    return A, on


@claim(
    "capture.tasks.spp",
    ref="Sec. 6, eq. (12)",
    statement=r"\pi^* \in \arg\min_\pi \sum_i c(\{v_{i-1}, v_i\}),\ c = 1",
)
def shortest_path():
    """On random geometric graphs the label is a shortest path, the first of them in node order.

    Against networkx. Control: edges weighted by their length instead of by 1.
    """
    return construction(
        build=labelled(ShortestPath()),
        has=lambda built: is_first_path(*built),
        cases=range(COUNT),
        control=dict(build=euclidean),
    )


@claim(
    "capture.tasks.spp.small",
    ref="Sec. 6, eq. (12)",
    statement=r"\pi^* \in \arg\min_\pi \sum_i c(\{v_{i-1}, v_i\}),\ c = 1",
)
def shortest_path_small():
    """On every graph with five nodes the label is the first shortest path.

    Control: all nodes that lie on a shortest path.
    """
    holds = lambda ties: (
        lambda text: is_first_path(
            parsed(text), np.asarray(labels(ShortestPath(ties=ties), 5)(parsed(text)))
        )
    )
    return exhaustive(
        predicate=holds("first"), universe=small, control=dict(predicate=holds("all"))
    )


@claim(
    "capture.tasks.mincut",
    ref="Sec. 6, eq. (13)",
    statement=r"\mathcal S^* \in \arg\min_{\mathcal S \ni v_s,\ \bar{\mathcal S} \ni v_t} "
    r"\sum_{v \in \mathcal S,\ \bar v \in \bar{\mathcal S}} c(v, \bar v)",
)
def minimum_cut():
    """On random geometric graphs the label is the source's side of the smallest minimum cut.

    Its value is that of the maximum flow, and its side is the set that the residual graph still
    reaches, both by networkx. Control: the source alone.
    """

    def alone(number):
        _, A = graphs()[number]
        return A, (np.arange(len(A)) == 0).astype(int)

    return construction(
        build=labelled(MinCut()),
        has=lambda built: is_smallest_cut(*built),
        cases=range(COUNT),
        control=dict(build=alone),
    )


@claim(
    "capture.tasks.mincut.small",
    ref="Sec. 6, eq. (13)",
    statement=r"\sum_{v \in \mathcal S^*,\ \bar v \notin \mathcal S^*} c(v, \bar v) = "
    r"\min_{\mathcal S}",
)
def minimum_cut_small():
    """On every graph with five nodes the label cuts as few edges as any side, and has fewest nodes.

    All eight sides are tried, with edges in both directions: the printed directions change
    nothing, since no cut counts an edge into the source or out of the target. Control: the most
    edges.
    """
    sides = [np.array([1, *relay, 0], bool) for relay in itertools.product((0, 1), repeat=3)]

    def best(extreme):
        def holds(text):
            A = parsed(text)
            on = np.asarray(labels(MinCut(), 5)(A)).astype(bool)
            cuts = [A[s][:, ~s].sum() for s in sides]
            among = [s for s, cut in zip(sides, cuts, strict=True) if cut == extreme(cuts)]
            return (on == np.logical_and.reduce(among)).all()

        return holds

    return exhaustive(predicate=best(min), universe=small, control=dict(predicate=best(max)))

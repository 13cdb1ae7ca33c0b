import itertools

import jax
import jax.numpy as jnp
import networkx as nx
import numpy as np
import pytest
from networkx.algorithms.flow import edmonds_karp

from theorykit.networks.tasks import MinCut, ShortestPath, _graphs, regression

KEY = jax.random.key(0)
SETTINGS = [(d, degree) for d in (2, 3) for degree in (1.5, 6.0)]  # below and above criticality
COUNT, T = 50, 14


def draw(task, length, count):
    """Return adjacencies, samples and the scalar of many graphs, as numpy."""
    scalar = task.distance if isinstance(task, ShortestPath) else task.cut_value
    one = lambda k: (task.graph(k, length), task.sample(k, length), scalar(k, length))
    many = jax.jit(jax.vmap(one))(jax.random.split(KEY, count))
    return jax.tree.map(np.asarray, many)


def first_path(edges):
    """Return the lexicographically first of all shortest paths, by networkx, or None."""
    graph, target = nx.from_numpy_array(edges), len(edges) - 1
    if not nx.has_path(graph, 0, target):
        return None
    return min(nx.all_shortest_paths(graph, 0, target))


def smallest_side(capacity):
    """Return the flow's value and what the source reaches in the residual network, by networkx."""
    target = len(capacity) - 1
    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(capacity)))
    for a, b in np.argwhere(capacity):
        graph.add_edge(int(a), int(b), capacity=1)
    residual = edmonds_karp(graph, 0, target)
    left = nx.DiGraph()
    left.add_nodes_from(graph)
    left.add_edges_from(
        (a, b) for a, b, e in residual.edges(data=True) if e["flow"] < e["capacity"]
    )
    side = {0, *nx.descendants(left, 0)}
    assert nx.maximum_flow_value(graph, 0, target) == residual.graph["flow_value"]
    return residual.graph["flow_value"], side


def directed(edges):
    """Return the capacities of the paper: out of the source, into the target."""
    capacity = edges.copy()
    capacity[:, 0] = capacity[-1, :] = False
    return capacity


def marks(side, count):
    return np.isin(np.arange(count), sorted(side)).astype(int)


@pytest.mark.parametrize(("d", "degree"), SETTINGS)
def test_graphs_are_the_geometric_ones(d, degree):
    task = ShortestPath(d, degree)
    (positions, edges), _, _ = draw(task, T, 20)
    assert positions.shape == (20, T + 2, d)
    assert np.abs(positions).max() <= 1
    assert np.abs(positions).max() > 0.95
    r = task.radius(T)
    ball = {2: np.pi * r**2, 3: 4 / 3 * np.pi * r**3}[d]
    assert (T + 2) * ball / 2**d == pytest.approx(degree)
    gap = np.linalg.norm(positions[:, :, None] - positions[:, None], axis=-1)
    clear = np.abs(gap - r) > 1e-5
    near = (gap <= r) & ~np.eye(T + 2, dtype=bool)
    assert (near == edges)[clear].all()


@pytest.mark.parametrize(("d", "degree"), SETTINGS)
def test_shortest_paths_are_those_of_networkx(d, degree):
    task = ShortestPath(d, degree)
    (_, edges), sample, distance = draw(task, T, COUNT)
    everything = draw(ShortestPath(d, degree, ties="all"), T, COUNT)[1].target
    for A, on, both, steps in zip(edges, sample.target, everything, distance, strict=True):
        path = first_path(A)
        graph = nx.from_numpy_array(A)
        if path is None:
            assert steps == -1
            assert not on.any()
            assert not both.any()
            continue
        assert steps == nx.shortest_path_length(graph, 0, T + 1) == len(path) - 1
        assert (on == marks(path, T + 2)).all()
        union = set().union(*nx.all_shortest_paths(graph, 0, T + 1))
        assert (both == marks(union, T + 2)).all()
    assert (sample.weight == 1).all()


@pytest.mark.parametrize(("d", "degree"), SETTINGS)
def test_cuts_are_those_of_networkx(d, degree):
    (_, edges), sample, value = draw(MinCut(d, degree), T, COUNT)
    for A, side, cut in zip(edges, sample.target, value, strict=True):
        capacity = directed(A)
        flow, expected = smallest_side(capacity)
        assert cut == flow
        assert (side == marks(expected, T + 2)).all()
        on = side.astype(bool)
        assert capacity[on][:, ~on].sum() == cut
    assert (sample.weight == np.array([0, *[1] * T, 0])).all()


def test_every_graph_on_four_nodes():
    pairs = list(itertools.combinations(range(4), 2))
    edges = np.zeros((2 ** len(pairs), 4, 4), bool)
    for A, chosen in zip(edges, itertools.product((0, 1), repeat=len(pairs)), strict=True):
        for (a, b), there in zip(pairs, chosen, strict=True):
            A[a, b] = A[b, a] = there
    path = jax.jit(jax.vmap(lambda A: _graphs.shortest_path(A, 0, 3)))(edges)
    cut = jax.jit(jax.vmap(lambda A: _graphs.smallest_cut(_graphs.directed(A, 0, 3), 0, 3)))(edges)
    sides = [{0, *s} for n in range(3) for s in itertools.combinations((1, 2), n)]
    for A, on, steps, side, value in zip(edges, *path, *cut, strict=True):
        found = first_path(A)
        assert steps == (4 if found is None else len(found) - 1)
        assert (np.asarray(on) == marks(found or [], 4)).all()
        across = lambda s, A=A: directed(A)[sorted(s)][:, sorted({0, 1, 2, 3} - s)].sum()
        assert value == min(map(across, sides))
        smallest = set.intersection(*(s for s in sides if across(s) == value))
        assert (np.asarray(side) == marks(smallest, 4)).all()


def test_flow_that_is_sent_back_can_be_sent_again():
    # Here, and on no smaller graph that was tried, the side is wrong if it cannot.
    pairs = ["01", "03", "05", "06", "15", "25", "34", "37", "45", "46", "48", "58", "78"]
    edges = np.zeros((9, 9), bool)
    for a, b in pairs:
        edges[int(a), int(b)] = edges[int(b), int(a)] = True
    side, value = _graphs.smallest_cut(_graphs.directed(jnp.asarray(edges), 0, 8), 0, 8)
    flow, expected = smallest_side(directed(edges))
    assert value == flow == 3
    assert (np.asarray(side) == marks(expected, 9)).all()


def test_a_cut_does_not_depend_on_the_order_of_the_relay_nodes():
    (_, edges), sample, _ = draw(MinCut(2, 5.0), T, 20)
    order = np.array([0, *np.random.default_rng(0).permutation(np.arange(1, T + 1)), T + 1])
    moved = edges[:, order][:, :, order]
    cut = jax.vmap(lambda A: _graphs.smallest_cut(_graphs.directed(A, 0, T + 1), 0, T + 1)[0])
    assert (np.asarray(cut(moved)) == sample.target[:, order]).all()


def test_features_show_coordinates_or_neighbours_and_the_two_ends():
    (positions, edges), sample, _ = draw(MinCut(3, 3.0), 6, 2)
    assert (sample.x[..., :3] == positions).all()
    assert (sample.x[..., 3:] == np.eye(8)[:, [0, -1]]).all()
    task = MinCut(3, 3.0, encoding="adjacency", max_nodes=10, shared_mark=True)
    (_, edges), sample, _ = draw(task, 6, 2)
    assert sample.x.shape == (2, 8, task.options["features"]) == (2, 8, 21)
    assert (sample.x[..., :8] == edges).all()
    assert (sample.x[..., 10:18] == np.eye(8)).all()
    assert not sample.x[..., 8:10].any()
    assert not sample.x[..., 18:20].any()
    assert (sample.x[..., -1] == np.array([1, 0, 0, 0, 0, 0, 0, 1])).all()


@pytest.mark.parametrize("kind", [ShortestPath, MinCut])
def test_samples_are_functions_of_the_key_and_judged_by_their_labels(kind):
    task = kind()
    one, again = task.sample(KEY, 8), jax.jit(task.sample, static_argnums=1)(KEY, 8)
    assert jax.tree.all(jax.tree.map(lambda a, b: np.allclose(a, b), one, again))
    assert (one.x != task.sample(jax.random.key(1), 8).x).any()
    perfect = 100 * jax.nn.one_hot(one.target, task.options["outputs"])
    assert task.metrics(perfect, one) == {"accuracy": 1, "exact": 1}
    assert task.loss(jnp.zeros_like(perfect), one) == pytest.approx(np.log(2), rel=1e-6)
    assert one.x.shape == (task.tokens(8), task.options["features"])


def test_regression_on_reachability_and_on_the_size_of_the_cut():
    for task in (ShortestPath(2, 4.0), MinCut(2, 4.0)):
        x, y = regression(task, KEY, 30, 8)
        _, sample, scalar = draw(task, 8, 30)
        assert (np.asarray(x) == sample.x).all()
        threshold = 0 if isinstance(task, ShortestPath) else 2
        assert (np.asarray(y) == np.where(scalar >= threshold, 1, -1)).all()


@pytest.mark.parametrize("kind", [ShortestPath, MinCut])
def test_bad_input_is_refused_in_one_sentence(kind):
    for wrong, said in [
        (dict(degree=0.0), "degree is a positive number, got 0.0"),
        (dict(degree=-1.0), "got -1.0"),
        (dict(degree=float("nan")), "got nan"),
        (dict(dimension=0), "dimension is a whole number of at least 1, got 0"),
        (dict(dimension=4), "give a degree in dimension 4"),
        (dict(encoding="image"), "got 'image'"),
        (dict(max_nodes=3), "max_nodes of 4 or more, not 3"),
    ]:
        with pytest.raises(ValueError, match=said):
            kind(**wrong)
    with pytest.raises(ValueError, match="length of 2 or more, not 1"):
        kind(degree=1.0).sample(KEY, 1)
    with pytest.raises(ValueError, match="at most 7 neighbours per node, not the degree 8"):
        kind(degree=8.0).sample(KEY, 6)
    with pytest.raises(ValueError, match="12 nodes, more than max_nodes=11"):
        kind(encoding="adjacency", max_nodes=11).graph(KEY, 10)
    with pytest.raises(ValueError, match="got 'any'"):
        ShortestPath(ties="any")

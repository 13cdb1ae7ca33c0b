from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from theorykit import kernels
from theorykit.kernels import InfiniteTransformer, activations, oracle
from theorykit.kernels.features import matrix, tiling
from theorykit.kernels.template_kernels import _added, _cells, _replicate, lay_out

KEY = jax.random.key(0)
X = np.array([[1, 1, 0], [1, 2, 0], [3, 1, 0]])
Y = np.array([[2, 2, 0], [1, 4, 0]])
COS = activations.Cos(1.1, 0.4)


def brute(x, y, beta, gamma, key, draws, replicate=0):
    """Return K_attn from the definition, with the draws that the kernel makes."""
    for_symbols, for_positions = jax.random.split(jax.random.fold_in(key, replicate))
    normal = lambda key, i: jax.random.normal(jax.random.fold_in(key, i), (draws,))
    ids = np.union1d(x, y)
    zeta = {int(t): normal(for_symbols, np.uint32(t)) for t in ids}
    p = [normal(for_positions, np.uint32(i)) for i in range(x.shape[1])]

    def softmax(z):
        return jax.nn.softmax(
            beta * jnp.stack([zeta[int(t)] + gamma * p[i] for i, t in enumerate(z)]), 0
        )

    def entry(one, two):
        same = (one[:, None] == two[None, :]) + gamma**2 * np.eye(len(one))
        return float(jnp.einsum("ib,ij,jb->", softmax(one), same, softmax(two)) / draws)

    return np.array([[entry(one, two) for two in y] for one in x])


def strings(n, k, symbols, seed=0):
    x = np.random.default_rng(seed).integers(1, symbols, (n, k))
    x[:, -1] = 0
    return x


@pytest.mark.parametrize("symbols", [3, 60])  # all dense, and almost all in pairs
def test_the_features_are_the_definition_draw_by_draw(symbols):
    x, y = strings(9, 4, symbols), strings(5, 4, symbols, 1)
    options = dict(key=KEY, draws=16, replicates=1)
    wanted = brute(np.concatenate([x, y]), np.concatenate([x, y]), 1.5, 0.6, KEY, 16)
    gram = np.asarray(
        kernels.template_attention(np.concatenate([x, y]), None, 1.5, 0.6, **options).nngp
    )
    cross = np.asarray(kernels.template_attention(x, y, 1.5, 0.6, **options).nngp)
    assert np.abs(gram - wanted).max() < 1e-5
    assert np.abs(cross - wanted[:9, 9:]).max() < 1e-5
    assert (gram == gram.T).all()


@pytest.mark.parametrize("activation", ["identity", COS])
def test_it_is_the_general_recursion_at_the_last_token(activation):
    beta, gamma = 1.3, 0.7
    net = InfiniteTransformer(
        activation=activation, positions=gamma, score_scale=float(beta / np.sqrt(1 + gamma**2))
    )
    one_hot = lambda x: np.sqrt(5) * np.eye(5)[x]
    wanted = oracle.kernel(net, one_hot(X), one_hot(Y), order=8).nngp
    found = kernels.template_transformer(
        X, Y, beta, gamma, activation=activation, key=KEY, draws=4096, replicates=16
    )
    assert (np.abs(found.nngp - wanted) < 5 * found.nngp_stderr + 2e-4).all()


def test_the_transformer_gram_matrix_is_positive_semidefinite():
    x = strings(30, 4, 12)
    K = kernels.template_transformer(
        x, None, 5.0, 0.5, activation=COS, key=KEY, draws=2, replicates=2
    )
    values = np.linalg.eigvalsh(np.asarray(K.nngp, float))
    assert values[0] > -1e-5 * values[-1]
    assert (K.draws, K.replicates) == (2, 2)


def test_kernels_can_be_differentiated_in_beta_and_gamma():
    f = lambda beta, gamma: kernels.template_attention(
        X, Y, beta, gamma, key=KEY, draws=64, replicates=2
    ).nngp.sum()
    slopes = jax.grad(f, (0, 1))(0.8, 0.6)
    for i, slope in enumerate(slopes):
        step = np.eye(2)[i] * 1e-2
        by_steps = (f(*(np.array([0.8, 0.6]) + step)) - f(*(np.array([0.8, 0.6]) - step))) / 0.02
        assert float(slope) == pytest.approx(float(by_steps), rel=0.05, abs=0.02)


def test_places_are_laid_out_so_that_nothing_is_counted_twice():
    x = strings(40, 5, 30)
    places = lay_out(x, 40)
    assert places.alone.tolist() == [0, 0, 0, 0, 1]
    number = places.cells[0][places.cells[1] < 40]
    first, second = places.pairs[:, number]
    assert (places.tokens.ravel()[first] == places.tokens.ravel()[second]).all()
    assert len({*zip(first.tolist(), second.tolist(), strict=True)}) == number.size


@pytest.mark.parametrize(("n", "n1"), [(19, 19), (3, 3), (19, 7)])
def test_values_are_added_to_their_cells_whichever_tile_they_are_in(n, n1):
    rng = np.random.default_rng(n1)
    whole = np.zeros((n1, n if n1 == n else n - n1), np.float32)
    row, column = rng.integers(0, whole.shape, (60, 2)).T
    row, column = (np.minimum(row, column), np.maximum(row, column)) if n1 == n else (row, column)
    values = rng.normal(size=60).astype(np.float32)
    np.add.at(whole, (row, column), values)
    panels, pairs = tiling(n, n1)
    height = lambda i: panels[i][1] - panels[i][0]
    tiles = [jnp.zeros((height(i), height(j))) for i, j in pairs]
    cells = _cells(row, column + (0 if n1 == n else n1), n, n1)
    found = _added(tiles, jnp.append(values, jnp.ones(2)), cells)
    whole = np.triu(whole) + np.triu(whole, 1).T if n1 == n else whole
    np.testing.assert_allclose(matrix(found, n, n1), whole, atol=1e-5)


def test_pairs_are_added_without_a_copy_of_the_matrix():
    """By what the compiler reserves beside the tiles, which are 9/16 of the matrix."""
    n, one = 512, jnp.ones(())
    places = lay_out(strings(n, 3, 400), n)
    assert places.pairs.size
    lowered = _replicate.lower(places, KEY, one, one, None, n, 1, 8, 0)
    assert lowered.compile().memory_analysis().temp_size_in_bytes < n * n * 4 / 2


def test_the_mlp_kernel_is_that_of_the_agreements():
    x = strings(6, 3, 4)
    found = kernels.template_mlp(x, depth=2, sigma_b=0.3)
    agree = (x[:, None] == x[None]).sum(2)
    for level in set(agree.ravel().tolist()):
        assert np.ptp(np.asarray(found.nngp)[agree == level]) == 0
    assert (
        np.diff([found.nngp[agree == level].mean() for level in sorted({*agree.ravel().tolist()})])
        > 0
    ).all()
    assert found.draw == "exact"
    assert (found.nngp_stderr == 0).all()


def test_the_matrix_of_an_mlp_is_singular_and_of_the_transformer_is_not():
    z = np.array([[-1, -1, 0], [-1, -2, 0]])
    mlp = kernels.template_matrix(z, kernels.template_mlp)
    assert np.ptp(np.asarray(mlp.matrix)) == 0
    assert mlp.smallest[1] < 1e-6
    sure = lambda x, y: kernels.template_attention(
        x, y, 30.0, 1.0, key=KEY, draws=2**14, replicates=16
    )
    found = kernels.template_matrix(z, sure)
    low, high = found.smallest
    assert low < found.singular_values[-1] < high
    assert high - low < 0.1
    one = lambda x, y: kernels.template_attention(x, y, key=KEY, draws=4, replicates=1)
    assert kernels.template_matrix(z, one).smallest == (0.0, np.inf)


@pytest.mark.parametrize(
    ("x", "said"),
    [
        ([[1, 2, 0], [1, 2, 3]], "a last token that differs from the first string's, 0"),
        ([[1, 2, 0], [0, 2, 0]], r"\[0, 2, 0\] has the token 0 before its end"),
        ([[1.0, 0.0]], "token ids"),
        ([[-1, 0]], "some negative"),
        ([1, 0], "token ids"),
    ],
)
def test_bad_strings_are_refused_in_a_sentence(x, said):
    with pytest.raises(ValueError, match=said):
        kernels.template_attention(np.array(x), key=KEY)


def test_other_bad_input_is_refused():
    with pytest.raises(ValueError, match="one length"):
        kernels.template_mlp(X, Y[:, :2])
    with pytest.raises(ValueError, match="key is one"):
        kernels.template_attention(X, key=-1)
    with pytest.raises(ValueError, match="whole numbers"):
        kernels.template_matrix(np.ones((2, 2)), kernels.template_mlp)
    with pytest.raises(ValueError, match="must be known"):
        jax.jit(lambda x: kernels.template_mlp(x).nngp)(X)
    with pytest.raises(ValueError, match="below 2"):
        kernels.template_attention(X + 2**32, key=KEY)
    for name, value in (("beta", np.nan), ("gamma", np.inf)):
        with pytest.raises(ValueError, match=f"{name} is a finite number, got"):
            kernels.template_attention(X, key=KEY, **{name: value})
    with pytest.raises(ValueError, match="sigma_w is a finite number, got nan"):
        kernels.template_mlp(X, sigma_w=np.nan)
    codes = np.array([[-1, -1], [-1, -2]])
    with pytest.raises(ValueError, match="between 0 and 1"):
        kernels.template_matrix(codes, kernels.template_mlp, confidence=1.0)
    with pytest.raises(ValueError, match="returns a `Kernel`"):
        kernels.template_matrix(codes, lambda x, y: np.eye(2))
    nan = kernels.Kernel(np.full((2, 2), np.nan))
    with pytest.raises(ValueError, match="must be finite"):
        kernels.template_matrix(codes, lambda x, y: nan)


def test_one_pair_of_places():
    x, y = np.arange(1, 21).reshape(2, 5, 2)
    y[0, 0] = 1
    x, y = (np.pad(z, ((0, 0), (0, 1))) for z in (x, y))
    assert lay_out(np.concatenate([x, y]), len(x)).pairs.shape == (2, 16)


# Derivatives -------------------------------------------------------------------------------------


def test_the_starred_constants():
    from theorykit.kernels.template_derivatives import coefficient, monomial

    starred = {
        (0, 0): ("1'XY'1", lambda k: 1 / k**2),
        (2, 2): ("tr(XY')", lambda k: 8 / k**2),
        (4, 0): ("1'XY'1 1'XX'1 1'YY'1", lambda k: 24 / k**6),
        (4, 2): ("1'XX'YY'1", lambda k: 48 / k**4),
        (6, 4): ("tr(XX'YY')", lambda k: 17280 / k**4),
    }
    for order, (word, value) in starred.items():
        powers = kernels.template_expansion(*order)[monomial(word)]
        for k in (2, 3, 4, 5):
            assert float(coefficient(powers, k)) == pytest.approx(value(k))


def test_monomials_are_what_they_say():
    from theorykit.kernels.template_derivatives import at, monomial

    rng = np.random.default_rng(0)
    for _ in range(5):
        x, y = rng.integers(0, 3, (2, 4))
        X, Y = (np.eye(3, dtype=int)[z] for z in (x, y))
        one = np.ones(4, int)
        wanted = {
            "1'XX'YY'1": one @ X @ X.T @ Y @ Y.T @ one,
            "tr(XX'YY')": np.trace(X @ X.T @ Y @ Y.T),
            "tr(XY'XY')": np.trace(X @ Y.T @ X @ Y.T),
            "1'XX'YX'1": one @ X @ X.T @ Y @ X.T @ one,
            "1'XX'XX'XY'1 tr(XY')": (one @ X @ X.T @ X @ X.T @ X @ Y.T @ one) * np.trace(X @ Y.T),
            "1": 1,
        }
        for word, value in wanted.items():
            assert at(monomial(word), x.tolist(), y.tolist()) == value, word


def test_derivatives_are_those_of_the_power_series():
    from theorykit.proofs_numeric.templates.taylor import by_series

    for x, y in product(("ab", "aa"), ("ab", "ca")):
        for order in ((0, 0), (2, 0), (2, 2), (4, 0), (4, 2)):
            assert kernels.template_derivative(x, y, *order) == by_series(x, y, *order)
    assert kernels.template_derivative("ab", "cd", 3, 2) == 0
    with pytest.raises(ValueError, match="strings of one length"):
        kernels.template_derivative("ab", "a", 2, 2)


# Closed forms, draw by draw ----------------------------------------------------------------------


def test_the_transformer_is_its_activation_of_the_drawn_attention():
    """E cos(b1 u + b2) cos(b1 v + b2) of the draws' own covariances, in both layouts."""
    x, y = strings(4, 4, 6), strings(3, 4, 6, 1)
    every = np.concatenate([x, y])
    s = brute(every, every, 1.5, 0.6, KEY, 16)
    p, q = np.diag(s)[:, None], np.diag(s)
    minus, plus = (np.exp(-(COS.frequency**2) * (p + q + sign * 2 * s) / 2) for sign in (-1, 1))
    wanted = (minus + np.cos(2 * COS.phase) * plus) / 2
    options = dict(activation=COS, key=KEY, draws=16, replicates=1)
    gram = kernels.template_transformer(every, None, 1.5, 0.6, **options).nngp
    cross = kernels.template_transformer(x, y, 1.5, 0.6, **options).nngp
    np.testing.assert_allclose(gram, wanted, atol=2e-5)
    np.testing.assert_allclose(cross, wanted[:4, 4:], atol=2e-5)


def test_replicates_are_averaged_with_their_errors():
    each = [brute(X, Y, 1.5, 0.6, KEY, 8, r) for r in range(5)]
    found = kernels.template_attention(X, Y, 1.5, 0.6, key=KEY, draws=8, replicates=5)
    np.testing.assert_allclose(found.nngp, np.mean(each, 0), atol=1e-5)
    error = np.std(each, axis=0, ddof=1) / np.sqrt(5)
    np.testing.assert_allclose(found.nngp_stderr, error, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("depth", [1, 2])
def test_the_mlp_kernel_in_closed_form(depth):
    """Relu's arc cosines of the agreements, with both scales at every layer."""
    x, w2, b2 = strings(5, 4, 4), 1.3**2, 0.4**2
    found = kernels.template_mlp(x, activation="relu", depth=depth, sigma_w=1.3, sigma_b=0.4)
    nngp = w2 * (x[:, None] == x[None]).mean(2) + b2
    ntk = nngp
    for _ in range(depth):
        size = nngp.diagonal()[0]  # the same for all strings
        turn = np.arccos(np.minimum(nngp / size, 1))
        slope = (np.pi - turn) / (2 * np.pi)
        nngp = w2 * size * (np.sin(turn) / (2 * np.pi) + slope * np.cos(turn)) + b2
        ntk = nngp + w2 * slope * ntk
    np.testing.assert_allclose(found.nngp, nngp, rtol=1e-5)
    np.testing.assert_allclose(found.ntk, ntk, rtol=2e-3)  # the slope at 1 in float32


def test_the_interval_of_the_smallest_singular_value():
    """Student's t of 2 degrees, for all 4 entries at once, times the Frobenius norm of errors."""
    stderr = np.array([[0.1, 0.2], [0.2, 0.4]])
    given = kernels.Kernel(np.diag([9.0, 5.0]), None, stderr, None, 8, 3, "joint")
    found = kernels.template_matrix(np.array([[-1, 0], [1, 0]]), lambda x, y: given, confidence=0.9)
    inside = 1 - 0.1 / 4
    reach = inside * np.sqrt(2 / (1 - inside**2)) * 0.5
    np.testing.assert_allclose(found.smallest, [5 - reach, 5 + reach], rtol=1e-9)
    exact = given._replace(draw="exact")
    assert kernels.template_matrix(np.array([[-1, 0], [1, 0]]), lambda x, y: exact).smallest == (
        (5, 5)
    )


def test_wildcards_are_filled_apart():
    """Rows and columns share regular tokens and no symbol."""
    seen = []

    def kernel(x, y):
        seen.append((x, y))
        return kernels.Kernel(np.eye(2), None, None, None)

    kernels.template_matrix(np.array([[-1, -2, 3], [-1, -1, 3]]), kernel)
    ((x, y),) = seen
    assert x.tolist() == [[4, 5, 3], [4, 4, 3]]
    assert y.tolist() == [[6, 7, 3], [6, 6, 3]]

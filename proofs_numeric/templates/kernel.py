"""Sections 3.1 and 3.2, appendices C and H: the kernels, and the matrix N of a set of templates."""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np

from theorykit import claim
from theorykit.checks import as_polynomials, construction, exhaustive, expectation, identity, rate
from theorykit.domains import inputs, integers, reals
from theorykit.kernels import (
    InfiniteTransformer,
    activations,
    oracle,
    template_attention,
    template_matrix,
    template_mlp,
    template_transformer,
)
from theorykit.templates import Distribution, families, templates

BETA, GAMMA = 1.3, 0.7
COS = activations.Cos(1.1, 0.4)
X = np.array([[1, 1, 0], [1, 2, 0], [3, 1, 0]])
Y = np.array([[2, 2, 0], [1, 4, 0]])
"""Token ids; [CLS] is 0."""


@functools.cache
def recursion(activation, rescaled=True):
    """Return the general recursion at the last token, by quadrature, of X with Y."""
    scale = 1 / np.sqrt(1 + GAMMA**2) if rescaled else 1.0
    one_hot = lambda x: np.sqrt(5) * np.eye(5)[x]
    net = InfiniteTransformer(
        activation=activation, positions=GAMMA, score_scale=float(BETA * scale)
    )
    return np.asarray(oracle.kernel(net, one_hot(X), one_hot(Y), order=10).nngp)


@claim(
    "templates.kernel",
    ref="Eq. (4), appendix H",
    statement=r"K_{\mathrm{attn}}(X, Y) = \mathbb E[s^\top (XY^\top + \gamma^2 I) s'] = "
    r"\text{the general recursion at } \beta / \sqrt{1 + \gamma^2}",
)
def kernel():
    """The attention kernel of strings is the general recursion's, one-hot tokens at the last one.

    Control: the recursion at the score scale beta, without appendix H's 1 + gamma^2.
    """
    return expectation(
        statistic=lambda key: (
            template_attention(X, Y, BETA, GAMMA, key=key, draws=1024, replicates=1).nngp
        ),
        value=recursion("identity"),
        replicates=64,
        within=1e-4,  # the quadrature's
        control=dict(value=recursion("identity", False)),
    )


@claim(
    "templates.kernel.transformer",
    ref="Eq. (4)",
    statement=r"K_{\mathrm{trans}} = \mathbb E_{u,v}[\phi(u) \phi(v)],\ "
    r"(u, v) \sim N(0, [K_{\mathrm{attn}}])",
)
def kernel_after_mlp():
    """With the MLP it is the recursion with a cosine, up to the bias of 1 / draws.

    Control: a cosine of another phase.
    """
    estimate = lambda key: (
        template_transformer(
            X, Y, BETA, GAMMA, activation=COS, key=key, draws=4096, replicates=1
        ).nngp
    )
    return expectation(
        statistic=estimate,
        value=recursion(COS),
        replicates=32,
        batch=8,
        within=3e-4,
        control=dict(value=recursion(activations.Cos(1.1, 0.5))),
    )


def network(x, beta, gamma, weights):
    """Return z_1 of appendix H.1 at the last token, (d_emb,), from weights N(0, 1)."""
    E, P, K, Q, V, O = weights
    d, (heads, size, _) = E.shape[1], K.shape
    z = E[x] + gamma * P
    # Only the last row of the attention is read.
    query = jnp.einsum("hed,d->he", K, z[-1])
    scores = jnp.einsum("he,hed,td->ht", query, Q, z)
    a = jax.nn.softmax(beta * scores / (d * np.sqrt(size)), axis=-1)
    values = jnp.einsum("ht,td,hed->he", a, z, V)
    return jnp.einsum("he,hed->d", values, O) / np.sqrt(size * d * heads)


def finite_kernel(key, n, x, y, beta, gamma):
    """Return z_1(X) z_1(Y) / d_emb of one network with d_emb = d_head = H = n."""
    keys = jax.random.split(key, 6)
    shapes = [(5, n), (len(x), n), *[(n, n, n)] * 4]
    weights = [jax.random.normal(k, s) for k, s in zip(keys, shapes, strict=True)]
    one, two = (network(z, beta, gamma, weights) for z in (x, y))
    return one @ two / n


@claim(
    "templates.kernel.width",
    ref="Appendix H",
    statement=r"\hat K_{\mathrm{attn}}(X, Y) - K_{\mathrm{attn}}(X, Y) = O(n^{-1/2}),\ "
    r"n = d_{\mathrm{emb}} = d_{\mathrm{head}} = H,\ m \sim N(0, (1 + \gamma^2) [\dots])",
    tier="slow",
)
def kernel_of_finite_networks():
    """One network of appendix H.1 is n^(-1/2) from the kernel, root mean square over networks.

    Control: no approach.
    """
    exact = recursion("identity", False)[1, 1]  # at beta itself: the factor of appendix H

    def distance(key, n):
        one = lambda key: (finite_kernel(key, n, X[1], Y[1], BETA, GAMMA) - exact) ** 2
        return jnp.sqrt(jax.lax.map(one, jax.random.split(key, 128), batch_size=8).mean())

    return rate(
        measure=distance, at=(8, 16, 32, 64), exponent=-0.5, replicates=16, batch=1,
        tolerance=0.15, control=dict(exponent=0.0),
    )  # fmt: skip


@claim(
    "templates.kernel.factor",
    ref="Appendix H.2",
    statement=r"\beta\, m_H \overset d= \beta \sqrt{1 + \gamma^2}\, m,\quad "
    r"\Sigma_H = (1 + \gamma^2)(XY^\top + \gamma^2 I)",
)
def kernel_factor():
    """The covariance of appendix H is that of section 3.1 at beta sqrt(1 + gamma^2).

    Also exactly that of the scores in the recursion: 1 + gamma^2 is the variance of the [CLS]
    token. Control: beta (1 + gamma^2).
    """
    share = lambda gamma: jnp.asarray(X)[1][:, None] == jnp.asarray(Y)[1][None, :]
    covariance = lambda gamma: share(gamma) + gamma**2 * jnp.eye(3)
    last = lambda gamma: covariance(gamma)[-1, -1]
    return identity(
        lhs=lambda beta, gamma: beta**2 * last(gamma) * covariance(gamma),
        rhs=lambda beta, gamma: (beta * jnp.sqrt(1 + gamma**2)) ** 2 * covariance(gamma),
        over=inputs(beta=reals(), gamma=reals()),
        control=dict(rhs=lambda beta, gamma: (beta * (1 + gamma**2)) ** 2 * covariance(gamma)),
    )


def eigenvalue(K):
    """Return the smallest eigenvalue over the largest."""
    values = np.linalg.eigvalsh(np.asarray(K))
    return values[0] / values[-1]


@claim(
    "templates.psd",
    ref="Eq. (4)",
    statement=r"[K(X_i, X_j)]_{ij} \succeq 0",
)
def positive_semidefinite():
    """Gram matrices are positive semidefinite with any number of draws, here of K_trans.

    Strings of few and of many symbols, two draws. Control: every entry from draws of
    its own.
    """

    def strings(seed):
        rng = np.random.default_rng(seed)
        x = rng.integers(1, (4, 40)[seed % 2], (24, 5))
        x[:, -1] = 0
        return x

    def shared(seed):
        options = dict(activation=COS, key=jax.random.key(seed), draws=2, replicates=1)
        return template_transformer(strings(seed), None, 2.0, 0.5, **options).nngp

    def apart(seed):
        even = np.add.outer(range(24), range(24)) % 2
        return np.where(even, shared(seed), np.asarray(shared(seed + 2)))

    return construction(
        build=shared,
        has=lambda K: eigenvalue(K) > -1e-12,
        cases=range(2),
        control=dict(build=apart),
    )


@claim(
    "templates.3.1.ridge",
    ref="Proposition 3.1, eq. (5)",
    statement=r"\hat f(X) = y^\top (\hat K + \lambda I)^{-1} k(X)",
)
def ridge_flow():
    """Gradient flow on the squared loss with weight decay ends at kernel ridge regression.

    The flow of the weights of a model linear in them, from zero, as 2^30 Euler steps (a power of
    one step). Control: half the weight decay in the formula.
    """

    def flow(F, f, y, decay):
        H = F.T @ F + decay * jnp.eye(F.shape[1])
        step = 1 / jnp.trace(H)
        map = jnp.block(
            [
                [jnp.eye(len(H)) - step * H, (step * F.T @ y)[:, None]],
                [jnp.zeros((1, len(H))), jnp.ones((1, 1))],
            ]
        )
        for _ in range(30):
            map = map @ map
        return f @ map[:-1, -1]

    def regression(factor):
        def predicted(F, f, y, decay):
            K = F @ F.T + factor * decay * jnp.eye(len(F))
            return y @ jnp.linalg.solve(K, F @ f)

        return predicted

    return identity(
        lhs=flow,
        rhs=regression(1.0),
        over=inputs(F=reals("n d"), f=reals("d"), y=reals("n"), n=(2, 4), d=(3,)).map(
            lambda F, f, y: dict(F=jnp.tanh(F), f=f, y=y, decay=0.5)
        ),
        tol=1e-6,
        control=dict(rhs=regression(0.5)),
    )


def integrand(x, y, zeta, p, beta=1.0, gamma=1.0):
    """Return s(X)' (XY' + gamma^2 I) s(Y) in one draw, x and y as ids."""
    first, second = (jax.nn.softmax(beta * (zeta[z] + gamma * p)) for z in (x, y))
    same = x[:, None] == y[None, :]
    return first @ (same + gamma**2 * jnp.eye(len(x))) @ second


@claim(
    "templates.token_symmetry",
    ref="Definition C.2",
    statement=r"K(x, y) = K(\pi(x), \pi(y)) \text{ for every permutation } \pi \text{ of tokens}",
)
def token_symmetry():
    """Renaming tokens renames the normals of a draw, which are exchangeable: pointwise.

    Control: x and y renamed differently.
    """
    turn = lambda z, by: (z + by) % 5
    return identity(
        lhs=lambda x, y, zeta, p, by: integrand(turn(x, by), turn(y, by), zeta, p),
        rhs=lambda x, y, zeta, p, by: integrand(x, y, jnp.roll(zeta, -by), p),
        over=inputs(
            x=integers(0, 4, "3"), y=integers(0, 4, "3"), zeta=reals("5"), p=reals("3"),
            by=integers(1, 4),
        ),
        control=dict(
            lhs=lambda x, y, zeta, p, by: integrand(turn(x, by), y, zeta, p),
        ),
    )  # fmt: skip


def agreements(x, y):
    """Return at how many positions two strings agree: what an MLP's kernel sees."""
    return sum(a == b for a, b in zip(x, y, strict=True))


@claim(
    "templates.token_symmetry.mlp",
    ref="Definition C.2, remark I.6",
    statement=r"\sum_i 1(x_i = y_i) = \sum_i 1(\pi(x_i) = \pi(y_i))",
)
def token_symmetry_of_mlps():
    """An inner-product kernel is token-symmetric: all strings of two of three tokens.

    Control: maps that are no permutations.
    """
    words = list(itertools.product(range(3), repeat=2))
    members = lambda maps: list(itertools.product(words, words, maps))
    apply = lambda pi, x: tuple(pi[i] for i in x)
    symmetric = lambda case: (
        agreements(case[0], case[1]) == agreements(apply(case[2], case[0]), apply(case[2], case[1]))
    )
    return exhaustive(
        predicate=symmetric,
        universe=members(list(itertools.permutations(range(3)))),
        control=dict(universe=members(words_of_three())),
    )


def words_of_three():
    """Return all maps of three tokens to three."""
    return list(itertools.product(range(3), repeat=3))


def two_strings(z, w, first, second):
    """Return sub(z, s), sub(w, s') for maps given by the wildcards' images."""
    one = dict(zip("αβ", first, strict=True))
    two = dict(zip("αβ", second, strict=True))
    return tuple(one.get(c, c) for c in z), tuple(two.get(c, c) for c in w)


def incidence(x, y):
    """Return all that a token-symmetric kernel can see of two strings: where they repeat."""
    both = (*x, *y)
    return [both.index(c) for c in both]


@claim(
    "templates.N",
    ref="Eqs. (11)-(12)",
    statement=r"N_{ij} = K(\mathrm{sub}(z_i, s), \mathrm{sub}(z_j, s'))\ "
    r"\text{for all } s, s' \text{ with } s(\mathcal W) \cap s'(\mathcal W) = "
    r"s(\mathcal W) \cap \mathcal R = s'(\mathcal W) \cap \mathcal R = \emptyset",
)
def matrix_well_defined():
    """Two strings repeat alike whatever the maps, so that a token-symmetric kernel is one number.

    All templates of length two over two wildcards and a token, all maps into six tokens. Control:
    maps that may share a symbol.
    """
    words = ["".join(z) for z in itertools.product("αβS", repeat=2)]
    images = list(itertools.permutations("ABCDEF", 2))
    apart = [(s, t) for s in images for t in images if not set(s) & set(t)]
    some = images[:6]
    meeting = [(s, t) for s in some for t in some]

    def one_value(maps):
        def predicate(pair):
            z, w = pair
            seen = [incidence(*two_strings(z, w, s, t)) for s, t in maps]
            return all(found == seen[0] for found in seen)

        return predicate

    return exhaustive(
        predicate=one_value(apart),
        universe=list(itertools.product(words, repeat=2)),
        control=dict(predicate=one_value(meeting)),
    )


@claim(
    "templates.N.mlp",
    ref="Section 3.3, remark I.6",
    statement=r"N_{ij} = \kappa(0) \text{ for an inner-product kernel, so } N \text{ is singular}",
    assumptions=[r"z \in \mathcal W^k"],
)
def matrix_of_mlps():
    """With templates of wildcards only, strings of N agree nowhere: an MLP's N is constant.

    Remark I.6 prints it without the condition. Control: without it, for templates with a token.
    """
    agree = lambda pair: agreements(*two_strings(pair[0], pair[1], "AB", "CD")) == 0
    words = lambda letters: ["".join(z) for z in itertools.product(letters, repeat=3)]
    return exhaustive(
        predicate=agree,
        universe=list(itertools.product(words("αβ"), repeat=2)),
        control=dict(universe=list(itertools.product(words("αβS"), repeat=2))),
    )


SETS = {
    "same/different": families.same_different(),
    "programs": families.programs(),
    "αβα, αββ": families.aba_abb(),
    "majority": families.majority(3),
    "with tokens": templates("αbβ -> 1", "bαβ -> 0", "ααb -> 2"),
}


def matrices(kernel):
    """Return N of a named set of templates, with [CLS], as a TemplateMatrix."""

    def build(name):
        d = Distribution(SETS[name], symbols=9).with_cls()
        return template_matrix(d.codes(), kernel)

    return build


@claim(
    "templates.N.nonsingular",
    ref="Lemmas 3.6 and 3.7",
    statement=r"N_{\mathrm{attn}} \text{ is nonsingular}",
    tier="slow",
)
def matrix_nonsingular():
    """For five sets of templates N_attn is nonsingular at beta = 8, gamma = 1, with confidence 99%.

    The smallest singular value is of order 0.01, the largest of order 1. Control: an MLP's.
    """
    attention = lambda x, y: template_attention(
        x, y, 8.0, 1.0, key=jax.random.key(0), draws=2**15, replicates=24
    )
    return construction(
        build=matrices(attention),
        has=lambda N: N.smallest[0] > 1e-6,
        cases=list(SETS),
        control=dict(build=matrices(template_mlp)),
    )


DRAWN = lambda key: dict(key=key, draws=1024, replicates=1)


@claim(
    "templates.F1.nondegenerate",
    ref="Lemmas 3.7 and F.1, eq. (10)",
    statement=r"\sum_i N_{ii} \ne \sum_i N_{i \tau(i)} \text{ for } \tau \ne \mathrm{id},\ "
    r"N = N_{\mathrm{attn}}",
)
def nondegenerate():
    """No permutation of five sets of templates gives the sum of the identity.

    N is a limit of means over many maps, so it is positive semidefinite: the sum of the identity is
    never below another, and equal only where the features of X_i and Y_tau(i) agree. So the least
    of N_ii + N_jj - 2 N_ij over pairs decides. Control: αβ written twice.
    """

    def gaps(sets):
        codes = [Distribution(s, symbols=9).with_cls().codes() for s in sets]

        def statistic(key):
            found = []
            for z in codes:
                x, y = (np.where(z < 0, start - z, z) for start in (20, 40))
                N = jnp.asarray(template_attention(x, y, 8.0, 1.0, **DRAWN(key)).nngp)
                N = (N + N.T) / 2
                i, j = np.triu_indices(len(z), 1)
                found.append(N[i, i] + N[j, j] - 2 * N[i, j])
            return jnp.concatenate(found)

        return statistic

    def same(key):
        z = np.array([[-1, -2, 0]])
        x, y = (np.where(z < 0, start - z, z) for start in (20, 40))
        N = jnp.asarray(template_attention(x, y, 8.0, 1.0, **DRAWN(key)).nngp)
        return 2 * (N - N)[0]

    return expectation(
        statistic=gaps(SETS.values()),
        at_least=1e-3,
        replicates=32,
        batch=8,
        control=dict(statistic=same),
    )


@claim(
    "templates.G1.representation",
    ref="Lemma G.1, proof",
    statement=r"m := X \zeta + \gamma p,\ \tilde m := \tilde X \tilde \zeta + \gamma p,\ "
    r"\zeta, \tilde \zeta \sim N(0, I_m),\ p \sim N(0, I_k) \text{ independent}",
    expect="refuted",
)
def representation():
    """With independent normals zeta and zeta~, (m, m~) has the covariance of eq. (4).

    It has not: the block between the two is gamma^2 I, without X X~'. Control: without positions.
    """
    return identity(**covariances(shared=False), control=dict(lhs=stacked(False, 0.0)))


def stacked(shared, positions=1.0):
    """Return the covariance of (m, m~) as a function of one-hot rows X, X~ and gamma."""

    def covariance(X, Z, gamma):
        nothing, eye = jnp.zeros_like(X), positions * gamma * jnp.eye(len(X))
        second = [Z, nothing] if shared else [nothing, Z]
        rows = jnp.block([[X, nothing, eye], [*second, eye]])
        return rows @ rows.T

    return covariance


def covariances(shared):
    """Return both sides of the representation and its domain."""

    def wanted(X, Z, gamma):
        g = gamma**2 * jnp.eye(len(X))
        return jnp.block([[X @ X.T + g, X @ Z.T + g], [Z @ X.T + g, Z @ Z.T + g]])

    return dict(
        lhs=stacked(shared),
        rhs=wanted,
        over=inputs(X=reals("2 3"), Z=reals("2 3"), gamma=reals()),
    )


@claim(
    "templates.G1.representation.repaired",
    ref="Lemma G.1, proof",
    statement=r"m := X \zeta + \gamma p,\ \tilde m := \tilde X \zeta + \gamma p",
)
def representation_repaired():
    """With one zeta for both it has, for any matrices X, X~. Control: independent ones."""
    return identity(
        **covariances(shared=True), proof=as_polynomials(), control=dict(lhs=stacked(False))
    )

"""Section 3.2, appendix C: token symmetry, and the matrix N of a set of templates."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np

from theorykit import claim
from theorykit.checks import construction, exhaustive, expectation, identity
from theorykit.checks.domains import inputs, integers, reals
from theorykit.common.words import words
from theorykit.kernels import (
    template_attention,
    template_matrix,
    template_mlp,
    template_transformer,
)
from theorykit.kernels.activations import Cos
from theorykit.subjects.templates import Distribution, families, substitute, templates

DRAWN = lambda key, draws=1024: dict(key=key, draws=draws, replicates=1)


def integrand(x, y, zeta, p, beta=1.0, gamma=1.0):
    """Return s(X)' (XY' + gamma^2 I) s(Y) in one draw, x and y as ids."""
    first, second = (jax.nn.softmax(beta * (zeta[z] + gamma * p)) for z in (x, y))
    same = x[:, None] == y[None, :]
    return first @ (same + gamma**2 * jnp.eye(len(x))) @ second


@claim(
    "templates.token_symmetry",
    ref="Definition C.2",
    statement=r"K(x, y) = K(\pi(x), \pi(y)) \text{ for every permutation } \pi \text{ of tokens}",
    mathematics=True,
)
def token_symmetry():
    """Renaming tokens renames the normals of a draw, which are exchangeable: pointwise.

    For every permutation of five tokens: one that sorts five numbers. Control: x and y renamed
    differently.
    """
    rename = lambda z, by: jnp.argsort(by)[z]
    back = lambda zeta, by: jnp.zeros_like(zeta).at[jnp.argsort(by)].set(zeta)
    return identity(
        lhs=lambda x, y, zeta, p, by: integrand(rename(x, by), rename(y, by), back(zeta, by), p),
        rhs=lambda x, y, zeta, p: integrand(x, y, zeta, p),
        over=inputs(
            x=integers(0, 4, "3"), y=integers(0, 4, "3"), zeta=reals("5"), p=reals("3"),
            by=reals("5"),
        ),
        control=dict(lhs=lambda x, y, zeta, p, by: integrand(rename(x, by), y, back(zeta, by), p)),
    )  # fmt: skip


@claim(
    "templates.token_symmetry.kernel",
    ref="Definition C.2, section C.2",
    statement=r"K_{\mathrm{attn}}(x, y) = K_{\mathrm{attn}}(\pi(x), \pi(y))",
)
def token_symmetry_of_the_kernel():
    """The kernel as computed, with one normal per token, is the same after renaming.

    For abc and four strings that repeat its tokens, under two permutations of four tokens that are
    not shifts. Control: only x is renamed.
    """
    x, y = (
        np.array([[1, 2, 3, 0]]),
        np.array([[1, 2, 3, 0], [2, 1, 1, 0], [3, 3, 4, 0], [4, 2, 4, 0]]),
    )
    turns = np.array([[0, 2, 1, 3, 4], [0, 3, 4, 2, 1]])

    def gaps(second):
        def statistic(key):
            K = lambda x, y: jnp.asarray(template_attention(x, y, 4.0, 1.0, **DRAWN(key)).nngp)
            return jnp.stack([K(x, y) - K(turn[x], second(turn, y)) for turn in turns])

        return statistic

    return expectation(
        statistic=gaps(lambda turn, y: turn[y]),
        value=0.0,
        replicates=32,
        batch=8,
        control=dict(statistic=gaps(lambda turn, y: y)),
    )


def agreements(x, y):
    """Return at how many positions two strings agree: what an MLP's kernel sees."""
    return sum(a == b for a, b in zip(x, y, strict=True))


@claim(
    "templates.token_symmetry.mlp",
    ref="Definition C.2, remark I.6",
    statement=r"\sum_i 1(x_i = y_i) = \sum_i 1(\pi(x_i) = \pi(y_i))",
    mathematics=True,
)
def token_symmetry_of_mlps():
    """An inner-product kernel is token-symmetric: all strings of two of three tokens.

    Control: maps that are not permutations.
    """
    pairs = list(itertools.product(range(3), repeat=2))
    members = lambda maps: list(itertools.product(pairs, pairs, maps))
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
    return substitute(z, one), substitute(w, two)


def incidence(x, y):
    """Return everything that a token-symmetric kernel sees of two strings: where they repeat."""
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
    """Two strings repeat alike for all maps, so a token-symmetric kernel is a single number.

    All templates of length two over two wildcards and a token, all maps into six tokens. Control:
    maps that may share a symbol.
    """
    templates = words("αβS", 2)
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
        universe=list(itertools.product(templates, repeat=2)),
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

    Control: templates with a token.
    """
    agree = lambda pair: agreements(*two_strings(pair[0], pair[1], "AB", "CD")) == 0
    return exhaustive(
        predicate=agree,
        universe=list(itertools.product(words("αβ", 3), repeat=2)),
        control=dict(universe=list(itertools.product(words("αβS", 3), repeat=2))),
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


def apart_everywhere(name):
    """Return N of an MLP's kernel for a named set, and the kernel of strings that agree nowhere."""
    codes = Distribution(SETS[name], symbols=9).codes()
    nowhere = np.stack([np.zeros(codes.shape[1], int), np.ones(codes.shape[1], int)])
    return template_matrix(codes, template_mlp), np.asarray(template_mlp(nowhere).nngp)[0, 1]


def is_constant(built):
    """Whether all entries of N are kappa(0)."""
    N, nowhere = built
    return np.allclose(N.matrix, nowhere, rtol=1e-12)


@claim(
    "templates.I6",
    ref="Remark I.6",
    statement=r"K_{\mathrm{MLP}}: \ N_{ij} = \kappa(0) \text{ for all } i, j",
    expect="refuted",
    falls="wording",
    consequence="The remark needs the assumption of Theorem I.2, that templates consist of "
    "wildcards; with tokens an MLP may distinguish templates.",
)
def matrix_of_any_mlp():
    """N of an MLP's kernel is kappa(0) for every set of templates.

    It is not for those with tokens, which agree where they share one. Control: twice that.
    """
    double = lambda built: np.allclose(built[0].matrix, 2 * built[1], rtol=1e-12)
    return construction(
        build=apart_everywhere,
        has=is_constant,
        cases=["same/different", "with tokens"],
        control=dict(has=double),
    )


@claim(
    "templates.I6.repaired",
    ref="Remark I.6",
    statement=r"z_1, \dots, z_r \in \mathcal W^k:\ N_{ij} = \kappa(0),\ N \text{ singular}",
)
def matrix_of_any_mlp_repaired():
    """For sets of templates with wildcards only, it is, and the smallest singular value is 0.

    Control: templates with tokens.
    """
    return construction(
        build=apart_everywhere,
        has={
            "every entry is kappa(0)": is_constant,
            "N is singular": lambda built: built[0].singular_values[-1] < 1e-12,
        },
        cases=["same/different", "αβα, αββ", "majority"],
        control=dict(cases=["with tokens"]),
    )


@claim(
    "templates.N.nonsingular",
    ref="Lemmas 3.6 and 3.7",
    statement=r"N_{\mathrm{trans}} \text{ is nonsingular},\ \phi(t) = \cos(b_1 t + b_2)",
    assumptions=[r"\beta = 8,\ \gamma = 1,\ b_1 = 1,\ b_2 = 1/2"],
    tier="slow",
)
def matrix_nonsingular():
    """For five sets of templates N_trans is nonsingular, with confidence 99%.

    At one point of the four parameters; where the determinant is analytic, it is then so at almost
    all. The smallest singular value is of order 0.001 to 0.04, the largest of order 1. Control: an
    MLP's, for which four of the sets are singular.
    """
    trans = lambda x, y: template_transformer(
        x, y, 8.0, 1.0, activation=Cos(1.0, 0.5), key=jax.random.key(0), draws=2**15, replicates=24
    )
    return construction(
        build=matrices(trans),
        has=lambda N: N.smallest[0] > 2e-4,  # the bias, of order 1 / draws, is below
        cases=list(SETS),
        control=dict(build=matrices(template_mlp)),
    )


@claim(
    "templates.F1.nondegenerate",
    ref="Lemmas 3.7 and F.1, eq. (10)",
    statement=r"\sum_i N_{ii} \ne \sum_i N_{i \tau(i)} \text{ for } \tau \ne \mathrm{id},\ "
    r"N = N_{\mathrm{attn}}",
)
def nondegenerate():
    """No permutation of four sets of templates gives the sum of the identity, at beta = 8.

    N is a limit of means over many maps, so it is positive semidefinite: the sum of the identity is
    never below another, and equal only where the features of X_i and Y_tau(i) agree. So the least
    of N_ii + N_jj - 2 N_ij over pairs decides. Where the kernel is analytic, one point is enough
    for almost all. Control: αβ and βα, which match the same strings, by the same statistic.
    """

    def gaps(sets):
        def statistic(key):
            found = []
            for z in sets:
                x, y = (np.where(z < 0, start - z, z) for start in (20, 40))
                N = jnp.asarray(template_attention(x, y, 8.0, 1.0, **DRAWN(key, 4096)).nngp)
                N = (N + N.T) / 2
                i, j = np.triu_indices(len(z), 1)
                found.append(N[i, i] + N[j, j] - 2 * N[i, j])
            return jnp.concatenate(found)

        return statistic

    names = [name for name in SETS if name != "programs"]
    sets = [Distribution(SETS[name], symbols=9).with_cls().codes() for name in names]
    return expectation(
        statistic=gaps(sets),
        at_least=0.025,
        replicates=32,
        batch=8,
        control=dict(statistic=gaps([np.array([[-1, -2, 0], [-2, -1, 0]])])),
    )

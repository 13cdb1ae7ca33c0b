"""Section 3.2, appendix C: token symmetry, and the matrix N of a set of templates."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np

from theorykit import claim
from theorykit.checks import construction, exhaustive, expectation, identity
from theorykit.checks.domains import inputs, integers, reals
from theorykit.common.words import words
from theorykit.kernels import template_attention, template_matrix, template_mlp
from theorykit.subjects.templates import Distribution, families, templates


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

    Remark I.6 prints it without the condition. Control: without it, for templates with a token.
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

"""Lemma 15, Theorem 29 and Lemma A.6 of Edelman et al.: the Jacobian of softmax.

Lemma 15's formula is lost; rebuilt from where it is used and from its source.
"""

import jax
import jax.numpy as jnp

from theorykit import claim
from theorykit.checks import everywhere, inequality, lipschitz
from theorykit.checks.domains import inputs, reals

SEARCH = dict(cases=64, starts=24, steps=150)


def jacobian(S):
    """Return diag(a) - a a' of the weights a of scores S."""
    a = jax.nn.softmax(S)
    return jnp.diag(a) - jnp.outer(a, a)


def one_norm(M):
    """Return the largest absolute column sum."""
    return jnp.abs(M).sum(0).max()


def lemma15(constant, smaller, **options):
    """Return the check of |X' J X v| <= constant |X|_(2, oo) |X v|_oo."""
    bound = lambda k: lambda X, v: k * jnp.sqrt((X**2).sum(1).max()) * jnp.abs(X @ v).max()
    return inequality(
        lhs=lambda X, v, S: jnp.sqrt(((X.T @ jacobian(S) @ X @ v) ** 2).sum()),
        rhs=bound(constant),
        over=inputs(X=reals("T d"), v=reals("d"), S=reals("T"), T=(2, 5), d=(2,)),
        **SEARCH,
        control=dict(rhs=bound(smaller)),
    )


@claim(
    "sharper.15.softmax",
    ref="Lemma 15",
    statement=r"\|X^T J X v\|_2 \le 2 \|X\|_{2, \infty} \|X v\|_\infty",
    mathematics=True,
)
def softmax_bound():
    """The effect of softmax attention on a value, rebuilt with the constant 2. Control: 0.9."""
    return lemma15(2.0, 0.9)


@claim(
    "sharper.15.softmax.sharp",
    ref="Lemma 15",
    statement=r"\|X^T J X v\|_2 \le \|X\|_{2, \infty} \|X v\|_\infty",
    repairs="sharper.15.softmax",
    mathematics=True,
)
def softmax_bound_sharp():
    """1 is enough: J u has the 1-norm sum_i a_i |u_i - mean|, at most the largest |u_i|.

    Attained by two equal weights on +1 and -1. Control: 0.95.
    """
    return lemma15(1.0, 0.95)


SCORES = inputs(S=reals("T"), T=(2, 5, 16))
PAIRS = inputs(S=reals("T"), R=reals("T"), T=(2, 5, 16))


@claim(
    "sharper.29.jacobian",
    ref="Theorem 29, Lemma A.6 of Edelman et al.",
    statement=r"\|\mathrm{diag}(a) - a a^T\|_1 \le 2",
    mathematics=True,
)
def jacobian_norm():
    """The 1-norm of the Jacobian is at most 2. Control: 0.45."""
    return inequality(
        lhs=lambda S: one_norm(jacobian(S)),
        rhs=lambda S: 2.0,
        over=SCORES,
        **SEARCH,
        proof=everywhere(),
        control=dict(rhs=lambda S: 0.45),
    )


@claim(
    "sharper.29.jacobian.sharp",
    ref="Theorem 29, Lemma A.6 of Edelman et al.",
    statement=r"\|\mathrm{diag}(a) - a a^T\|_1 = \max_j 2 a_j (1 - a_j) \le \tfrac12",
    repairs="sharper.29.jacobian",
    mathematics=True,
)
def jacobian_norm_sharp():
    """The 1-norm is at most 1/2, attained by any weight of 1/2. Control: 0.45."""
    return inequality(
        lhs=lambda S: one_norm(jacobian(S)),
        rhs=lambda S: 0.5,
        over=SCORES,
        **SEARCH,
        proof=everywhere(),
        control=dict(rhs=lambda S: 0.45),
    )


def moved(S, R):
    """Return the 1-norm between the weights of two score vectors."""
    return jnp.abs(jax.nn.softmax(S) - jax.nn.softmax(R)).sum()


def moves(constant, smaller):
    """Return the check of |softmax(S) - softmax(R)|_1 <= constant |S - R|_oo."""
    return lipschitz(
        f=lambda S: jax.nn.softmax(S),
        constant=constant,
        over=SCORES,
        norms=(float("inf"), 1),
        **SEARCH,
        control=dict(constant=smaller),
    )


@claim(
    "sharper.29.softmax",
    ref="Lemma 27, Lemma A.6 of Edelman et al.",
    statement=r"\|\mathrm{softmax}(S) - \mathrm{softmax}(R)\|_1 \le 2 \|S - R\|_\infty",
    mathematics=True,
)
def softmax_lipschitz():
    """Weights move by at most twice as much as scores. Control: 0.9."""
    return moves(2, 0.9)


@claim(
    "sharper.29.softmax.sharp",
    ref="Lemma 27, Lemma A.6 of Edelman et al.",
    statement=r"\|\mathrm{softmax}(S) - \mathrm{softmax}(R)\|_1 \le \|S - R\|_\infty",
    repairs="sharper.29.softmax",
    mathematics=True,
)
def softmax_lipschitz_sharp():
    """Weights move by at most as much as scores, as in Lemma 15. Control: 0.95."""
    return moves(1, 0.95)


def change(constant, smaller):
    """Return the check of |J(S) - J(R)|_1 <= constant |a(S) - a(R)|_1."""
    bound = lambda k: lambda S, R: k * moved(S, R)
    return inequality(
        lhs=lambda S, R: one_norm(jacobian(S) - jacobian(R)),
        rhs=bound(constant),
        over=PAIRS,
        **SEARCH,
        control=dict(rhs=bound(smaller)),
    )


@claim(
    "sharper.29.perturbed",
    ref="Theorem 29",
    statement=r"\|\tilde J - J\|_1 \le 3 \|\tilde a - a\|_1",
    mathematics=True,
)
def jacobian_change():
    """Diag and outer product apart, 1 and 2; rebuilt. Control: 0.9."""
    return change(3.0, 0.9)


@claim(
    "sharper.29.perturbed.sharp",
    ref="Theorem 29",
    statement=r"\|\tilde J - J\|_1 \le \|\tilde a - a\|_1",
    repairs="sharper.29.perturbed",
    mathematics=True,
)
def jacobian_change_sharp():
    """1 is enough, by the derivative along the line between the weights.

    With slope delta, of sum 0, column j of J moves by delta_j (e_j - a) - a_j delta. Its 1-norm is
    at most 2 |delta_j| (1 - a_j) + a_j |delta|, and 2 |delta_j| is at most |delta|. Control: 0.95.
    """
    return change(1.0, 0.95)

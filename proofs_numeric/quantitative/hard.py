"""Appendix A.1 and Lemma A.4: Lipschitz constant, norm and rounding of one-layer transformers."""

import itertools

import jax.numpy as jnp

from theorykit import claim
from theorykit.checks import exhaustive, inequality
from theorykit.checks.domains import inputs, reals

# Lemmas A.2 and A.3 ------------------------------------------------------------------------------

relu = lambda v: jnp.maximum(v, 0)
size = lambda v: jnp.sqrt((v**2).sum())
# |M| >= |M v| / |v|; the Frobenius norm stands for the operator norm where it only helps.
operator = lambda M: jnp.linalg.norm(M, 2)


def mlp(Y, U, A, B, b):
    """Return U (Y + B psi(A Y + b))."""
    return U @ (Y + B @ relu(A @ Y + b))


WEIGHTS = dict(U=reals("2 d"), A=reals("m d"), B=reals("d m"), b=reals("m"))


@claim(
    "quantitative.A2.lipschitz",
    ref="Lemma A.2",
    statement=r"x_T = z_N \Rightarrow \|f(x) - f(z)\| \le L_f^{MLP} \|\tilde f(x) - \tilde f(z)\|",
    expect="refuted",
)
def lipschitz():
    """With encodings the last tokens also differ by p_T - p_N, which the lemma leaves out.

    Delta = 2, embeddings and values 0, p_1 = 0, p_2 = 1, U = 1, no MLP: f(x) is p_T, and both
    attention outputs are 0. Members are (T, N). Control: f(x) = f(z) + 1.
    """
    output = lambda T: (T + 1) % 2
    return exhaustive(
        predicate=lambda m: abs(output(m[0]) - output(m[1])) <= 0,
        universe=[(T, N) for T in range(1, 5) for N in range(1, T + 1)],
        control=dict(predicate=lambda m: output(m[0]) == output(m[1]) + 1),
    )


@claim(
    "quantitative.A2.lipschitz.repaired",
    ref="Lemma A.2",
    statement=r"x_T = z_N,\ T \equiv N \pmod \Delta \Rightarrow \|f(x) - f(z)\| \le "
    r"\|U\| (1 + \|A\| \|B\|) \|\tilde f(x) - \tilde f(z)\|",
)
def lipschitz_repaired():
    """With equal residues it is the Lipschitz bound of the MLP. Control: without the 1."""
    rhs = lambda one: (
        lambda Y, Z, U, A, B: operator(U) * (one + operator(A) * operator(B)) * size(Y - Z)
    )
    return inequality(
        lhs=lambda Y, Z, U, A, B, b: size(mlp(Y, U, A, B, b) - mlp(Z, U, A, B, b)),
        rhs=rhs(1),
        over=inputs(Y=reals("d"), Z=reals("d"), **WEIGHTS, d=(2,), m=(2,)),
        starts=8,
        steps=40,
        control=dict(rhs=rhs(0)),
    )


SCALARS = inputs(Y=reals(), U=reals(), A=reals(), B=reals(), b=reals())


def scalar_output(Y, U, A, B, b):
    """Return |f(x)| of width 1."""
    return jnp.abs(U * (Y + B * relu(A * Y + b)))


@claim(
    "quantitative.A3.norm",
    ref="Lemma A.3",
    statement=r"\|f(x)\| \le M_f = L_f^{MLP} (M_f^E + M_f^V + \|b_f\|)",
    expect="refuted",
)
def norm():
    """The bias reaches the output through B alone: |B| |b| exceeds (1 + |A| |B|) |b| for small A.

    Width 1; Y stands for the token and its attention output together, so |Y| <= M^E + M^V.
    Control: without the bias.
    """
    lipschitz = lambda U, A, B: jnp.abs(U) * (1 + jnp.abs(A) * jnp.abs(B))
    return inequality(
        lhs=scalar_output,
        rhs=lambda Y, U, A, B, b: lipschitz(U, A, B) * (jnp.abs(Y) + jnp.abs(b)),
        over=SCALARS,
        starts=8,
        steps=40,
        control=dict(rhs=lambda Y, U, A, B: lipschitz(U, A, B) * jnp.abs(Y)),
    )


@claim(
    "quantitative.A3.norm.repaired",
    ref="Lemma A.3",
    statement=r"\|f(x)\| \le L_f^{MLP} (M_f^E + M_f^V) + \|U\| \|B\| \|b\|",
    assumptions=[r"\psi(0) = 0"],
)
def norm_repaired():
    """With |U| |B| |b| in its place. Control: with |U| |b|."""
    bound = lambda bias: (
        lambda Y, U, A, B, b: (
            operator(U) * ((1 + operator(A) * operator(B)) * size(Y) + bias(B) * size(b))
        )
    )
    return inequality(
        lhs=lambda Y, U, A, B, b: size(mlp(Y, U, A, B, b)),
        rhs=bound(operator),
        over=inputs(Y=reals("d"), **WEIGHTS, d=(2,), m=(2,)),
        starts=8,
        steps=40,
        control=dict(rhs=bound(lambda B: 1.0)),
    )


# Lemma A.4 ---------------------------------------------------------------------------------------


def shared(weights, N):
    """Return m as the proof defines it: floors, and the first R raised by one."""
    whole = sum(weights)
    m = [N * w // whole for w in weights]
    R = N - sum(m)
    return [v + 1 if i < R else v for i, v in enumerate(m)]


@claim(
    "quantitative.A4.rounding",
    ref="Lemma A.4",
    statement=r"\exists m_i \ge 0: \sum_i m_i = N,\ |m_i / N - p_i| \le 1/N",
)
def rounding():
    """All distributions of 1 to 4 weights from 0 to 5, all N to 8. Control: within 1/(2N)."""
    weights = [w for n in range(1, 5) for w in itertools.product(range(6), repeat=n) if sum(w)]

    def predicate(by):
        def within(m):
            (w, N), whole = m, sum(m[0])
            found = shared(w, N)
            near = all(by * abs(a * whole - N * b) <= whole for a, b in zip(found, w, strict=True))
            return sum(found) == N and min(found) >= 0 and near

        return within

    return exhaustive(
        predicate=predicate(1),
        universe=[(w, N) for w in weights for N in range(1, 9)],
        control=dict(predicate=predicate(2)),
    )

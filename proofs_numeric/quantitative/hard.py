"""Appendix A.1 and Lemma A.4: Lipschitz constant, norm and rounding of one-layer transformers."""

import functools
import itertools

import jax.numpy as jnp
import numpy as np

from theorykit import claim
from theorykit.checks import construction, exhaustive, inequality
from theorykit.checks.domains import inputs, integers, reals
from theorykit.proofs_numeric.quantitative._strings import state
from theorykit.subjects import limit, simulation

# Lemmas A.2 and A.3 ------------------------------------------------------------------------------

relu = lambda v: jnp.maximum(v, 0)
size = lambda v: jnp.sqrt((v**2).sum())
# |M| >= |M v| / |v|; the Frobenius norm stands for the operator norm where it only helps.
operator = lambda M: jnp.linalg.norm(M, 2)


def mlp(Y, U, A, B, b):
    """Return U (Y + B psi(A Y + b))."""
    return U @ (Y + B @ relu(A @ Y + b))


WEIGHTS = dict(U=reals("2 d"), A=reals("m d"), B=reals("d m"), b=reals("m"))


@functools.lru_cache(512)
def drawn(seed):
    """Return a random transformer with encodings of period 2 or 3, and two strings.

    They end alike.
    """
    rng = np.random.default_rng(seed)
    f = simulation.random_one_layer(rng, "abc", int(rng.integers(0, 3)), 2 + seed % 2)
    x = "".join(rng.choice(list("abc"), 12 + int(rng.integers(0, 12))))
    return f, x, "".join(rng.choice(list("abc"), 24)) + x[-1]


def with_residue(f, x, z, equal):
    """Return z without its first few tokens, so that |x| and |z| are equal mod Delta, or not."""
    more = (len(z) - len(x) + (0 if equal else 1)) % (f.period or 1)
    return z[more:]


@functools.lru_cache(1024)
def moved(seed, equal):
    """Return |f(x) - f(z)| for equal or unequal residues, and the bound of Lemma A.2."""
    f, x, z = drawn(seed)
    z = with_residue(f, x, z, equal)
    gap = simulation.hard_output(f, x) - simulation.hard_output(f, z)
    apart = np.linalg.norm(state(f, x) - state(f, z))
    return np.linalg.norm(gap), simulation.mlp_lipschitz(f) * apart


def side(which, equal, part=1.0):
    """Return one of the two as a side of an inequality."""
    return lambda seed: part * moved(int(seed), equal)[which]


SEEDS = dict(over=inputs(seed=integers(0, 10**6)), cases=80, traceable=False)


@claim(
    "quantitative.A2.lipschitz",
    ref="Lemma A.2",
    statement=r"x_T = z_N \Rightarrow \|f(x) - f(z)\| \le L_f^{MLP} \|\tilde f(x) - \tilde f(z)\|",
    assumptions=[r"f \text{ is the transformer of section 3.1, encodings included}"],
    expect="refuted",
    falls="wording",
    consequence="Eq. (3), and so the proof, leaves p_T out; Lemma A.2 is used only where T = N mod "
    "Delta, and there it stands.",
)
def lipschitz():
    """With encodings the last tokens also differ by p_T - p_N, which the lemma leaves out.

    Random transformers of period 2 and 3, T and N different mod Delta. Control: half of the bound.
    """
    return inequality(
        lhs=side(0, False), rhs=side(1, False), **SEEDS, control=dict(rhs=side(1, False, 0.5))
    )


@claim(
    "quantitative.A2.lipschitz.repaired",
    ref="Lemma A.2",
    statement=r"x_T = z_N,\ T \equiv N \pmod \Delta \Rightarrow \|f(x) - f(z)\| \le "
    r"L_f^{MLP} \|\tilde f(x) - \tilde f(z)\|",
)
def lipschitz_repaired():
    """With equal residues it holds, for the same transformers. Control: with other residues."""
    return inequality(
        lhs=side(0, True),
        rhs=side(1, True),
        **SEEDS,
        control=dict(lhs=side(0, False), rhs=side(1, False)),
    )


@claim(
    "quantitative.A2.lipschitz.mlp",
    ref="Lemma A.2",
    statement=r"\|U\| (1 + \|A\| \|B\|) \text{ is a Lipschitz constant of } "
    r"Y \mapsto U(Y + B \psi(A Y + b))",
    mathematics=True,
)
def lipschitz_mlp():
    """This is a Lipschitz constant; attacked over all weights of width 2.

    Control: without the 1.
    """
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


@claim(
    "quantitative.A.eq3",
    ref="App. A, eqs. (3) and (4)",
    statement=r"f(x) = U_f((E_{x_T} + \tilde f(x)) + "
    r"B_f \psi_f(A_f (E_{x_T} + \tilde f(x)) + b_f))",
    expect="refuted",
    falls="wording",
    consequence="p_T must be added to E_{x_T}, as in section 3.1; nothing else changes.",
)
def equation_three():
    """With encodings the state of the last token is E_{x_T} + p_T. Control: without the MLP."""
    return construction(
        build=drawn, has=reads_out(False), cases=range(20), control=dict(has=reads_out(False, 0.0))
    )


@claim(
    "quantitative.A.eq3.repaired",
    ref="App. A, eqs. (3) and (4)",
    statement=r"f(x) = U_f(Y + B_f \psi_f(A_f Y + b_f)),\ Y = E_{x_T} + p_T + \tilde f(x)",
)
def equation_three_repaired():
    """With p_T it is the forward pass of section 3.1, exact. Control: without p_T."""
    return construction(
        build=drawn, has=reads_out(True), cases=range(20), control=dict(has=reads_out(False))
    )


def reads_out(encoded, inside=1.0):
    """Return whether the last output is eq. (3), with p_T or without, times `inside` the MLP."""

    def equal(built):
        f, x, _ = built
        (layer,), x = f.layers, x + x  # long enough for hard attention
        found = limit.exact(f, [x]).outputs.floats()[0, -1]
        Y = f.E[f.encode(x)[-1]] + state(f, x) + encoded * f.encodings(len(x))[-1]
        hidden = inside * np.maximum(layer.A @ Y + layer.b, 0)
        return np.abs(f.U @ (Y + layer.B @ hidden) - found).max() < 1e-9

    return equal


SCALARS = inputs(Y=reals(), U=reals(), A=reals(), B=reals(), b=reals())


def scalar_output(Y, U, A, B, b):
    """Return |f(x)| of width 1."""
    return jnp.abs(U * (Y + B * relu(A * Y + b)))


@claim(
    "quantitative.A3.norm",
    ref="Lemma A.3",
    statement=r"\|f(x)\| \le M_f = L_f^{MLP} (M_f^E + M_f^V + \|b_f\|)",
    expect="refuted",
    falls="statement",
    consequence="|b| counts with |U| |B|, not with |U| (1 + |A| |B|); with that in M_f and L the "
    "theorems stand.",
    mathematics=True,
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
    mathematics=True,
)
def norm_repaired():
    """With |U| |B| |b| in place of the printed term, the bound holds. Control: with |U| |b|."""
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


@claim(
    "quantitative.A3.norm.strings",
    ref="Lemma A.3",
    statement=r"\|f(x)\| \le M_f \text{ on strings, } M_f \text{ repaired}",
)
def norm_on_strings():
    """The library's M_f bounds the outputs of random transformers. Control: a fifth of it."""
    out = lambda seed: simulation.hard_output(*drawn(int(seed))[:2])
    most = lambda seed: simulation.output_bound(drawn(int(seed))[0])
    return inequality(
        lhs=lambda seed: np.linalg.norm(out(seed)),
        rhs=most,
        **SEEDS,
        control=dict(rhs=lambda seed: most(seed) / 5),
    )


# Lemma A.4 ---------------------------------------------------------------------------------------


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
            found = simulation.apportion(w, N).tolist()
            near = all(by * abs(a * whole - N * b) <= whole for a, b in zip(found, w, strict=True))
            return sum(found) == N and min(found) >= 0 and near

        return within

    return exhaustive(
        predicate=predicate(1),
        universe=[(w, N) for w in weights for N in range(1, 9)],
        control=dict(predicate=predicate(2)),
    )

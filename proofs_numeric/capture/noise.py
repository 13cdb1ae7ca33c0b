"""Section 4.4: the error of a kernel, and of a predictor, that are Monte-Carlo averages."""

import jax
import jax.numpy as jnp
import numpy as np

from theorykit import claim
from theorykit.checks import expectation, inequality, rate
from theorykit.checks.domains import inputs, reals, simplex
from theorykit.kernels import oracle
from theorykit.proofs_numeric.capture._noise import draws, normal, tokens

F1, F2 = tokens(2, 2)
EXACT = oracle.attention_step(
    np.einsum("iar,jbr->iajb", [F1, F2], [F1, F2]),
    np.einsum("iar,jbr->iajb", [F1, F2], [F1, F2]),
    order=30,
)[0][0, -1, 1, -1]


@claim(
    "capture.4.4.mc_noise",
    ref="Sec. 4.4",
    statement=r"|\Sigma^{\mathrm{MC}}_{ab} - \Sigma_{ab}| = O(N_{\mathrm{MC}}^{-1/2})",
)
def noise_in_draws():
    """The error of a kernel entry falls as the square root of the number of draws.

    Root mean square over 64 kernels; the exact entry is the quadrature oracle's.
    """

    def error(key, N):
        estimates = draws(F1, F2, normal(key, (64 * N, 4, 4))).reshape(64, N).mean(1)
        return jnp.sqrt(((estimates - EXACT) ** 2).mean())

    return rate(
        measure=error,
        at=(8, 32, 128),
        exponent=-0.5,
        tolerance=0.15,
        replicates=12,
        batch=1,
        control=dict(exponent=-1.0),
    )


@claim(
    "capture.4.4.mc_noise.length",
    ref="Sec. 4.4, App. E.3",
    statement=r"\operatorname{sd}[A_a \Sigma' A_b^\top] = O(1) \text{ in } T",
    assumptions=[r"\Sigma'_{aa} = 1 \text{ (layer norm)}"],
)
def noise_in_length():
    """The spread of one draw of a kernel entry does not grow with the number of tokens.

    For random tokens it falls, since attention averages more of them; in no case can it exceed
    max |Sigma'| = 1. Control: the entry without attention's normalisation, which grows like T.
    """

    def spread(key, T):
        F, G = tokens(2, T)
        return draws(F, G, normal(key, (256, 4, 4))).std()

    return rate(
        measure=spread,
        at=(8, 32, 128),
        at_most=0.0,
        replicates=8,
        batch=1,
        control=dict(measure=lambda key, T: T * spread(key, T)),
    )


def predictor_error(key, P, N, shared):
    """Return the error of sum_nu alpha_nu K(X*, X_nu), all alpha = 1, K averaged over N draws.

    The inputs X_nu are alike, as in a training set of one class. Draws are taken for every nu
    apart, or `shared`.
    """
    U = normal(key, (1 if shared else P, N, 4, 4))
    one = lambda U: draws(F1, F2, U).mean() - EXACT
    return jnp.broadcast_to(jax.vmap(one)(U), P).sum()


def rms(shared, at):
    """Return the measure of `predictor_error` at (P, N) = at(n), root mean square of 64."""

    def measure(key, n):
        P, N = at(n)
        errors = jax.vmap(lambda k: predictor_error(k, P, N, shared))(jax.random.split(key, 64))
        return jnp.sqrt((errors**2).mean())

    return measure


@claim(
    "capture.4.4.predictor_noise",
    ref="Sec. 4.4, Table 1",
    statement=r"|f^{\mathrm{MC}} - f| = O(\sqrt{P / N_{\mathrm{MC}}}), \quad \alpha = O(1)",
    assumptions=["every kernel value K(X*, X_nu) is estimated from draws of its own"],
)
def predictor_noise():
    """The noise of the predictor grows as the square root of the number of training inputs.

    True for the paper's sampler, which draws the scores of each pair apart (App. D), and only
    because those errors are independent: see `.shared`.
    """
    return rate(
        measure=rms(False, lambda P: (P, 4)),
        at=(4, 16, 64),
        exponent=0.5,
        tolerance=0.15,
        replicates=12,
        batch=1,
        control=dict(exponent=1.0),
    )


def variance(w, x):
    """Return the variance of x under the weights w, over the first axis."""
    return w @ (x - w @ x) ** 2


@claim(
    "capture.4.4.predictor_noise.shared",
    ref="Sec. 4.4, Table 1",
    statement=r"\operatorname{Var}[f^{\mathrm{MC}}] \le \frac{P}{N_{\mathrm{MC}}} "
    r"\max_\nu \alpha_\nu^2\, \max_\nu \operatorname{Var}[A \Sigma' A_\nu^\top]",
    assumptions=["one set of draws serves all K(X*, X_nu)"],
    expect="refuted",
)
def predictor_noise_shared():
    """The same if one set of draws serves all pairs, which saves a factor P of the cost.

    False: errors then add up instead of averaging out, so two equal inputs have four times the
    variance of one. k holds a draw's value at each outcome, for each of P inputs; the constant is
    that of independent draws. The control is a smaller constant yet.
    """
    return inequality(
        lhs=lambda w, k, alpha: variance(w, k @ alpha),
        rhs=lambda w, k, alpha, P: P * (alpha**2).max() * variance(w, k).max(),
        over=inputs(w=simplex("n"), k=reals("n P"), alpha=reals("P"), n=(2,), P=(1, 2)),
        starts=16,
        steps=60,
        control=dict(rhs=lambda w, k, alpha: (alpha**2).max() * variance(w, k).max() / 2),
    )


@claim(
    "capture.4.4.predictor_noise.shared.repaired",
    ref="Sec. 4.4, Table 1",
    statement=r"|f^{\mathrm{MC}} - f| = \Theta(P / \sqrt{N_{\mathrm{MC}}}), \quad \alpha = 1",
    assumptions=["one set of draws serves all K(X*, X_nu), of inputs that are alike"],
)
def predictor_noise_shared_repaired():
    """With shared draws the noise grows like P for coefficients of one sign: N must grow like P^2.

    Control: the printed root of P.
    """
    return rate(
        measure=rms(True, lambda P: (P, 4)),
        at=(4, 16, 64),
        exponent=1.0,
        tolerance=0.15,
        replicates=12,
        batch=1,
        control=dict(exponent=0.5),
    )


@claim(
    "capture.4.4.predictor_noise.draws",
    ref="Sec. 4.4, Table 1",
    statement=r"|f^{\mathrm{MC}} - f| = O(\sqrt{P / N_{\mathrm{MC}}}), \quad \alpha = O(1)",
)
def predictor_noise_in_draws():
    """The noise of the predictor falls as the square root of the number of draws."""
    return rate(
        measure=rms(False, lambda N: (4, N)),
        at=(4, 16, 64),
        exponent=-0.5,
        tolerance=0.15,
        replicates=12,
        batch=1,
        control=dict(exponent=-0.25),
    )


@claim(
    "capture.4.4.tail",
    ref="Sec. 4.4",
    statement=r"\Pr[|f^{\mathrm{MC}} - f| \ge \Delta / 6] \le "
    r"2 e^{-c \Delta^2 N_{\mathrm{MC}} / P}",
    assumptions=[r"|\alpha_\nu| \le 1, |\Sigma'| \le M = 1", r"c = 1 / (72 M^2)"],
)
def tail():
    """The predictor's noise has a sub-Gaussian tail, with the constant of Hoeffding's bound.

    Each of the N P terms lies within [-M, M] and has weight 1/N, so an error of Delta/6 has
    probability at most 2 exp(-(Delta/6)^2 N / (2 P M^2)). Frequencies over 512 predictors, four
    values of Delta. The control is a constant 200 times larger: the true variance is below M^2.
    """
    P, N, M = 4, 4, 1.0
    delta = jnp.array([6.0, 12.0, 18.0, 24.0]) / 4

    def frequencies(key):
        errors = jax.vmap(lambda k: predictor_error(k, P, N, False))(jax.random.split(key, 32))
        return (jnp.abs(errors)[:, None] >= delta / 6).mean(0)

    bound = lambda c: jnp.minimum(1.0, 2 * jnp.exp(-c * delta**2 * N / P))
    return expectation(
        statistic=frequencies,
        at_most=bound(1 / (72 * M**2)),
        replicates=64,
        batch=64,
        control=dict(at_most=bound(200 / (72 * M**2))),
    )

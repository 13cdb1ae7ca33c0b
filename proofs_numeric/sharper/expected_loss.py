"""Theorems 6 and 12: the expected loss under Gaussian perturbations, and its remainder."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np

from theorykit import claim
from theorykit.checks import exhaustive, identity
from theorykit.checks.domains import inputs, interval, reals


@claim(
    "sharper.12.taylor.lagrange",
    ref="Theorem 12, eq. (Taylor)",
    statement=r"\forall \epsilon\ \exists \tau \in [0, 1]:\ L(\theta + \epsilon) = "
    r"\tfrac 12 \epsilon^\top \nabla^2 L(\theta + \tau \epsilon) \epsilon",
    assumptions=[r"L(\theta) = 0,\ \nabla L(\theta) = 0"],
    expect="refuted",
    falls="proof",
    consequence="The theorem has another form that needs no Taylor point "
    "(sharper.12.taylor.repaired); the bound keeps its shape, with the trace over smaller noise.",
    mathematics=True,
)
def lagrange():
    """The Lagrange point need not exist once a ReLU unit flips, and some perturbations flip one.

    f(w) = relu(w - b) with target 0, at theta = 0: L = (w - b)^2 beyond b and L'' is 0 or 2, but
    L / (w^2 / 2) = 2 (1 - b / w)^2 is neither. So the decomposition is exact on the event that no
    unit flips, and its expectation is over all perturbations. Members are (w, b). Control: L'' is
    the one beyond b.
    """
    loss = lambda w, b: max(0, w - b) * max(0, w - b)
    seconds = lambda w, b: {0, 2} if w > b else {0}
    reached = lambda m, of: any(2 * loss(*m) == h * m[0] * m[0] for h in of)
    return exhaustive(
        predicate=lambda m: reached(m, seconds(*m)),
        universe=[(w, b) for w, b in itertools.product(range(1, 5), range(1, 4))],
        control=dict(predicate=lambda m: reached(m, {2})),
    )


NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(24)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
TIMES, SHARES = np.polynomial.legendre.leggauss(12)


def loss(theta, x, y):
    """Return the squared loss of a network with two parameters, smooth in them."""
    attended = jax.nn.softmax(theta[0] * jnp.array([1.0, 0.0])) @ x
    return (theta[1] * jnp.tanh(attended) - y) ** 2


def expected(function, theta, sigma):
    """Return E function(theta + eps), eps ~ N(0, sigma^2 I), by quadrature."""
    points = np.stack(np.meshgrid(NODES, NODES), -1).reshape(-1, 2)
    weights = np.outer(WEIGHTS, WEIGHTS).ravel()
    return weights @ jax.vmap(lambda e: function(theta + sigma * e))(points)


@claim(
    "sharper.12.taylor.repaired",
    ref="Theorem 12",
    statement=r"E L(\theta + \epsilon) = L(\theta) + \tfrac 12 \int_0^{\sigma^2} "
    r"E \operatorname{tr} \nabla^2 L(\theta + \sqrt s\, \xi)\, ds, \quad \xi \sim N(0, I)",
    repairs="sharper.12.taylor.lagrange",
    mathematics=True,
)
def heat():
    """The heat equation: the remainder is the mean of the trace over smaller perturbations.

    No point of a Taylor expansion, no minimum and no interpolation is needed; where there are ReLU
    units, the trace contains their kinks. So the semi-analytic bound has to measure the trace at
    perturbations of size sqrt(s), s up to sigma^2, and the largest value bounds it. A network with
    attention and two parameters, by quadrature. Control: the trace at sigma alone.
    """
    trace = lambda x, y: lambda theta: jnp.trace(jax.hessian(loss)(theta, x, y))
    gained = lambda theta, x, y, sigma: (
        expected(lambda t: loss(t, x, y), theta, sigma) - loss(theta, x, y)
    )

    def integral(theta, x, y, sigma):
        at = lambda s: expected(trace(x, y), theta, jnp.sqrt(s))
        times = sigma**2 * (TIMES + 1) / 2
        return sigma**2 / 4 * (SHARES @ jax.vmap(at)(times))

    return identity(
        lhs=gained,
        rhs=integral,
        over=inputs(
            theta=interval(lo=-2, hi=2, shape="2"), x=interval(lo=-1, hi=1, shape="2"),
            y=reals(), sigma=interval(lo=0.05, hi=0.5),
        ),
        tol=1e-7,
        control=dict(
            rhs=lambda theta, x, y, sigma: sigma**2 / 2 * expected(trace(x, y), theta, sigma)
        ),
    )  # fmt: skip

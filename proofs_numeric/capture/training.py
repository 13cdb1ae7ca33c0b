"""Sections 4.1 and 5: what kernel predictors say of training, in two stages and at finite width."""

import jax.numpy as jnp

from theorykit import claim
from theorykit.checks import as_polynomials, identity
from theorykit.domains import inputs, reals

STEPS, RATE = 2, 0.25  # of gradient descent in each stage; any other would do


def descended(K, K_test, errors):
    """Return the NTK predictor of these errors after some steps: K_* (1 - (1 - eta K)^n) K^-1.

    The inverse cancels: it is eta times the sum of the first n powers of 1 - eta K.
    """
    left = alpha = errors
    for _ in range(STEPS - 1):
        left = left - RATE * K @ left
        alpha = alpha + left
    return RATE * K_test @ alpha


def predictor(F1, F2, F, start, y1, y2, second=lambda y, f: y - f):
    """Return the prediction at the features F after both stages, from a model linear in weights."""
    f = lambda F: F @ start + descended(F1 @ F1.T, F @ F1.T, y1 - F1 @ start)
    return f(F) + descended(F2 @ F2.T, F @ F2.T, second(y2, f(F2)))


def trained(F1, F2, F, start, y1, y2):
    """Return the same by gradient descent on the weights, step by step."""
    w = start
    for features, y in ((F1, y1), (F2, y2)):
        for _ in range(STEPS):
            w = w - RATE * features.T @ (features @ w - y)
    return F @ w


@claim(
    "capture.two_stage",
    ref="Sec. 4.1",
    statement=r"f = f_1 + \Theta(\cdot, X_2)\, \Theta_{22}^{-1} (1 - (1 - \eta \Theta_{22})^n) "
    r"(y_2 - f_1(X_2)), \quad f_1 = f_0 + \Theta(\cdot, X_1)\, \Theta_{11}^{-1} "
    r"(1 - (1 - \eta \Theta_{11})^n) (y_1 - f_0(X_1))",
    assumptions=["a model linear in its weights, as a network in the NTK limit is"],
)
def two_stage():
    """The second stage adds the NTK predictor of the errors that the first left on its data.

    Both sides are polynomials in the features, the first weights and the targets. Control: the
    second stage fits its targets instead of the errors.
    """
    forgetful = lambda F1, F2, F, start, y1, y2: predictor(
        F1, F2, F, start, y1, y2, second=lambda y, f: y
    )
    return identity(
        lhs=trained,
        rhs=predictor,
        over=inputs(
            F1=reals("2 3"),
            F2=reals("2 3"),
            F=reals("1 3"),
            start=reals("3"),
            y1=reals("2"),
            y2=reals("2"),
        ),
        proof=as_polynomials(),
        control=dict(rhs=forgetful),
    )


def regressed(F1, F2, F, y1, y2, towards=lambda w: w):
    """Return the prediction of two ridge regressions on the weights, |F w - y|^2 + |w - w_0|^2 / 4.

    The first has w_0 = 0, the second a function of the weights that the first ended at.
    """
    w = jnp.zeros(F.shape[1])
    for features, y in ((F1, y1), (F2, y2)):
        gram = features.T @ features + jnp.eye(len(w)) / 4
        w = jnp.linalg.solve(gram, features.T @ y + towards(w) / 4)
    return F @ w


def corrected(F1, F2, F, y1, y2):
    """Return the first-stage predictor plus the kernel predictor of its errors, eq. (1)."""
    alpha = lambda F, y: jnp.linalg.solve(F @ F.T + jnp.eye(len(F)) / 4, y)
    f = lambda F: F @ F1.T @ alpha(F1, y1)
    return f(F) + F @ F2.T @ alpha(F2, y2 - f(F2))


@claim(
    "capture.two_stage.ridge",
    ref="Sec. 4.1, eq. (1)",
    statement=r"f = f_1 + K(\cdot, X_2) (K_{22} + \kappa)^{-1} (y_2 - f_1(X_2)), \quad "
    r"f_1 = K(\cdot, X_1) (K_{11} + \kappa)^{-1} y_1",
    assumptions=["the second stage is regularised towards the weights that the first ended at"],
)
def two_stage_ridge():
    """With a ridge it is so if the second stage is held to the first one's weights.

    Control: held to the initial weights, as weight decay does, the second stage forgets the first.
    """
    forgetful = lambda F1, F2, F, y1, y2: regressed(F1, F2, F, y1, y2, towards=jnp.zeros_like)
    return identity(
        lhs=regressed,
        rhs=corrected,
        over=inputs(F1=reals("3 5"), F2=reals("4 5"), F=reals("2 5"), y1=reals("3"), y2=reals("4")),
        control=dict(lhs=forgetful),
    )

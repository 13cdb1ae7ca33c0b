"""Theorem 3.4: kernel ridge regression with the transformer's kernel on unseen symbols."""

import functools

import jax
import numpy as np

from theorykit import claim
from theorykit.checks import exhaustive, rate
from theorykit.kernels import activations, ridge, template_mlp, template_transformer
from theorykit.proofs_numeric.templates._ridge import same_different
from theorykit.subjects.templates import Distribution, families

KERNEL = dict(beta=30.0, gamma=1.0, activation=activations.Cos(1.0, 0.5), draws=2048, replicates=1)


def unseen_error(key, n, symbols, mlp=False, tests=64):
    """Return the root mean square error on unseen symbols of ridge regression on same/different."""
    d = same_different(int(symbols)).with_cls()
    for_train, for_test, for_kernel = jax.random.split(key, 3)
    train = jax.tree.map(np.asarray, d.sample(for_train, int(n)))
    test = jax.tree.map(np.asarray, d.held_out(2 * tests).sample(for_test, tests))
    x = np.concatenate([train.x, test.x])
    kernel = template_mlp(x) if mlp else template_transformer(x, key=for_kernel, **KERNEL)
    K = np.asarray(kernel.nngp, float)
    n = int(n)
    predicted = ridge(K[:n, :n], train.y, K[n:, :n], ridge=0.01).mean
    return np.sqrt(np.mean((np.asarray(predicted) - test.y) ** 2))


@claim(
    "templates.3.4.generalises",
    ref="Theorem 3.4",
    statement=r"|\hat f(x) - f_*(z)| \le C \sqrt{\log(1/\delta) / n} + C \sqrt{1 / \rho}, "
    r"\quad \rho = n / 2",
    tier="slow",
)
def generalises():
    """Ridge regression with K_trans on same/different: the error on unseen symbols falls.

    It falls at least like n^(-1/2), with an alphabet of n symbols and a constant ridge. Control: an
    MLP's kernel, which stays at chance.
    """
    return rate(
        measure=lambda key, n: unseen_error(key, n, n),
        at=(128, 256, 512, 1024),
        at_most=-0.5,
        tolerance=0.05,
        replicates=6,
        vectorize=False,
        control=dict(measure=lambda key, n: unseen_error(key, n, n, mlp=True)),
    )


@claim(
    "templates.3.4.diversity",
    ref="Theorem 3.4",
    statement=r"|\hat f(x) - f_*(z)| \le C \sqrt{\log(1/\delta) / n} + C \sqrt{1 / \rho}, "
    r"\quad n \text{ fixed}",
    tier="slow",
)
def generalises_with_diversity():
    """At 512 samples the error falls with the alphabet, at least like rho^(-1/2), while n allows.

    Same/different over 8 to 64 symbols; from there on n limits it. Control: at least like 1 / rho.
    """
    return rate(
        measure=lambda key, m: unseen_error(key, 512, m),
        at=(8, 16, 32, 64),
        at_most=-0.5,
        tolerance=0.05,
        replicates=6,
        vectorize=False,
        control=dict(at_most=-1.0),
    )


@functools.cache
def learned(name, n=1024):
    """Return the mean squared errors on unseen symbols of K_trans and of an MLP's kernel.

    Over the variance of the labels, so that 1 is chance: majority has more labels -1.
    """
    tasks = {
        "same/different": families.same_different(),
        "programs": families.programs(),
        "majority": families.majority(3),
    }
    d = Distribution(tasks[name], symbols=n).with_cls()
    train, test = (
        jax.tree.map(np.asarray, e.sample(jax.random.key(seed), m))
        for e, seed, m in ((d, 0, n), (d.held_out(100), 1, 100))
    )
    x = np.concatenate([train.x, test.x])
    options = KERNEL | dict(draws=8192, activation=activations.Cos(0.5, 0.5))
    found = []
    for kernel in (template_transformer(x, key=jax.random.key(2), **options), template_mlp(x)):
        K = np.asarray(kernel.nngp, float)
        f = np.asarray(ridge(K[:n, :n], train.y, K[n:, :n], ridge=1e-3, jitter=1e-6).mean)
        found.append(float(np.mean((f - test.y) ** 2) / np.var(test.y)))
    return found


@claim(
    "templates.3.4.tasks",
    ref="Theorem 3.4, remark I.6",
    statement=r"\mathbb E[(\hat f(x) - f_*(z))^2] < 0.05\, \mathrm{Var}\, y \text{ for } "
    r"K_{\mathrm{trans}},\ "
    r"\approx \mathrm{Var}\, y \text{ for an MLP's kernel}",
    tier="slow",
)
def learns_the_tasks():
    """With 1,024 samples K_trans learns three tasks on unseen symbols; an MLP's kernel does not.

    Same/different, the programs of Fig. 2, majority of length 3. Control: the MLP's kernel learns.
    """
    return exhaustive(
        predicate=lambda name: learned(name)[0] < 0.05 and learned(name)[1] > 0.9,
        universe=["same/different", "programs", "majority"],
        control=dict(predicate=lambda name: learned(name)[1] < 0.9),
    )

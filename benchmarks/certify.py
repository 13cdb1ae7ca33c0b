"""Ball arithmetic: all second derivatives of softmax, compared with mpmath's interval arithmetic.

    python benchmarks/certify.py [--tokens 8 16] [--bits 128] [--rounds 5]

`hessian` encloses softmax and its `jax.hessian`; `first` is its first call, including all tracing.
The others evaluate one closed formula of the same derivatives: `iv` in mpmath's intervals, entry by
entry; `enclose` over arrays, including tracing; `run` without tracing again; `scalars` like `run`,
but for the formula written out entry by entry, one equation per operation. A rate is iv's time over
theirs: 10 means ten times as fast as mpmath.

`pieces` is how many pieces of a box `prove` looks at in a second, tracing included. The sides are
equal on a curved surface, so that it never ends before its budget.
"""

import argparse
import time

import jax
import jax.numpy as jnp
import numpy as np
from _timing import alternate, report, spread
from mpmath import iv

from theorykit.certify import BUDGET, Machine, Program, ball, enclose, objects, precision, prove


def first(x):
    """Return the first entry of a layer norm."""
    return (x[0] - x.mean()) / jnp.sqrt(x.var() + 1e-2)


BOXES = {
    "polynomial": (
        lambda x, y: (2 * (x**2 + y**2), 1 + (x**2 + y**2) ** 2),
        dict(x=(-2, 2), y=(-2, 2)),
    ),
    "softmax": (
        lambda x: (jax.nn.softmax(x)[0] / 2, 1 / 16 + jax.nn.softmax(x)[0] ** 2),
        dict(x=(-np.ones(3), np.ones(3))),
    ),
    "layer norm": (
        lambda x: (first(x), 1 / 4 + first(x) ** 2),
        dict(x=(-np.ones(4), np.ones(4))),
    ),
}
"""Inequalities and the boxes on which they are true."""


def on_arrays(x):
    """Return d^2 s_i / dx_j dx_k of s = softmax(x): s_i (a_ij a_ik - s_j a_jk), a = 1 - s."""
    e = jnp.exp(x)
    s = e / e.sum()
    a = jnp.eye(len(x)) - s
    return s[:, None, None] * (a[:, :, None] * a[:, None, :] - s[:, None] * a)


def entry_by_entry(x, exp):
    """Return the same in a list, with + - * / and exp alone."""
    e = [exp(v) for v in x]
    total = sum(e[1:], e[0])
    s, n = [v / total for v in e], range(len(x))
    a = [[int(i == j) - s[j] for j in n] for i in n]
    return [s[i] * (a[i][j] * a[i][k] - s[j] * a[j][k]) for i in n for j in n for k in n]


def measure(tokens, bits, rounds):
    """Return seconds and rates of every contestant, timed in turn."""
    x = np.random.default_rng(0).normal(size=tokens)
    iv.prec = bits
    arrays = Program.trace(on_arrays, [x])
    scalars = Program.trace(lambda *xs: entry_by_entry(xs, jnp.exp), list(x))

    def run(program, *leaves):
        with precision(bits):
            balls = [objects([ball(v) for v in np.ravel(a)], np.shape(a)) for a in leaves]
            return program.run(Machine(), balls)

    # A new function each time, so that it is traced again (JAX caches traces).
    hessian = lambda: enclose(
        lambda x: (jax.nn.softmax(x), jax.hessian(jax.nn.softmax)(x)), x, bits=bits
    )
    intervals = lambda: entry_by_entry([iv.mpf(v) for v in x], iv.exp)
    start = time.perf_counter()
    second = hessian()[1]
    first = time.perf_counter() - start
    for found in (second.array.flat, run(arrays, x)[0].flat, [b.item() for b in run(scalars, *x)]):
        for b, i in zip(found, intervals(), strict=True):  # all compute the same numbers
            np.testing.assert_allclose(float(b.mid()), float(i.mid), rtol=1e-14)

    contestants = {
        "hessian": lambda: len(hessian()),
        "iv": lambda: len(intervals()),
        "enclose": lambda: len(enclose(lambda x: on_arrays(x), x, bits=bits)),
        "run": lambda: len(run(arrays, x)),
        "scalars": lambda: len(run(scalars, *x)),
    }
    seconds = alternate(contestants, rounds)
    rates = {
        name: spread([i / s for i, s in zip(seconds["iv"], seconds[name], strict=True)])
        for name in ("enclose", "run", "scalars")
    }
    return dict(first=first, seconds={n: spread(s) for n, s in seconds.items()}, rates=rates)


def pieces(budget, rounds):
    """Return the pieces per second for each of `BOXES`, timed in turn."""
    seconds = alternate(
        {n: lambda b=b: len(str(prove(*b, budget))) for n, b in BOXES.items()}, rounds
    )
    looked = {name: prove(*box, budget).boxes for name, box in BOXES.items()}
    return {name: spread([looked[name] / s for s in times]) for name, times in seconds.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=int, nargs="+", default=[8, 16])
    parser.add_argument("--bits", type=int, default=128)
    parser.add_argument("--budget", type=int, default=BUDGET, help="pieces of a box")
    parser.add_argument("--rounds", type=int, default=5)
    at = parser.parse_args()
    results = {str(t): measure(t, at.bits, at.rounds) for t in at.tokens}
    found = pieces(at.budget, at.rounds)
    report(
        "certify", bits=at.bits, rounds=at.rounds, budget=at.budget, tokens=results, pieces=found
    )


if __name__ == "__main__":
    main()

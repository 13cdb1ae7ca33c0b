"""C.1: limit transformers for SimpleTask and ModPTask, and their norms."""

import dataclasses
import functools
import itertools
import math
from fractions import Fraction

import numpy as np

from theorykit import claim
from theorykit.checks import alternative, construction, rate
from theorykit.subjects import limit, simulation


def bound(t):
    """Return L_f of section 4, as printed."""
    return simulation.output_bound(t, printed=True)


def strings(alphabet, *lengths):
    """Return all strings of these lengths."""
    return [x for n in lengths for x in itertools.product(alphabet, repeat=n)]


# SimpleTask --------------------------------------------------------------------------------------


def share(x):
    """Return (c_0 - c_1) / (c_0 + c_1), or None if there is neither symbol."""
    zeros, ones = x.count("0"), x.count("1")
    return Fraction(zeros - ones, zeros + ones) if zeros + ones else None


@claim(
    "quantitative.C1.simple.attention",
    ref="App. C.1, SimpleTask",
    statement=r"\mathbf Y_T = \mathbf E_{x_T} + \frac{c_0}{c_0 + c_1} \mathbf V \mathbf E_0 + "
    r"\frac{c_1}{c_0 + c_1} \mathbf V \mathbf E_1,\quad \mathbf V \mathbf E_0 = -\mathbf V "
    r"\mathbf E_1",
)
def simple_attention():
    """Attention is uniform over the symbols 0 and 1, and values differ in sign.

    Checked on all strings of up to six symbols with a 0 or a 1, in fractions, with a finite margin
    in place of the infinite one. Control: the share of 0 alone.
    """
    t = limit.simple_task(2.0)

    def states(n):
        xs = [x for x in strings("012", n) if share(x) is not None]
        return xs, limit.exact(t, xs).layers[-1].fractions()[:, -1, :4]

    def has(mean):
        wanted = lambda x: [int(x[-1] == s) for s in "012"] + [mean(x)]
        return lambda built: all(list(y) == wanted(x) for x, y in zip(*built, strict=True))

    return construction(
        build=states,
        has=has(share),
        cases=range(1, 7),
        complete=True,
        control=dict(has=has(lambda x: Fraction(x.count("0"), x.count("0") + x.count("1")))),
    )


@claim(
    "quantitative.C1.simple.output",
    ref="Sec. 6, App. C.1, SimpleTask",
    statement=r"f(x) \approx \sin \left( \omega \frac{c_0(x) - c_1(x)}{c_0(x) + c_1(x)} \right)",
)
def simple_output():
    """With an MLP that approximates the sine to 0.01, the output is the target to 0.01.

    At the ends of the paper's range of omega, all strings of up to five symbols. Control: 0.0001.
    """

    def errors(omega):
        t = limit.simple_task(omega, error=0.01)
        xs = [[x for x in strings("012", n) if share(x) is not None] for n in range(1, 6)]
        found = [limit.exact(t, x).outputs.floats()[:, -1, 0] for x in xs]
        wanted = [[math.sin(omega * share(x)) for x in group] for group in xs]
        return max(np.abs(f - w).max() for f, w in zip(found, wanted, strict=True))

    return construction(
        build=errors,
        has=lambda worst: worst <= 0.01,
        cases=(2.0, 5.5),
        complete=True,
        control=dict(has=lambda worst: worst <= 0.0001),
    )


@functools.cache
def least_norms(omega, error=0.1):
    """Return the least |A| |B| of one-dimensional ReLUs within this error of sin(omega z).

    A hidden unit bends the function at one point, by the product of its weights, so |A| |B| is at
    least the total variation of the slope. Its minimum is a linear programme: values on a grid on
    [-1, 1], and the sum of the bends there. Interpolation on a grid never increases the bends.
    """
    from scipy.optimize import linprog
    from scipy.sparse import bmat, diags, eye

    n = 32 * omega + 1
    z = np.linspace(-1, 1, n)
    bend = diags([1.0, -2.0, 1.0], [0, 1, 2], shape=(n - 2, n)) / (z[1] - z[0])
    keep = -eye(n - 2)
    return linprog(
        np.r_[np.zeros(n), np.ones(n - 2)],
        A_ub=bmat([[bend, keep], [-bend, keep]]),
        b_ub=np.zeros(2 * n - 4),
        bounds=[(v - error, v + error) for v in np.sin(omega * z)] + [(0, None)] * (n - 2),
    ).fun


@claim(
    "quantitative.C1.simple.norm",
    ref="Sec. 6, App. C.1, SimpleTask",
    statement=r"\text{an MLP of ReLUs for } z \mapsto \sin(\omega z) \text{ has } "
    r"L = \Theta(\omega)",
    expect="refuted",
    falls="reading",
    consequence="With the sine as activation, L = Theta(omega), as printed; with ReLUs, sigmoids "
    "or tanh, Theorem 4.1 requires lengths of order omega^4.",
    mathematics=True,
)
def simple_norm():
    """L has the product |A| |B| as a factor, and that grows like omega^2, not like omega.

    The paper leaves the activation open. For ReLUs |A| |B| is at least the variation of the slope
    (the linear programme of `least_norms`), and a function near sin(omega z) turns 2 omega / pi
    times between slopes near omega and -omega. The same holds for any activation whose slope has
    bounded variation. L then exceeds it, since the MLP must compensate for a smaller value matrix
    or unembedding. Control: what an exponent of 3 would give.
    """
    return rate(measure=least_norms, at=(8, 16, 32), exponent=1.0, control=alternative(3.0))


@claim(
    "quantitative.C1.simple.norm.repaired",
    ref="Sec. 6, App. C.1, SimpleTask",
    statement=r"L = \Theta(\omega^2) \text{ with ReLUs}",
)
def simple_norm_repaired():
    """The construction's L grows like omega^2, and none does better. Control: with a sine."""
    return rate(
        measure=lambda omega: bound(limit.simple_task(omega, 0.1)),
        at=(16, 32, 64, 128),
        exponent=2.0,
        tolerance=0.2,
        control=dict(measure=lambda omega: bound(with_one_unit(omega))),
    )


@claim(
    "quantitative.C1.simple.norm.sine",
    ref="Sec. 6, App. C.1, SimpleTask",
    statement=r"\text{one unit } \psi = \sin \text{ with } A = \omega, B = 1 \text{ has } "
    r"L = \Theta(\omega)",
)
def simple_norm_sine():
    """As printed: L only requires that the activation is 1-Lipschitz. Control: with ReLUs."""
    return rate(
        measure=lambda omega: bound(with_one_unit(omega)),
        at=(16, 32, 64, 128),
        exponent=1.0,
        control=dict(measure=lambda omega: bound(limit.simple_task(omega, 0.1))),
    )


def with_one_unit(omega):
    """Return SimpleTask's transformer with one hidden unit, of weights omega and 1."""
    t = limit.simple_task(float(omega), 0.1)
    layer = limit.Layer(
        t.layers[0].heads, *limit.mlp(t.width, [({3: omega}, 0.0, False, {4: 1.0})])
    )
    return dataclasses.replace(t, layers=(layer,))


# ModPTask ----------------------------------------------------------------------------------------


def mean_at(x, period, index):
    """Return the share of 1 at positions = index mod period, None if there is no such position."""
    seen = [int(s) for t, s in enumerate(x, 1) if t % period == index % period]
    return Fraction(sum(seen), len(seen)) if seen else None


@claim(
    "quantitative.C1.modp.output",
    ref="Sec. 6, App. C.1, ModPTask",
    statement=r"T(x)_T = f^*(x_{1:T}) = \frac{\sum_t \mathbf 1(x_t = 1,\ t \equiv k)}"
    r"{\sum_t \mathbf 1(t \equiv k)}",
)
def modp_output():
    """The construction outputs the target exactly, on strings of up to seven bits, for p to 4.

    Where there is a position = k mod p; elsewhere the target is 0/0. Control: the next index.
    """

    def outputs(case):
        period, index, n = case
        xs = strings("01", n)
        return case, xs, limit.exact(limit.mod_p_task(period, index), xs).outputs.fractions()

    def has(shift):
        def equal(built):
            (period, index, _), xs, found = built
            wanted = [mean_at(x, period, index + shift) for x in xs]
            pairs = zip(wanted, found[:, -1, 0], strict=True)
            return all(w in (None, f) for w, f in pairs)

        return equal

    cases = [(p, k, n) for p in (2, 3, 4) for k in range(p) for n in range(1, 8)]
    return construction(
        build=outputs, has=has(0), cases=cases, complete=True, control=dict(has=has(1))
    )


@claim(
    "quantitative.C1.modp.norm",
    ref="Sec. 6, App. C.1, ModPTask",
    statement=r"\Delta = p \text{ and } L = \Theta(1)",
)
def modp_norm():
    """The period is p, and L is 1 + sqrt 2 whatever p is. Control: L is at most 2."""
    period = lambda built: built[1].period == built[0]
    norms = lambda most: lambda built: 1 <= bound(built[1]) <= most
    return construction(
        build=lambda p: (p, limit.mod_p_task(p)),
        has={"period": period, "norm": norms(1 + 2**0.5 + 1e-12)},
        cases=range(2, 17),
        complete=True,
        control=dict(has={"period": period, "norm": norms(2)}),
    )

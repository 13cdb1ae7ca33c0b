"""Right arguments for what claims are made of, as `valid.py` has them for the rest."""

import jax.numpy as jnp
import numpy as np

from theorykit import certify, checks
from theorykit.checks import domains

value = lambda v: lambda: v
doubled = lambda x: 2 * x
sides = dict(lhs=value(lambda x: x), rhs=value(lambda x: x + 1))
over = lambda: domains.inputs(x=domains.interval(0, 1), T=(2, 4))
scale = dict(shape=value("T"), scale=value(1.0))
powers = lambda: np.array([1.0, 0.5, 0.25])

EXAMPLES = {
    "certify": dict(
        f=value(jnp.tanh), args=value((0.5,)), value=value("0.1"), x=lambda: certify.ball("0.1"),
        bits=value(64), covariance=value(2.0), leaf=lambda: np.array([0.5, 1.0]),
        values=lambda: np.array([0.5, 1.0]),
        identity=value(lambda x: ((x + 1) ** 2, 1 + 2 * x + x * x)),
        inequality=value(lambda x: (x * x, x + 1)), box=value(dict(x=(0, 1))),
        shapes=value(dict(x=())), like=value((0.5,)), constant=value(1.0),
         bound=value(1.0), norms=value(2), variances=value(dict(x=1.0)),
        **{"budget=": value(20), "growth=": value((1.0, 1.0)), "bits=": value(64),
           **{f"{name}()": dict(f=value(lambda x: jnp.tanh(x)), constant=value(1.5))
              for name in ("prove_lipschitz", "lipschitz_everywhere")},
           "as_symmetries()": dict(given=lambda: [certify.shift("x")]),
           "permutation()": dict(name=value("x")), "letters()": dict(shape=value((2,))),
           "shift()": dict(names=value(("x",))), "scale()": dict(names=value(("x",))),
           "growth()": dict(f=value(lambda n: n + 1)), "values=": value(dict(s=(0.0, 1.0))),
           "wick()": dict(f=value(lambda x, s=0: x**2 + s))},
    ),
    "checks": dict(
        value=value(1.0), build=value(lambda n: n), has=value(lambda n: n > 0),
        predicate=value(lambda n: n > 0), universe=value((1, 2)), statistic=value(lambda key: 0.0),
        measure=value(lambda n: n), **sides,
        **{"cases=": value((1, 2)), "over=": over, "control=": value(dict(rhs=doubled)),
           "proof=": lambda: checks.on_box(x=(0, 1)), "at=": value((8, 16, 32)),
           "construction()": dict(control=value(dict(build=doubled))),
           "exhaustive()": dict(control=value(dict(predicate=doubled))),
           "expectation()": dict(control=value(dict(value=1.0)), value=value(0.0)),
           "experiment()": dict(control=lambda: checks.alternative(2.0), at_most=value(1.0)),
           "identity()": dict(cases=value(64), proof=checks.everywhere),
           "uniform()": dict(values=value((0, 1))),
           "inequality()": dict(cases=value(64)),
           "lipschitz()": dict(f=value(lambda x: jnp.tanh(x)), constant=value(1.0), cases=value(8),
                               over=over,
                               control=value(dict(constant=0.5))), "everywhere()": dict(T=value(2)),
           "on_box()": dict(x=value((0, 1))),
           "rate()": dict(control=value(dict(measure=doubled)), exponent=value(1.0))},
    ),
    "checks.domains": dict(
        lo=value(0), hi=value(2), n=value("T"), options=value((1.0, 2.0)), shape=value("2*T d+1"),
        sizes=value(dict(T=2, d=3)),
        function=value(lambda x: dict(x=2 * x)), premise=value(lambda x: x > 0),
        **{"shape=": value("T"), "bound=": value(2.0), "rank=": value("T"),
           "Choices()": dict(options=value((1.0, 2.0))),
           "inputs()": dict(x=lambda: domains.reals("T"), T=value((2, 4))),},
    ),
    "exponents": dict(
        sizes=value((8, 16, 32)), values=powers, squares=powers, stderr=lambda: powers() / 10,
        **{name: dict(values=lambda: np.array([powers(), 2 * powers()])) for name in (
            "slopes()", "replicated()")},
    ),
}  # fmt: skip

INSTANCES = {
    certify.Balls: lambda: certify.enclose(jnp.tanh, 0.5),
    domains.Inputs: over,
}

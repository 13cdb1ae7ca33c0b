"""Layer norm and RMS norm on boxes: enclosed in what they reach, and not in less."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flint import arb

from theorykit.certify import Balls, NotCertifiable, enclose, exact, prove
from theorykit.certify._enclose import Program
from theorykit.certify._jets import JETS, Jet
from theorykit.certify._machine import Machine

EPS = 1e-5
CENTRED = {
    "var": lambda x: (x - x.mean()) / jnp.sqrt(x.var() + EPS),
    "rsqrt": lambda x: (x - x.mean()) * jax.lax.rsqrt(((x - x.mean()) ** 2).mean() + EPS),
    "squares": lambda x: (lambda d: d / jnp.sqrt((d * d).mean() + EPS))(x - x.mean()),
    "standardize": jax.nn.standardize,
    "in rows": lambda x: jax.nn.standardize(jnp.stack([x, 2 * x]), axis=1)[0],
}
PLAIN = {
    "rms": lambda x: x / jnp.sqrt((x * x).mean() + EPS),
    "rms by rsqrt": lambda x: jax.lax.rsqrt(EPS + jnp.mean(x**2)) * x,
}
NORMS = {**CENTRED, **PLAIN}
BOXES = {
    "around zero": (-1.0, 1.0), "one sign": (0.3, 1.3), "small": (-1e-3, 1e-3),
    "large": (-9.0, 30.0),
    "rising": ([-1.0, 0.0, 1.0, 3.0], [0.0, 0.5, 3.0, 4.0]),
    "one that moves": ([0.5, 0.0, 0.0, 1.0], [2.5, 0.1, 0.1, 1.1]),
}  # fmt: skip


def box(low, high, n=4):
    pairs = zip(np.broadcast_to(low, n), np.broadcast_to(high, n), strict=True)
    return Balls(np.array([arb(float(a)).union(arb(float(b))) for a, b in pairs], dtype=object))


def inside(low, high, n=4, count=4000):
    """Return points of a box, its corners among them."""
    rng = np.random.default_rng(0)
    random = rng.uniform(low, high, (count, n))
    corners = np.stack(np.meshgrid(*[[0.0, 1.0]] * n), -1).reshape(-1, n)
    return np.concatenate([random, low + corners * (np.asarray(high) - low)])


@pytest.mark.parametrize("name", NORMS)
@pytest.mark.parametrize("where", BOXES)
def test_values_inside_are_enclosed(name, where):
    low, high = BOXES[where]
    found = enclose(NORMS[name], box(low, high))
    values = np.asarray(jax.vmap(NORMS[name])(inside(low, high)))
    assert (found.lower <= values.min(axis=0) + 1e-6).all()
    assert (values.max(axis=0) - 1e-6 <= found.upper).all()


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("where", BOXES)
def test_rms_norm_is_enclosed_in_its_values_at_corners_and_zeros(name, where):
    low, high = (np.broadcast_to(e, 4) for e in BOXES[where])
    found = enclose(NORMS[name], box(low, high))
    ends = zip(low, high, np.clip(0.0, low, high), strict=True)
    values = np.asarray(jax.vmap(NORMS[name])(np.array(list(itertools.product(*ends)))))
    assert np.allclose(found.lower, values.min(axis=0), rtol=1e-6, atol=1e-6)
    assert np.allclose(found.upper, values.max(axis=0), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("radius", [1e-9, 1.0, 1e6, 1e30])
@pytest.mark.parametrize("name", NORMS)
def test_they_are_finite_and_bounded_on_every_ball(name, radius):
    found = enclose(NORMS[name], box(-radius, radius))
    bound = np.sqrt(3 if name in CENTRED else 4)
    assert (np.abs(found.upper) <= bound * (1 + 1e-7)).all()
    assert (np.abs(found.lower) <= bound * (1 + 1e-7)).all()


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("name", NORMS)
def test_the_largest_value_is_proved_and_less_is_not(name, n):
    ends = dict(x=(np.full(n, -6.0), np.full(n, 8.0)))
    most = n - 1 if name in CENTRED else n
    bound = lambda c: lambda x: (jnp.abs(NORMS[name](x)), c * jnp.sqrt(exact(most)))
    assert prove(bound(1), ends, 50)
    assert prove(bound(0.999), ends, 50).status != "proved"


@pytest.mark.parametrize(
    "f",
    [
        lambda x: (x - x.mean()) / jnp.sqrt(x.var(ddof=1) + EPS),  # another variance
        lambda x: (x - x.mean()) / jnp.sqrt(x[:3].var() + EPS),  # of other numbers
        lambda x: x / jnp.sqrt(x.var() + EPS),  # no deviation
        lambda x: (x - x[:2].mean()) / jnp.sqrt(x.var() + EPS),
        lambda x: (x - x.mean()) / jnp.sqrt(x.var() + EPS) ** 2,
        lambda x: (x - x.mean()) / jnp.sqrt((x * x * x * x).mean() + EPS),
        lambda x: x / jnp.sqrt((x * x).sum() + EPS),
        lambda x: x / jnp.sqrt((x * x)[::-1].mean() / 3 + EPS),
        lambda x: x[::-1] * jax.lax.rsqrt((x**3).mean() ** 2 + EPS),
    ],
)
def test_what_only_looks_like_a_norm_is_enclosed_as_it_is(f):
    low, high = [0.2, -0.5, 0.0, 1.0], [2.0, 0.5, 3.0, 1.5]
    try:
        found = enclose(f, box(low, high))
    except NotCertifiable:
        return
    values = np.asarray(jax.vmap(f)(inside(low, high)))
    assert (found.lower <= values.min(axis=0) + 1e-6).all()
    assert (values.max(axis=0) - 1e-6 <= found.upper).all()


def test_without_room_for_zero_it_is_refused():
    with pytest.raises(NotCertifiable):
        enclose(lambda x: x / jnp.sqrt((x * x).mean()), box(-1.0, 1.0))
    with pytest.raises(NotCertifiable):
        enclose(lambda x: x / jnp.sqrt((x * x).mean() - EPS), box(-1.0, 1.0))


@pytest.mark.parametrize("name", NORMS)
def test_slopes_cover_those_inside(name):
    low, high = BOXES["one sign"]
    program = Program.trace(NORMS[name], [jax.ShapeDtypeStruct((4,), np.float64)])
    unit = lambda i: tuple(arb(int(i == j)) for j in range(4))
    jets = [Jet(b, unit(i)) for i, b in enumerate(box(low, high).array)]
    (out,) = program.run(Machine(field=JETS, hull=True), [np.array(jets, dtype=object)])
    slopes = np.asarray(jax.vmap(jax.jacobian(NORMS[name]))(inside(low, high, count=500)))
    values = np.asarray(jax.vmap(NORMS[name])(inside(low, high, count=500)))
    for i, jet in enumerate(out):
        assert float(jet.value.lower()) <= values[:, i].min() + 1e-6
        assert values[:, i].max() - 1e-6 <= float(jet.value.upper())
        for j, slope in enumerate(jet.slopes):
            assert float(slope.lower()) <= slopes[:, i, j].min() + 1e-6
            assert slopes[:, i, j].max() - 1e-6 <= float(slope.upper())

"""Many pieces at once: what is said of each is true, and hardly weaker than what balls say."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flint import arb

from theorykit.certify import _prove, exact, prove
from theorykit.certify._box import Piece, read
from theorykit.certify._many import Many, Rows
from theorykit.certify._numbers import precision
from theorykit.certify._prove import _Search

softmax, relu, norm = jax.nn.softmax, jax.nn.relu, jnp.linalg.norm


def normalised(x):
    return (x - x.mean()) / jnp.sqrt(x.var() + 1e-3)


def attention(x):
    x = x.reshape(2, 2)
    return softmax(x @ x.T) @ x


FUNCTIONS = {
    "polynomial": lambda x: x[0] * x[1] - x[2] ** 3 + x[3] / 3,
    "softmax": softmax,
    "softmax, derived": jax.jacobian(softmax),
    "log softmax": jax.nn.log_softmax,
    "logsumexp": jax.nn.logsumexp,
    "layer norm": normalised,
    "root mean square": lambda x: x / jnp.sqrt((x**2).mean() + 1e-2),
    "attention": attention,
    "relu": lambda x: relu(x) @ relu(x[::-1] - 0.3),
    "leaky relu": jax.nn.leaky_relu,
    "absolute value": lambda x: jnp.abs(x) * jnp.abs(x[0]),
    "maximum and minimum": lambda x: jnp.maximum(x, x[::-1]) - jnp.minimum(x[0], x[1] * x[2]),
    "largest": lambda x: x.max() - x.min(),
    "choice": lambda x: jnp.where(x > x[0], x**2, -x),
    "clip": lambda x: jnp.clip(x, -0.5, 0.4) * x,
    "gelu": jax.nn.gelu,
    "exact gelu": lambda x: jax.nn.gelu(x, approximate=False),
    "silu": jax.nn.silu,
    "softplus": jax.nn.softplus,
    "sine and cosine": lambda x: jnp.sin(x) * jnp.cos(3 * x[0]),
    "entropy": lambda x: -(softmax(x) * jnp.log(softmax(x))).sum(),
    "length": lambda x: jnp.sqrt(x @ x + 1),
    "cosh and tanh": lambda x: jnp.cosh(x) - jnp.tanh(x) * jnp.sinh(x / 2),
    "powers": lambda x: (x**2 + 1) ** 1.5 + 2.0**x,
    "reciprocal": lambda x: 1 / (1 + x**2) - 1 / (x + 5),
    "sign and floor": lambda x: jnp.sign(x) * x + jnp.floor(x),
    "a constant": lambda x: jnp.stack([x[0], 1.0]),
    "loop": lambda x: jax.lax.fori_loop(0, 3, lambda i, y: jnp.tanh(y + x), x),
}


def statement(name):
    """Return 100 <= f(x) for one of the functions, so that pieces of [-2, 2]^4 are open."""
    box = dict(x=(-2 * np.ones(4), 2 * np.ones(4)))
    whole, inner, shapes = read(box)
    f = FUNCTIONS[name]
    search = _Search(lambda x: (100.0, f(x)), shapes, inner)
    return search, Many(search.sides, shapes, whole)


def some_rows(rng, count):
    """Return pieces of [-2, 2]^4 of all sizes, some of their variables still."""
    middle = rng.uniform(-1.5, 1.5, (count, 4))
    half = 0.5 * 10.0 ** rng.uniform(-4, 0, (count, 1)) * rng.uniform(size=(count, 4))
    still = rng.uniform(size=(count, 4)) < 0.2
    low, high = middle - half, middle + half
    return Rows(low, np.where(still, low, high), still, np.zeros(count, int))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_bounds_and_slopes_hold_at_points_and_are_near_those_of_balls(name):
    search, many = statement(name)
    rng = np.random.default_rng(0)
    rows = some_rows(rng, 30)
    f = lambda x: jnp.ravel(FUNCTIONS[name](x))
    with precision(64):
        seen = many.over(rows)
        balls = [search.over(piece) for piece in many.pieces(rows)]
    with jax.enable_x64(True):
        value, slope = jax.jit(jax.vmap(f)), jax.jit(jax.vmap(jax.jacfwd(f)))
        for at in rng.uniform(size=(20, *rows.low.shape)):
            x = rows.low + (rows.high - rows.low) * at
            found = np.asarray(value(x)) - 100
            room = 1e-10 * (1 + np.abs(found))
            assert not (seen.least > found + room).any()
            slopes = np.asarray(slope(x))
            room = 1e-9 * (1 + np.abs(slopes))
            here = ~rows.still[:, None, :] & np.isfinite(slopes)
            assert not ((seen.slopes[0] > slopes + room) & here).any()
            assert not ((seen.slopes[1] < slopes - room) & here).any()
    for k, (bound, slopes_of) in enumerate(balls):
        for entry, ball in enumerate(bound):
            if ball.is_finite():
                least = float(ball.lower())
                width = 1e-9 + 1e-3 * abs(least) + 0.1 * float((rows.high - rows.low)[k].max())
                assert seen.least[k, entry] >= least - width
            if slopes_of[entry]:
                assert np.isfinite(seen.slopes[0][k, entry]).all()


def test_rows_are_the_pieces_that_they_were_made_of():
    whole, _, shapes = read(dict(x=("1/3", "2/3"), y=(0, 1), z=(2, 2)))
    many = Many(_search(lambda x, y, z: (x, y + z), shapes).sides, shapes, whole)
    pieces = [whole, *whole.halves(1), *whole.halves(0)[1].halves(1), whole.face(0, low=True)]
    pieces.append(whole.face(0, low=False).face(1, low=True))
    for made, given in zip(many.pieces(many.rows(pieces)), pieces, strict=True):
        assert made == given
        still = lambda p: [a is b for a, b in zip(p.low, p.high, strict=True)]
        assert still(made) == still(given)


def _search(sides, shapes):
    return _Search(sides, shapes, [(arb(0), arb(1))] * len(shapes))


def at_once(monkeypatch, *args, **options):
    """Return what is found with floats from the first piece on, and without them."""
    found = []
    for fewest in (1, 10**9):
        monkeypatch.setattr(_prove, "FEWEST", fewest)
        found.append(prove(*args, **options))
    return found


def near(gap):
    """Return inequalities on boxes that hold with room for a gap, and fail with a negative one."""
    n = 1 / np.sqrt(3)
    return {
        "cubic": (lambda x: (x - x**3, 2 * n / 3 + gap), dict(x=(-1, 1))),
        "softmax": (lambda x: (softmax(x)[0], jnp.e / (jnp.e + 2 / jnp.e) + gap), cube(3)),
        "two heads": (
            lambda x: (softmax(x)[0] * softmax(x)[1], 1 / (2 + jnp.exp(-2.0)) ** 2 + gap), cube(3)),
        "layer norm": (lambda x: (normalised(x)[0], jnp.sqrt(2.0) + gap), cube(3)),
        "gelu": (lambda x: (-jax.nn.gelu(x, approximate=False), 0.169971 + gap), dict(x=(-5, 5))),
        "relu": (lambda x: (relu(x) + relu(-x), jnp.abs(x) + jnp.maximum(gap, -x**2 / 9)), BOX),
        "a corner": (lambda x, y: (x * y, exact("1/9") + gap), dict(x=(0, "1/3"), y=(0, "1/3"))),
    }  # fmt: skip


BOX = dict(x=(-1, 2))


def cube(n):
    return dict(x=(-np.ones(n), np.ones(n)))


@pytest.mark.parametrize("name", near(0.0))
def test_floats_find_what_balls_find(name, monkeypatch):
    many, few = at_once(monkeypatch, *near(1e-3)[name], 3000)
    assert few.status == many.status == "proved"
    assert many.slack >= 0
    many, few = at_once(monkeypatch, *near(-1e-3)[name], 3000)
    assert few.status == many.status == "refuted"
    assert (many.lhs.lower > many.rhs.upper).any()


def test_what_is_false_by_less_than_floats_tell_is_not_proved(monkeypatch):
    """1 - 2^-60 is one in floats; a half that is attained inside, and a corner of the box."""
    monkeypatch.setattr(_prove, "FEWEST", 1)
    tiny = exact("1/1152921504606846976")
    boxes = [
        (lambda p: (4 * p * (1 - p), 1 - tiny), dict(p=(0, 1))),
        (lambda x: (jnp.cos(x), 1 - tiny), dict(x=(-1, 1))),
        (lambda x, y: (x + y, exact("2/3") - tiny), dict(x=(0, "1/3"), y=(0, "1/3"))),
        (lambda x: (jnp.abs(x), 2 - tiny), dict(x=(-1, 2))),
    ]
    for sides, box in boxes:
        assert prove(sides, box, 300).status == "refuted"


def test_a_primitive_that_takes_no_spans_is_left_to_balls(monkeypatch):
    many, few = at_once(monkeypatch, lambda x: (-jax.lax.lgamma(x), 0.2), dict(x=(1.0, 3.0)))
    assert many.status == few.status == "proved"


def test_budget_and_progress_are_kept(monkeypatch):
    monkeypatch.setattr(_prove, "FEWEST", 1)
    done = []
    square = lambda x, y: x**2 + y**2
    sides = lambda x, y: (2 * square(x, y), 1 + square(x, y) ** 2)
    found = prove(sides, dict(x=(-2, 2), y=(-2, 2)), 777, progress=done.append)
    assert found.status == "undecided"
    assert found.boxes == 777
    assert done == sorted(done)
    assert found.share == pytest.approx(1 - done[-1], abs=1e-12)


def test_a_face_at_an_end_that_is_no_float_holds_that_end():
    whole, _, shapes = read(dict(x=("1/3", "2/3")))
    many = Many(_search(lambda x: (x, 2 * x), shapes).sides, shapes, whole)
    with precision(64):
        rows = many.rows([whole])
        seen = many.over(rows)
        smaller, _ = many.divided(rows, seen, np.array([True]))
        (face,) = many.pieces(smaller)
    assert isinstance(face, Piece)
    assert face.low[0] is face.high[0] is whole.low[0]
    assert arb(float(smaller.low[0, 0])) <= face.low[0] <= arb(float(smaller.high[0, 0]))


@pytest.mark.parametrize("fewest", [1, 12])
def test_ends_between_the_same_floats_are_told_apart(fewest, monkeypatch):
    """At the low end of x the first entry holds; at the high end it fails, and floats are equal."""
    monkeypatch.setattr(_prove, "FEWEST", fewest)
    large = "1" + "0" * 17
    low, high = large + ".3", large + ".7"
    above = lambda x: relu(x - exact(large + ".5"))
    sides = lambda x, y: ([above(x), y * (1 - y)], [0.1, 0.250001])
    assert prove(sides, dict(x=(low, high), y=(0, 1)), 400).status == "refuted"
    assert prove(sides, dict(x=(low, low), y=(0, 1)), 400).status != "refuted"
    below = lambda: exact("99999999999999999999/100000000000000000000")
    sides = lambda x, y: ([3 * x, y * (1 - y)], [below(), 0.2501])
    found = prove(sides, dict(x=("1/3", "1/3"), y=(0, 1)), 400)
    assert found.status != "proved"


def test_a_piece_whose_end_is_no_float_is_left_to_balls():
    whole, _, shapes = read(dict(x=(0, 1)))
    many = Many(_search(lambda x: (x, 2 * x), shapes).sides, shapes, whole)
    with precision(128):
        inside = arb(1) / 3
    face = Piece((inside.mid(),), (inside.mid(),), whole.share)
    assert many.takes(whole)
    assert not many.takes(face)


def test_complex_numbers_are_left_to_balls(monkeypatch):
    sides = lambda x: (jnp.abs(jnp.exp(2j * x) - 1), 2.5)
    many, few = at_once(monkeypatch, sides, dict(x=(-1, 1)), 300)
    assert many.status == few.status == "proved"


def test_what_may_be_undefined_has_no_angle(monkeypatch):
    for found in at_once(monkeypatch, lambda x: (jnp.arctan2(x, 1 / x), 3.2), dict(x=(-1, 1)), 99):
        assert found.status == "undecided"

"""The check of a Lipschitz constant: pairs that break it, proofs, and what it refuses."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from theorykit.checks import Trial, everywhere, lipschitz, on_box
from theorykit.checks.domains import inputs, integers, interval, psd, reals
from theorykit.claims import float64
from theorykit.results import Evidence, Scope, Verdict

INF = float("inf")
FEW = dict(cases=8, starts=0)


def tried(is_control=False, **fields):
    with float64():
        check = lipschitz(**FEW | fields)
        return check.test(Trial(jax.random.key(0), is_control=is_control))


def test_softmax_has_the_constant_one_half():
    half = dict(f=lambda x: jax.nn.softmax(x), constant=Fraction(1, 2))
    found = tried(**half, over=inputs(x=reals("n"), n=(2,)))
    assert (found.verdict, found.evidence) == (Verdict.holds, Evidence.certified)
    assert found.certificate.scope is Scope.sizes
    assert found.certificate.where == "all real x, n = 2"
    assert 0.9 < found.measured.ratio <= 1 + 1e-9


def test_a_smaller_constant_falls_at_a_pair():
    """The attack finds it: random pairs are not so near to ties."""
    fields = dict(f=lambda x: jax.nn.softmax(x), over=inputs(x=reals("2")))
    found = tried(**fields, constant=0.499, starts=8, steps=40)
    assert (found.verdict, found.evidence) == (Verdict.refuted, Evidence.certified)
    names = {"np": np}
    exec(found.witness.code, names)
    x, y = names["x"], names["x_other"]
    softmax = lambda z: np.exp(z) / np.exp(z).sum()
    assert np.linalg.norm(softmax(x) - softmax(y)) > 0.499 * np.linalg.norm(x - y)


def test_the_control_is_tried_in_the_same_way():
    fields = dict(f=lambda x: jnp.tanh(x), over=inputs(x=reals("2")), norms=INF)
    check = lipschitz(**FEW | fields, constant=1, control=dict(constant=0.9))
    with float64():
        trial = Trial(jax.random.key(0))
        found = check.test(trial)
        fallen = check.fallen(found, Trial(jax.random.key(0), True, trial.memory))
    assert (found.verdict, found.evidence) == (Verdict.holds, Evidence.certified)
    assert fallen.verdict is Verdict.refuted


def test_a_box_is_a_proof_where_the_constant_has_room():
    fields = dict(f=lambda x: jnp.sin(x) + jax.nn.relu(x), over=inputs(x=reals("2")))
    found = tried(**fields, constant=2.01, proof=on_box(x=(-1, 1)))
    assert found.evidence is Evidence.certified
    assert found.certificate.scope is Scope.part
    assert "x in [-1, 1]^2" in found.note
    found = tried(**fields, constant=2.01, proof=on_box(x=(-1, 1), budget=1, bits=32))
    assert found.verdict is Verdict.holds


@pytest.mark.parametrize("f", [jnp.sign, lambda x: jnp.floor(x) * 1.0])
def test_a_function_that_jumps_is_not_proved(f):
    found = tried(f=lambda x: f(x), constant=1e9, over=inputs(x=interval(-1, 1)))
    assert (found.verdict, found.evidence) == (Verdict.holds, Evidence.sampled)
    assert "may jump" in found.unproved
    assert tried(f=lambda x: f(x), constant=2, over=inputs(x=interval(-1, 1))).witness


def test_pairs_are_proved_where_slopes_are_not():
    found = tried(
        f=lambda x: jnp.where(x > 0, x, 0.0), constant=1, over=inputs(x=reals("1")), norms=INF
    )
    assert found.evidence is Evidence.certified
    assert found.certificate.scope is Scope.whole


def test_what_does_not_move_is_the_same_at_both_points():
    fields = dict(
        f=lambda A, x: A @ x, over=inputs(A=interval(-1, 1, "2 2"), x=reals("2")), norms=INF
    )
    found = tried(**fields, constant=2, of="x")
    assert (found.verdict, found.evidence) == (Verdict.holds, Evidence.certified)
    assert tried(**fields, constant=2).verdict is Verdict.refuted


def test_a_constant_may_depend_on_the_sizes():
    fields = dict(f=lambda x: x.sum(), over=inputs(x=reals("n"), n=(2, 3)), norms=(INF, INF))
    assert tried(**fields, constant=lambda n: n).evidence is Evidence.certified
    assert tried(**fields, constant=lambda n: n - Fraction(1, 2)).verdict is Verdict.refuted


def test_a_matrix_that_is_made_from_a_factor_goes_by_pairs():
    """The slopes by its factor are not those by the matrix, and have no bound."""
    fields = dict(f=lambda K: jnp.trace(K), over=inputs(K=psd(2)))
    assert tried(**fields, constant=2).certificate.where == "all K in psd(2), K_other in psd(2)"
    assert tried(**fields, constant=1).verdict is Verdict.refuted


REFUSED = [
    (dict(norms=3), "norms are those of arguments and of values"),
    (dict(norms=(1, 2, 2)), "norms are those of arguments and of values"),
    (dict(constant=-1), "a Lipschitz constant is a number, at least 0, not -1"),
    (dict(constant="1"), "a Lipschitz constant is a number"),
    (dict(of="z"), "of names z, which is not an argument"),
    (dict(over=inputs(x=integers(0, 3))), "cannot move"),
    (dict(over=inputs(x=reals()).map(lambda x: dict(x=x))), "put the map into f"),
    (dict(over=inputs(x=reals()).given(lambda x: x > 0)), "put the map into f"),
    (dict(over=inputs(x=reals(), x_other=reals())), "stand for the second point"),
    (dict(proof=3), "on_box"),
    (dict(proof=everywhere(n=3)), "n"),
]


@pytest.mark.parametrize(("fields", "said"), REFUSED)
def test_what_is_no_such_claim_is_refused(fields, said):
    with pytest.raises(ValueError, match=said):
        tried(**dict(f=lambda x: x, constant=1, over=inputs(x=reals())) | fields)


def test_it_says_what_it_does():
    check = lipschitz(f=lambda x: x, constant=1, over=inputs(x=reals("2")), of="x")
    assert check.describe() == (
        "a Lipschitz constant of x over x in reals(2): 64 random pairs per size, then 64 starts of "
        "200 steps"
    )

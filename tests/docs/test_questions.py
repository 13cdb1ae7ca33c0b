"""docs/questions.md: the messages that it quotes are printed, and what it advises helps."""

import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from theorykit import Evidence, Verdict, claim, kernels, verify
from theorykit.certify import prove
from theorykit.checks import inequality
from theorykit.domains import inputs, positive, reals

PAGE = (Path(__file__).parents[2] / "docs" / "questions.md").read_text()
HEADS = re.findall(r"^\*\*(.+?)\*\*", PAGE, re.M)
ANY = reals("n")


def result(lhs, rhs, x=ANY, given=None, control=None, **fields):
    """Return the result of a claim that lhs <= rhs."""
    over = inputs(x=x, n=(2, 3))
    over = over.given(given) if given else over
    control = {"rhs": control or (lambda x: 0.9 * rhs(x))}

    @claim("mine.question", ref="Lemma 1", statement="lhs <= rhs")
    def asked():
        """One side is at most the other."""
        return inequality(lhs=lhs, rhs=rhs, over=over, control=control, **fields)

    (found,) = verify([asked])
    return found


def quoted(text):
    """Return a message of a bold head, which `text` is a part of."""
    (found,) = [q for head in HEADS for q in re.findall(r"`(.+?)`", head) if text in q]
    return found


def norm(x):
    return jnp.linalg.norm(x)


def sum_of_sizes(x):
    return jnp.abs(x).sum()


def test_a_control_that_is_true():
    found = result(norm, sum_of_sizes, control=lambda x: 2 * sum_of_sizes(x))
    assert found.verdict is Verdict.inconclusive
    assert quoted("control") in found.note


def test_an_argument_that_is_not_there():
    assert quoted("asks for") in result(lambda y: norm(y), sum_of_sizes).outcome.note


def test_sides_in_numpy():
    sides = (lambda x: np.linalg.norm(x), lambda x: np.abs(x).sum())
    assert quoted("trace") in result(*sides).outcome.note
    assert result(*sides, traceable=False).outcome.evidence is Evidence.sampled


def test_a_logarithm():
    sides = (lambda x: jnp.log(x), lambda x: x - 1)
    assert quoted("NaN") in result(*sides).outcome.note
    searched = result(*sides, given=lambda x: (x > 0).all())
    assert searched.outcome.evidence is Evidence.searched
    assert quoted("Not proved") in searched.outcome.unproved
    assert result(*sides, positive("n")).outcome.evidence is Evidence.certified


def test_an_equality_at_a_point_that_is_no_simple_fraction():
    sides = lambda x: (-x * jnp.log(x), jnp.exp(-1.0))
    open_ = prove(sides, dict(x=(0.1, 1)), 200)
    assert quoted("undecided") in str(open_)
    assert "within x in [0.367" in str(open_)
    assert prove(sides, dict(x=(0.4, 1)))


def test_kernels():
    x = jax.random.normal(jax.random.key(0), (3, 8, 16))
    with pytest.raises(ValueError, match=quoted("averages")):
        kernels.InfiniteTransformer()(x)
    with pytest.warns(UserWarning, match=quoted("nearly tied")):
        kernel = kernels.InfiniteTransformer(score_scale=300.0)(x, key=jax.random.key(1), draws=64)
    assert np.isinf(kernel.ntk_stderr).any()
    with pytest.raises(ValueError, match=quoted("singular")):
        kernels.ridge(jnp.ones((3, 3)), jnp.ones(3), jnp.ones((1, 3)), ridge=0.0)

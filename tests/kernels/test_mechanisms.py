"""A mechanism that kernels do not know is refused wherever one enters."""

from dataclasses import dataclass, replace

import jax
import numpy as np
import pytest

from theorykit import kernels
from theorykit.kernels import InfiniteTransformer, oracle, recursion
from theorykit.kernels.attention import NAMES, Identity, Softmax, mechanism

X = np.random.default_rng(0).normal(size=(2, 3, 2)).astype(np.float32)
NNGP = np.einsum("iac,jbc->iajb", *[X.astype(float)] * 2)
OPTIONS = dict(key=jax.random.key(0), draws=8, replicates=1)


@dataclass(frozen=True)
class Sigmoid(Softmax):
    """Weights that do not know of each other, with softmax's step: a wrong NTK."""

    def weights(self, scores, allowed):
        return jax.nn.sigmoid(scores) * allowed


REFUSED = [Sigmoid(), Sigmoid, "sigmoid", None, 3]


@pytest.mark.parametrize("given", REFUSED)
@pytest.mark.parametrize(
    "enter",
    [
        mechanism,
        lambda given: InfiniteTransformer(attention=given),
        lambda given: replace(InfiniteTransformer(), attention=given),
        lambda given: oracle.attention_step(NNGP, NNGP, attention=given),
        lambda given: recursion.attend(given, NNGP, None, np.ones((4, 6, 6), np.float32)),
    ],
)
def test_others_are_refused(enter, given):
    with pytest.raises(ValueError, match=r"attention is one of 'softmax', 'identity', got "):
        enter(given)


def test_the_sentence_names_what_was_given():
    with pytest.raises(ValueError, match=r"got Sigmoid\(\); kernels of other mechanisms"):
        mechanism(Sigmoid())


def test_the_table_of_names_takes_no_others():
    with pytest.raises(TypeError):
        NAMES["sigmoid"] = Sigmoid()


@pytest.mark.parametrize(("name", "object"), [("softmax", Softmax()), ("identity", Identity())])
def test_an_object_and_its_name_are_one(name, object):
    for net in (InfiniteTransformer(), InfiniteTransformer(depth=2, readout="mean")):
        one, other = (replace(net, attention=a)(X, **OPTIONS) for a in (name, object))
        np.testing.assert_array_equal(one.ntk, other.ntk)
    coarse = dict(order=4, resolve=False)
    one, other = (oracle.attention_step(NNGP, NNGP, attention=a, **coarse) for a in (name, object))
    np.testing.assert_array_equal(one[1], other[1])


@dataclass(frozen=True)
class Square:
    """phi(x) = x^2, written outside."""

    def dual(self, k11, k12, k22):
        return k11 * k22 + 2 * k12**2

    def dual_derivative(self, k11, k12, k22):
        return 4 * k12


def test_an_activation_may_be_any_object():
    square = kernels.activations.Quadrature(lambda x: x**2)
    one, other = (InfiniteTransformer(activation=a)(X, **OPTIONS) for a in (Square(), square))
    np.testing.assert_allclose(one.ntk, other.ntk, rtol=1e-4)


def test_names_that_come_when_asked_for_are_listed():
    assert {"monte_carlo", "tangents", "empirical", "ridge"} <= set(dir(kernels))
    assert kernels.monte_carlo.__name__ == "monte_carlo"
    assert kernels.tangents.__name__ == "theorykit.kernels.tangents"
    with pytest.raises(AttributeError, match="no attribute 'monte_karlo'"):
        kernels.monte_karlo  # noqa: B018

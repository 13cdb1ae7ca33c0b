import copy
import dataclasses
import pickle
from abc import ABC, abstractmethod

import pytest

import theorykit
from theorykit import claim, kernels, nets, tasks, verify
from theorykit.checks import Check, identity, inequality
from theorykit.common.spelling import Spelt, nearest, spelt
from theorykit.kernels.activations import Activation
from theorykit.kernels.attention import Elementwise, Mechanism


def test_the_nearest_names_come_first():
    assert nearest("weigth", ["height", "weight", "width"]) == " Did you mean weight?"
    assert nearest("ab", ["ax", "xyz"]) == ""
    assert nearest("fig1", ["fig2", "fig3"]) == " Did you mean fig3 or fig2?"


@dataclasses.dataclass(frozen=True)
class Base(Spelt, ABC):
    width: int = 1

    @abstractmethod
    def area(self): ...


@dataclasses.dataclass(frozen=True)
class Box(Base):
    height: int = 2

    def area(self):
        return self.width * self.height


def test_a_dataclass_that_minds_spelling_is_a_dataclass_as_before():
    box = Box(3, height=4)
    assert box == copy.copy(box) == copy.deepcopy(box) == pickle.loads(pickle.dumps(box))
    assert dataclasses.replace(box, width=5).area() == 20


def test_a_function_that_takes_any_keyword_refuses_none():
    assert spelt(lambda **options: options)(widht=1) == {"widht": 1}


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: Box(heigth=1), "Box has no argument 'heigth'. Did you mean height?"),
        (lambda: Box(depth=1), "Box has no argument 'depth'. It has width, height."),
        (lambda: Base(), "Base is abstract: use a subclass that defines area."),
        (lambda: claim("a.b", statemnt="x"), "claim has no argument 'statemnt'. Did you mean stat"),
        (lambda: verify(sed=1), "verify has no argument 'sed'. Did you mean seed?"),
        (lambda: inequality(lsh=1, rhs=2), "Inequality has no argument 'lsh'. Did you mean lhs"),
        (lambda: identity(ovr=1), "Identity has no argument 'ovr'. Did you mean over?"),
        (lambda: kernels.InfiniteTransformer(dept=1), "InfiniteTransformer has no argument 'dept'"),
        (lambda: kernels.InfiniteTransformer()(1, kye=2), "Did you mean key?"),
        (
            lambda: nets.Transformer(widht=1),
            "Transformer has no argument 'widht'. Did you mean wid",
        ),
        (lambda: kernels.ridge(rigde=1), "ridge has no argument 'rigde'. Did you mean ridge?"),
        (lambda: tasks.InductionHead(vocabluary=1), "InductionHead has no argument 'vocabluary'"),
        (Check, "Check is abstract: use a subclass that defines describe and test."),
        (Mechanism, "Mechanism is abstract: use a subclass that defines weights."),
        (Elementwise, "Elementwise is abstract: use a subclass that defines function."),
        (Activation, "Activation is abstract: use a subclass that defines __call__."),
    ],
)
def test_what_is_misspelt_is_answered_with_what_is_meant(call, said):
    with pytest.raises(TypeError) as error:
        call()
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("module", "name", "said"),
    [
        (theorykit, "kernls", "Did you mean kernels?"),
        (kernels, "InfiniteTransfomer", "Did you mean InfiniteTransformer?"),
    ],
)
def test_an_attribute_that_is_misspelt(module, name, said):
    with pytest.raises(AttributeError, match="has no attribute") as error:
        getattr(module, name)
    assert said in str(error.value)

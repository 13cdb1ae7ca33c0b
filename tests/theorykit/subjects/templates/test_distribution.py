from fractions import Fraction

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theorykit.subjects.templates import (
    Distribution,
    Template,
    diversity,
    families,
    match,
    require_apart,
    templates,
    uniform_maps,
)
from theorykit.subjects.templates._distribution import injective


def drawn(d, n=200, seed=0):
    return jax.tree.map(np.asarray, jax.jit(lambda key: d.sample(key, n))(jax.random.key(seed)))


def named(d, x):
    """Return a string of ids as tokens, symbols as their numbers."""
    return tuple(d.tokens[i] if i < len(d.tokens) else int(i) for i in x)


@settings(max_examples=2, deadline=None)
@given(st.integers(4, 30), st.integers(0, 99))
def test_samples_match_their_templates_and_have_their_labels(symbols, seed):
    d = Distribution(families.symbol_programs(), symbols=symbols)
    found = drawn(d, 50, seed)
    for x, y, which in zip(*found, strict=True):
        t = d.templates[which]
        s = match(t, named(d, x))
        assert s is not None
        assert s[t.label] == y
        assert set(s.values()) <= {*d.alphabet}


def test_every_injective_map_comes_equally_often():
    d = Distribution(templates("αβγ -> 0"), symbols=4)
    x = drawn(d, 12_000).x - len(d.tokens)
    counts = np.bincount(x @ [16, 4, 1], minlength=64)
    assert (counts > 0).sum() == 24
    assert abs(counts[counts > 0] - 500).max() < 120  # five standard deviations and more


def test_an_injective_map_into_too_few_symbols_is_refused():
    key = jax.random.key(0)
    assert sorted(injective(key, 1, 3, 3)[0].tolist()) == [0, 1, 2]
    with pytest.raises(ValueError, match="at most as many values as symbols, 2; got 3"):
        injective(key, 5, 3, 2)


def test_weights_and_noise():
    d = Distribution(families.aba_abb(), symbols=9, weights=(3, 1), noise=0.5)
    found = drawn(d, 8000)
    assert (found.template == 0).mean() == pytest.approx(0.75, abs=0.03)
    noise = found.y - np.where(found.template == 0, 1, -1)
    assert noise.std() == pytest.approx(0.5, abs=0.03)
    small = Distribution(families.aba_abb(), symbols=9, weights=(0.3, 0.1))
    assert (drawn(small, 8000).template == 0).mean() == pytest.approx(0.75, abs=0.03)


def test_a_token_that_is_only_a_label_has_an_id():
    d = Distribution(templates("αα -> 'y'", "αβ -> 'n'"), symbols=5)
    assert d.tokens == ("y", "n")
    found = drawn(d)
    assert (found.y == found.template).all()


def test_held_out_alphabets_do_not_meet():
    d = Distribution(families.programs(), symbols=10)
    validation = d.held_out(5)
    test = d.held_out(7, after=validation)
    require_apart(d, test)
    require_apart(validation, test)
    assert test.vocabulary == d.vocabulary + 12
    with pytest.raises(ValueError, match="shares 2 symbols with the training one"):
        require_apart(d, Distribution(d.templates, symbols=4, first=d.vocabulary - 2))


def test_diversity():
    d = Distribution(families.same_different(), symbols=10)
    assert d.diversity == 5
    skewed = [(Fraction(1, 2), {"α": 0}), (Fraction(1, 4), {"α": 1}), (Fraction(1, 4), {"α": 2})]
    assert diversity({"α": skewed, "β": uniform_maps("β", range(4))}) == 2
    with pytest.raises(ValueError, match="sum to 1/2"):
        diversity({"α": skewed[:1]})


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Distribution(templates("αα -> 1", "bb -> 0"), symbols=5), "bb matches both"),
        (lambda: Distribution(families.symbol_programs(), symbols=3), "3 symbols is too small"),
        (lambda: Distribution(templates("α -> 1", "αβ -> 0"), symbols=5), "the same length"),
        (
            lambda: Distribution(templates("αα -> 1", "αβ -> α"), symbols=5),
            "all numbers or all symbols",
        ),
        (lambda: Distribution(templates("αα"), symbols=5), "all numbers or all symbols"),
        (lambda: Distribution(families.programs(), symbols=5, first=1), "start at the id"),
        (lambda: Distribution(families.programs(), symbols=5, weights=(1,)), "2 finite numbers"),
        (lambda: Distribution((), symbols=5), "at least one template"),
        (lambda: Distribution("αα -> 1", symbols=5), "makes them from text"),
        (lambda: Distribution(["αα -> 1"], symbols=5), "makes them from text"),
        (lambda: Distribution([Template(("α",), "β")], symbols=5), "wildcard that the template"),
        (
            lambda: Distribution([Template(("α",), np.nan)], symbols=5),
            "is a finite number, got nan",
        ),
        (lambda: Distribution(families.programs(), symbols=2.5), "symbols is a whole number"),
        (lambda: Distribution(families.programs(), 5, noise=-1.0), "noise is a finite number"),
        (lambda: Distribution(families.programs(), 5, noise=np.nan), "noise is a finite number"),
        (lambda: Distribution(families.programs(), 5, weights=(1, np.nan)), "2 finite numbers"),
        (
            lambda: Distribution(families.programs(), symbols=5).require_cls(),
            r"must be \[CLS\] and occur nowhere else",
        ),
    ],
)
def test_bad_distributions_are_refused_in_a_sentence(make, said):
    with pytest.raises(ValueError, match=said):
        make()


def test_numbers_of_any_kind_are_labels():
    d = Distribution([Template(("α", "α"), 1), Template(("α", "β"), np.float64(-1))], symbols=5)
    assert set(drawn(d).y.tolist()) == {1.0, -1.0}


def test_with_cls_every_template_ends_with_it():
    d = Distribution(families.programs(), symbols=5).with_cls()
    d.require_cls()
    assert (d.codes()[:, -1] == d.tokens.index("[CLS]")).all()
    assert d.codes().min() == -2


@pytest.mark.parametrize("choice", [3, "ab", (1.0,), (1.0, {"α": 0}, 2), {1.0, 2.0}])
def test_a_choice_is_a_pair(choice):
    with pytest.raises(ValueError, match=r"a choice is a pair \(probability, map\), got"):
        diversity({"α": [choice]})


def test_a_sample_is_refused_by_the_symbols_that_it_holds(costs):
    d = Distribution(families.aba_abb(), symbols=9)
    made, counts = costs(lambda: d.sample(jax.random.key(0), 50).x)
    assert counts == [made]

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theorykit.subjects.templates import (
    CLS,
    Template,
    common,
    disjoint,
    families,
    match,
    require_disjoint,
    substitute,
    symbols,
    templates,
    wildcards,
    with_cls,
)
from theorykit.subjects.templates._template import FRESH

TEMPLATES = st.text("αβγST", min_size=1, max_size=5)


def test_the_papers_example_of_matching():
    assert match("ααβST", "QQRST") == {"α": "Q", "β": "R"}
    assert match("ααβST", "QQQST") is None  # not injective
    assert match("ααβST", "QQSST") is None  # β takes a token of the template


@given(TEMPLATES, st.permutations("ABCD"))
def test_what_is_substituted_matches_and_gives_the_map_back(z, image):
    s = dict(zip("αβγ", image, strict=False))
    x = substitute(z, s)
    assert match(z, x) == {w: s[w] for w in wildcards(z)}


@given(TEMPLATES, TEMPLATES)
def test_templates_share_a_string_if_and_only_if_the_common_one_is_found(z, w):
    x = common(z, w)
    assert (x is None) == disjoint(z, w)
    if x is not None:
        assert match(z, x) is not None
        assert match(w, x) is not None
    elif len(z) == len(w) <= 3:
        strings = itertools.product("ABCST", repeat=len(z))
        assert not any(match(z, y) is not None and match(w, y) is not None for y in strings)


def test_a_small_alphabet_may_have_no_common_string():
    assert common("αβ", "γδ", "A") is None
    assert common("αβ", "γδ", "AB") == ("A", "B")


@given(TEMPLATES, st.one_of(st.floats(-9, 9), st.just("α"), st.just("S"), st.none()))
def test_text_parses_and_prints(z, label):
    if label == "α" and "α" not in z:
        z += "α"
    made = Template(symbols(z), label)
    assert Template.parse(str(made)) == made


def test_text_forms():
    t = Template.parse("α [=1;] β -> +1")
    assert t.symbols == ("α", "[=1;]", "β")
    assert str(t) == "α[=1;]β -> +1"
    assert with_cls([t, *with_cls([t])])[1].symbols[-1] == CLS


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("αéb", "unknown character 'é'"),
        ("αΣ", "unknown character 'Σ'"),
        ("α[CLS", "is never closed"),
        ("α -> up", "number, a wildcard or a token in quotes, not 'up'"),
        ("α -> β", "the wildcard β, which it does not contain"),
        (" -> 1", "has no symbols"),
    ],
)
def test_bad_text_is_refused_in_a_sentence(text, said):
    with pytest.raises(ValueError, match=said):
        Template.parse(text)


def test_bad_maps_are_refused():
    with pytest.raises(ValueError, match="lacks the wildcard β"):
        substitute("αβ", {"α": "A"})
    with pytest.raises(ValueError, match="not injective"):
        substitute("αβ", {"α": "A", "β": "A"})
    with pytest.raises(ValueError, match="is a token of the template"):
        substitute("αS", {"α": "S"})


def test_templates_that_meet_are_named_with_a_string_that_matches_both():
    with pytest.raises(ValueError, match="αβ and ba are not disjoint: ba matches both"):
        require_disjoint(templates("αα", "αβ", "ba"))


def test_families_have_the_papers_sizes_and_are_disjoint():
    sizes = {"distribution_of_three": 144, "match_to_sample": 40, "raven": 37, "programs": 2}
    for name, size in sizes.items():
        found = getattr(families, name)()
        assert len(found) == size
        require_disjoint(found[:40])
    assert len(families.majority(4)) == 8
    assert len(families.majority_token(5)) == 16


def test_majority_labels_are_those_of_the_rest_of_the_string():
    labels = {"".join(t.symbols): t.label for t in families.majority(3)}
    assert labels == {"ααα": 1.0, "ααβ": -1.0, "αβα": -1.0, "αββ": -1.0}


def test_long_templates_meet_in_unbounded_tokens():
    greek = "αβγδεζηθικλμνξοπρστυφχψω"
    z = (*greek, *FRESH)
    assert not disjoint(z, z)  # all 62 fresh tokens are taken
    assert common(z, z, alphabet="xyz") is None


def test_wildcards_are_single_letters():
    assert wildcards(("αβ", "", "α")) == ("α",)


def test_several_lines_are_no_template():
    with pytest.raises(ValueError, match="has several lines"):
        templates("αα -> +1\nαβ -> -1")


def test_random_templates_are_disjoint_and_scaled():
    found = families.random_templates(6, 4, wildcards=3, seed=1)
    require_disjoint(found)
    assert sum(t.label**2 for t in found) == pytest.approx(6)
    with pytest.raises(ValueError, match="no 3 pairwise disjoint templates of length 2"):
        families.random_templates(3, 2)
    for options, says in (
        (dict(count=0), "count is a whole number of at least 1, got 0"),
        (dict(wildcards=25), "at most 24 wildcards"),
        (dict(wildcards=0), "at least one symbol, not 0 and 0"),
        (dict(tokens=-1), "tokens is a whole number of at least 0, got -1"),
        (dict(labels=(1.0, 2.0)), "1 templates have 1 labels, not 2"),
    ):
        with pytest.raises(ValueError, match=says):
            families.random_templates(**dict(count=1, length=2) | options)
    with pytest.raises(ValueError, match="use an odd length"):
        families.majority_token(4)
    for family, length, strings in (
        (families.majority, 22, "2.0e6"),
        (families.majority, 10**6, "3.1e29"),
        (families.majority_token, 21, "2.0e6"),
    ):
        with pytest.raises(ValueError, match=rf"about {re.escape(strings)} templates"):
            family(length)


def test_whole_alphabets_may_be_drawn_from():
    found = families.random_templates(3, 9, wildcards=24, tokens=26)
    assert len(found) == 3
    for more in (dict(wildcards=25), dict(tokens=27), dict(wildcards=0, tokens=0)):
        with pytest.raises(ValueError, match="at most 24 wildcards and 26 tokens"):
            families.random_templates(3, 9, **more)

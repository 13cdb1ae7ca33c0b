import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theorykit.subjects import crasp, limit

seeds = st.integers(0, 10**6)


def words(alphabet, longest, shortest=0):
    sizes = range(shortest, longest + 1)
    return ["".join(w) for n in sizes for w in itertools.product(alphabet, repeat=n)]


def drawn(seed, alphabet="ab", lines=5, **options):
    return crasp.random_program(np.random.default_rng(seed), alphabet, lines, **options)


@settings(max_examples=25, deadline=None)
@given(seeds)
def test_compiled_programs_accept_the_same(seed):
    p = drawn(seed)
    compiled = crasp.compile(p)
    assert compiled.transformer.period is not None
    assert compiled.transformer.locality is not None
    assert compiled.transformer.nope or p.periodic or p.local
    for n in range(5):
        strings = words("ab", n, n)
        assert (compiled.accepts(strings) == p.accepts(strings)).all()


def test_floats_agree_with_a_compiled_program():
    p = crasp.load("majority")  # floats can miss an equality of counts; this has the same sums
    t = crasp.compile(p).transformer
    x = np.array([t.encode(w) for w in words("01", 4, 4)])
    outputs = np.asarray(limit.forward(t, x))[:, -1, 0]
    assert (outputs > 0.5).tolist() == p.accepts(words("01", 4, 4)).tolist()


def test_explain_places_every_operation():
    compiled = crasp.compile(crasp.load("contains_ab"))
    text = compiled.explain()
    assert text.startswith("5 layers, 2 heads, width 12, period 1")
    assert "Cab(i) := #[j <= i] Q_ab(j)" in text
    assert compiled.places["Cab"].part == "head 1"
    assert compiled.places["Cprev"].part == "MLP over head 2 of layer 1"
    assert set(compiled.places) == set(compiled.program.core.kinds)


@settings(max_examples=60, deadline=None)
@given(seeds, st.text("ab", max_size=4), st.text("ab", max_size=3), st.integers(1, 2))
def test_pumping_is_exact(seed, x, z, times):
    p = drawn(seed, farthest=2, largest=12)
    u = "abbaab" * times
    f = crasp.pump(p, u, x, z)
    sizes = range(min(f.threshold, 60) + 5)
    assert [f(n) for n in sizes] == p.accepts([x + u * n + z for n in sizes]).tolist()


def test_pumping_refuses_words_that_periodic_relations_see():
    with pytest.raises(ValueError, match="a multiple of 2"):
        crasp.pump(crasp.load("aa_star"), "aba")


@settings(max_examples=40, deadline=None)
@given(seeds, st.sampled_from(["parity", "be*"]))
def test_programs_are_refuted(seed, language):
    p = drawn(seed, "abe", 2 + seed % 7, largest=30)
    example = crasp.refute(p, language)
    right = crasp.LANGUAGES[language].contains(example.string)
    assert example.accepted != right
    assert crasp.interpreted(p, example.string) == example.accepted


BEST = {
    "parity": """alphabet: a b
        C(i) := #[j <= i] Q_a(j)
        L(i) := C(i) = 0 or C(i) = 2 or C(i) = 4 or C(i) = 6 or C(i) = 8 or C(i) = 10""",
    "be*": """alphabet: a b e
        B(i) := Q_b(i) or Q_e(i) and (#[j <= i, j = i - 1] Q_b(j)) >= 1
        C(i) := Q_e(i) and (#[j <= i, i - j in {0, 1}] Q_e(j)) = 2
        L(i) := B(i) or C(i) and (#[j <= i, j = i - 2] Q_b(j)) >= 1
             """,
}


@pytest.mark.parametrize("language", BEST)
def test_programs_that_are_right_on_short_strings_are_refuted_too(language):
    p = crasp.parse(BEST[language])
    assert len(crasp.refute(p, language).string) > 3


def test_refuting_aa_star_needs_a_program_without_positions():
    with pytest.raises(ValueError, match="without positional relations"):
        crasp.refute(crasp.load("aa_star"), "aa*")
    with pytest.raises(ValueError, match="none of parity"):
        crasp.refute(crasp.load("aa_star"), "nothing")
    with pytest.raises(ValueError, match="'e' is not in the alphabet"):
        crasp.refute(crasp.load("aa_star"), "be*")


def test_other_languages_are_searched():
    balanced = crasp.load("dyck1")
    equal = lambda w: w.count("(") == w.count(")")
    assert "".join(crasp.refute(balanced, equal).string) == ")("
    assert crasp.refute(balanced, balanced, tries=500) is None


@settings(max_examples=20, deadline=None)
@given(seeds)
def test_unpadded_programs_say_the_same_of_padded_words(seed):
    p = drawn(seed, "abe", 4, farthest=2)
    found = crasp.unpad(p, "e", "ab")
    assert not found.program.periodic
    assert not found.program.local
    strings = words("ab", 3, 1)
    padded = [found.pad(w) for w in strings]
    assert (found.program.accepts(strings) == p.accepts(padded)).all()


@settings(max_examples=20, deadline=None)
@given(seeds, st.sampled_from(["ab/ba", "aab/bba", "b/a", "abab/bbbb"]))
def test_inverse_images(seed, blocks):
    p = drawn(seed)
    h = dict(zip("xy", blocks.split("/"), strict=True))
    q = crasp.inverse_image(p, h)
    strings = words("xy", 4, 1)
    assert (q.accepts(strings) == p.accepts(["".join(h[c] for c in w) for w in strings])).all()


def test_languages_have_the_papers_names_too():
    p = crasp.parse("alphabet: a b e\nL(i) := (#[j <= i] Q_a(j)) >= 2")
    for name, short in (("PARITY", "parity"), ("(aa)*", "aa*"), ("Sigma* b e*", "be*")):
        assert crasp.refute(p, name) == crasp.refute(p, short)
    with pytest.raises(ValueError, match=r"'aa' is none of parity, aa\*, be\*, PARITY, \(aa\)\*"):
        crasp.refute(p, "aa")


def test_inverse_images_keep_names_apart():
    p = crasp.parse("""
    alphabet: a b
    P(i) := Q_a(i)
    P_all(i) := #[j <= i, j = i - 1] P(j)
    B(i) := P_all(i) >= 1
    L(i) := (#[j <= i] B(j)) >= (#[j <= i] P(j))
    """)
    h = {"x": "ab", "y": "aa"}
    q, strings = crasp.inverse_image(p, h), words("xy", 4, 1)
    assert (q.accepts(strings) == p.accepts(["".join(h[c] for c in w) for w in strings])).all()


def test_inverse_images_are_of_uniform_morphisms():
    with pytest.raises(ValueError, match="all of the same length"):
        crasp.inverse_image(drawn(0), {"x": "a", "y": "ab"})


@settings(max_examples=15, deadline=None)
@given(seeds)
def test_sentences_say_the_same(seed):
    p = drawn(seed, lines=2)
    sentence = crasp.formula(p)
    strings = words("ab", 4, 1)
    assert [crasp.models(w, sentence) for w in strings] == p.accepts(strings).tolist()

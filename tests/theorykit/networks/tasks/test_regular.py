import itertools
import re

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theorykit.networks.tasks import LANGUAGES, RegularLanguage, _regular

KEY = jax.random.key(0)


def batch(task, length, count, key=KEY):
    draw = jax.jit(jax.vmap(lambda k: task.sample(k, length)))
    return jax.tree.map(np.asarray, draw(jax.random.split(key, count)))


def heights(word):
    return np.cumsum([1 if a == "a" else -1 for a in word])


def nested(n):
    return lambda w: all(0 <= h <= n for h in heights(w)) and (not w or heights(w)[-1] == 0)


BY_DEFINITION = {
    "tomita1": lambda w: "0" not in w,
    "tomita2": lambda w: w == "10" * (len(w) // 2),
    "tomita3": lambda w: (
        (("1", 1), ("0", 1))
        not in itertools.pairwise((s, len(list(r)) % 2) for s, r in itertools.groupby(w))
    ),
    "tomita4": lambda w: "000" not in w,
    "tomita5": lambda w: w.count("0") % 2 == w.count("1") % 2 == 0,
    "tomita6": lambda w: (w.count("0") - w.count("1")) % 3 == 0,
    "tomita7": lambda w: (
        "".join(s for s, _ in itertools.groupby(w)).removeprefix("0")
        in (
            "",
            "1",
            "10",
            "101",
        )
    ),
    "d2": nested(2),
    "d3": nested(3),
    "d4": nested(4),
    "d12": nested(12),
    "parity": lambda w: w.count("a") % 2 == 0,
    "aa_star": lambda w: len(w) % 2 == 0 and "b" not in w,
    "aaaa_star": lambda w: len(w) % 4 == 0 and "b" not in w,
    "abab_star": lambda w: len(w) % 4 == 0 and w == "ab" * (len(w) // 2),
    "abcde": lambda w: list(w) == sorted(w) and set(w) == set("abcde"),
    "ab_d_bc": lambda w: (
        w.count("d") == 1 and "c" not in w.split("d")[0] and "a" not in w.split("d")[1]
    ),
    "012_02": lambda w: w.rstrip("2").endswith("0"),
}


def words(alphabet, most):
    for n in range(most + 1):
        yield from map("".join, itertools.product(alphabet, repeat=n))


@pytest.mark.parametrize("name", LANGUAGES)
def test_acceptors_are_the_languages_by_their_definition(name):
    language = LANGUAGES[name]
    most = {2: 11, 3: 7, 4: 6, 5: 6}[len(language.alphabet)]
    for word in words(language.alphabet, most):
        right = BY_DEFINITION[name](word)
        assert language.accepts(word) == right, word
        assert language.dfa.accepts_input(word) == right, word


@pytest.mark.parametrize("name", ["tomita1", "tomita2", "d3", "abab_star", "abcde", "ab_d_bc"])
def test_patterns_mean_what_they_mean_elsewhere(name):
    language = LANGUAGES[name]
    for word in words(language.alphabet, 6):
        assert language.accepts(word) == bool(re.fullmatch(language.pattern, word))


def test_deep_words_need_a_deep_language():
    word = "a" * 12 + "b" * 12
    assert LANGUAGES["d12"].accepts(word)
    assert not LANGUAGES["d12"].accepts("a" + word + "b")
    assert not LANGUAGES["d4"].accepts(word)


@pytest.mark.parametrize("name", LANGUAGES)
def test_next_symbols_are_those_of_longer_words(name):
    language = LANGUAGES[name]
    prefixes = set()
    deepest = {2: 8, 3: 6, 4: 6, 5: 7}[len(language.alphabet)]
    accepted = [w for w in words(language.alphabet, deepest) if BY_DEFINITION[name](w)]
    for word in accepted:
        prefixes |= {word[:i] for i in range(len(word) + 1)}
    short = [p for p in prefixes if len(p) <= 2]
    assert short
    for prefix in short:
        found = {w[len(prefix)] for w in accepted if w.startswith(prefix) and w != prefix}
        if language.accepts(prefix):
            found |= {"EOS"}
        assert language.next_symbols(prefix) == found


def test_nothing_follows_what_no_word_begins():
    assert LANGUAGES["tomita1"].next_symbols("0") == frozenset()
    assert LANGUAGES["d2"].next_symbols("aaa") == frozenset()


@pytest.mark.parametrize("name", LANGUAGES)
def test_samples_are_words_with_their_sets(name):
    language = LANGUAGES[name]
    length = language.lengths(1, 20)[-1]
    x, target, weight = batch(language, length, 40)
    assert x.shape == target.shape == weight.shape == (40, language.tokens(length))
    assert (weight == 1).all()
    assert (x[:, 0] == len(language.alphabet)).all()
    for row, classes in zip(x, target, strict=True):
        word = language.word(row)
        assert len(word) == length
        assert language.accepts(word)
        for i in range(length + 1):
            assert language.sets[classes[i]] == language.next_symbols(word[:i])


@pytest.mark.parametrize(("name", "length"), [("tomita4", 5), ("d2", 6), ("012_02", 3)])
def test_every_word_of_a_length_is_drawn(name, length):
    language = LANGUAGES[name]
    x, _, _ = batch(language, length, 1500)
    drawn = {language.word(row) for row in x}
    assert drawn == {
        w
        for w in map("".join, itertools.product(language.alphabet, repeat=length))
        if language.accepts(w)
    }


def test_samples_differ_more_than_uniform_words_do():
    runs = [
        len(w) - len(w.rstrip("2")) for w in map(LANGUAGES["012_02"].word, sampled("012_02", 60))
    ]
    assert np.mean(np.array(runs) > 12) > 0.02  # 2e-6 among uniform words
    deepest = [heights(w).max() for w in map(LANGUAGES["d12"].word, sampled("d12", 50))]
    assert np.mean(np.array(deepest) == 12) > 0.01
    ones = [w.count("1") for w in map(LANGUAGES["tomita6"].word, sampled("tomita6", 50))]
    assert np.mean(np.abs(np.array(ones) - 25) > 15) > 0.03  # 1e-5 among uniform words


def sampled(name, length, count=1000):
    return batch(LANGUAGES[name], length, count)[0]


def test_lengths_are_those_of_words():
    assert LANGUAGES["aaaa_star"].lengths(1, 13) == [4, 8, 12]
    assert LANGUAGES["d2"].lengths(1, 5) == [2, 4]
    assert LANGUAGES["abcde"].lengths(1, 7) == [5, 6, 7]
    assert LANGUAGES["tomita1"].lengths(3, 5) == [3, 4, 5]


def test_kernel_problems_have_both_signs():
    draw = jax.jit(jax.vmap(lambda k: LANGUAGES["d3"].problem(k, 8)))
    x, y = draw(jax.random.split(KEY, 200))
    ids = np.asarray(x.argmax(-1))
    right = [LANGUAGES["d3"].accepts(LANGUAGES["d3"].word(row)) for row in ids]
    assert (np.asarray(y > 0) == right).all()
    assert 0.3 < np.mean(right) < 0.7


def test_what_is_not_there_is_said():
    with pytest.raises(ValueError, match="a language over 0 1; 'x' is not one of its symbols"):
        LANGUAGES["tomita1"].accepts("1x")
    with pytest.raises(ValueError, match="no example of length 3"):
        LANGUAGES["aa_star"].sample(KEY, 3)
    with pytest.raises(ValueError, match="needs a length of 1 or more, not 0"):
        LANGUAGES["tomita1"].sample(KEY, 0)


def test_lengths_without_words_are_refused_when_padded():
    with pytest.raises(ValueError, match="no example of length 3"):
        LANGUAGES["aa_star"].padded(KEY, 3, 5)


@pytest.mark.parametrize(
    ("pattern", "alphabet", "says"),
    [
        ("a*", "aa", "distinct characters"),
        ("a*", "", "distinct characters"),
        ("a*", "a*", "distinct characters"),
        ("a*c", "ab", "'a*c' has the symbol 'c', which is not in the alphabet 'ab'"),
        ("(a", "ab", "the pattern '(a' does not parse"),
        ("*a", "ab", "the pattern '*a' does not parse"),
    ],
)
def test_a_language_is_looked_at_when_it_is_made(pattern, alphabet, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        RegularLanguage("mine", pattern, alphabet)


def test_a_language_of_ones_own():
    mine = RegularLanguage("no ab", "(a|b)*ab(a|b)*", "ab", complement=True)
    assert mine.accepts("bba")
    assert not mine.accepts("bab")
    assert mine.next_symbols("a") == {"a", "EOS"}


def quantified(inner):
    bounds = st.sampled_from(["*", "+", "?", "{0}", "{0,0}", "{,0}", "{0,}", "{1}", "{0,2}", "{,2}",
                              "{2}", "{1,3}", "{2,}"])  # fmt: skip
    return st.builds("({}){}".format, inner, bounds)


patterns = st.recursive(
    st.sampled_from(["a", "b", "ab", "a{0}", "b{0}a", "a{,0}b", "a{0,2}", "()", "."]),
    lambda inner: st.one_of(
        st.builds("{}{}".format, inner, inner), st.builds("({}|{})".format, inner, inner),
        quantified(inner),
    ),
    max_leaves=6,
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(patterns)
def test_patterns_mean_what_they_mean_to_python(pattern):
    language = RegularLanguage("x", pattern, "ab")
    words = ["".join(w) for n in range(6) for w in itertools.product("ab", repeat=n)]
    right = [re.fullmatch(pattern, w) is not None for w in words]
    assert language.accepts(words).tolist() == right


@pytest.mark.parametrize(
    ("pattern", "same"),
    [("a{0}", "()"), ("ba{0}", "b"), ("(ab|b){0,0}a", "a"), ("((a){0}b)*", "b*"),
     ("a*{0}b", "b"), ("((a|b)(b)){0}", "()"), ("a{,0}|b", "()|b"), ("(a{2}){0}a", "a")],
)  # fmt: skip
def test_what_is_repeated_no_times_is_the_empty_word(pattern, same):
    made, right = (RegularLanguage("x", p, "ab") for p in (pattern, same))
    words = ["".join(w) for n in range(6) for w in itertools.product("ab", repeat=n)]
    assert made.accepts(words).tolist() == right.accepts(words).tolist()


@pytest.mark.parametrize("n", [1, 4, 8])
def test_states_are_counted_as_the_subset_construction_has_them(monkeypatch, n):
    """The (n + 1)-th symbol from the end is an a: 2^(n + 1) states, and a start of its own."""
    language = lambda: RegularLanguage("x", f"(a|b)*a(a|b){{{n}}}", "ab")
    monkeypatch.setattr(_regular, "MOST_STATES", 2 ** (n + 1) + 1)
    assert len(language().automaton.accept) == 2 ** (n + 1)
    monkeypatch.setattr(_regular, "MOST_STATES", 2 ** (n + 1))
    with pytest.raises(ValueError, match="states"):
        _ = language().automaton


def test_one_long_word_is_read_as_quickly_as_many_short_ones(monkeypatch):
    language, words = LANGUAGES["parity"], ["", "ab", "aab", "a" * 7, "b"]
    assert language.accepts(words).tolist() == [w.count("a") % 2 == 0 for w in words]
    monkeypatch.setattr(_regular, "FEW", 0)
    assert language.accepts(words).tolist() == [w.count("a") % 2 == 0 for w in words]
    monkeypatch.undo()
    long = "ab" * (5 * 10**5)
    assert language.accepts(long)


def test_lengths_go_round():
    language = RegularLanguage("x", "(aaa)*bb|b", "ab")
    right = [n for n in range(1, 60) if n == 1 or n % 3 == 2]
    assert language.lengths(0, 59) == right
    assert language.lengths(10**15, 10**15 + 2) == [
        n for n in range(10**15, 10**15 + 3) if n % 3 == 2
    ]
    language.check(2 + 3 * 10**12)
    with pytest.raises(ValueError, match="no example of length 1000000000000"):
        language.check(10**12)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: RegularLanguage("x", "a{1000000}", "ab").dfa, "takes about 1.0e6 symbols"),
        (lambda: RegularLanguage("x", "((a{999}){999}){999}", "ab").dfa, "symbols, written out"),
        (
            lambda: RegularLanguage("x", "(a|b)*a(a|b){30}", "ab").accepts("a"),
            "4,097 were found; at most 4,096 states",
        ),
        (lambda: LANGUAGES["parity"].word([3]), "symbols are numbered 0 ... 2, not 3"),
        (lambda: RegularLanguage("x", None, "ab"), "pattern is text, got None"),
        (lambda: RegularLanguage("x", "a", 3), "alphabet is text, got 3"),
        (lambda: LANGUAGES["parity"].accepts(w for w in "ab"), "a list of strings; got <generator"),
        (lambda: LANGUAGES["parity"].accepts([1]), "a tuple of symbols, got 1"),
    ],
)
def test_what_is_no_language_or_no_word(call, says):
    with pytest.raises(ValueError, match=r"\.$") as error:
        call()
    assert says in str(error.value)

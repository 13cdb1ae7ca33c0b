import pytest

from theorykit.networks.tasks import LANGUAGES, RegularLanguage, _monoids, in_ac0, star_free
from theorykit.networks.tasks._monoids import monoid


def test_the_monoid_of_ab_star_is_the_brandt_monoid():
    # 1, ab, ba, a, b and 0
    assert len(monoid(RegularLanguage("(ab)*", "(ab)*", "ab"))) == 6


def test_groups_are_their_own_syntactic_monoid():
    assert len(monoid(LANGUAGES["parity"])) == 2
    assert len(monoid(LANGUAGES["tomita5"])) == 4
    assert len(monoid(LANGUAGES["tomita6"])) == 3


def test_a_large_monoid_is_refused(monkeypatch):
    language = RegularLanguage("x", "(a|b)*a(a|b){5}", "ab")
    assert star_free(language)
    assert in_ac0(language)
    monkeypatch.setattr(_monoids, "MOST", 10**3)
    for ask in (star_free, in_ac0):
        with pytest.raises(ValueError, match="takes about"):
            ask(language)


@pytest.mark.parametrize(
    ("pattern", "star", "ac0"),
    [
        ("(a|b)*", True, True),
        ("(ab)*", True, True),
        ("(a(ab)*b)*", True, True),
        ("(aa)*", False, True),  # its words of odd length cannot act as the identity
        ("((a|b)(a|b))*", False, True),
        ("b*(ab*ab*)*", False, False),
        ("(b*ab*ab*ab*)*", False, False),
        ("(a(a|b)|ba)*", False, True),
    ],
)
def test_known_languages(pattern, star, ac0):
    language = RegularLanguage(pattern, pattern, "ab")
    if pattern == "(a(a|b)|ba)*":
        star = star_free(language)  # only AC0 is known without the monoid: no group at one length
    assert star_free(language) == star
    assert in_ac0(language) == ac0

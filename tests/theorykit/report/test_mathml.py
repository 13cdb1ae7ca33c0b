import re
from xml.etree import ElementTree as xml

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theorykit.claims import installed
from theorykit.report._mathml import is_formula, mathml, sentence


def text(tex):
    return "".join(xml.fromstring(str(mathml(tex))).itertext())


@pytest.mark.parametrize(
    ("tex", "seen"),
    [
        (r"\mathbb E[x] \le \mathcal H", "𝔼[x]≤ℋ"),
        (r"x \in \mathbb R", "x∈ℝ"),
        (r"H := A \iff B", "H≔A⟺B"),
        (r"\Pr[a] \sim \mathbf x", "Pr[a]∼𝐱"),
        (r"\text{costs \$ 5}", "costs $ 5"),
        (r"\mathtt{a1}", "𝚊𝟷"),
    ],
)
def test_what_browsers_do_not_do_themselves_is_done(tex, seen):
    assert text(tex).replace("\xa0", " ") == seen


def test_operators_are_told_from_letters():
    made = str(mathml(r"P \log T \iff \arg\min_x f \succeq \infty"))
    for operator in "⟺⪰":
        assert f">{operator}</mo>" in made
    assert ">∞</mi>" in made
    assert re.search(r"P</mi><mspace[^>]*/><mi>log</mi><mspace[^>]*/><mi>T", made)


@pytest.mark.parametrize("tex", [r"\nosuchcommand{x}", r"\frac{1}", "{", r"\left( x", "<&>"])
def test_what_cannot_be_rendered_is_shown_as_it_is_written(tex):
    made = str(mathml(tex))
    assert made.startswith("<math") or made.startswith('<code class="tex">')
    assert "<&" not in made
    xml.fromstring(made)


def test_the_shipped_statements_are_rendered():
    for claim in installed():
        for tex in [claim.statement, *filter(is_formula, claim.assumptions)]:
            assert mathml(tex).startswith("<math"), tex


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=30))
def test_any_text_is_safe(words):
    for made in (mathml(words), sentence(words)):
        xml.fromstring(f"<p>{made}</p>")


def test_words_are_told_from_formulas():
    assert is_formula(r"K \succeq 0")
    assert is_formula("c = 1 / (72 M^2)")
    assert not is_formula("tried at M = 1 with L = 1000")
    assert not is_formula("two logits")
    assert sentence("2 A_c <= k^(3/2), x^2 -> y'") == (
        "2 <i>A</i><sub>c</sub> ≤ k<sup>3/2</sup>, x<sup>2</sup> → y&#39;"
    )
    assert sentence("kernels.my_draws, f_K(x)") == "kernels.my_draws, f_K(x)"
    assert sentence("at `x < 1`") == "at <code>x &lt; 1</code>"

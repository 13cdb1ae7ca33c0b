"""What objects look like in a notebook, and in a line."""

import re
import xml.etree.ElementTree as ET

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from theorykit import certify, claim, crasp, kernels, training, verify
from theorykit.checks import exhaustive, identity
from theorykit.common import picture
from theorykit.domains import inputs, reals
from theorykit.predict import predict
from theorykit.report import fragment
from theorykit.results import Results


def made():
    claim("a.holds", statement=r"x^2 \\ge 0", ref="Lemma 1")(
        lambda: identity(lhs=lambda x: x, rhs=lambda x: x, over=inputs(x=reals()),
                         control=dict(lhs=lambda x: x + 1))
    )  # fmt: skip
    claim("a.<b>falls</b>", statement="n < 2", ref="<script>")(
        lambda: exhaustive(predicate=lambda n: n < 2, universe=range(3),
                           control=dict(predicate=lambda n: n < 1))
    )  # fmt: skip


@pytest.fixture
def results(registry):
    made()
    return verify(list(registry.values()))


def parsed(html):
    """Return the HTML as a tree, its style left out: what does not nest properly fails."""
    bare = re.sub(r"<style>.*?</style>", "", html, flags=re.DOTALL)
    bare = re.sub(r"<wbr>|&nbsp;", "", bare)
    return ET.fromstring(re.sub(r" (open|hidden)(?=[ >])", r' \1=""', bare))


def said(html):
    return " ".join(" ".join(parsed(html).itertext()).split())


def test_results_are_a_table_and_a_card_each(results):
    assert isinstance(results, Results)
    text = said(results._repr_html_())
    assert "2 claims: 1 holds, 1 refuted; 1 moved from the recorded verdict." in text
    assert "recorded: holds" in text
    assert text.count("Lemma 1") == 1
    assert "member = 2" in text
    tree = parsed(results._repr_html_())
    assert len(tree.findall(".//details[@class='claim holds']")) == 1
    assert tree.findall(".//{*}math") or tree.findall(".//math")
    (one,) = [r for r in results if r.id == "a.holds"]
    assert "a.holds" in said(one._repr_html_())


def test_what_is_written_in_a_claim_is_no_markup(results):
    html = results._repr_html_()
    assert "<script>" not in html
    assert "<b>falls" not in html


def test_the_style_is_for_what_is_inside_only(results):
    html = results._repr_html_()
    (style,) = re.findall(r"<style>(.*?)</style>", html, flags=re.DOTALL)
    depth, outside = 0, ""
    for part in re.findall(r"[{}]|[^{}]+", style):
        outside += part if depth == 0 and part not in "{}" else ""
        depth += {"{": 1, "}": -1}.get(part, 0)
    assert depth == 0
    assert outside.split() == [".theorykit"]
    assert not re.search(r":root|(^|[\s,])(html|body) *{", style)


def history():
    values = {"loss": np.array([[1.0, 2.0], [0.1, np.nan]]), "accuracy": np.zeros((2, 2))}
    return training.History([10, 20], values, (0, 1))


def kernel():
    x = jax.random.normal(jax.random.key(0), (40, 3, 4))
    return kernels.InfiniteTransformer()(x, key=jax.random.key(1), draws=8, replicates=2)


def posterior():
    k = np.eye(4) + 0.5
    return kernels.gp_posterior(k, np.arange(4.0), k[:2], k[:2, :2], noise=0.1)


PROGRAM = crasp.parse("alphabet: a b\nC(i) := #[j <= i] Q_a(j)\nL(i) := C(i) >= 2\n")

OBJECTS = {
    "kernel": (kernel, "nngp, 40 x 40 (20 x 20 entries drawn)", "Kernel: nngp 40 x 40, ntk 40 x 4"),
    "exact": (lambda: kernels.Kernel(jnp.eye(2)), "nngp, 2 x 2", "Kernel: nngp 2 x 2, exact"),
    "prediction": (posterior, "two posterior standard deviations", "Prediction: 2 outputs, condi"),
    "balls": (
        lambda: certify.enclose(jnp.exp, jnp.arange(2.0)),
        "2.71828182845904523",
        "2 balls, ",
    ),
    "ball": (lambda: certify.enclose(jnp.exp, 0.0), "all", "1.0000"),
    "proved": (
        lambda: certify.prove(lambda x: (x, x + 1), dict(x=(0, 1))),
        "Proved on",
        "proved on",
    ),
    "refuted": (
        lambda: certify.prove(lambda x: (x, x - 1), dict(x=(0, 1))),
        "lhs in",
        "refuted at",
    ),
    "proved for all values": (
        lambda: certify.ordered(lambda x: (1 + x, jnp.exp(x)), dict(x=())),
        "Proved.",
        "proved",
    ),
    "not proved": (
        lambda: certify.ordered(lambda x: (x**3, jnp.exp(x)), dict(x=())),
        "could not be shown",
        "not proved: ",
    ),
    "history": (history, "loss, one line per seed", "History(2 chunks, 2 seeds"),
    "program": (
        lambda: PROGRAM,
        "the number of positions so far where the symbol is a",
        "alphabet",
    ),
    "compiled": (
        lambda: crasp.compile(PROGRAM),
        "A Limit Transformer of 2 layers, 1 head, width ",
        "Compiled: 2 layers, 1 head, width ",
    ),
    "run": (lambda: crasp.interpret(PROGRAM, "aba"), "aba is accepted.", "{"),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_an_object_is_shown_and_said(name):
    make, shows, says = OBJECTS[name]
    thing = make()
    assert shows in said(thing._repr_html_())
    assert str(thing).startswith(says)
    assert name in ("program", "run") or "\n" not in str(thing)


def test_a_kernel_that_jax_traces_has_a_line():
    seen = []
    jax.jit(lambda x: seen.append(str(kernels.InfiniteTransformer(attention="identity")(x))) or x)(
        jnp.ones((2, 3, 4))
    )
    assert seen == ["Kernel: nngp 2 x 2, ntk 2 x 2, exact"]


def test_a_prediction_of_a_task_is_its_page():
    found = predict("a*", most=2, alphabet="ab")
    assert str(found).startswith("a*: yes, from strings of up to ")
    assert "Will a transformer learn a* at all lengths?" in said(found._repr_html_())


def test_lines_leave_out_what_has_no_place():
    drawn = fragment(
        [picture.Lines("All.", "x", [[(0, 1), (1, np.nan), (2, -1)]], logarithmic=True)]
    )
    assert drawn.count("polyline") == 1
    assert fragment([picture.Lines("None.", "x", [[(0, np.inf)]])]).count("svg") == 0
    assert "svg" not in fragment([picture.Matrix("Zero.", np.zeros((2, 2)))])


def test_where_nobody_draws_there_is_the_text(monkeypatch, results):
    monkeypatch.setattr(picture, "draw", None)
    assert results._repr_html_() is None
    assert "\n".join(map(str, results)) == str(results)
    assert re.fullmatch(r"a\.holds holds \(certified\): proved.*", str(results[1]))

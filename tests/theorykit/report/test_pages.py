"""The web page, Markdown and LaTeX of a run, as text."""

import html.parser
import json
import re
import shutil
import subprocess

import pytest

from theorykit.report import pages
from theorykit.report._latex import _places, tex
from theorykit.report._markdown import plain
from theorykit.results import Result
from theorykit.runs._folder import read_run

from .conftest import HEADER, many, result, results, write

EMPTY = {"meta", "link", "br", "input", "wbr", "hr", "img", "circle", "line", "rect", "polygon"}


class Page(html.parser.HTMLParser):
    """Refuses elements that are not closed; keeps ids, links and text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.links, self.loads = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        assert len(named) == len(attributes)
        self.ids += [named["id"]] if "id" in named else []
        if tag == "a":
            self.links.append(named["href"])
        else:
            self.loads += [named[n] for n in ("src", "href", "data", "action") if n in named]
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in EMPTY:
            assert self.open.pop() == tag


def test_the_page_is_well_formed_and_needs_nothing_from_elsewhere(run):
    text = pages.html(run)
    page = Page(text)
    assert len(set(page.ids)) == len(page.ids)
    assert {link[1:] for link in page.links} <= set(page.ids)
    assert page.loads == ["data:,"]
    assert not re.search(r"https?://(?!www\.w3\.org/)|@import|url\((?!#)", text)


def test_the_page_says_all_that_is_known_of_a_claim(run):
    text = pages.html(run)
    for part in (
        "<math",
        "<mo>≤</mo>",
        "Eq. (2) &amp; 50%",
        "64 random cases per size; the control replaces rhs",
        "dict(rhs=lambda n: n / 2)",
        "import numpy as np\n\nx = np.array([1., 2.])\nname = &#39;&lt;α &amp; β&gt;&#39;",
        "# lhs = 3.0\n# rhs = 2.5",
        "Both sides are enclosed. (64 bits)",
        "print(replay(&#39;one.fell&#39;))",
        "theorykit verify one.fell --seed 7",
        "theorykit verify two.trained --tier slow --seed 7",
        "A sum of <code>n</code> terms &lt; the bound.",
        "a processor, 2 cores, Linux, Python 3.11",
        "Measured at 3 sizes; fitted exponent -0.5, predicted in [-0.6, -0.4]",
        "Estimate 0.97 in [0.95, 0.99], predicted ≥ 0.9",
        "Largest lhs/rhs found: 0.9989",
    ):
        assert part in text, part


def test_a_paper_that_lists_its_statements_has_a_table_of_them(tmp_path):
    entries = [
        result("capture.E1.first", ref="Lemma E.1, eq. (25)"),
        result("limit.37", "refuted", ref="Lemmas 37 and 38"),
        result("limit.9", ref="Sec. 3"),
        result("none.of", ref="Lemma 1"),
    ]
    text = pages.html(read_run(write(tmp_path / "run", entries)))
    Page(text)
    section = text.split('id="statements"')[1].split("</section>")[0]
    rows = dict(re.findall(r'<th scope="row">(.*?)</th><td>(.*?)</td>', section, re.DOTALL))
    assert "capture.E1.first" in rows["Lemma E.1"]
    assert all(
        "limit.37" in rows[name] and "refuted" in rows[name] for name in ("Lemma 37", "Lemma 38")
    )
    assert rows["Theorem 7"].strip() == "none"
    assert "none.of" not in section
    assert "capture: 1 of 1 have claims" in section


def test_errata_come_before_the_table_with_their_repair(run):
    for text in (pages.html(run), pages.markdown(run), pages.latex(run)):
        errata = re.split("all 6 claims|subsection.{2}Claims|id=.claims.", text, flags=re.I)[0]
        assert "3 > rhs" in errata.replace("&gt;", ">").replace(r"\ensuremath{>}", ">")
        assert "Repaired" in errata
        assert "one.unclear" not in errata.split("Errata")[-1]


def test_markdown_has_a_row_for_each_claim_and_fences_that_close(run):
    text = pages.markdown(run)
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert len(rows) == 6
    assert all(len(re.findall(r"(?<!\\)\|", row)) == 8 for row in rows)
    assert text.count("```") == 2 * len(re.findall("```(math|python)", text))
    assert text.count("<details>") == text.count("</details>")


def test_latex_is_ascii_and_its_groups_close(run):
    text = pages.latex(run)
    assert text.isascii()
    assert text.count("{") == text.count("}")
    begun = re.findall(r"\\begin\{(\w+)\}", text)
    assert sorted(begun) == sorted(re.findall(r"\\end\{(\w+)\}", text))
    assert r"Eq. (2) \& 50\%" in text
    assert r"name = '<\u03b1 & \u03b2>'" in text  # the same string to Python


def test_latex_has_the_verdict_of_each_claim_for_margins(run):
    text = pages.latex(run)
    defined = dict(re.findall(r"\\csname theorykit@(.*?)\\endcsname\{(.*)\}%$", text, flags=re.M))
    assert set(defined) >= {r.id for r in run.results}
    assert defined["one.fell"].startswith(r"\textbf{refuted} (certified")
    assert defined["Lemma 1"].startswith(r"repaired: \textbf{holds} (searched) \newline \textbf{")
    assert "Eq. (2)" in _places("Eq. (2), lem:b")
    assert all(re.fullmatch(r"[\w:./()+ -]+", key) for key in defined)
    before, _, after = text.partition(r"\endinput\fi\par")
    assert "6 claims" in after
    lines = [line for line in before.splitlines() if not line.startswith("%")]
    assert all(line.endswith("%") for line in lines[:-2])  # no space where it is in a paragraph


def test_a_label_of_the_draft_has_the_verdicts_of_its_number(run, tmp_path):
    draft = tmp_path / "draft.tex"
    draft.write_text(
        r"\documentclass{article}\newtheorem{lemma}{Lemma}\begin{document}"
        "\n\\begin{lemma}\\label{lem:first}One.\\end{lemma}\n"
        "\\begin{lemma}\\label{lem:second}Two.\\end{lemma}\n\\end{document}\n"
    )
    said = r"\\csname theorykit@(.*?)\\endcsname\{(.*)\}%$"
    without = dict(re.findall(said, pages.latex(run), flags=re.M))
    defined = dict(re.findall(said, pages.latex(run, draft=draft), flags=re.M))
    assert set(defined) - set(without) == {"lem:first"}
    assert defined["lem:first"] == defined["Lemma 1"]


def test_markdown_shows_words_as_they_are():
    assert plain("A_c < X* at `n_k < 1`") == r"A\_c \< X\* at `n_k < 1`"


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs LaTeX")
def test_latex_can_be_set(run, tmp_path):
    (tmp_path / "report.tex").write_text(pages.latex(run))
    (tmp_path / "paper.tex").write_text(
        r"\documentclass{article}\usepackage{amsmath,amssymb,booktabs,longtable}\input{report}"
        r"\begin{document}A lemma.\verdict{one.fell}\verdict{lem:none}\verdict{Eq. (2) }"
        r"\input{report}\end{document}"
    )
    command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "paper.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=60)
    said = done.stdout.decode(errors="replace")
    assert done.returncode == 0, said[-2000:]
    assert not re.findall(r"Overfull .*in alignment", said)  # its table fits into the page


def test_two_runs_are_compared(tmp_path, run):
    now = results()
    fields = vars(now[0]) | {"id": "one.rate"}
    now[2] = Result(**fields)
    now[5] = result("two.young")
    new = read_run(write(tmp_path / "new", now))
    found = pages.content(new, run)
    assert {e.id: e.changes for e in found.moved} == {
        "one.rate": (
            "holds → refuted",
            "evidence fitted → certified",
            "exponent -0.5 [-0.55, -0.45], allowed [-0.6, -0.4] → max lhs/rhs 1.2",
        ),
        "two.young": ("new",),
    }
    assert found.gone == ("two.trained",)
    for text in (pages.html(new, run), pages.markdown(new, run)):
        assert "Moved since run" in text
        assert "holds → refuted" in text
    Page(pages.html(new, run))
    assert "Moved since" in pages.latex(new, run)
    assert "Nothing" in pages.html(run, run)


def test_patterns_choose_claims(run):
    text = pages.html(run, patterns=["two.*"])
    assert "claim-two.broken" in text
    assert "claim-one.rate" not in text
    with pytest.raises(ValueError, match=r"no result of the run matches 'three\.\*'"):
        pages.html(run, patterns=["three.*"])


@pytest.mark.parametrize(
    ("results_now", "planned", "header", "said"),
    [
        ([], [], HEADER, "The run has no result yet."),
        (results()[:2], results(), HEADER, "unfinished: 4 claims have no result"),
        (results(), [], HEADER, "does not keep the claim itself"),
        (results(), None, HEADER | {"version": "0.0.1"}, "made by version 0.0.1, this report by"),
        (results(), None, {"seed": 1}, "made by version None"),
    ],
)
def test_what_is_missing_is_said_and_the_rest_is_shown(
    tmp_path, results_now, planned, header, said
):
    run = read_run(write(tmp_path, results_now, planned, header))
    for text in (pages.html(run), pages.markdown(run), pages.latex(run)):
        assert said in text
        assert text.count("lhs = 3 ") >= bool(results_now)
    Page(pages.html(run))


@pytest.mark.parametrize(
    "damage",
    [
        {"measured": {"interval": [1]}},
        {"measured": {"interval": [10**400, 1]}},
        {"measured": {"points": [[1, 2]]}},
        {"measured": {"exponent": "1.0"}},
        {"measured": {"words": 3}},
        {"measured": {"kind": None}},
        {"seconds": "1.0"},
        {"seconds": float("inf")},
        {"statement": 3},
        {"cases": "many"},
        {"id": 7},
        {"note": None},
        {"witness": {"code": 1}},
        "deep",
    ],
)
def test_a_damaged_line_is_left_out(folder, damage):
    file = folder / "results.jsonl"
    lines = file.read_text().splitlines()
    entry = json.loads(lines[2])
    if damage != "deep" and "measured" in damage:
        damage = {"measured": entry["result"]["measured"] | damage["measured"]}
    lines[2] = "[" * 10**5 if damage == "deep" else json.dumps({"result": entry["result"] | damage})
    file.write_text("\n".join(lines) + "\n")
    run = read_run(folder)
    assert len(run.results) == 5
    for text in (pages.html(run), pages.markdown(run), pages.latex(run)):
        assert "1 line is not a result" in text


def test_a_claim_whose_assumptions_are_no_list_is_not_described(folder):
    plan = json.loads((folder / "plan.json").read_text())
    plan["claims"][0]["assumptions"] = 5
    (folder / "plan.json").write_text(json.dumps(plan))
    assert "For 1 of 6 results, the run does not keep" in pages.html(read_run(folder))


def test_what_the_old_run_lacks_and_another_seed_are_said(tmp_path, run):
    old = read_run(write(tmp_path / "old", results()[:5], results(), HEADER | {"seed": 8}))
    for text in (pages.html(run, old), pages.markdown(run, old), pages.latex(run, old)):
        assert "In old, the run it is compared with: The run is unfinished: 1 claim" in text
        assert "The run has seed 7, but old has seed 8." in text
    assert "trained}: gone" in pages.latex(read_run(write(tmp_path / "n", results()[:5])), run)


def test_comparisons_in_words_are_set():
    assert tex("a >= b <= c") == r"a \ensuremath{\ge} b \ensuremath{\le} c"


def test_300_claims_are_quick_and_small(tmp_path):
    run = read_run(many(tmp_path))
    pages.html(run, patterns=["one.*"])  # templates are compiled once
    text = pages.html(run)
    assert len(text.encode()) < 3e6

"""What a draft states: kinds, numbers, labels, texts."""

import pytest

from theorykit.drafts import statements
from theorykit.drafts._latex import plain

DRAFT = r"""
\documentclass{article}
\newtheorem{theorem}{Theorem}[section]
\newtheorem{lemma}[theorem]{Lemma}
\newtheorem*{remark}{Remark}
\declaretheorem[name=Fact, sibling=theorem]{fact}
\declaretheorem[numbered=no]{aside}
\numberwithin{equation}{section}
% \newtheorem{ghost}{Ghost}
\begin{document}
\section{One} Text % \begin{lemma} commented \end{lemma}
\begin{equation}\label{eq:one} a = b \end{equation}
\begin{lemma}[Entropy]\label{lem:entropy}
At least \begin{align} x &= y \label{eq:in} \\ z &= \begin{cases} 1 \\ 2 \end{cases} \nonumber \\
  w &= v \end{align}
\end{lemma}
\begin{verbatim}
\begin{lemma} shown only \end{lemma}
\end{verbatim}
\section*{Aside}
\section{Two}
\input{more}
\appendix
\section{Proofs}
\begin{theorem} Late. \end{theorem}
\end{document}
"""
MORE = r"""\begin{fact}
 Big. \[ c = d \]
\end{fact}
\begin{remark} none \end{remark} \begin{aside} none \end{aside} \begin{ghost} x \end{ghost}
\begin{equation*} q \end{equation*}
\begin{equation} r \tag{R} \end{equation}
\begin{equation} s \end{equation}
"""


@pytest.fixture
def draft(tmp_path):
    (tmp_path / "more.tex").write_text(MORE)
    file = tmp_path / "draft.tex"
    file.write_text(DRAFT)
    return file


def test_statements_are_counted_as_latex_counts_them(draft):
    found = [(s.name, s.label, s.file, s.line) for s in statements(draft)]
    assert found == [
        ("(1.1)", "eq:one", "draft.tex", 12),
        ("Lemma 1.1", "lem:entropy", "draft.tex", 13),
        ("(1.2)", "eq:in", "draft.tex", 14),
        ("(1.3)", "", "draft.tex", 14),
        ("Fact 2.1", "", "more.tex", 1),
        ("(R)", "", "more.tex", 6),
        ("(2.1)", "", "more.tex", 7),
        ("Theorem A.1", "", "draft.tex", 25),
    ]


def test_numbers_of_the_aux_file_come_first(draft):
    aux = r"\newlabel{lem:entropy}{{7.3}{5}{Entropy}{theorem.7.3}{}}"
    draft.with_suffix(".aux").write_text(aux)
    assert "Lemma 7.3" in [s.name for s in statements(draft)]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("a  = b % why", "a = b", True),
        (r"a\label{x} = b", "a = b", True),
        (r"a \, = \left( b \right)", "a = ( b )", True),
        ("a = b", "a = c", False),
        (r"a \% b", "a", False),
        (r"\leftarrow b", "arrow b", False),
    ],
)
def test_a_text_is_what_is_printed(one, other, same):
    assert (plain(one) == plain(other)) is same


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a part", r"part.tex has no \\begin{document}; give the draft's main file"),
        (b"\xff\xfe", "cannot be read as LaTeX"),
        (None, "there is no file"),
    ],
)
def test_what_is_no_draft(tmp_path, content, said):
    file = tmp_path / "part.tex"
    if content is not None:
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match=said):
        statements(file)

r"""What LaTeX skips, renames and counts in its own way; the numbers are those of pdflatex."""

import os

import pytest

from theorykit.drafts import DraftWarning, statements

FILES = {
    "mac.tex": r"\newtheorem{my-lemma}[theorem]{\textsc{Lemma}~}",
    "local.sty": r"\newtheorem{theorem}{Theorem}[section]\newtheorem{lemma}[theorem]{Lemma}",
    "sec/two.tex": r"\begin{lemma} two \end{lemma}" + "\n\\endinput \\begin{lemma} no \\end{lemma}",
    "draft.tex": r"""\documentclass{article}
\usepackage{amsmath,amssymb,amsthm}
\usepackage{local}
\input{mac}
\newtheorem*{fact}{Fact}
\newif\ifdraft \drafttrue
\newif\iflong
\newenvironment{mylem}[1][]{\begin{lemma}[#1]}{\end{lemma}}
\newcommand{\be}{\begin{equation}}
\def\ee{\end{equation}}
\numberwithin{equation}{section}
\setcounter{section}{1}
\begin{document}
\section{Intro}
\begin{lemma}\label{a} $a \iff b$ \url{x%y} \end{lemma}
\iffalse \begin{lemma}\label{x1} \iftrue q \fi \begin{theorem}\label{x2}\end{theorem} % \fi
\else \begin{lemma}\label{b} shown \end{lemma} \fi
\if0 \begin{lemma}\label{x3} \end{lemma} \fi
\ifdraft \begin{lemma}\label{c} \end{lemma} \else \begin{lemma}\label{x4} \end{lemma} \fi
\iflong \begin{lemma}\label{x5} \end{lemma} \fi
\begin{verbatim}
\begin{theorem} \iffalse shown only % \end{theorem}
\end{verbatim}
\verb|%\begin{theorem}| \begin{fact} u \end{fact}
\begin{my-lemma}\label{d} D \end{my-lemma}
\begin{mylem}[N]\label{e} E \end{mylem}
\be\label{f} 1 \ee
\begin{align} 1 \label{g} \\ % 2 \\ 3 \\
 4 \label{h} \\[2pt] 5 \notag \\ 6 \label{i} \end{align}
\begin{subequations} \begin{align} p \label{j} \\ r \label{k} \end{align} \end{subequations}
\begin{equation}\label{l} 2 \end{equation}
\input sec/two
\section{Third}
\setcounter{theorem}{6}\begin{theorem}\label{m} \end{theorem}
\addtocounter{equation}{2}\begin{multline}\label{n} 1 \\ 2 \end{multline}
\input{sec/two}
\appendix
\section{App}
\begin{theorem}\label{o} \end{theorem}
\begin{eqnarray} 1 \label{p} \\ 2 \label{q} \end{eqnarray}
\end{document}
\begin{theorem} after \end{theorem}
""",
}
NUMBERS = {
    "a": "Lemma 2.1", "b": "Lemma 2.2", "c": "Lemma 2.3", "d": "Lemma 2.4", "e": "Lemma 2.5",
    "f": "(2.1)", "g": "(2.2)", "h": "(2.3)", "i": "(2.4)", "j": "(2.5a)", "k": "(2.5b)",
    "l": "(2.6)", "m": "Theorem 3.7", "n": "(3.3)", "o": "Theorem A.1", "p": "(A.1)", "q": "(A.2)",
}  # fmt: skip


def write(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return folder / "draft.tex"


def test_numbers_are_those_of_latex(tmp_path):
    found = statements(write(tmp_path, FILES))
    assert {s.label: s.name for s in found if s.label} == NUMBERS
    assert [(s.name, s.file) for s in found if not s.label] == [
        ("Lemma 2.6", "sec/two.tex"),
        ("Lemma 3.8", "sec/two.tex"),
    ]
    lines = FILES["draft.tex"].splitlines()
    near = {s.label: "".join(lines[s.line - 1 : s.line + 1]) for s in found if s.label}
    assert all(rf"\label{{{label}}}" in text for label, text in near.items())


LEMMA = (
    r"\newtheorem{lemma}{Lemma}\begin{document}\begin{lemma}\label{a}\end{lemma}%s\end{document}"
)


def test_a_file_that_inputs_itself_is_read_once(tmp_path):
    files = {"draft.tex": LEMMA % r"\input{one}", "one.tex": r"\input{two}\input{draft}"}
    draft = write(tmp_path, files | {"two.tex": r"\begin{lemma}\end{lemma}\input{one}"})
    assert [s.name for s in statements(draft)] == ["Lemma 1", "Lemma 2"]


def test_a_file_that_is_not_there_is_named(tmp_path):
    draft = write(tmp_path, {"draft.tex": LEMMA % r"\input{gone}"})
    with pytest.warns(DraftWarning, match=r"inputs .*gone\.tex, which is not there"):
        assert len(statements(draft)) == 1


def test_an_aux_file_that_is_older_than_a_part_is_named_and_those_of_parts_are_read(tmp_path):
    files = {"draft.tex": LEMMA % r"\include{one}", "one.tex": r"\begin{lemma}\label{b}\end{lemma}"}
    draft = write(tmp_path, files)
    (tmp_path / "one.aux").write_text(r"\newlabel{b}{{7}{1}}")
    aux = draft.with_suffix(".aux")
    aux.write_text("\\newlabel{a}{{6}{1}}\n\\@input{one.aux}")
    assert [s.name for s in statements(draft)] == ["Lemma 6", "Lemma 7"]
    os.utime(tmp_path / "one.tex", (2e9, 2e9))
    with pytest.warns(DraftWarning, match=r"draft.aux is older than .*one\.tex"):
        statements(draft)

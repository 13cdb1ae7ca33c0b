#!/bin/sh
# Sets the LaTeX that `theorykit report` writes for the run in build/verify, after `make evidence`:
# verdicts in the margins and the errata of all papers, build/report/paper.pdf. LaTeX is the system's
# own; where there is none and this is Debian's root, it is installed.
set -eu
cd "$(dirname "$0")/.."
if ! command -v pdflatex >/dev/null; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends \
        texlive-latex-base texlive-latex-recommended >/dev/null
fi
.venv/bin/python -m pytest -n 0 tests/theorykit/report/test_pages.py -k latex
mkdir -p build/report
.venv/bin/theorykit report build/verify --latex build/report/report.tex
cat >build/report/paper.tex <<'TEX'
\documentclass{article}
\usepackage{amsmath,amssymb,booktabs,longtable}
\input{report}
\begin{document}
A lemma.\verdict{capture.E1.first_derivative}
\input{report}
\end{document}
TEX
cd build/report
pdflatex -halt-on-error -interaction=batchmode paper.tex >/dev/null || { tail -40 paper.log; exit 1; }
ls -l paper.pdf

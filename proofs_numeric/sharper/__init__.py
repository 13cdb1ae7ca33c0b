"""The statements of the paper below, one module per section."""

from theorykit import Paper
from theorykit.papers import listed

STATEMENTS = """
Definition 1; Theorem 2; Remark 3; Remark 4; Theorem 5; Theorem 6; Theorem 7; Theorem 8; Theorem
9; Theorem 10; Theorem 11; Theorem 12; Theorem 13; Theorem 14; Lemma 15; Theorem 16; Theorem 17;
Theorem 18; Lemma 19; Lemma 20; Lemma 21; Lemma 22; Remark 23; Theorem 24; Lemma 25; Lemma 26;
Lemma 27; Lemma 28; Theorem 29; Theorem 30; Theorem 31
"""

PAPER = Paper(
    id="sharper",
    title="A Sharper Picture of Generalization in Transformers",
    authors=("Lintilhac", "Shaikh"),
    identifier="arXiv 2605.20988",
    experiments="theorykit.experiments.sharper",
    statements=listed(STATEMENTS),
)

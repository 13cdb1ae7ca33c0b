"""The statements of the paper below, one module per section."""

from theorykit import Paper
from theorykit.papers import listed

STATEMENTS = """
Theorem 4.1; Theorem 4.2; Definition 5.1; Theorem 5.2; Lemma 5.3; Definition 5.4; Definition
A.1; Lemma A.2; Lemma A.3; Lemma A.4; Lemma A.5; Lemma A.6; Lemma A.7; Lemma A.8; Lemma A.9;
Lemma A.10; Lemma B.1; Lemma B.2
"""

PAPER = Paper(
    id="quantitative",
    title="Quantitative Bounds for Length Generalization in Transformers",
    authors=("Izzo", "Nichani", "Lee"),
    published="2025",
    experiments="theorykit.experiments.quantitative",
    statements=listed(STATEMENTS),
)

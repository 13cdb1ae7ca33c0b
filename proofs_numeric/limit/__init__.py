"""The statements of the paper below, one module per section."""

from theorykit import Paper
from theorykit.papers import listed

STATEMENTS = """
Theorem 1 = Theorem 7; Definition 2; Definition 3; Definition 4; Definition 5; Definition 6;
Theorem 7; Definition 8; Theorem 9; Theorem 10; Lemma 11; Theorem 12; Corollary 13; Theorem 14 =
Theorem 7; Remark 15; Definition 16; Lemma 17; Corollary 18; Theorem 19 = Theorem 12; Corollary
20 = Corollary 13; Remark 21; Definition 22; Theorem 23; Corollary 24; Remark 25; Corollary 26;
Theorem 27 = Theorem 9; Remark 28; Lemma 29 = Lemma 11; Definition 30; Proposition 31; Remark
32; Definition 33; Lemma 34; Lemma 35; Lemma 36; Lemma 37; Lemma 38; Proposition 39; Lemma 40;
Lemma 41; Lemma 42; Definition 43; Remark 44; Remark 45; Definition 46 = Definition 4; Lemma 47;
Lemma 48; Lemma 49; Definition 50; Proposition 51; Lemma 52; Lemma 53; Proposition 54;
Conjecture 55; Lemma 56; Definition 57; Theorem 58; Proposition 59
"""

PAPER = Paper(
    id="limit",
    title="A Formal Framework for Understanding Length Generalization in Transformers",
    authors=("Huang", "Yang", "Bhattamishra", "Sarrof", "Krebs", "Zhou", "Nakkiran", "Hahn"),
    published="ICLR 2025",
    experiments="theorykit.experiments.limit",
    statements=listed(STATEMENTS),
)

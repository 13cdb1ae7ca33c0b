"""The statements of the paper below, one module per section."""

from theorykit import Paper
from theorykit.papers import listed

STATEMENTS = """
Theorem 1.1 = Theorem 3.4; Observation 1.2; Theorem 1.3 = Theorem 4.1; Theorem 1.4 = Theorem
4.2; Definition 2.1; Definition 2.2; Definition 2.3; Proposition 3.1; Definition 3.2; Definition
3.3; Theorem 3.4; Lemma 3.5 = Lemma C.3; Lemma 3.6; Lemma 3.7; Theorem 4.1; Theorem 4.2; Remark
C.1; Definition C.2; Lemma C.3; Lemma C.4 = Lemma 3.6; Lemma C.5 = Lemma 3.7; Lemma D.1 = Lemma
C.3; Claim D.2; Claim D.3; Claim D.4; Claim D.5; Lemma D.6; Lemma E.1; Claim E.2; Lemma F.1 =
Lemma 3.7; Claim F.2; Claim F.3; Claim F.4; Claim F.5; Claim F.6; Lemma G.1; Definition G.2;
Lemma G.3; Lemma G.4; Lemma G.5; Lemma G.6; Lemma G.7; Lemma G.8; Lemma G.9; Definition I.1;
Theorem I.2; Remark I.3; Remark I.4; Remark I.5; Remark I.6; Lemma I.7; Definition J.1; Theorem
J.2; Theorem J.3
"""

PAPER = Paper(
    id="templates",
    title="When can transformers reason with abstract symbols?",
    authors=("Boix-Adserà", "Saremi", "Abbe", "Bengio", "Littwin", "Susskind"),
    identifier="arXiv 2310.09753",
    published="ICLR 2024",
    experiments="theorykit.experiments.templates",
    statements=listed(STATEMENTS),
)

"""What the sentences of a prediction rest on: theorems, repaired where they were refuted."""

from theorykit.report import Source

THEOREM_7 = Source(
    "Theorem 7, limit paper",
    "limit.52.bounded.repaired",
    "What a Limit Transformer with periodic and local positions expresses is learned at all "
    "lengths, from some training length on; without positions likewise (Corollary 18).",
    "a learner that is right on all strings up to half its context and has the least regulariser R "
    "of those that are; products with positional encodings that depend on distances alone; finite "
    "precision. No length is given, and how a network is trained plays no part. The proof uses "
    "Lemma 52 up to the full length, where it was refuted (limit.52.bounded); as repaired it "
    "falls short of the full length by a constant.",
)

THEOREM_27 = Source(
    "Theorem 27, limit paper, repaired",
    "limit.crasp.compile.simulates",
    "Every C-RASP program is a Limit Transformer.",
    "nothing more. The printed construction was refuted in five places "
    "(limit.crasp.compile.sos, .comparison, .conditional, .local, .range); the one used here is "
    "that of their .repaired claims.",
)

NO_POSITIONS = Source(
    "Theorem 9, limit paper",
    "limit.crasp.compile.nope",
    "A program without positional relations is a Limit Transformer without positions.",
    "a program without periodic and local relations.",
)

REGULARISER = Source(
    "Definition 50, limit paper, repaired",
    "limit.regularizer.period.repaired",
    "R_inf of a Limit Transformer is a sum of its depth, heads, width, bits, largest parameter, "
    "period and positional functions.",
    "local positional functions. The printed period is infinite for encodings that are not "
    "constant (limit.regularizer.period); the smallest period is taken.",
)

THEOREM_4_1 = Source(
    "Theorem 4.1, quantitative paper, repaired",
    "quantitative.thm4.1.bound.repaired",
    "Two transformers that agree within eps on all strings up to N agree within 2 eps on all.",
    "one layer of one head, finite precision with the largest logit subtracted first, ReLU units, "
    "no start symbol. As printed, N does not depend on eps at tau = 0 (refuted, "
    "quantitative.thm4.1.bound); with tau + 1 and explicit constants it stands.",
)

THEOREM_5_2 = Source(
    "Theorem 5.2, quantitative paper, repaired",
    "quantitative.thm5.2.bias.repaired",
    "The same for two layers without rounding.",
    "two layers, one head in the second, no encodings, ReLU units, infinite precision; the first "
    "layer's bias is counted in C(f), which the printed one leaves out (refuted, "
    "quantitative.thm5.2.bias).",
)

LEMMA_37 = Source(
    "Lemma 37 for words, limit paper",
    "limit.37.pumping",
    "A program says the same of x u^n z for all large n.",
    "a word u whose length is a multiple of the program's moduli. That no program exists is the "
    "paper's argument (Lemmas 37, 38 and 41); claims refute the programs that are given.",
)

PARITY = Source(
    "Lemma 11 (1), limit paper",
    "limit.11.parity",
    "PARITY has no program, with positional relations or without.",
    "an alphabet with another symbol. Programs are closed under `and`, `or` and `not`.",
)

LEMMA_36 = Source(
    "Lemma 36, limit paper",
    "limit.11.be_star",
    "Sigma* b e* has no program, with positional relations or without.",
    "three symbols or more.",
)

SEARCH = Source(
    "Search",
    "",
    "All programs of a fragment are made, smaller ones first, and compared on strings.",
    "the constants, positions and sizes that are named, and the task's own answers.",
)

ALL = (
    THEOREM_7, THEOREM_27, NO_POSITIONS, REGULARISER, THEOREM_4_1, THEOREM_5_2, LEMMA_37, PARITY,
    LEMMA_36, SEARCH,
)  # fmt: skip
"""All of them."""

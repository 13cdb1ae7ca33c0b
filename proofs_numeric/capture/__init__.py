"""The statements of the paper below, one module per section."""

from theorykit import Paper

PAPER = Paper(
    id="capture",
    title="Algorithmic Capture, Computational Complexity, and Inductive Bias of "
    "Infinite Transformers",
    authors=("Davidovich", "Ringel"),
    identifier="arXiv 2603.11161",
    experiments="theorykit.experiments.capture",
    statements=("Lemma E.1",),
)

"""The statements of the paper below, one module per section."""

from theorykit import Paper

PAPER = Paper(
    id="sharper",
    title="A Sharper Picture of Generalization in Transformers",
    authors=("Lintilhac", "Shaikh"),
    identifier="arXiv 2605.20988",
    experiments="theorykit.experiments.sharper",
)

"""The statements of the paper below, one module per section."""

from theorykit import Paper

PAPER = Paper(
    id="quantitative",
    title="Quantitative Bounds for Length Generalization in Transformers",
    authors=("Izzo", "Nichani", "Lee"),
    published="2025",
    experiments="theorykit.experiments.quantitative",
)

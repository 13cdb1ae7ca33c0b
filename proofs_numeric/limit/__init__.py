"""The statements of the paper below, one module per section."""

from theorykit import Paper

PAPER = Paper(
    id="limit",
    title="A Formal Framework for Understanding Length Generalization in Transformers",
    authors=("Huang", "Yang", "Bhattamishra", "Sarrof", "Krebs", "Zhou", "Nakkiran", "Hahn"),
    published="ICLR 2025",
    experiments="theorykit.experiments.limit",
)

"""The statements of the paper below, one module per section."""

from theorykit import Paper

PAPER = Paper(
    id="templates",
    title="When can transformers reason with abstract symbols?",
    authors=("Boix-Adserà", "Saremi", "Abbe", "Bengio", "Littwin", "Susskind"),
    identifier="arXiv 2310.09753",
    published="ICLR 2024",
    experiments="theorykit.experiments.templates",
)

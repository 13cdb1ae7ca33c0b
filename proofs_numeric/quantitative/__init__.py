"""Quantitative Bounds for Length Generalization in Transformers (2025)."""

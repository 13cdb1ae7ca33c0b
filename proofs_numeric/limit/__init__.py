"""Understanding Length Generalization in Transformers (Huang et al., 2025)."""

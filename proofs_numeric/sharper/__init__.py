"""A Sharper Picture of Generalization in Transformers."""

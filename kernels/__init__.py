"""Infinite-width kernels of transformers, and the predictors built on them."""

"""Finite networks: the reference transformer of the kernels, trained and compared."""

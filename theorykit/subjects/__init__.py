"""The objects that the papers study, one package per subject; none of them depends on a claim."""

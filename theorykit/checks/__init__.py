"""The kinds of check a claim can carry, one file each."""

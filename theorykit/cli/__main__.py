"""`python -m theorykit.cli`."""

from theorykit.cli import main

main()

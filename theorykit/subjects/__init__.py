"""What the papers are about, each subject as a package of its own that knows no claim."""

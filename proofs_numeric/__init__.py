"""The numbered statements of the papers, as claims: a package a paper, a module a section."""

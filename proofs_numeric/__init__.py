"""The numbered statements of the papers, as claims: a package per paper, a module per section."""

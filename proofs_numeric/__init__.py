"""The papers' numbered statements as claims: one package per paper, one module per section."""

"""When can transformers reason with abstract symbols? (Boix-Adserà et al., 2023)."""

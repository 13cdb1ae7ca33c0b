"""The paper's own programs, by the names under which they ship."""

PRINTED = [
    "aa_star", "anbncn", "contains_ab", "dyck1", "exists_a", "induction_all", "induction_argmax",
    "majority", "piecewise_abb",
]  # fmt: skip
"""The programs of section 4.2 and appendices C.1 and C.2."""

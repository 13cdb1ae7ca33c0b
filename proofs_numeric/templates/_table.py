"""The table of appendix F.1, as printed."""

PINK = (
    "1'XY'1, 1'XX'XY'1, 1'XY'YY'1, 1'XX'XX'XY'1, 1'XY'1 1'XX'1, 1'XY'YX'XY'1, 1'XY'1 1'XY'1, "
    "1'YX'XY'YY'1, 1'XY'1 1'YY'1, 1'XX'XY'1 1'XX'1, 1'XY'YY'1 1'XX'1, 1'XY'1 1'XX'XY'1, "
    "1'XY'YY'1 1'XY'1, 1'XX'XY'1 1'YY'1, 1'XY'YY'1 1'YY'1, 1'XY'1 1'XX'1 1'XX'1, "
    "1'XY'1 1'XX'XX'1, 1'XY'1 1'XY'1 1'XX'1, 1'XY'1 1'XY'1 1'XY'1, 1'XY'1 1'XX'1 1'YY'1, "
    "1'XY'1 1'XY'1 1'YY'1, 1'XY'1 1'YY'1 1'YY'1, 1'XY'1 1'YY'YY'1"
)
FOUR_TWO = (
    "1'XY'1, tr(XY'), 1'XX'XY'1, tr(XX'XY'), 1'XY'YY'1, tr(XY'YY'), 1'XY'1 1'XX'1, "
    "tr(XY') 1'XX'1, 1'XY'1 1'XY'1, 1'XY'1 tr(XY'), 1'XY'1 1'YY'1, 1'XY'XY'1, tr(XY') 1'YY'1, "
    "1'YX'YY'1, 1'XX'YX'1, 1'XX'YY'1, 1'YY'1 1'XX'1"
)
SIX_FOUR = (
    "1'XY'1, tr(XY'), 1'XX'XY'1, tr(XX'XY'), 1'XY'YY'1, tr(XY'YY'), 1'XY'1 1'XX'1, "
    "tr(XY') 1'XX'1, tr(XY') 1'XY'1, 1'XY'1 1'YY'1, 1'XY'1 1'XY'1, 1'XY'XY'1, tr(XY') 1'YY'1, "
    "1'XX'YX'1, 1'YX'YY'1, tr(XY'XY'), tr(XY') tr(XY'), 1, 1'XX'1, 1'XX'XX'1, 1'XX'YY'1, 1'YY'1, "
    "1'XX'1 1'XX'1, 1'YY'1 1'XX'1, tr(XX'YY'), 1'YY'YY'1, 1'YY'1 1'YY'1"
)
TABLE = [
    (0, 0, "1'XY'1", "1'XY'1", 1, 2),
    (2, 2, "1'XY'1, tr(XY')", "tr(XY')", 8, 2),
    (4, 0, PINK, "1'XY'1 1'XX'1 1'YY'1", 24, 6),
    (4, 2, FOUR_TWO, "1'XX'YY'1", 48, 4),
    (6, 4, SIX_FOUR, "tr(XX'YY')", 17280, 4),
]
"""Orders in beta and gamma, the monomials in the printed order, the starred one, and its constant:
a number over a power of k."""

"""A listing with every kind of column."""

from __future__ import annotations

from mfsim.analysis.listing import Listing

LISTING = Listing(
    "all_kinds",
    ("word", "n", "maybe", "share", "some", "exact", "known", "widths", "both", "large", "nothing"),
    (
        ("s8", 1, None, 1, None, True, None, (8, 17), "x", 2**63, None),
        ('ü,"\n', -(2**63), 2**63 - 1, 0.5, 1.25, False, True, (), 3, -1, None),
    ),
)

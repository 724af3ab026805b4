"""What fast transforms execute, counted while they run on counting numbers."""

from __future__ import annotations

from mfsim.analysis.listing import Listing
from mfsim.nn import WHT
from mfsim.op_counter.fast_transforms import counted
from mfsim.papers.measure import module_count
from mfsim.papers.units import summed

TRANSFORMS = (
    ("cosine (Lee)", "cosine", (8, 32, 64)),
    ("Fourier, complex", "fourier", (8, 32, 64)),
    ("Fourier, real", "real_fourier", (8, 32, 64)),
    ("Fourier magnitudes", "magnitudes", (32, 64)),
    ("filterbank, two features", "filtered", (8,)),
)
"""What is shown, its name in `mfsim.op_counter.fast_transforms`, lengths (for a filterbank the side of the grid)."""


def primitive_counts() -> Listing:
    """Return the operations of one transform of each length."""
    rows: list[tuple[str, int, int, int, int]] = []
    for length in (8, 32, 64):
        found = summed(module_count(WHT, 1, length).online)
        rows.append(("Walsh-Hadamard", length, 0, 0, found["addsub"]))
    for shown, name, lengths in TRANSFORMS:
        for n in lengths:
            tally = counted(name, n)
            learned_or_squares = tally.get("mul learned", 0) + tally.get("mul activation", 0)
            rows.append((shown, n, tally.get("mul fixed", 0), learned_or_squares, tally["addsub"]))
    columns = ("transform", "length", "mul_fixed", "mul_learned_or_squares", "addsub")
    return Listing("transforms", columns, tuple(rows))

"""Dense and multiplication-free products of 8-bit matrices, beside torch's int8 product (oneDNN), weights packed.

Each level has its process, in which oneDNN and mfsim are held to the same instructions. One thread.
"""

from __future__ import annotations

import pytest

from benchmarks.levels import HELD, measured
from mfsim.kernels import cpu

GOALS = {"amx": (1.0, 2.2), "vnni": (1.2, 2.4), "avx2": (1.2, 2.4), "portable": (None, None)}
"""The most time, as a multiple of torch's, of the dense and of the multiplication-free product."""


@pytest.mark.parametrize("level", HELD)
def test_products(level, record):
    for shape, times in measured(level, "products").items():
        for name in ("dense", "mf ef", "mf abs"):
            goal = GOALS[level][name != "dense"]
            what = f"{name} int8 {level}, {shape}: time of torch's dense int8"
            record("products", what, times[name] / times["torch"], "at most" if goal else "", goal)


def test_broadcasting(record):
    times = measured(next(level for level in HELD if level in cpu.available()), "products", "broadcast")
    record(
        "products",
        "mf abs int8, 512x512x512: speed of broadcasting in torch",
        times["broadcast"] / times["mf"],
        "at least",
        500,
    )

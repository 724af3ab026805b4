"""Time a function: median of several runs, the first one (which compiles) left out."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """`run` does `work` units, counted in `unit`."""

    name: str
    run: Callable[[], object]
    work: float
    unit: str


def seconds(run: Callable[[], object], least: float = 0.5) -> float:
    """Return the median time of one call, over at least five calls and `least` seconds."""
    run()
    times: list[float] = []
    while len(times) < 5 or sum(times) < least:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)

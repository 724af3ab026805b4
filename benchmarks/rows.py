"""Rows of the table of benchmarks: ratios that were measured within one run, each beside its goal."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import pathlib
import platform
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass

from mfsim.kernels import host

RESULTS = pathlib.Path(__file__).parent / "results.json"
PACKAGES = ("numpy", "numba", "llvmlite", "torch", "fht-cpu")


@dataclass(frozen=True)
class Row:
    """A ratio and its goal.

    Attributes
    ----------
    group : the file that measures it.
    name : what is compared with what.
    ratio : as measured.
    bound : `at most` or `at least`; empty where there is no goal.
    goal, met : the goal and whether `ratio` reaches it, both None where there is none.
    """

    group: str
    name: str
    ratio: float
    bound: str = ""
    goal: float | None = None
    met: bool | None = None

    @classmethod
    def of(cls, group: str, name: str, ratio: float, bound: str = "", goal: float | None = None) -> Row:
        """Return the row of a measured ratio."""
        met = None if goal is None else bool(ratio <= goal if bound == "at most" else ratio >= goal)
        return cls(group, name, round(ratio, 3), bound, goal, met)


def medians(
    runs: Mapping[str, Callable[[], object]],
    rounds: int = 15,
    least: float = 0.001,
    clock: Callable[[], float] = time.thread_time,
) -> dict[str, float]:
    """Return the median time of one call of each of `runs`, in seconds.

    They take turns, `rounds` times, so that a slower minute of the machine slows all of them. A turn is as many
    calls as take `least` seconds. The clock is the processor time of this thread: other processes do not count,
    but nor would other threads.
    """
    calls = {}
    for name, run in runs.items():
        run()
        start = clock()
        run()
        calls[name] = max(1, round(least / max(clock() - start, 1e-9)))
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            start = clock()
            for _ in range(calls[name]):
                run()
            times[name].append((clock() - start) / calls[name])
    return {name: statistics.median(found) for name, found in times.items()}


def machine() -> dict[str, str]:
    """Return what the figures hold for: instructions, versions, date."""
    versions = {name: importlib.metadata.version(name) for name in PACKAGES}
    return {
        "processor": f"{platform.machine()}, {', '.join(host.available())}",
        "python": platform.python_version(),
        **versions,
        "date": datetime.date.today().isoformat(),
    }


def write(rows: list[Row]) -> None:
    """Write `rows` to `RESULTS`, beside those of groups that were not measured now."""
    measured = {row.group for row in rows}
    known = json.loads(RESULTS.read_text(encoding="utf-8"))["rows"] if RESULTS.exists() else []
    kept = [row for row in known if row["group"] not in measured]
    text = json.dumps({"machine": machine(), "rows": kept + [asdict(row) for row in rows]}, indent=1)
    RESULTS.write_text(text + "\n", encoding="utf-8")

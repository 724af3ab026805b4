"""Rows of the table of benchmarks: ratios that were measured within one run, each beside its goal."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import pathlib
import platform
import statistics
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass

from mfsim.kernels import cpu

RESULTS = pathlib.Path(__file__).parent / "results.json"
PACKAGES = (
    *("numpy", "numba", "llvmlite", "torch", "onnxruntime", "brevitas"),
    *("qonnx", "fht-cpu", "pyfwht", "fxpmath", "apytypes"),
)


@dataclass(frozen=True)
class Row:
    """A ratio and its goal.

    Attributes
    ----------
    group : the file that measures it.
    name : what is compared with what.
    ratio : as measured; None where nothing was.
    bound : `at most` or `at least`; empty where there is no goal.
    goal, met : the goal and whether `ratio` reaches it, both None where there is none.
    note : the figures behind the ratio, or why there is none.
    """

    group: str
    name: str
    ratio: float | None
    bound: str = ""
    goal: float | None = None
    met: bool | None = None
    note: str = ""

    @classmethod
    def of(
        cls, group: str, name: str, ratio: float | None, bound: str = "", goal: float | None = None, note: str = ""
    ) -> Row:
        """Return the row of a measured ratio, or of one that could not be measured."""
        if ratio is None:
            return cls(group, name, None, bound, goal, None, note)
        met = None if goal is None else bool(ratio <= goal if bound == "at most" else ratio >= goal)
        return cls(group, name, round(ratio, 3), bound, goal, met, note)

    def line(self) -> str:
        """Return the row as a line of text."""
        shown = f"{'not run':>8}" if self.ratio is None else f"{self.ratio:8.2f}"
        if self.goal is None:
            judged = "no goal"
        else:
            state = "" if self.met is None else ", met" if self.met else ", MISSED"
            judged = f"{self.bound} {self.goal:g}{state}"
        return f"{self.name:72} {shown}   {judged}" + (f"   ({self.note})" if self.note else "")


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
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {
        "processor": f"{platform.machine()}, {', '.join(cpu.available())}",
        "python": platform.python_version(),
        **versions,
        "date": datetime.date.today().isoformat(),
    }


def merged(known: list[dict], rows: list[Row], whole: Collection[str]) -> list[dict]:
    """Return `known` with `rows` in the places of those of the same names, or behind the last of their group.

    Of the groups in `whole`, which were measured as a whole, nothing older is kept.
    """
    fresh = {(row.group, row.name): asdict(row) for row in rows}
    groups = list(dict.fromkeys([*(row["group"] for row in known), *(row.group for row in rows)]))
    kept = []
    for group in groups:
        old = [] if group in whole else [row for row in known if row["group"] == group]
        names = dict.fromkeys([*(row["name"] for row in old), *(name for of, name in fresh if of == group)])
        by_name = {row["name"]: row for row in old}
        kept += [fresh.get((group, name)) or by_name[name] for name in names]
    return kept


def write(rows: list[Row], whole: Collection[str] = ()) -> None:
    """Write `rows` to `RESULTS`, beside those that were not measured now."""
    known = json.loads(RESULTS.read_text(encoding="utf-8"))["rows"] if RESULTS.exists() else []
    text = json.dumps({"machine": machine(), "rows": merged(known, rows, whole)}, indent=1)
    RESULTS.write_text(text + "\n", encoding="utf-8")

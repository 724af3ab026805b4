"""Collects the rows that benchmarks record, prints them and writes `results.json`."""

from __future__ import annotations

import pytest

from benchmarks.rows import Row, write

_ROWS: list[Row] = []


@pytest.fixture
def record():
    """Return a function that records a row: (group, name, ratio, bound, goal)."""

    def add(group: str, name: str, ratio: float, bound: str = "", goal: float | None = None) -> None:
        _ROWS.append(Row.of(group, name, ratio, bound, goal))

    return add


def pytest_terminal_summary(terminalreporter):
    """Print the table and write the file."""
    if not _ROWS:
        return
    terminalreporter.section("measured beside the goals")
    for row in _ROWS:
        goal = f"{row.bound} {row.goal:g}, {'met' if row.met else 'MISSED'}" if row.goal is not None else "no goal"
        terminalreporter.write_line(f"{row.name:72} {row.ratio:8.2f}   {goal}")
    write(_ROWS)

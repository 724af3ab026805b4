"""Collects the rows that benchmarks record, prints them and writes `results.json`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from benchmarks.networks import Network, network
from benchmarks.rows import Row, write

_ROWS: list[Row] = []


@pytest.fixture
def record() -> Callable[..., None]:
    """Return a function that records a row; its arguments are those of `Row.of`."""
    return lambda *arguments, **named: _ROWS.append(Row.of(*arguments, **named))


@pytest.fixture(scope="session")
def networks(tmp_path_factory) -> Callable[[str], Network]:
    """Return a function that makes a network of the benchmarks, once a session."""
    folder = tmp_path_factory.mktemp("networks")
    return lambda name: network(name, folder)


def pytest_terminal_summary(terminalreporter, exitstatus, config):
    """Print the table and write the file."""
    if not _ROWS:
        return
    terminalreporter.section("measured beside the goals")
    for row in _ROWS:
        terminalreporter.write_line(row.line())
    missed = [row for row in _ROWS if row.met is False]
    terminalreporter.write_line(f"{len(_ROWS)} rows, {len(missed)} of them miss their goal")
    selected = config.getoption("keyword") or config.getoption("markexpr") or any("::" in arg for arg in config.args)
    write(_ROWS, () if selected or exitstatus else {row.group for row in _ROWS})

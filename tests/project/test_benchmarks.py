"""The rows of the table of benchmarks: what is met, what is kept, and what is printed."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from benchmarks import rows
from benchmarks.rows import Row, medians, merged


@pytest.mark.parametrize(
    ("ratio", "bound", "goal", "met"),
    [
        (1.0, "at least", 1.0, True),
        (0.99, "at least", 1.0, False),
        (1.1, "at most", 1.1, True),
        (1.11, "at most", 1.1, False),
        (0.5, "", None, None),
        (None, "at least", 1.0, None),
    ],
)
def test_a_row_meets_its_goal(ratio, bound, goal, met):
    assert Row.of("group", "what", ratio, bound, goal).met is met


def test_a_line_says_what_was_measured_and_what_was_not():
    assert Row.of("g", "a", 0.5, "at least", 1.0, "5 and 10").line().split() == [
        *("a", "0.50", "at", "least", "1,", "MISSED", "(5", "and", "10)")
    ]
    assert Row.of("g", "b", None, "at most", 1.1, "one core").line().split() == [
        *("b", "not", "run", "at", "most", "1.1", "(one", "core)")
    ]


def test_new_rows_take_the_places_of_old_ones():
    known = [asdict(Row.of(group, name, 1.0)) for group, name in (("a", "x"), ("a", "y"), ("b", "x"))]
    fresh = [Row.of("a", "z", 2.0), Row.of("a", "x", 2.0)]
    found = [(row["group"], row["name"], row["ratio"]) for row in merged(known, fresh, ())]
    assert found == [("a", "x", 2.0), ("a", "y", 1.0), ("a", "z", 2.0), ("b", "x", 1.0)]
    whole = [(row["group"], row["name"]) for row in merged(known, fresh, {"a"})]
    assert whole == [("a", "z"), ("a", "x"), ("b", "x")]


def test_the_file_has_a_list_of_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(rows, "RESULTS", tmp_path / "results.json")
    rows.write([Row.of("a", "x", 2.0, "at least", 1.0)])
    (row,) = json.loads(rows.RESULTS.read_text())["rows"]
    assert (row["name"], row["ratio"], row["goal"], row["met"]) == ("x", 2.0, 1.0, True)


def test_medians_take_turns():
    times, now, turns = {"a": 2.0, "b": 5.0}, [0.0], []

    def run(name):
        turns.append(name)
        now[0] += times[name]

    found = medians({name: lambda name=name: run(name) for name in times}, rounds=3, clock=lambda: now[0])
    assert found == times
    assert turns == ["a", "a", "b", "b", *("a", "b") * 3]

"""Energy and in-memory-compute arrays in the report; a network without them has none of their tables."""

from __future__ import annotations

import csv
import json

import pytest

from mfsim.analysis import count, energy
from mfsim.cim import ARRAYS, map_program
from mfsim.report import write_report
from tests.analysis.programs import mixed
from tests.report.networks import result

TITLES = (
    "On in-memory-compute arrays: mf-net-8x62",
    "Not on arrays of mf-net-8x62",
    "Energy by layer, all in digital logic",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return the report of a network with both, and one with neither."""
    program = mixed()
    arrays = map_program(program, ARRAYS["mf-net-8x62"])
    networks = [result("with", program, energy=energy(count(program)), cim=arrays), result("without", program)]
    return write_report(networks, tmp_path_factory.mktemp("report")).parent


@pytest.mark.parametrize("name", ["report.html", "report.md"])
def test_tables_stand_once(folder, name):
    text = (folder / name).read_text().replace("\\", "")
    for title in TITLES:
        assert title in text
    _, plain = text.split(">without</h2>" if name.endswith("html") else "## without")
    assert not any(title in plain for title in TITLES)


def test_csv_and_json_hold_the_same(folder):
    with_arrays, without = json.loads((folder / "report.json").read_text())["networks"]
    assert (without["cim"], without["energy"]) == (None, None)
    for part, name in (
        ("cim", "cim_nodes"),
        ("cim", "cim_parts"),
        ("cim", "cim_digital"),
        ("energy", "energy_by_basis"),
    ):
        rows = list(csv.DictReader((folder / "csv" / f"{name}.csv").read_text().splitlines()))
        records = with_arrays[part][name]
        assert [list(row) for row in rows] == [["network", *record] for record in records]
        for column in ("network", *records[0]):
            values = ["with" if column == "network" else record[column] for record in records]
            assert [row[column] for row in rows] == ["" if value is None else str(value) for value in values]

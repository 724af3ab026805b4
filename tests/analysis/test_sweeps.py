"""Reports of sweeps: what is finished, failed or missing, and that CSV and JSON say the same."""

from __future__ import annotations

import json

import pytest

from mfsim.analysis.sweeps import FIGURES, SweepReport, sweeps_listing
from mfsim.errors import ModelError
from tests.report.sweeps import product, sensitivity


def test_finished_failed_and_missing():
    report = product()
    assert report.own.accuracy == 0.95
    assert [row.point for row in report.finished] == [1, 2, 3, 4]
    assert [row.point for row in report.failed] == [5]
    assert report.missing == 1


def test_there_and_back_through_json():
    for report in (product(), sensitivity()):
        assert SweepReport.from_json(json.loads(json.dumps(report.to_json()))) == report


@pytest.mark.parametrize("change", [{"rows": [{}]}, {"rows": None}, {"axes": 3}, {"rows": [{"point": 1}]}])
def test_what_is_no_sweep(change):
    with pytest.raises(ModelError) as refused:
        SweepReport.from_json(product().to_json() | change)
    assert str(refused.value).startswith("sweep.json is not what `mfsim sweep` writes: ")


def test_the_table_has_every_point_that_ran():
    lines = product().listing().csv().splitlines()
    assert lines[0] == "point,weight,activation@head," + ",".join(FIGURES) + ",error"
    assert lines[1] == "0,,,360,342,0.95,0.5,20.0,0.1,3,24,50000,100000,0,1000.0,"
    assert lines[6] == "5,4,6,,,,,,,,,,,,,it failed"
    assert len(lines) == 7
    assert sensitivity().listing().csv().splitlines()[2].startswith("1,conv1,4,")


def test_several_sweeps_in_one_table():
    listing = sweeps_listing([product(), sensitivity()])
    assert listing.columns == ("sweep", "point", "layer", "weight", "activation@head", *FIGURES, "error")
    records = listing.records()
    assert [record["sweep"] for record in records] == ["both"] * 6 + ["one"] * 4
    assert records[1]["layer"] is None
    assert records[7] | {"layer": "conv1", "weight": 4, "activation@head": None} == records[7]

"""`mfsim cim` on the commands' small network."""

from __future__ import annotations

import csv
import json

import pytest

from tests.cli.conftest import mfsim


def test_json_is_the_report(finished):
    from mfsim.cim import ARRAYS, map_program
    from mfsim.run_folder import load_program

    shown = mfsim("cim", finished, "--json")
    assert shown.status == 0, shown.stderr
    report = map_program(load_program(finished), ARRAYS["mf-net-8x62"])
    assert shown.json == json.loads(json.dumps(report.to_json()))


def test_tables_for_a_person(finished):
    shown = mfsim("cim", finished / "integer.onnx", "--array", "wht-16x16")
    assert shown.status == 0, shown.stderr
    assert "On wht-16x16, one sample" in shown.stdout
    assert "In digital logic" in shown.stdout
    assert "converters lack bits, so sums are not exact, at `4." in shown.stdout


def test_options_change_the_array_and_csv_is_written(finished, tmp_path):
    options = [
        "--array",
        "mf-net-8x30",
        "--converter-bits",
        "ideal",
        "--columns",
        64,
        "--cycle-ns",
        2,
        "--csv",
        tmp_path,
    ]
    shown = mfsim("cim", finished, *options, "--json")
    array = shown.json["array"]
    assert (array["rows"], array["columns"], array["converter_bits"], array["cycle_ns"]) == (8, 64, "ideal", 2)
    rows = list(csv.DictReader((tmp_path / "cim_nodes.csv").read_text().splitlines()))
    assert [int(row["tiles"]) for row in rows] == [node["tiles"] for node in shown.json["cim_nodes"]]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--rows", 0], "`rows` of an array must be in 1..65536, not 0"),
        (["--converter-bits", "many"], "`converter_bits` of an array must be in 1..16 or \"ideal\", not 'many'"),
        (["--shared-by", 9], "`shared_by` of an array must be in 1..8, not 9"),
        (
            ["--array", "mf-net"],
            "`array` must be one of mf-net-8x62, mf-net-8x30, wht-16x16, or a TOML file, not 'mf-net'; "
            "did you mean `mf-net-8x62`?",
        ),
    ],
)
def test_wrong_arrays_are_one_sentence(finished, options, sentence):
    shown = mfsim("cim", finished, *options)
    assert (shown.status, shown.stderr) == (2, f"mfsim: {sentence}\n")


def test_description_with_a_mistyped_key(finished, tmp_path):
    (tmp_path / "mine.toml").write_text("rows = 8\ncolums = 8\n")
    shown = mfsim("cim", finished, "--array", tmp_path / "mine.toml")
    assert (shown.status, shown.stderr) == (2, "mfsim: `colums` is no key of an array; did you mean `columns`?\n")


def test_report_with_an_array(finished, tmp_path):
    shown = mfsim("report", finished, "--out", tmp_path, "--array", "mf-net-8x62")
    assert shown.status == 0, shown.stderr
    (network,) = json.loads((tmp_path / "report.json").read_text())["networks"]
    assert network["cim"]["array"]["name"] == "mf-net-8x62"
    assert network["energy"]["total_pj"] == network["cim"]["cim_totals"]["all_digital_pj"] > 0
    page = (tmp_path / "report.html").read_text()
    assert "On in-memory-compute arrays: mf-net-8x62" in page
    assert "an MF product takes one bit-plane step for each bit" in page
    assert (tmp_path / "csv" / "cim_parts.csv").is_file()

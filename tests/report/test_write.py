"""The files of a report, and that JSON, CSV and Markdown say the same."""

from __future__ import annotations

import csv
import json
import os

import pytest

import mfsim
from mfsim.errors import DataError, MfsimError
from mfsim.report import NetworkResult, ParityPair, write_report
from mfsim.report.tables import markdown_text
from tests.analysis.programs import mixed, one, residual
from tests.report.networks import ACCURACY, result


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("out") / "report"
    networks = [
        result("dense", mixed(), mismatches=2),
        result("free", residual(), info={"Data": {"set": "digits"}}, recipe="bits = 8"),
    ]
    assert write_report(networks, folder, "A title") == folder / "report.html"
    return folder


@pytest.fixture(scope="module")
def content(folder):
    return json.loads((folder / "report.json").read_text())


def test_json_of_a_network(content):
    dense, free = content["networks"]
    assert (dense["name"], dense["accuracy"]) == ("dense", ACCURACY)
    assert dense["parity"] == [
        {"name": "model.onnx = simulator", "compared": 360, "mismatches": 0},
        {"name": "simulator = integer.onnx", "compared": 360, "mismatches": 2},
    ]
    assert dense["operations"]["mul"] == 32
    assert [(m["node"], m["layer"], m["op"], m["class"], m["count"]) for m in dense["multiplications"]] == [
        ("head", "head", "matmul", "learned", 32)
    ]
    assert (dense["bit_exact"], dense["multiplication_free"]) == (False, False)
    assert (free["bit_exact"], free["multiplication_free"], free["multiplications"]) == (True, True, [])
    assert {free["operations"][name] for name in ("mul", "div", "sqrt")} == {0}
    assert (free["info"], free["recipe"], free["overflows"]) == ({"Data": {"set": "digits"}}, "bits = 8", 5)
    assert content["title"] == "A title"
    assert content["version"] == mfsim.__version__


def test_exact_layer_has_null_for_its_sqnr(content):
    first = content["networks"][1]["layers"][0]
    assert (first["exact"], first["sqnr_db"]) == (True, None)


def test_every_csv_says_what_the_json_says(folder, content):
    tables = {path.stem: list(csv.DictReader(path.read_text().splitlines())) for path in (folder / "csv").iterdir()}
    assert {
        "networks",
        "layers",
        "operations",
        "multiplications",
        "parity",
        "tables",
        "widths",
        "memory_tensors",
        "errors",
        "added_errors",
    } <= set(tables)
    assert_same(tables.pop("networks"), content["comparison"])
    for name, rows in tables.items():
        records = [{"network": n["name"], **record} for n in content["networks"] for record in records_of(n, name)]
        assert_same(rows, records)


def records_of(network, name):
    """Return the records of a network behind the CSV file `name`."""
    if name == "memory_totals":
        return [{"quantity": key, "value": value} for key, value in network["memory"][name].items()]
    for part in (network["count"], network["memory"], network):
        if isinstance(part.get(name), list):
            return part[name]
    raise KeyError(name)


def assert_same(rows, records):
    assert rows == [{key: as_text(value) for key, value in record.items()} for record in records]


def as_text(value):
    if isinstance(value, list):
        return " ".join(map(str, value))
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def test_markdown_has_the_comparison_and_every_network(folder):
    text = (folder / "report.md").read_text()
    assert text.startswith("# A title\n")
    assert "| Quantity | dense | free |" in text
    assert "\n## free\n" in text
    assert "Not multiplication-free: node \\`head\\` (matmul) of layer \\`head\\` executes 32 mul" in text


def test_markdown_shows_any_name_as_it_is():
    assert markdown_text("a|b\n*c* <d> `e` [f](g)") == "a\\|b \\*c\\* \\<d\\> \\`e\\` \\[f\\](g)"


def test_report_is_the_same_each_time_it_is_written(folder, tmp_path):
    networks = [
        result("dense", mixed(), mismatches=2),
        result("free", residual(), info={"Data": {"set": "digits"}}, recipe="bits = 8"),
    ]
    write_report(networks, tmp_path, "A title")
    for name in ("report.html", "report.json", "report.md"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()


def test_nothing_is_left_beside_the_files(folder):
    assert sorted(os.listdir(folder)) == ["csv", "report.html", "report.json", "report.md"]


def test_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(MfsimError, match="cannot be written"):
        write_report([result("free", residual())], tmp_path / "file" / "report")


def test_networks_must_have_names_of_their_own(tmp_path):
    with pytest.raises(DataError, match=r"^two networks of the report are called `a`$"):
        write_report([result("a", residual()), result("a", residual())], tmp_path)
    with pytest.raises(DataError, match=r"^a report needs at least one network$"):
        write_report([], tmp_path)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(("value", "shown"), [(97.5, "97.5"), (-0.1, "-0.1"), (float("nan"), "nan")])
def test_accuracy_is_a_fraction(value, shown):
    with pytest.raises(DataError, match=rf"^the integer accuracy of `a` must be a fraction in 0\.\.1, not {shown}$"):
        result("a", residual(), accuracy={"integer": value})


def test_accuracy_of_an_unknown_stage():
    with pytest.raises(
        DataError,
        match=r"^`accuracy` must have the keys float, quantized, integer, not 'quantised'; did you mean `quantized`\?$",
    ):
        result("a", residual(), accuracy={"quantised": 0.5})


def test_parity_counts_cannot_pass_what_was_compared():
    with pytest.raises(DataError, match=r"^`mismatches` of `p` must be in 0\.\.3, not 4$"):
        ParityPair("p", 3, 4)


def test_nothing_compared_is_not_equal():
    assert not ParityPair("p", 0, 0).equal
    network = result("a", residual())
    without = NetworkResult("a", {}, (), network.counts, network.words, network.memory, network.layers)
    assert without.bit_exact is None
    assert without.to_json()["errors"] is None


def test_tables_of_a_network_without_rows_still_have_a_csv(tmp_path):
    write_report([result("free", one("relu", (4,)))], tmp_path)
    assert (
        tmp_path / "csv" / "multiplications.csv"
    ).read_text() == "network,layer,node,op,primitive,class,widths,count\n"

"""What `mfsim demo` prints and how it ends; the networks themselves are in tests/workflow/test_demo.py."""

from __future__ import annotations

import pathlib

import pytest

import mfsim.workflow.demo
from tests.analysis.programs import mixed, residual
from tests.cli.conftest import mfsim as call
from tests.report.networks import result


@pytest.fixture
def demo(monkeypatch, tmp_path):
    """Return a function that runs the command with a demo that found `shortfalls`."""

    def run(shortfalls, *arguments):
        def fake(folder, settings, *, progress, finished):
            results = (result("free", residual()), result("dense", mixed()))
            for network in results:
                progress(network.name, "train", 1, settings.epochs)
                finished(network)
            return mfsim.workflow.demo.Demo(results, tuple(shortfalls), pathlib.Path(folder) / "report.html")

        monkeypatch.setattr(mfsim.workflow.demo, "run_demo", fake)
        return call("demo", "--out", tmp_path / "demo", *arguments)

    return run


def test_a_table_side_by_side_and_the_path_of_the_report(demo, tmp_path):
    shown = demo([])
    assert (shown.status, shown.stderr) == (0, "")
    assert "free: float 98.89%, quantized 98.61%, integer 97.50%; 0 of 720 compared codes differ\n" in shown.stdout
    assert "│float accuracy " in shown.stdout
    assert shown.stdout.endswith(f"report: {tmp_path}/demo/report.html\n")


def test_shortfalls_fail(demo):
    shown = demo(["free reaches 10.00% in float, and 97% is expected", "dense: 1 of 2 codes differ in a = b"])
    assert shown.status == 1
    assert shown.stderr == (
        "mfsim: free reaches 10.00% in float, and 97% is expected; dense: 1 of 2 codes differ in a = b\n"
    )


def test_json(demo, tmp_path):
    shown = demo(["one thing"], "--json")
    assert shown.status == 1
    assert shown.json["shortfalls"] == ["one thing"]
    assert shown.json["error"] == "one thing"
    assert shown.json["report"] == f"{tmp_path}/demo/report.html"
    assert [row["network"] for row in shown.json["networks"]] == ["free", "dense"]

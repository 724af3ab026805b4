"""docs/papers.md is what `make papers` writes, and `python -m examples.papers` prints the same tables."""

from __future__ import annotations

import json
import pathlib
import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from examples.papers.__main__ import app
from examples.papers.page import text

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUMMARY = "counted: 4 exact, 1 not derivable; measured: 2 not derivable\n"


def test_the_page_is_renewed(found):
    assert (ROOT / "docs" / "papers.md").read_text() == text(found), "docs/papers.md is outdated; run `make papers`"


def test_every_table_of_the_page_says_how_its_figures_were_found(found):
    headings = re.findall(r"^## (.*)\n\n(.*)", text(found), re.MULTILINE)
    assert [line.startswith("Figures: ") for title, line in headings if "arXiv" not in title] == [True] * 15
    derived = [title for title, line in headings if line.startswith("Figures: derived")]
    assert derived == ["Bytes of the cache of Qwen2-1.5B, 16 bits for each value", "Q = K M / P of the printed totals"]


def test_the_command_prints_one_paper_and_writes_its_tables(tmp_path):
    ended = CliRunner().invoke(app, ["--paper", "hadamard", "--json", "--csv", str(tmp_path)])
    assert ended.exit_code == 0
    result = json.loads(ended.stdout)
    counted, derived, *_ = result["totals"]
    assert (counted["basis"], counted["exact"], counted["not_derivable"]) == ("counted", 4, 1)
    assert (derived["basis"], derived["exact"]) == ("derived", 0)
    assert {claim["paper"] for claim in result["claims"]} == {"hadamard"}
    lines = (tmp_path / "claims.csv").read_text().splitlines()
    assert lines[0] == "paper,where,what,claimed,ours,basis,verdict,reason"
    assert len(lines) == 8
    assert lines[1].startswith("hadamard,core problem,parameters of W_O at 4096,16 million,16777216,counted,exact,")


def test_the_command_prints_tables_for_a_person():
    ended = CliRunner().invoke(app, ["--paper", "hadamard"])
    assert ended.exit_code == 0
    assert "Claims of the papers [each row says it]" in ended.stdout
    assert "16,777,216" in ended.stdout
    assert ended.stdout.endswith(SUMMARY)


def test_the_page_has_all_papers(tmp_path):
    ended = CliRunner().invoke(app, ["--paper", "hadamard", "--page", str(tmp_path / "papers.md")])
    assert ended.exit_code == 2
    assert "`--page` must be given without `--paper`" in ended.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("arguments", [["--help"], ["--paper", "keyles"]], ids=" ".join)
def test_it_runs_as_a_module(arguments):
    done = subprocess.run(
        [sys.executable, "-m", "examples.papers", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == (0 if arguments == ["--help"] else 2)
    assert "python -m examples.papers" in done.stdout + done.stderr

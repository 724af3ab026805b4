"""docs/papers.md is what `tools/write_papers.py` writes, and the command prints the same tables."""

from __future__ import annotations

import importlib.util
import json
import pathlib

from typer.testing import CliRunner

from mfsim.cli.app import app

ROOT = pathlib.Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location("write_papers", ROOT / "tools" / "write_papers.py")
write_papers = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(write_papers)


def test_the_page_is_renewed(found):
    written = write_papers.FILE.read_text()
    assert written == write_papers.text(found), "docs/papers.md is outdated; run tools/write_papers.py"


def test_the_command_prints_one_paper_and_writes_its_tables(tmp_path):
    ended = CliRunner().invoke(app, ["papers", "--paper", "hadamard", "--json", "--csv", str(tmp_path)])
    assert ended.exit_code == 0
    result = json.loads(ended.stdout)
    assert result["verdicts"] == {"exact": 4, "not derivable": 3, "does not reproduce": 0}
    assert {claim["paper"] for claim in result["claims"]} == {"hadamard"}
    lines = (tmp_path / "claims.csv").read_text().splitlines()
    assert lines[0] == "paper,where,what,claimed,ours,verdict,reason"
    assert len(lines) == 8
    assert lines[1].startswith("hadamard,core problem,parameters of W_O at 4096,16 million,16777216,exact,")


def test_the_command_prints_tables_for_a_person():
    ended = CliRunner().invoke(app, ["papers", "--paper", "hadamard"])
    assert ended.exit_code == 0
    assert "Claims of the papers" in ended.stdout
    assert "16,777,216" in ended.stdout
    assert ended.stdout.endswith("4 exact, 3 not derivable, 0 does not reproduce\n")

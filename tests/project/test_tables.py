"""Generated tables equal their one source, and every command is documented."""

from __future__ import annotations

import importlib.util
import pathlib

import pytest
import typer.main

from mfsim.cli.app import app

ROOT = pathlib.Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location("write_tables", ROOT / "tools" / "write_tables.py")
write_tables = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(write_tables)


@pytest.mark.parametrize("name", write_tables.FILES)
def test_tables_are_renewed(name):
    path = ROOT / name
    assert path.read_text() == write_tables.renewed(path), f"{name} is outdated; run tools/write_tables.py"


def test_every_command_is_documented():
    text = (ROOT / "docs" / "commands.md").read_text()
    for name in typer.main.get_command(app).commands:
        assert f"## mfsim {name}\n" in text
        assert f"<!-- options of {name}: begin -->" in text

"""Generated tables and documented facts equal their one source."""

from __future__ import annotations

import pathlib
import re

import pytest

from mfsim.cli.ops import markdown

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", ["README.md", "docs/ops.md"])
def test_op_table(name):
    (block,) = re.findall(r"<!-- ops: begin [^\n]*-->\n(.*?)<!-- ops: end -->", (ROOT / name).read_text(), re.DOTALL)
    assert block.strip() == markdown().strip(), f"{name} is outdated; run tools/write_tables.py"

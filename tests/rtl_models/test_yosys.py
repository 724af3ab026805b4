"""What is said where Yosys is missing."""

from __future__ import annotations

import pytest

from mfsim.errors import ToolError
from mfsim.rtl_models import verify, yosys


def test_a_missing_yosys_is_named_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.setattr(yosys, "available", lambda: False)
    with pytest.raises(ToolError) as caught:
        verify("wht", {})
    assert str(caught.value) == "`pyosys` is needed to check a block and is not installed: `pip install pyosys==0.70`"

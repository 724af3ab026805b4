"""Settings of every test process."""

from __future__ import annotations

import os

import pytest

# Two workers with a thread for each core wait for each other most of the time; torch reads this when it is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.fixture
def needs_yosys():
    """Skip the test where Yosys is not installed; in CI that is a failure."""
    from mfsim.rtl_models import yosys

    if yosys.available():
        return
    sentence = f"`pyosys` is not installed: `{yosys.INSTALL}`"
    if os.environ.get("CI") == "true":
        pytest.fail(sentence)
    pytest.skip(sentence)

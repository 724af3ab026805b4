"""Settings of every test process."""

from __future__ import annotations

import functools
import os
import sys

import pytest

# Two workers with a thread for each core wait for each other most of the time; torch reads this when it is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_runtest_setup() -> None:
    """Let torch's exporter make its table of operators once for all networks; it only reads it."""
    registration = sys.modules.get("torch.onnx._internal.exporter._registration")
    registry = getattr(registration, "ONNXRegistry", None)
    if isinstance(vars(registry or object).get("from_torchlib"), classmethod):
        registry.from_torchlib = staticmethod(functools.cache(registry.from_torchlib))


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

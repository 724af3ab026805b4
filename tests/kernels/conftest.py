"""The levels that the fast kernels of products run on."""

from __future__ import annotations

import pytest

from mfsim.kernels import cpu
from mfsim.kernels.gemm.product import LAYOUTS


@pytest.fixture(params=list(LAYOUTS))
def level(request, monkeypatch):
    """Hold the products to one level."""
    if request.param not in cpu.available():
        pytest.skip(f"not run: this machine does not have {request.param}")
    monkeypatch.setenv(cpu.VARIABLE, request.param)
    return request.param

"""Dense and multiplication-free products of 8-bit matrices, beside torch's int8 product (oneDNN), weights packed.

Each level has its process, in which oneDNN and mfsim are held to the same instructions. One thread.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from mfsim.kernels import host

PEERS = {
    "amx": {},
    "vnni": {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_VNNI"},
    # On a processor that has more, LLVM would use it.
    "avx2": {"ONEDNN_MAX_CPU_ISA": "AVX2", "NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": "+avx2,+fma,+bmi,+bmi2"},
    "portable": {"ONEDNN_MAX_CPU_ISA": "SSE41", "NUMBA_CPU_NAME": "x86-64-v2", "NUMBA_CPU_FEATURES": ""},
}
GOALS = {"amx": (1.0, 2.2), "vnni": (1.2, 2.4), "avx2": (1.2, 2.4), "portable": (None, None)}
"""The most time, as a multiple of torch's, of the dense and of the multiplication-free product."""


def measured(level: str, *arguments: str) -> dict:
    """Return what `benchmarks.products` prints, held to one level."""
    if level not in host.available():
        pytest.skip(f"not run: this machine does not have {level}")
    environment = os.environ | PEERS[level] | {host.VARIABLE: level}
    command = [sys.executable, "-m", "benchmarks.products", *arguments]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


@pytest.mark.parametrize("level", PEERS)
def test_products(level, record):
    for shape, times in measured(level).items():
        for name in ("dense", "mf ef", "mf abs"):
            goal = GOALS[level][name != "dense"]
            what = f"{name} int8 {level}, {shape}: time of torch's dense int8"
            record("products", what, times[name] / times["torch"], "at most" if goal else "", goal)


def test_broadcasting(record):
    times = measured(next(level for level in PEERS if level in host.available()), "broadcast")
    record(
        "products",
        "mf abs int8, 512x512x512: speed of broadcasting in torch",
        times["broadcast"] / times["mf"],
        "at least",
        500,
    )

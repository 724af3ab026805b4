"""Processes that are held to one level of instructions: mfsim, oneDNN and what LLVM makes for Numba."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from mfsim.kernels import cpu

HELD = {
    "amx": {},
    "vnni": {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_VNNI"},
    # On a processor that has more, LLVM would use it.
    "avx2": {"ONEDNN_MAX_CPU_ISA": "AVX2", "NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": "+avx2,+fma,+bmi,+bmi2"},
    "portable": {"ONEDNN_MAX_CPU_ISA": "SSE41", "NUMBA_CPU_NAME": "x86-64-v2", "NUMBA_CPU_FEATURES": ""},
}
"""For each level that is compared, what else the environment must say."""


def measured(level: str, module: str, *arguments: object) -> dict:
    """Return what `benchmarks.MODULE` prints, held to one level; skip where this machine does not have it."""
    if level not in cpu.available():
        pytest.skip(f"not run: this machine does not have {level}")
    environment = os.environ | HELD[level] | {cpu.VARIABLE: level}
    command = [sys.executable, "-m", f"benchmarks.{module}", *map(str, arguments)]
    run = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(run.stdout)

"""A second process, memory, and the levels below the machine's best: each in processes of their own."""

from __future__ import annotations

import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

import onnx
import pytest

from benchmarks.levels import HELD, measured
from benchmarks.networks import Network
from mfsim.kernels import cpu

GROUP = "processes"
STARTS = 5
FEW, MANY = 500, 4000
"""Images of the two data sets whose memory is compared."""
COUNT = 128


def child(network: Network, what: str, *arguments: object) -> list[str]:
    """Return the command of a child process."""
    return [sys.executable, "-m", "benchmarks.child", what, str(network.integer_path), *map(str, arguments)]


def start(network: Network) -> tuple[float, float, int]:
    """Start a process; return the time on the wall until it says that it has a result, its work, and what it compiled."""
    began, before = time.perf_counter(), os.times()
    with subprocess.Popen(child(network, "first"), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said, _, compiled = process.stdout.readline().partition(" ")
        passed = time.perf_counter() - began
    assert said == "done"
    after = os.times()
    return passed, sum(after[2:4]) - sum(before[2:4]), int(compiled)


def test_second_process(networks, record):
    network = networks("mini-vit")
    start(network)
    wall, work, compiled = (
        statistics.median(found) for found in zip(*(start(network) for _ in range(STARTS)), strict=True)
    )
    what = "mini-vit, warm kernel cache, start of a process to its first result: seconds"
    record(GROUP, what, wall, "at most", 1.5, f"{work:.2f} of processor time; {compiled} kernels compiled again")


def test_memory(networks, record):
    network = networks("wht-cnn")
    what = f"wht-cnn, peak memory but for inputs and outputs, {MANY} images: that of {FEW}"
    if not pathlib.Path("/proc/self/status").exists():
        record(GROUP, what, None, "at most", 1.1, note="this system does not tell it")
        pytest.skip("not run: this system does not tell a process its peak of memory")

    def held(count: int) -> int:
        run = subprocess.run(child(network, "memory", count), stdout=subprocess.PIPE, text=True, check=True)
        found = json.loads(run.stdout)
        return found["peak"] - found["data"]

    held(FEW)  # it compiles kernels, if they are not in the cache
    many, few = held(MANY), held(FEW)
    record(GROUP, what, many / few, "at most", 1.1, f"{many >> 20} and {few >> 20} MiB")


@pytest.mark.parametrize("level", [level for level in HELD if level != cpu.available()[0]])
def test_levels(level, networks, record):
    """ONNX Runtime keeps the instructions of the machine."""
    network = networks("wht-cnn")
    path = network.folder / "model.onnx"
    onnx.save(network.file, path)
    times = measured(level, "child", "network", network.integer_path, path, COUNT)
    record(
        GROUP,
        f"wht-cnn {level}, 1 thread: speed of ONNX Runtime, one file, not held",
        times["one file"] / times["mfsim"],
        note=f"{COUNT / times['mfsim']:.0f} and {COUNT / times['one file']:.0f} images a second",
    )

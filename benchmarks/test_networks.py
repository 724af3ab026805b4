"""Whole networks, from real images to classes: images per second beside ONNX Runtime, Brevitas and qonnx.

One thread by the processor time of the process; two threads, and one beside them, by the clock on the wall.
"""

from __future__ import annotations

import os
import time
from functools import partial

import numpy as np
import pytest

from benchmarks.networks import NAMES, QCDQ, images, in_torch, qcdq, real, session, simulated
from benchmarks.qonnx_peer import executor
from benchmarks.rows import medians

pytestmark = pytest.mark.filterwarnings("ignore")  # of the peers; a wrong figure would show as a wrong result

COUNT, ROUNDS = 128, 5
GROUP = "networks"
SEVERAL = {"wht-cnn": 4096, "mini-vit": 512}
"""Networks that run a data set on two threads, and its images."""


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def rates(times: dict[str, float], ours: str, peer: str, count: int) -> str:
    """Return the two speeds behind a ratio."""
    return f"{count / times[ours]:.0f} and {count / times[peer]:.0f} images a second"


@pytest.mark.parametrize("name", NAMES)
def test_one_thread(name, networks, record):
    network, values = networks(name), images(COUNT)
    runs = {
        "mfsim": partial(simulated, network, values),
        "brevitas": partial(in_torch(network), values),
        "one file": partial(session(network.file), values),
    }
    assert np.array_equal(real(network, runs["mfsim"]()), runs["one file"]())
    if name in QCDQ:
        runs["QCDQ file"] = partial(session(qcdq(network)), values)
        runs["float file"] = partial(session(network.float_file), values)
    times = medians(runs, ROUNDS, clock=time.process_time)
    for peer in ("QCDQ file", "one file", "float file"):
        if peer in times:
            goal = 1.0 if peer == ("QCDQ file" if name in QCDQ else "one file") else None
            what = f"{name}, 1 thread: speed of ONNX Runtime, {peer}"
            note = rates(times, "mfsim", peer, COUNT)
            record(GROUP, what, times[peer] / times["mfsim"], "at least" if goal else "", goal, note)
    note = rates(times, "mfsim", "brevitas", COUNT)
    record(
        GROUP,
        f"{name}, 1 thread: speed of Brevitas' evaluation",
        times["brevitas"] / times["mfsim"],
        "at least",
        10,
        note,
    )


@pytest.mark.parametrize("name", NAMES)
def test_two_threads(name, networks, record):
    peer = "QCDQ file" if name in QCDQ else "one file"
    what = f"{name}, 2 threads: speed of ONNX Runtime, {peer}"
    if cores() < 2:
        record(GROUP, what, None, "at least", 1.0, "this machine lends one core")
        pytest.skip("not run: this machine lends one core")
    network, values = networks(name), images(COUNT)
    file = qcdq(network) if name in QCDQ else network.file
    runs = {"mfsim": partial(simulated, network, values, 2), peer: partial(session(file, threads=2), values)}
    times = medians(runs, ROUNDS, clock=time.perf_counter)
    record(GROUP, what, times[peer] / times["mfsim"], "at least", 1.0, rates(times, "mfsim", peer, COUNT))


@pytest.mark.parametrize("name", SEVERAL)
def test_data_set(name, networks, record):
    what = f"{name}, {SEVERAL[name]} images, 2 threads: speed of 1 thread"
    if cores() < 2:
        record(GROUP, what, None, "at least", 1.7, "this machine lends one core")
        pytest.skip("not run: this machine lends one core")
    network, values = networks(name), images(SEVERAL[name])
    runs = {str(threads): partial(simulated, network, values, threads) for threads in (1, 2)}
    times = medians(runs, ROUNDS, clock=time.perf_counter)
    record(GROUP, what, times["1"] / times["2"], "at least", 1.7, rates(times, "2", "1", SEVERAL[name]))


@pytest.mark.parametrize(("name", "count"), [("dense-cnn", 1), ("dense-cnn", 64), ("mini-vit", 64), ("mf-vit", 64)])
def test_qonnx(name, count, networks, record):
    """Its executor starts a session for each node, so a batch costs it little more than an image; a call of it is timed once."""
    network, values = networks(name), images(count)
    run = executor(network, count)
    start = time.process_time()
    found = run(values)
    peer = time.process_time() - start
    assert np.array_equal(real(network, simulated(network, values)), found)
    times = medians({"mfsim": partial(simulated, network, values)}, ROUNDS, clock=time.process_time) | {"qonnx": peer}
    record(
        GROUP,
        f"{name}, 1 thread, {count} image{'s' if count > 1 else ''} at a time: speed of qonnx's executor",
        times["qonnx"] / times["mfsim"],
        "at least",
        100,
        rates(times, "mfsim", "qonnx", count),
    )

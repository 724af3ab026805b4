"""The Walsh-Hadamard transform in place, beside memcpy and beside fht-cpu, the quickest package for floats.

All work on one block of memory, one after the other: `memcpy` copies it to another one, fht-cpu takes its codes as
float32, shorter integers take the front of it. `in turn` means eight such blocks, so that what is read has
to come from memory or a far cache.
"""

from __future__ import annotations

import functools
import itertools

import fht_cpu
import numpy as np
import pytest
import torch

from benchmarks.rows import medians
from mfsim.kernels import cpu
from mfsim.ops.wht.fast import WHT_ISAS, transform

MANY, FEW = 1 << 22, 1 << 16
LENGTHS = (64, 256, 1024, 4096)
AGAINST_FLOATS = {"int32": 1.2, "int16": 2.2, "int8": 4.0}
"""The least speed, as a multiple of that of fht-cpu in float32 on as many elements."""


def blocks(codes: int, count: int) -> list[np.ndarray]:
    """Return `count` arrays of int32 zeros that begin at a multiple of 64 bytes."""
    made = []
    for _ in range(count):
        raw = np.zeros(4 * codes + 64, dtype=np.uint8)
        first = -raw.ctypes.data % 64
        made.append(raw[first : first + 4 * codes].view(np.int32))
    return made


def timed(n: int, codes: int, count: int, levels: dict[str, str]) -> dict[str, float]:
    """Return the times of memcpy, fht-cpu and the transform; `levels` maps a name `kind...` to a level."""
    turn = itertools.cycle(blocks(codes, count))
    (target,) = blocks(codes, 1)

    def integers(kind: str, level: str) -> None:
        y = next(turn).view(kind)[:codes]
        transform(y, y, n, 1, "natural", level)

    runs = {
        "memcpy": lambda: np.copyto(target, next(turn)),
        "fht": lambda: fht_cpu.fht(next(turn).view(np.float32).reshape(-1, n), num_threads=1),
    }
    for name, level in levels.items():
        runs[name] = functools.partial(integers, name.split()[0], level)
    return medians(runs)


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize(("count", "where"), [(1, "one array"), (8, "8 arrays in turn")])
def test_many(n, count, where, record, benchmark):
    best = cpu.best(tuple(WHT_ISAS))
    times = timed(n, MANY, count, dict.fromkeys(AGAINST_FLOATS, best))
    what = f"4 M elements, n = {n}, {where}"
    record("wht", f"wht int32, {what}: time of memcpy", times["int32"] / times["memcpy"], "at most", 1.1)
    for kind, goal in AGAINST_FLOATS.items():
        record("wht", f"wht {kind}, {what}: speed of fht-cpu", times["fht"] / times[kind], "at least", goal)
    (y,) = blocks(MANY, 1)
    benchmark.pedantic(transform, (y, y, n, 1, "natural", best), rounds=5, warmup_rounds=1)


@pytest.mark.parametrize("n", LENGTHS)
def test_few(n, record, benchmark):
    best = cpu.best(tuple(WHT_ISAS))
    times = timed(n, FEW, 1, {"int32": best})
    record(
        "wht", f"wht int32, 64 K elements, n = {n}: speed of fht-cpu", times["fht"] / times["int32"], "at least", 1.0
    )
    (y,) = blocks(FEW, 1)
    benchmark.pedantic(transform, (y, y, n, 1, "natural", best), rounds=50, iterations=10, warmup_rounds=1)


@pytest.mark.parametrize("n", [256, 4096])
def test_other_levels(n, record):
    """What a machine without the best instructions may expect; nothing is asked of it."""
    levels = {f"int32 {level}": level for level in WHT_ISAS if level in cpu.available()}
    for codes, size in ((MANY, "4 M"), (FEW, "64 K")):
        times = timed(n, codes, 1, levels)
        for name in levels:
            what = f"wht {name}, {size} elements, n = {n}"
            record("wht", f"{what}: time of memcpy", times[name] / times["memcpy"])
            record("wht", f"{what}: speed of fht-cpu", times["fht"] / times[name])


def hadamard(n: int) -> np.ndarray:
    """Return the matrix H of float32, natural order."""
    h = np.ones((1, 1), dtype=np.float32)
    while len(h) < n:
        h = np.block([[h, h], [h, -h]])
    return h


@pytest.mark.parametrize("n", [64, 256, 4096])
def test_other_packages(n, record):
    """Rows of int32 in place, 64 K elements: a float product with H in torch, and pyfwht, which has to be compiled."""
    torch.set_num_threads(1)
    best = cpu.best(tuple(WHT_ISAS))
    codes = np.random.default_rng(0).integers(-128, 128, (FEW // n, n), dtype=np.int32)
    ours, h = codes.copy(), torch.from_numpy(hadamard(n))
    floats = torch.from_numpy(codes.astype(np.float32))
    target = torch.empty_like(floats)
    transform(ours.reshape(-1), ours.reshape(-1), n, 1, "natural", best)
    assert np.array_equal(torch.mm(floats, h, out=target).numpy(), ours)
    (y,) = blocks(FEW, 1)
    runs = {
        "mfsim": lambda: transform(y, y, n, 1, "natural", best),
        "torch": lambda: torch.mm(floats, h, out=target),
    }
    what = f"wht int32, 64 K elements, n = {n}: speed of"
    try:
        import pyfwht
    except ImportError:
        record("wht", f"{what} pyfwht", None, note="pyfwht is not installed; it has no wheel")
    else:
        rows = list(codes.copy())
        pyfwht.vectorized_batch_i32(rows, n)
        assert np.array_equal(np.stack(rows), ours)
        zeros = list(np.zeros_like(codes))
        runs["pyfwht"] = lambda: pyfwht.vectorized_batch_i32(zeros, n)
    times = medians(runs)
    for peer, name in (("torch", "a float product with H in torch"), ("pyfwht", "pyfwht")):
        if peer in times:
            record("wht", f"{what} {name}", times[peer] / times["mfsim"])

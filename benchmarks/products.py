"""Times of 8-bit matrix products, mfsim's and torch's, as JSON: `python -m benchmarks.products [broadcast]`.

Its own process, because oneDNN and Numba read from the environment what they are held to when they start.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

import numpy as np
import torch

from benchmarks.rows import medians
from mfsim.kernels.gemm.decomposition import dense_sums, mf_sums
from mfsim.kernels.gemm.matmul import matrix
from mfsim.kernels.gemm.rows import RowProducts
from mfsim.kernels.scratch import aligned

SHAPES = ((4096, 192, 768), (512, 512, 512))
PIECE = 32
"""Rows at a time of the product by broadcasting, whose terms all lie in memory."""


def operands(rows: int, length: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Return bytes x [rows, length] and w [length, columns]; no weight is -128, as quantizers make them."""
    rng = np.random.default_rng(0)
    x, w = aligned((rows, length), np.int8), aligned((length, columns), np.int8)
    x[...], w[...] = rng.integers(-128, 128, x.shape), rng.integers(-127, 128, w.shape)
    return x, w


def products(x: np.ndarray, w: np.ndarray) -> dict[str, RowProducts]:
    """Return the dense and the multiplication-free products of w, packed; their sums stay as they are."""
    byte, limit, none = (-128, 127), 2**31 - 1, np.zeros(w.shape[1], np.int64)
    found = {"dense": dense_sums(byte, w, none, (-limit, limit), len(w))}
    for form in ("ef", "abs"):
        attributes = {"form": form, "sign_zero": 0, "shift_x": (0,), "shift_w": (0,)}
        found[f"mf {form}"] = mf_sums(byte, w, none, (-limit, limit), attributes, len(w))
    every = slice(0, w.shape[1])
    return {name: RowProducts(sums, None, (-limit, limit), every, every.stop) for name, sums in found.items()}


def running(product: RowProducts, x: np.ndarray, out: np.ndarray) -> Callable[[], None]:
    """Return a function that fills `out`."""
    calls = matrix(product, x, out)

    def run() -> None:
        for kernel, arguments in calls:
            kernel(*arguments)

    return run


def timed(rows: int, length: int, columns: int) -> dict[str, float]:
    """Return the median times of one shape; every product fills memory that is there."""
    x, w = operands(rows, length, columns)
    left, right = torch.from_numpy(x), torch.from_numpy(w)
    target = torch.zeros(rows, columns, dtype=torch.int32)
    runs = {"torch": lambda: torch._int_mm(left, right, out=target)}
    for name, product in products(x, w).items():
        out = aligned((rows, columns), np.int32)
        out[...] = 0
        runs[name] = running(product, x, out)
    return medians(runs)


def broadcast() -> dict[str, float]:
    """Return the times of the multiplication-free product of 512 x 512 x 512, ours and by broadcasting in torch."""
    x, w = operands(512, 512, 512)
    product = products(x, w)["mf abs"]
    left, right = (torch.from_numpy(a).float() for a in (x, w))
    signs, sizes = right.sign(), right.abs()
    out = aligned((512, 512), np.int32)

    def by_broadcasting() -> None:
        for first in range(0, 512, PIECE):
            rows = left[first : first + PIECE, :, None]
            (rows.sign() * sizes + rows.abs() * signs).sum(1)

    return medians({"mf": running(product, x, out), "broadcast": by_broadcasting}, rounds=5)


if __name__ == "__main__":
    torch.set_num_threads(1)
    if sys.argv[1:] == ["broadcast"]:
        print(json.dumps(broadcast()))
    else:
        print(json.dumps({"x".join(map(str, shape)): timed(*shape) for shape in SHAPES}))

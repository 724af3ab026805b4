"""Products of 8-bit matrices: every level that this machine has, against numpy's integers."""

from __future__ import annotations

import pathlib
import subprocess
import sys
import threading

import numpy as np
import pytest

from mfsim.kernels.gemm.decomposition import Sums
from mfsim.kernels.gemm.matmul import matrix
from mfsim.kernels.gemm.operand_transform import MAGNITUDE, SIGN, VALUE
from mfsim.kernels.gemm.product import Int8Product, OperandTransform
from mfsim.kernels.gemm.rows import RowProducts
from tests.bits import assert_bit_equal

ROOT = pathlib.Path(__file__).parents[2]
SHAPES = [(1, 1, 1), (5, 3, 17), (33, 65, 31), (7, 128, 64), (70, 130, 100)]
LEFT = {"ss": (-128, 128), "us": (0, 256), "su": (-128, 128)}
RIGHT = {"ss": (-128, 128), "us": (-128, 128), "su": (0, 256)}


def codes(rng, low, high, shape):
    """Return codes of low..high - 1, the ends among them often."""
    values = rng.integers(low, high, shape)
    ends = rng.random(shape)
    return np.where(ends < 0.2, low, np.where(ends > 0.8, high - 1, values))


def sign(values, zero):
    return np.sign(values) + zero * (values == 0)


def rows_of(parts, w, start=None):
    """Return a product whose sums are left as they are."""
    product = Int8Product(parts, w, start, run=len(w))
    sums = [Sums(product, np.zeros(w.shape[1], np.int64))]
    return RowProducts(sums, None, (-(2**31), 2**31 - 1), slice(0, w.shape[1]), w.shape[1])


def multiplied(products, x):
    """Return the int64 sums of x [m, k]."""
    y = np.empty((len(x), products.of), np.int32)
    for kernel, arguments in matrix(products, np.ascontiguousarray(x), y):
        assert not kernel(*arguments)
    return y.astype(np.int64)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kind", LEFT)
def test_dense(level, kind, shape):
    m, k, n = shape
    rng = np.random.default_rng(0)
    x, w = codes(rng, *LEFT[kind], (m, k)), codes(rng, *RIGHT[kind], (k, n))
    start = rng.integers(-(2**20), 2**20, n)
    assert Int8Product([OperandTransform(kind)], w).level == level
    products = rows_of([OperandTransform(kind)], w, start)
    assert_bit_equal(multiplied(products, x), x @ w + start)
    word = np.int8 if x.min() < 0 else np.uint8
    assert_bit_equal(multiplied(products, x.astype(word)), x @ w + start)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("zero", [0, 1])
def test_parts_of_mf_products(level, zero, shape):
    m, k, n = shape
    rng = np.random.default_rng(1)
    x, w = codes(rng, -128, 128, (m, k)), codes(rng, -128, 128, (k, n))
    x[rng.random(x.shape) < 0.3] = 0
    parts = [OperandTransform("us", MAGNITUDE, SIGN, zero), OperandTransform("su", SIGN, MAGNITUDE, zero)]
    expected = sign(x, zero) @ np.abs(w) + np.abs(x) @ sign(w, zero)
    assert_bit_equal(multiplied(rows_of(parts, w), x), expected)
    assert_bit_equal(multiplied(rows_of(parts, w), x.astype(np.int8)), expected)
    shifts = np.arange(n) % 7
    parts = [OperandTransform("ss", VALUE, SIGN, zero, 0, shifts), OperandTransform("ss", SIGN, VALUE, zero, 5)]
    expected = 32 * sign(x, zero) @ w + (x @ sign(w, zero) << shifts)
    assert_bit_equal(multiplied(rows_of(parts, w), x), expected)


def test_all_pairs_of_bytes(level):
    for kind, (low, high) in LEFT.items():
        x, w = np.arange(low, high)[:, None], np.arange(*RIGHT[kind])[None]
        assert_bit_equal(multiplied(rows_of([OperandTransform(kind)], w), x), x * w)


def test_sums_near_the_ends_of_32_bits(level):
    k = 2**17 - 1
    x, w = np.full((2, k), -128), np.full((k, 1), -128)
    assert_bit_equal(multiplied(rows_of([OperandTransform("ss")], w), x), x @ w)
    w = np.full((k, 1), 127)
    assert_bit_equal(multiplied(rows_of([OperandTransform("ss")], w, np.array([-100])), x), x @ w - 100)


BEHIND = """
import ctypes, mmap
import numpy as np
from mfsim.kernels.gemm.matmul import matrix
from tests.kernels.test_int8_product import OperandTransform, SIGN, rows_of

PAGES = 300
memory = mmap.mmap(-1, (PAGES + 1) * mmap.PAGESIZE)
start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
end = PAGES * mmap.PAGESIZE
assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(start + end), ctypes.c_size_t(mmap.PAGESIZE), 0) == 0
rng = np.random.default_rng(2)
for rows, length in ((300, 1), (300, 16), (300, 100), (300, 200), (1473, 784), (1400, 784)):
    x = np.frombuffer(memory, np.int8, rows * length, end - rows * length).reshape(rows, length)
    x[...] = rng.integers(-128, 128, x.shape)
    for parts in ([OperandTransform("ss")], [OperandTransform("ss", right=SIGN), OperandTransform("ss", left=SIGN)]):
        w = rng.integers(-128, 128, (length, 20))
        y = np.empty((rows, 20), np.int32)
        for kernel, arguments in matrix(rows_of(parts, w), x, y):
            kernel(*arguments)
        wide = x.astype(np.int64)
        expected = wide @ w if len(parts) == 1 else wide @ np.sign(w) + np.sign(wide) @ w
        assert np.array_equal(y, expected)
print("read to the end")
"""


def test_nothing_is_read_behind_bytes_that_are_read_where_they_lie(level):
    """A process of its own, which dies if a page is touched that must not be."""
    found = subprocess.run([sys.executable, "-c", BEHIND], capture_output=True, text=True, cwd=ROOT, check=False)
    assert found.stdout == "read to the end\n", found.stderr[-500:]


def test_threads_do_not_share_tiles_or_buffers(level):
    rng = np.random.default_rng(3)
    w = rng.integers(-128, 128, (70, 50))
    products = rows_of([OperandTransform("ss")], w)
    inputs = [rng.integers(-128, 128, (97, 70)) for _ in range(4)]
    wrong = []

    def work(x):
        for _ in range(50):
            if not np.array_equal(multiplied(products, x), x @ w):
                wrong.append(x)

    threads = [threading.Thread(target=work, args=(x,)) for x in inputs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong

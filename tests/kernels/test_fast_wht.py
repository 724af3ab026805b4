"""The fast Walsh-Hadamard transform on every level of instructions, against products with the matrix H."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from mfsim.kernels import cpu
from mfsim.ops.wht.fast import WHT_ISAS, transform
from mfsim.ops.wht.wht import ORDERS, matrix
from tests.bits import assert_bit_equal

KINDS = (np.int8, np.int16, np.int32, np.int64)
LENGTHS = [1 << q for q in range(17)]


@pytest.fixture(params=WHT_ISAS)
def level(request):
    """Run the test on each level that the machine has."""
    if request.param not in cpu.available():
        pytest.skip(f"not run: this machine does not have {request.param}")
    return request.param


def expected(x, n, inner, order="natural"):
    """Return H x for each block, modulo 2**bits: sums in int64 wrap, so products with the factors of H do."""
    left = max(n // 256, 1)
    blocks = x.astype(np.int64).reshape(-1, left, n // left, inner)
    if order != "natural":
        assert left == 1
    y = np.einsum("ab,cd,zbdi->zaci", matrix(left, "natural"), matrix(n // left, order), blocks, optimize=True)
    return y.reshape(x.shape).astype(x.dtype)


def codes(kind, size, seed=0):
    """Return random codes with the ends of the word, where sums wrap, among them."""
    limits = np.iinfo(kind)
    x = np.random.default_rng(seed).integers(limits.min, limits.max, size, kind, endpoint=True)
    x[::7], x[3::11] = limits.min, limits.max
    return x


def check(x, n, inner, order, level):
    kept, y = x.copy(), np.zeros_like(x)
    transform(x, y, n, inner, order, level)
    assert_bit_equal(x, kept, "the source")
    assert_bit_equal(y, expected(x, n, inner, order), f"{x.dtype}, n {n}, inner {inner}, {order}, {level}")
    transform(x, x, n, inner, order, level)
    assert_bit_equal(x, y, "in place")


@pytest.mark.parametrize("n", LENGTHS)
def test_every_length(n, level):
    """Two of the types for each length, in turn: every one would be compiled for all."""
    for k in (0, 2):
        check(codes(KINDS[(n.bit_length() + k) % 4], 3 * n), n, 1, "natural", level)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [8, 1000 * 8, 8192, 3 * 8192 + 8])
def test_every_type_and_blocks_that_fill_no_pass(kind, size, level):
    check(codes(kind, size), 8, 1, "natural", level)


@pytest.mark.parametrize("kind", KINDS)
def test_every_type_in_several_passes(kind, level):
    check(codes(kind, 2 * 4096), 4096, 1, "natural", level)


@pytest.mark.parametrize("kind", [np.int8, np.int32])
@pytest.mark.parametrize("inner", [2, 3, 16, 49, 64, 80, 128])
@pytest.mark.parametrize("n", [2, 64])
def test_axes_that_are_not_the_last(n, inner, kind, level):
    check(codes(kind, 3 * n * inner), n, inner, "natural", level)


@pytest.mark.parametrize("n", [512, 4096])
def test_long_axes_that_are_not_the_last(n, level):
    check(codes(np.int32, n * 20), n, 20, "natural", level)


@pytest.mark.parametrize("order", ORDERS[1:])
@pytest.mark.parametrize(("n", "inner", "blocks"), [(1, 1, 3), (2, 1, 3), (256, 1, 300), (64, 12, 90), (64, 1, 0)])
def test_orders(n, inner, blocks, order, level):
    check(codes(np.int16, n * inner * blocks), n, inner, order, level)


@pytest.mark.parametrize("kind", [np.uint8, np.uint64])
def test_unsigned_words_wrap_as_signed_ones(kind, level):
    x = codes(kind, 4 * 64)
    y = np.zeros_like(x)
    transform(x, y, 64, 1, "natural", level)
    signed = x.view(f"i{x.itemsize}")
    assert_bit_equal(y.view(signed.dtype), expected(signed, 64, 1))


SCRIPT = """
import numpy as np
from mfsim.kernels import cpu
from mfsim.ops.wht import fast
x = np.arange(64, dtype=np.int32)
level = cpu.best(tuple(fast.WHT_ISAS))
fast.transform(x, x, 64, 1, "natural", level)
width, held = fast.WHT_ISAS[level]
stats = fast._rows((width // 4).bit_length() - 1, held, 0, 6).stats
print(level, sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""


def test_a_cached_kernel_is_never_that_of_another_level(tmp_path):
    def run(level):
        environment = os.environ | {"MFSIM_CPU": level, "MFSIM_CACHE_DIR": str(tmp_path)}
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout.split()

    levels = [level for level in WHT_ISAS if level in cpu.available()]
    for level in levels:
        assert run(level) == [level, "0", "1"]
    for level in levels:
        assert run(level) == [level, "1", "0"]

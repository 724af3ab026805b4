"""Products of 8-bit matrices: every level that this machine has, against numpy's integers."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from mfsim.kernels.int8_product import MAGNITUDE, SIGN, VALUE, Int8Product, Part, aligned
from tests.bits import assert_bit_equal

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


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kind", LEFT)
def test_dense(level, kind, shape):
    m, k, n = shape
    rng = np.random.default_rng(0)
    x, w = codes(rng, *LEFT[kind], (m, k)), codes(rng, *RIGHT[kind], (k, n))
    start = rng.integers(-(2**20), 2**20, n)
    product = Int8Product([Part(kind)], w, start)
    assert product.level == level
    assert_bit_equal(product(x).astype(np.int64), x @ w + start)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("zero", [0, 1])
def test_parts_of_mf_products(level, zero, shape):
    m, k, n = shape
    rng = np.random.default_rng(1)
    x, w = codes(rng, -128, 128, (m, k)), codes(rng, -128, 128, (k, n))
    x[rng.random(x.shape) < 0.3] = 0
    parts = [Part("us", MAGNITUDE, SIGN, zero), Part("su", SIGN, MAGNITUDE, zero)]
    expected = sign(x, zero) @ np.abs(w) + np.abs(x) @ sign(w, zero)
    assert_bit_equal(Int8Product(parts, w)(x).astype(np.int64), expected)
    assert_bit_equal(Int8Product(parts, w)(x.astype(np.int8)).astype(np.int64), expected)
    shifts = np.arange(n) % 7
    parts = [Part("ss", VALUE, SIGN, zero, 0, shifts), Part("ss", SIGN, VALUE, zero, 5)]
    expected = 32 * sign(x, zero) @ w + (x @ sign(w, zero) << shifts)
    assert_bit_equal(Int8Product(parts, w)(x).astype(np.int64), expected)


def test_all_pairs_of_bytes(level):
    for kind, (low, high) in LEFT.items():
        x, w = np.arange(low, high)[:, None], np.arange(*RIGHT[kind])[None]
        assert_bit_equal(Int8Product([Part(kind)], w)(x).astype(np.int64), x * w)


def test_sums_near_the_ends_of_32_bits(level):
    k = 2**17 - 1
    x, w = np.full((2, k), -128), np.full((k, 1), -128)
    assert_bit_equal(Int8Product([Part("ss")], w)(x).astype(np.int64), x @ w)
    w = np.full((k, 1), 127)
    assert_bit_equal(Int8Product([Part("ss")], w, np.array([-100]))(x).astype(np.int64), x @ w - 100)


def test_bytes_that_lie_right_are_read_in_place_and_an_output_is_filled(level):
    rng = np.random.default_rng(2)
    x, w = (rng.integers(-128, 128, (192, 192)).astype(np.int8) for _ in range(2))
    out = aligned((192, 192), np.int32)
    found = Int8Product([Part("ss")], w)(x, out)
    assert np.shares_memory(found, out)
    assert_bit_equal(found, x.astype(np.int32) @ w.astype(np.int32))
    turned = np.asfortranarray(x)
    assert_bit_equal(Int8Product([Part("ss")], w)(turned), x.astype(np.int32) @ w.astype(np.int32))


def test_threads_do_not_share_tiles_or_buffers(level):
    rng = np.random.default_rng(3)
    w = rng.integers(-128, 128, (70, 50))
    product = Int8Product([Part("ss")], w)
    inputs = [rng.integers(-128, 128, (97, 70)) for _ in range(4)]
    wrong = []

    def work(x):
        for _ in range(50):
            if not np.array_equal(product(x), x @ w):
                wrong.append(x)

    threads = [threading.Thread(target=work, args=(x,)) for x in inputs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong

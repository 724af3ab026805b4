"""Tables of bytes, at every level: whole vectors, what is left behind them, and all 256 bytes."""

from __future__ import annotations

import numpy as np
import pytest

from mfsim.kernels import cpu
from mfsim.kernels.simd.byte_tables import LANES, LOOK_UPS
from tests.bits import assert_bit_equal


@pytest.mark.parametrize("level", LOOK_UPS)
def test_every_byte_and_every_length(level):
    if level not in cpu.available():
        pytest.skip(f"not run: this machine does not have {level}")
    rng = np.random.default_rng(3)
    table = rng.permutation(256).astype(np.uint8)
    for size in (0, 1, LANES - 1, LANES, LANES + 1, 5 * LANES + 7):
        x = np.resize(rng.permutation(256).astype(np.uint8), size)
        y = np.full(size + 1, 99, np.uint8)
        LOOK_UPS[level](x, y[:size], table)
        assert_bit_equal(y, np.append(table[x], np.uint8(99)))

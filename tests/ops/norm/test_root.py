"""The integer root of torch, exact up to 62 bits."""

from __future__ import annotations

import math
import random

import torch

from mfsim.ops.torch_codes import integer_root


def test_the_integer_root_is_exact():
    chosen = random.Random(0)
    values = [*range(100), *(2**62 - 1 - k for k in range(500))]
    values += [chosen.randrange(2 ** chosen.randrange(1, 62)) for _ in range(20000)]
    for _ in range(20000):
        root = chosen.randrange(1, 2**31)
        values += [root * root - 1, root * root, root * root + 1]
    found = integer_root(torch.tensor(values))
    assert found.tolist() == [math.isqrt(v) for v in values]

"""The random programs of `tests/programs.py` reach every op."""

from __future__ import annotations

from mfsim.ops import REGISTRY
from tests.programs import MAKERS, random_program

ONLY_IN_NETWORKS = frozenset(
    [
        "adder_conv2d",
        "adder_matmul",
        "csd_gain",
        "dct",
        "dft_magnitude",
        "embedding",
        "gram",
        "layer_norm",
        "layer_norm_recip",
        "min_conv2d",
        "min_matmul",
        "mul",
        "rms_norm",
        "rms_norm_recip",
        "shift_conv2d",
        "shift_matmul",
        "shift_norm_l1",
        "shift_norm_l2",
        "softmax",
        "softmax_log",
        "softmax_recip",
        "softmax_shift",
        "tanh_l1",
        "tanh_l1_shift",
    ]
)
"""Ops whose constants belong together: no random program has them, but networks of tests/export do."""


def test_every_other_op_is_made():
    assert set(MAKERS) | ONLY_IN_NETWORKS == set(REGISTRY)
    assert not set(MAKERS) & ONLY_IN_NETWORKS
    assert {node.op for seed in range(60) for node in random_program(seed).nodes} == set(MAKERS)


def test_same_seed_gives_the_same_program():
    assert random_program(3).digest() == random_program(3).digest() != random_program(4).digest()

"""The evaluation of gates for 64 vectors in a machine word: every gate, registers, and the transposition of words."""

from __future__ import annotations

import numpy as np
import pytest

from mfsim.ir.formats import Format
from mfsim.kernels import netlist
from mfsim.rtl_models.gates import KINDS
from tests.bits import assert_bit_equal

ONES = 0xFFFFFFFFFFFFFFFF
A, B, C = 0xAAAAAAAAAAAAAAAA, 0xCCCCCCCCCCCCCCCC, 0xF0F0F0F0F0F0F0F0
"""Bit i of A, B, C is bit 0, 1, 2 of i: every combination of three operands."""


@pytest.mark.parametrize(
    ("name", "result"),
    [("AND", A & B), ("OR", A | B), ("XOR", A ^ B), ("NOT", A ^ ONES), ("MUX", (A & ~C) | (B & C))],
)
def test_a_gate(name, result):
    assert KINDS[f"$_{name}_"] == getattr(netlist, name)
    nets = np.array([[0], [ONES], [A], [B], [C], [0]], dtype=np.uint64)
    netlist.evaluate(np.array([[KINDS[f"$_{name}_"], 2, 3, 4, 5]]), nets)
    assert int(nets[5, 0]) == result & ONES


def test_registers_are_clocked_at_once():
    nets = np.array([[1], [2], [3]], dtype=np.uint64)
    netlist.clock(np.array([[0, 1], [1, 2], [2, 0]]), np.empty((3, 1), dtype=np.uint64), nets)
    assert nets[:, 0].tolist() == [3, 1, 2]


@pytest.mark.parametrize("word", [Format(1), Format(7), Format(22), Format(63), Format(9, False)], ids=str)
def test_words_become_nets_and_words_again(word):
    rng = np.random.default_rng(word.bits)
    codes = rng.integers(word.lo, word.hi, 192, endpoint=True)
    rows = rng.permutation(70)[: word.bits]
    nets = rng.integers(0, ONES, (70, 3), dtype=np.uint64)
    netlist.pack(codes, rows, nets)
    for place, row in enumerate(rows):
        bits = [int(nets[row, lane // 64]) >> (lane % 64) & 1 for lane in range(192)]
        assert bits == [int(code) >> place & 1 for code in codes]
    back = np.empty(192, dtype=np.int64)
    netlist.unpack(nets, rows, word.signed, back)
    assert_bit_equal(back, codes)

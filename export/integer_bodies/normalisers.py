"""Pieces of the integer bodies that softmax and tanh-l1 share: masks, sums by products with ones, divisions.

A mask that the node does not have is a derived 1. What a mask hides has the least code of x for the maximum
and the term 0; `top` keeps a sum of nothing from being divided by. Every division is of a number that is not
negative by one that is proved positive, where the truncation of ONNX is the floor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mfsim.export.integer_bodies.body import CODE, Arrays, IntegerBody, Tensors, attributes_of
from mfsim.program import Node, Tensor

Derived = Callable[[Node, Tensors, Tensors], Arrays]
Bits = Callable[[Node, Tensors, Tensors], int]


def _no_bits(node: Node, inputs: Tensors, outputs: Tensors) -> int:
    return 0


TERMS = """
  zero64 = Constant<value_int: int = 0>()
  zero = CastLike(zero64, x)
  hides = CastLike(zero64, mask)
  seen = Greater(mask, hides)
  shown = Where(seen, x, hidden)
  last_axis = Constant<value_ints: ints = [-1]>()
  greatest = ReduceMax<keepdims: int = 1>(shown, last_axis)
  beside = Sub(greatest, x)
  d = Where(seen, beside, zero)
  index = Min(d, last)
  found = Gather<axis: int = 0>(exp_table, index)
  t = Where(seen, found, zero)
  sum = MatMul(t, ones)
  s = Max(sum, top)
"""
"""Distances d, terms t and sums s of softmax."""

COUNT = """
  met = GreaterOrEqual(s, thresholds)
  bits = CastLike(met, x)
  k = MatMul(bits, counted)
"""
"""The number k of thresholds that each s reaches."""


def terms(inputs: Tensors) -> dict[str, Any]:
    """Return the derived inputs of `TERMS`, and an absent mask."""
    table = codes_of(inputs[1])
    return {
        "mask": 1,
        "hidden": inputs[0].range.low,
        "last": len(table) - 1,
        "ones": np.ones((inputs[0].shape[-1], 1)),
        "top": table[0],
    }


def codes_of(tensor: Tensor) -> list[int]:
    """Return the codes of a constant of one axis, which its op has proved to be one."""
    assert tensor.codes is not None, f"`{tensor.name}` is no constant"
    return [int(code) for code in tensor.codes]


def shifts(inputs: Tensors, places: Sequence[int]) -> Arrays:
    """Return 2**p and half of it for each count k of thresholds, with p = places[k]; counts with p < 1 never occur."""
    known = [max(p, 1) for p in places]
    return {
        "counted": np.ones((len(codes_of(inputs[2])), 1)),
        "gaps": [1 << p for p in known],
        "halves": [1 << p - 1 for p in known],
    }


def softmax(text: str, names: Sequence[str], derived: Derived, needs_bits: Bits = _no_bits) -> IntegerBody:
    """Return the body of a softmax: `text` follows `TERMS`, and reads besides the derived inputs `names`."""

    def every(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
        return terms(inputs) | derived(node, inputs, outputs)

    return IntegerBody(TERMS + text, dict.fromkeys(["hidden", "last", "ones", "top", *names], CODE), every, needs_bits)


MAGNITUDES = """
  zero64 = Constant<value_int: int = 0>()
  zero = CastLike(zero64, x)
  hides = CastLike(zero64, mask)
  seen = Greater(mask, hides)
  size = Abs(x)
  index = Min(size, last)
  found = Gather<axis: int = 0>(tanh_table, index)
  t = Where(seen, found, zero)
  sum = MatMul(t, ones)
  s = Add(sum, eps_code)
  scaled = Mul(t, up)
"""
"""Terms t, divisors s and 2**(F+1) t of tanh-l1."""

SIGNED = """
  sign = Sign(x)
  y = Mul(magnitude, sign)
"""


def tanh_l1(text: str, names: Sequence[str], derived: Derived, needs_bits: Bits = _no_bits) -> IntegerBody:
    """Return the body of a tanh-l1: `text` leads to `magnitude`, and reads besides the derived inputs `names`."""

    def every(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
        attributes, length = attributes_of(node), inputs[0].shape[-1]
        shared: Arrays = {"mask": 1, "last": inputs[1].shape[0] - 1, "ones": np.ones((length, 1))}
        scalars: Arrays = {"eps_code": attributes["eps"], "up": 2 << attributes["fraction"]}
        return shared | scalars | derived(node, inputs, outputs)

    shared = ["last", "ones", "eps_code", "up"]
    return IntegerBody(MAGNITUDES + text + SIGNED, dict.fromkeys([*shared, *names], CODE), every, needs_bits)

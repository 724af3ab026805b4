"""softmax_log: the logarithm of the row sum from two tables, then a table of results for each entry."""

from __future__ import annotations

from mfsim.export.integer_bodies.body import Arrays, Tensors, attributes_of
from mfsim.export.integer_bodies.normalisers import COUNT, codes_of, shifts, softmax
from mfsim.program import Node

TEXT = (
    COUNT
    + """
  gap = Gather<axis: int = 0>(gaps, k)
  half = Gather<axis: int = 0>(halves, k)
  raised = Add(s, half)
  mantissa = Div(raised, gap)
  u = Sub(mantissa, mantissas)
  of_power = Gather<axis: int = 0>(lnk_table, k)
  of_mantissa = Gather<axis: int = 0>(lnm_table, u)
  logarithm = Add(of_power, of_mantissa)
  refined = Mul(d, fine)
  place = Add(refined, logarithm)
  address = Min(place, last_result)
  visible = Gather<axis: int = 0>(out_table, address)
  y = Where(seen, visible, zero)
"""
)


def derived(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    mantissas = inputs[4].shape[0] - 1
    least = codes_of(inputs[1])[0].bit_length() - mantissas.bit_length()  # P - M
    return {
        **shifts(inputs, [least + j for j in range(inputs[2].shape[0] + 1)]),
        "mantissas": mantissas,
        "fine": 1 << attributes_of(node)["fine_bits"],
        "last_result": inputs[5].shape[0] - 1,
    }


BODY = softmax(TEXT, ["counted", "gaps", "halves", "mantissas", "fine", "last_result"], derived)

"""In-memory compute: what a program costs on arrays whose cells hold its weights, counted analytically.

>>> from mfsim import CimArray, Format, ProgramBuilder, map_program
>>> builder = ProgramBuilder()
>>> x, w = builder.input("x", (64,), Format(8)), builder.constant("w", [[1] * 10] * 64, Format(8))
>>> report = map_program(builder.finish([builder.node("mf_matmul", [x, w])]), CimArray(rows=64, columns=64))
>>> node = report.nodes[0]
>>> node.steps, node.dense_steps, node.conversions, node.lossless_bits
(16, 64, 240, 7)
"""

from __future__ import annotations

from mfsim.cim.array import ARRAYS, CimArray, load_array
from mfsim.cim.parts import Outside, Part
from mfsim.cim.report import CimNode, CimReport, DigitalNode, map_program

__all__ = [
    "ARRAYS",
    "CimArray",
    "CimNode",
    "CimReport",
    "DigitalNode",
    "Outside",
    "Part",
    "load_array",
    "map_program",
]

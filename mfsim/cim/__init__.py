"""In-memory compute: what a program costs on arrays whose cells hold its weights, counted analytically."""

from __future__ import annotations

from mfsim.cim.array import ARRAYS, Array, load_array
from mfsim.cim.parts import Outside, Part
from mfsim.cim.report import CimNode, CimReport, DigitalNode, map_program

__all__ = [
    "ARRAYS",
    "Array",
    "CimNode",
    "CimReport",
    "DigitalNode",
    "Outside",
    "Part",
    "load_array",
    "map_program",
]

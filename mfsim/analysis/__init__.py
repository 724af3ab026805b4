"""Analyses of a program: operations, widths, memory, energy, and error against float."""

from __future__ import annotations

from mfsim.analysis.count import CountReport, count, strict_multiplication_free
from mfsim.analysis.energy import EnergyReport, Technology, energy
from mfsim.analysis.error import ErrorFigures, ErrorReport, LayerErrors, compare, layer_errors, layer_outputs
from mfsim.analysis.layers import LayerReport, layers
from mfsim.analysis.memory import MemoryReport, memory
from mfsim.analysis.widths import WidthReport, widths

__all__ = [
    "CountReport",
    "EnergyReport",
    "ErrorFigures",
    "ErrorReport",
    "LayerErrors",
    "LayerReport",
    "MemoryReport",
    "Technology",
    "WidthReport",
    "compare",
    "count",
    "energy",
    "layer_errors",
    "layer_outputs",
    "layers",
    "memory",
    "strict_multiplication_free",
    "widths",
]

"""Run integer programs bit for bit: codes in, codes out, with what was observed on the way.

Needs neither torch nor ONNX; the kernels of an op are imported when a program with it runs.
"""

from __future__ import annotations

from mfsim.simulate.api import Simulation, Simulator, simulate
from mfsim.simulate.decoding import Decoding
from mfsim.simulate.inputs import quantize_input
from mfsim.simulate.values import accuracy, dequantized

__all__ = ["Decoding", "Simulation", "Simulator", "accuracy", "dequantized", "quantize_input", "simulate"]

"""Fixed-point accuracy sweeps: one exported network over many formats; finished points are stored and computed once."""

from __future__ import annotations

from mfsim.sweep.axes import Axis, parse_axes
from mfsim.sweep.output import read_sweeps, write_sweep
from mfsim.sweep.run import sweep

__all__ = ["Axis", "parse_axes", "read_sweeps", "sweep", "write_sweep"]

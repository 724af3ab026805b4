"""Count a float torch module from shapes alone: no weight is in memory, and nothing unknown counts as 0."""

from __future__ import annotations

from mfsim.op_counter.count import Input, count_module

__all__ = ["Input", "count_module"]

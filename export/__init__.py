"""Write networks as ONNX files, run them in ONNX Runtime, and check them against their torch models.

The names below are imported when they are first used: running a file needs no torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mfsim.lazy import public

if TYPE_CHECKING:
    from mfsim.export.check import check
    from mfsim.export.check_report import CheckReport, Limits
    from mfsim.export.edit import EditableModel, open_model
    from mfsim.export.exactness import float32_exact
    from mfsim.export.exporter import export_float, export_quantized, float_model, quantized_model
    from mfsim.export.runtime import run, session
    from mfsim.serialize.write import integer_model, write_integer

_HOME = {
    "CheckReport": "mfsim.export.check_report",
    "EditableModel": "mfsim.export.edit",
    "Limits": "mfsim.export.check_report",
    "check": "mfsim.export.check",
    "export_float": "mfsim.export.exporter",
    "export_quantized": "mfsim.export.exporter",
    "float32_exact": "mfsim.export.exactness",
    "float_model": "mfsim.export.exporter",
    "integer_model": "mfsim.serialize.write",
    "open_model": "mfsim.export.edit",
    "quantized_model": "mfsim.export.exporter",
    "run": "mfsim.export.runtime",
    "session": "mfsim.export.runtime",
    "write_integer": "mfsim.serialize.write",
}

__all__ = [
    "CheckReport",
    "EditableModel",
    "Limits",
    "check",
    "export_float",
    "export_quantized",
    "float32_exact",
    "float_model",
    "integer_model",
    "open_model",
    "quantized_model",
    "run",
    "session",
    "write_integer",
]

__getattr__, __dir__ = public(__name__, _HOME)

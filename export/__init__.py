"""Write networks as ONNX files, run them in ONNX Runtime, and check them against their torch models.

The names below are imported when they are first used: running a file needs no torch.
"""

from __future__ import annotations

from mfsim.lazy import public

_HOME = {
    "CheckReport": "check_report",
    "EditableModel": "edit",
    "Limits": "check_report",
    "check": "check",
    "export_float": "exporter",
    "export_quantized": "exporter",
    "float_model": "exporter",
    "quantized_model": "exporter",
    "float32_exact": "exactness",
    "open_model": "edit",
    "run": "runtime",
    "session": "runtime",
}

_WRITER = {"integer_model": "mfsim.serialize.write", "write_integer": "mfsim.serialize.write"}

__all__ = sorted(_HOME | _WRITER)

__getattr__, __dir__ = public(__name__, {name: f"{__name__}.{home}" for name, home in _HOME.items()} | _WRITER)

"""Write networks as ONNX files, run them in ONNX Runtime, and check them against their torch models.

The names below are imported when they are first used: running a file needs no torch.
"""

from __future__ import annotations

from mfsim.lazy import public

_HOME = {
    "CheckReport": "check_report",
    "OpenModel": "opened",
    "Limits": "check_report",
    "check": "check",
    "export_float": "exporter",
    "export_quantized": "exporter",
    "float_model": "exporter",
    "quantized_model": "exporter",
    "float32_exact": "exactness",
    "integer_model": "integer",
    "open_model": "opened",
    "write_integer": "integer",
    "run": "runtime",
    "session": "runtime",
}

__all__ = sorted(_HOME)

__getattr__, __dir__ = public(__name__, {name: f"{__name__}.{home}" for name, home in _HOME.items()})

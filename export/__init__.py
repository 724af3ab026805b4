"""Write networks as ONNX files, run them in ONNX Runtime, and check them against their torch models.

The names below are imported when they are first used: running a file needs no torch.
"""

from __future__ import annotations

import importlib

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


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module `mfsim.export` has no attribute `{name}`")
    value = getattr(importlib.import_module(f"mfsim.export.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

"""Function bodies of the ops that model.onnx and float.onnx use: one file each, in ONNX's text form.

Every body holds standard ops only, at opset 20, so that stock ONNX Runtime runs the file with no
library. A file `<op>.py` with a `BODY` is an op of the dialect; adding the file adds the op. With a
`MASKED` it is a second one, whose last input is a mask. The bodies are float: on values = codes * scale
they give the integer result exactly, as long as every partial sum, in units of the finest grid, is at
most 2**24.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil

import onnx

OPSET = 20
"""Version of the standard ops in the bodies and in every file that mfsim writes."""
DOMAINS = {"org.mfsim": 1, "qonnx.custom_op.general": 2}
"""Domains of the ops with a body, and their versions."""


@functools.lru_cache(maxsize=1)
def bodies() -> dict[tuple[str, str], onnx.FunctionProto]:
    """Return every function body by (domain, op), in the order of the file names."""
    found = {}
    for info in sorted(pkgutil.iter_modules(__path__), key=lambda item: item.name):
        module = importlib.import_module(f"{__name__}.{info.name}")
        for text in (getattr(module, "BODY", None), getattr(module, "MASKED", None)):
            if text is not None:
                function = onnx.parser.parse_function(text)
                found[function.domain, function.name] = function
    return found

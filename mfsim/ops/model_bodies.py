"""Function bodies of the ops that model.onnx and float.onnx use, in ONNX's text form, and the versions of their domains.

A family's `onnx.py` has them in `MODEL_BODIES`. Every body holds standard ops only, at opset 20, so that stock ONNX
Runtime runs the file with no library. A masked form is a function of its own, whose last input is the mask. The bodies
are float: on values = codes * scale they give the integer result exactly, as long as every partial sum, in units of
the finest grid, is at most 2**24.
"""

from __future__ import annotations

import functools

import onnx
from onnx import helper

from mfsim import ops
from mfsim.errors import ExportError

OPSET = 20
"""Version of the standard ops in the bodies and in every file that mfsim writes."""
DOMAINS = {"org.mfsim": 1, "qonnx.custom_op.general": 2}
"""Domains of the ops with a body, and their versions."""


@functools.lru_cache(maxsize=1)
def bodies() -> dict[tuple[str, str], onnx.FunctionProto]:
    """Return every function body by (domain, op), in alphabetical order of the ops of the integer program."""
    texts: dict[str, tuple[str, ...]] = {}
    for file in ("onnx", "onnx_model"):
        for module in ops.realisations(file):
            texts |= module.MODEL_BODIES if hasattr(module, "MODEL_BODIES") else {}
    found = {}
    for name in sorted(texts):
        for text in texts[name]:
            function = onnx.parser.parse_function(text)
            found[function.domain, function.name] = function
    return found


def set_bodies(model: onnx.ModelProto) -> None:
    """Give `model` the bodies and domains of the ops that its graph uses, and no others.

    Parameters
    ----------
    model : onnx.ModelProto
        Changed in place: its functions and imported domains are replaced.

    Raises
    ------
    ExportError
        If an op has no body, so that ONNX Runtime could not run it.
    """
    used = {(node.domain, node.op_type) for node in model.graph.node if node.domain}
    missing = sorted(f"{domain}::{op}" for domain, op in used - bodies().keys())
    if missing:
        raise ExportError(f"the op {missing[0]} has no body in standard ops, so ONNX Runtime could not run it")
    domains = {"": OPSET} | {domain: DOMAINS[domain] for domain, _ in used}
    del model.opset_import[:], model.functions[:]
    model.opset_import.extend(helper.make_opsetid(domain, version) for domain, version in sorted(domains.items()))
    model.functions.extend(body for key, body in bodies().items() if key in used)

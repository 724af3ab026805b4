"""The bodies in standard ops that a file has for the ops in it, and the versions of their domains."""

from __future__ import annotations

import onnx
from onnx import helper

from mfsim.errors import ExportError
from mfsim.export.functions import DOMAINS, OPSET, bodies


def set_bodies(model: onnx.ModelProto) -> None:
    """Give `model` the bodies and domains of the ops that its graph uses, and no others.

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

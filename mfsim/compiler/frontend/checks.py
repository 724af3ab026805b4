"""Checks of a whole model before anything is lowered: opsets, domains, numbers."""

from __future__ import annotations

import numpy as np
import onnx

from mfsim.compiler.frontend.graph import LAYER_KEY, FileGraph
from mfsim.errors import ModelError, UnsupportedOpError, did_you_mean

STANDARD = ""

MFSIM = "org.mfsim"

QONNX = "qonnx.custom_op.general"

INTEGER = "org.mfsim.integer"

DOMAINS = (STANDARD, MFSIM, QONNX)
"""The domains whose ops have rules."""

OPSETS = range(13, 27)
"""Versions of the standard opset whose ops the rules know."""


def check_domains(model: onnx.ModelProto) -> int:
    """Check of the domains and opset versions that a model declares and uses.

    Parameters
    ----------
    model : onnx.ModelProto
        Model to compile.

    Returns
    -------
    int
        Version of the standard opset.

    Raises
    ------
    ModelError
        If a version is missing or not supported, the file is an integer program, or an initializer is
        sparse.
    UnsupportedOpError
        If a node is of a domain that is not known.
    """
    versions = {("" if entry.domain == "ai.onnx" else entry.domain): entry.version for entry in model.opset_import}
    if INTEGER in versions:
        raise ModelError("this file is an integer program already; read it with `mfsim.compiler.read_integer`")
    if STANDARD not in versions:
        raise ModelError("the model declares no version of the standard ONNX opset; export it again")
    if versions[STANDARD] not in OPSETS:
        raise ModelError(f"the standard opset must be of version {OPSETS[0]}..{OPSETS[-1]}, not {versions[STANDARD]}")
    if versions.get(MFSIM, 1) != 1:
        raise ModelError(f"the opset `{MFSIM}` must be of version 1, not {versions[MFSIM]}")
    for node in model.graph.node:
        domain = "" if node.domain == "ai.onnx" else node.domain
        if domain not in DOMAINS:
            if domain == "com.microsoft":
                raise UnsupportedOpError(
                    f"node `{node.name}` ({node.op_type}) is of the domain `{domain}`, whose ops belong to ONNX Runtime alone; "
                    "quantize in its QDQ format"
                )
            known = [d for d in DOMAINS if d]
            raise UnsupportedOpError(
                f"node `{node.name}` ({node.op_type}) is of the domain `{domain}`, which mfsim does not know"
                f"{did_you_mean(domain, known)}; known are the standard ops and {', '.join(known)}"
            )
        if domain not in versions:
            raise ModelError(
                f"node `{node.name}` ({node.op_type}) is of the domain `{domain}`, whose version the model does not declare"
            )
    if model.graph.sparse_initializer:
        raise ModelError("sparse initializers are not supported; store them as dense ones")
    return int(versions[STANDARD])


def in_dialect(model: onnx.ModelProto) -> bool:
    """Whether a model claims to be in the dialect of mfsim: it declares the domain org.mfsim or names layers.

    Parameters
    ----------
    model : onnx.ModelProto
        Model to compile.

    Returns
    -------
    bool
        True if it does.
    """
    declared = any(entry.domain == MFSIM for entry in model.opset_import)
    return declared or any(entry.key == LAYER_KEY for node in model.graph.node for entry in node.metadata_props)


def check_numbers(graph: FileGraph) -> None:
    """Check that all constants that nodes read are finite.

    Parameters
    ----------
    graph : FileGraph
        Decoded graph.

    Raises
    ------
    ModelError
        If one holds NaN or infinity; the message names the first.
    """
    for name, values in graph.constants.items():
        check_constant(graph, name, values)


def check_constant(graph: FileGraph, name: str, values: np.ndarray) -> None:
    """Check that a constant that a node reads is finite.

    Parameters
    ----------
    graph : FileGraph
        Decoded graph.
    name : str
        Name of the constant.
    values : array
        Its values.

    Raises
    ------
    ModelError
        If a node reads it and it holds NaN or infinity.
    """
    if name in graph.consumers and values.dtype.kind == "f" and not np.isfinite(values).all():
        what = "NaN" if np.isnan(values).any() else "infinity"
        raise ModelError(f"initializer `{name}` holds {what}")

"""From ONNX files to integer programs.

`compile_model` lowers a quantized model (Quant nodes of QONNX with power-of-two scales, ops of the
domain org.mfsim, standard ops that are exact on codes), and third-party files (QONNX and QCDQ with any
scales).
"""

from __future__ import annotations

import os

import onnx

from mfsim.compiler.frontend.checks import check_domains, check_numbers, in_dialect
from mfsim.compiler.frontend.graph import graph_of
from mfsim.compiler.frontend.reader import read_model
from mfsim.compiler.frontend.third_party import normalised
from mfsim.compiler.incremental.digest import source_digest
from mfsim.compiler.lower.lowering import Lowering
from mfsim.compiler.lower.steps import APPROXIMATION, program_of, steps_of
from mfsim.errors import FormatError
from mfsim.ir.program import Program
from mfsim.keywords import check_keywords

MULTIPLIER_BITS = 31
"""Bits of fixed-point multipliers, where the caller does not say."""


@check_keywords
def compile_model(source: str | os.PathLike[str] | onnx.ModelProto, *, multiplier_bits: int | None = None) -> Program:
    """Return the integer program of a quantized model.

    Parameters
    ----------
    source : path of an ONNX file, or a ModelProto
    multiplier_bits : int
        Bits of the fixed-point multipliers, 2 to 62, that stand for scales which are no powers of two; 0
        to refuse such scales, zero points and everything else that the dialect of mfsim does not have.
        Left out: 0 for a file that uses the domain org.mfsim, 31 for a third-party file.

    Returns
    -------
    Program
        Its inputs are the codes of each graph input's first Quant. Tensors and nodes keep the names
        of the file. The same file gives the same program, digest included. `approximations` lists what
        is not exact in it.

    Raises
    ------
    ModelError
        If the file cannot be used as it is.
    UnsupportedOpError
        If a node has no exact integer form; it names the node, its op, and what to do.
    FormatError, ShapeError, RangeError
        If a scale is no power of two, a word is too wide, a shape does not suit its op.
    """
    model = read_model(source)
    digest = source_digest(model)
    bits = (0 if in_dialect(model) else MULTIPLIER_BITS) if multiplier_bits is None else multiplier_bits
    model = normalised(model) if bits else model
    opset = check_domains(model)
    if bits != 0 and not 2 <= bits <= 62:
        raise FormatError(f"`multiplier_bits` must be 0 or in 2..62, not {bits}")
    graph = graph_of(model, opset, third_party=bits > 0)
    check_numbers(graph)
    lowering = Lowering(graph, bits)
    return program_of(lowering, model, digest, [step(lowering) for step in steps_of(graph)])


def approximations(program: Program) -> list[str]:
    """Return what is approximated in a program that was compiled from a third-party file, one sentence each.

    Parameters
    ----------
    program : Program
        Compiled program.

    Returns
    -------
    list of str
        Sentences, in the order of compilation; empty where everything is exact.
    """
    return [text for key, text in sorted(program.metadata.items()) if key.startswith(APPROXIMATION)]

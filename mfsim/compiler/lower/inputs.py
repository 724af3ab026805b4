"""Find the quantizer of each graph input: it says in which codes the program is fed.

Only ops that move data may stand between an input and its quantizers, so that quantizing first gives
the same codes. Several quantizers of one input must agree. The program is fed with stored codes; a zero
point is subtracted once, in front of all else, and that subtraction is counted. An input of integers is
fed with them. Where all that reads it are Gathers of rows of constants, its range is the rows that all of
these have; in the dialect integers serve for nothing else.
"""

from __future__ import annotations

import numpy as np

from mfsim.compiler.frontend.graph import FileNode
from mfsim.compiler.frontend.quantizer import Quantizer
from mfsim.compiler.lower.grid import Grid, parts_of
from mfsim.compiler.lower.lowering import FLOAT_TYPES, Coded, Lowering, is_quant, is_quantizer, naming
from mfsim.compiler.lower.requantizing import clipped
from mfsim.errors import FormatError, ModelError
from mfsim.ir.formats import Format, Range, Scale
from mfsim.ir.program import Tensor
from mfsim.ops.elementwise.sub import OP as SUB

MOVING = ("Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze")


def define_inputs(lowering: Lowering) -> dict[str, str]:
    """Add the program's inputs and return the metadata that says how reals become their codes.

    The quantizers found are left in `lowering.input_quants`: they have nothing more to do.

    Parameters
    ----------
    lowering : Lowering
        Lowering of the file; it is changed.

    Returns
    -------
    dict of str to str
        Rounding and zero point of each input, under `input.<name>.`.

    Raises
    ------
    ModelError
        If the model or an input is not quantized, or an input is quantized in two ways.
    FormatError
        If an input that is moved first has more than one scale.
    """
    if not lowering.graph.integers and not any(is_quantizer(node, lowering.strict) for node in lowering.graph.nodes):
        raise ModelError(
            "the model has no Quant node, so it is not quantized; compile the model.onnx that `mfsim export` writes"
        )
    metadata: dict[str, str] = {}
    for name, shape in lowering.graph.inputs.items():
        if name in lowering.graph.integers:
            metadata |= _define_integers(lowering, name, (1, *shape[1:]))
            continue
        found: list[tuple[FileNode, Quantizer]] = []
        moved = _follow(lowering, name, name, found)
        if not found:
            raise ModelError(f"graph input `{name}` is read by no Quant; quantize it first")
        node, quantizer = found[0]
        for other, again in found[1:]:
            if not again.same_as(quantizer):
                raise ModelError(
                    f"graph input `{name}` is read by the quantizers `{node.name}` and `{other.name}`, which differ; "
                    "quantize the input once"
                )
        shape = (1, *shape[1:])
        with naming(node):
            if moved and quantizer.exponents.size > 1:
                raise FormatError(
                    f"the scale must be one number, because graph input `{name}` is moved before it is quantized"
                )
            tensor = Tensor(name, shape, quantizer.format, quantizer.scale_for(shape), Range.of(*quantizer.limits))
            zero_point = quantizer.one_zero_point
        lowering.values[name] = lowering.builder.input_tensor(tensor)
        metadata[f"input.{name}.rounding"] = quantizer.rounding
        if zero_point:
            metadata[f"input.{name}.zero_point"] = str(zero_point)
            metadata[f"input.{name}.added"] = "before" if quantizer.added_before else "after"
            offset = lowering.constant(f"{name}.zero_point", np.array(zero_point, dtype=np.int64), tensor.scale)
            lowering.values[name] = lowering.inner(node, SUB.name, [name, offset])
        lowering.input_quants.update(dict.fromkeys((node for node, _ in found), zero_point))
    return metadata


def _define_integers(lowering: Lowering, name: str, shape: tuple[int, ...]) -> dict[str, str]:
    """Add an input of integers and return its metadata."""
    counts, other = _numbered_rows(lowering, name)
    if not other and counts:
        rows = min(counts)
        tensor = Tensor(name, shape, Format.of_range(0, rows - 1, name), Scale(), Range.of(0, rows - 1))
        lowering.values[name] = lowering.builder.input_tensor(tensor)
        return {f"input.{name}.rounding": "none"}
    if lowering.strict:
        read = f"{other[0].shown} reads it" if other else "it is an output"
        raise ModelError(
            f"graph input `{name}` of integers must number rows of constants by Gather alone, but {read}; "
            "other inputs must be float32"
        )
    word = lowering.graph.integers[name]
    tensor = Tensor(name, shape, word, Scale(), Range.of(word.lo, word.hi))
    lowering.values[name] = Coded(lowering.builder.input_tensor(tensor), 0)
    return {}


def _numbered_rows(lowering: Lowering, name: str) -> tuple[list[int], list[FileNode]]:
    """Return how many rows each constant has whose rows `name` numbers, moved or not, and what else reads it."""
    counts: list[int] = []
    other: list[FileNode] = []
    for node in lowering.graph.consumers.get(name, ()):
        constant = lowering.values.get(node.inputs[0]) if node.op == "Gather" and not node.domain else None
        if isinstance(constant, (Grid, np.ndarray)) and node.inputs[1] == name:
            codes = constant.codes if isinstance(constant, Grid) else constant
            counts.append(len(codes) if codes.ndim else 0)
        elif _moves(node) or (node.op == "Concat" and not node.domain):
            inside = _numbered_rows(lowering, node.outputs[0])
            counts, other = counts + inside[0], other + inside[1]
        elif node.domain or node.op != "Shape":
            other.append(node)
    return counts, other


def _follow(lowering: Lowering, origin: str, name: str, found: list[tuple[FileNode, Quantizer]]) -> bool:
    """Collect the quantizers behind `name`; whether something moves the data on the way."""
    if name in lowering.graph.outputs:
        raise ModelError(f"graph output `{name}` is graph input `{origin}` without a Quant; quantize it first")
    moved = False
    for node in lowering.graph.consumers.get(name, ()):
        if is_quantizer(node, lowering.strict) and node.inputs[0] == name:
            with naming(node):
                found.append((node, any_quantizer(lowering, node, lowering.graph.inputs[origin])))
        elif node.domain == "" and node.op == "Shape":
            continue
        elif _moves(node) and node.inputs[0] == name:
            moved |= node.op != "Identity"
            moved |= _follow(lowering, origin, node.outputs[0], found)
        else:
            raise ModelError(f"{node.shown} reads graph input `{origin}` before any Quant; quantize the input first")
    return moved


def any_quantizer(lowering: Lowering, node: FileNode, shape: tuple[int, ...]) -> Quantizer:
    """Return what a quantizer of any kind says of values of `shape`.

    Parameters
    ----------
    lowering : Lowering
        Lowering of the file.
    node : FileNode
        Quant, BipolarQuant or QuantizeLinear.
    shape : tuple of int
        Shape of the values.

    Returns
    -------
    Quantizer
        The quantizer.

    Raises
    ------
    FormatError
        If a parameter is not what it must be.
    """
    if is_quant(node):
        return lowering.quantizer(node)
    if node.op == "QuantizeLinear":
        return clipped(lowering, node, lowering.linear(node, len(shape)))
    scale = lowering.array(node, 1, "the scale")
    exponents, factors = parts_of(scale, "the scale")
    return Quantizer(exponents, Format(2), (-1, 1), "bipolar", factors)


def _moves(node: FileNode) -> bool:
    return node.domain == "" and (node.op in MOVING or (node.op == "Cast" and node.integer("to", 0) in FLOAT_TYPES))

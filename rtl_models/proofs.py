"""What is proved of a block for every input, from its word-level netlist (`linear.py`) or by trying all.

wht      Each output word is its row of the Hadamard matrix, nothing overflows, all come `latency` cycles late.
mf_dot   The same for the sum of the terms, a term being whatever its module computes; each term's module
         has the parameters of the block and takes word i of x and word i of w.
mf_term  Yosys' SAT solver finds no operands for which the circuit differs from the literal definition
         (`mf_term_definition.sv`); in `verify.py` every pair of short operands runs through the gates too.
"""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from mfsim.errors import ParityError, ToolError, UnsupportedOpError
from mfsim.ops.wht.wht import matrix
from mfsim.rtl_models import yosys
from mfsim.rtl_models.block import Parameters
from mfsim.rtl_models.linear import Interpreter
from mfsim.rtl_models.mf_dot.parameters import MfDotParameters
from mfsim.rtl_models.mf_term.parameters import MfTermParameters
from mfsim.rtl_models.wht.parameters import WhtParameters

DEFINITION = pathlib.Path(__file__).parent / "mf_term" / "mf_term_definition.sv"
NOT_PROVED = "proof did fail"
"""What Yosys says where the solver found operands."""
KEEP_TERMS = "setattr -mod -set keep_hierarchy 1 *mf_term"


def prove(parameters: Parameters, texts: Mapping[str, str], top: str) -> str:
    """Prove a block of any kind, and return in words what has been proved.

    Parameters
    ----------
    parameters : Parameters
        The block with its choices.
    texts : mapping of str to str
        SystemVerilog by file name.
    top : str
        Name of the block's module.

    Returns
    -------
    str
        What holds for all inputs.

    Raises
    ------
    ParityError
        If the block differs from its definition; it says where.
    UnsupportedOpError
        If there is no proof for the block.
    ToolError
        If Yosys is not installed, or stops.
    """
    if isinstance(parameters, WhtParameters):
        prove_wht(parameters, texts, top)
        return "equal to the Hadamard matrix, without overflow, for all inputs"
    if isinstance(parameters, MfDotParameters):
        prove_dot(parameters, texts, top)
        prove_term(parameters.term, texts)
        return "equal to the sum of its terms, without overflow, and a term to its definition, for all inputs"
    if isinstance(parameters, MfTermParameters):
        prove_term(parameters, texts)
        return "equal to the definition for all inputs"
    raise UnsupportedOpError(f"there is no proof for block `{parameters.block}`")


def prove_wht(parameters: WhtParameters, texts: Mapping[str, str], top: str) -> None:
    """Prove that the block is the transform for every input, with its latency.

    Parameters
    ----------
    parameters : WhtParameters
        The block with its choices.
    texts : mapping of str to str
        SystemVerilog by file name.
    top : str
        Name of the block's module.

    Raises
    ------
    ParityError
        If an output is not its row of the Hadamard matrix, a word is too narrow, or the latency is another.
    ToolError
        If Yosys is not installed, or stops.
    """
    module = yosys.netlist(texts, top, yosys.ELABORATE)[top]
    ports = _ports(module)
    word = parameters.inputs[0].word
    interpreter = Interpreter(module, parameters.n, word.bits, word.lo, word.hi)
    interpreter.define(ports["x_i"], 0)
    _check_outputs(interpreter, parameters, ports, matrix(parameters.n, parameters.order))


def prove_dot(parameters: MfDotParameters, texts: Mapping[str, str], top: str) -> None:
    """Prove that the block is the sum of its terms for every input, with its latency.

    Parameters
    ----------
    parameters : MfDotParameters
        The block with its choices.
    texts : mapping of str to str
        SystemVerilog by file name.
    top : str
        Name of the block's module.

    Raises
    ------
    ParityError
        If a term has other operands or generics, the output is not the sum of all terms, a word is too narrow, or the
        latency is another.
    ToolError
        If Yosys is not installed, or stops.
    """
    modules = yosys.netlist(texts, top, (KEEP_TERMS, *yosys.ELABORATE))
    module = modules[top]
    ports = _ports(module)
    terms = {name: cell for name, cell in module["cells"].items() if cell["type"].endswith("mf_term")}
    if len(terms) != parameters.n:
        raise ParityError(f"{top} has {len(terms)} terms, not {parameters.n}")
    rest = {**module, "cells": {name: cell for name, cell in module["cells"].items() if name not in terms}}
    (term,) = parameters.term.inference.outputs
    interpreter = Interpreter(rest, parameters.n, term.format.bits, term.range.low, term.range.high)
    x_bits, w_bits = parameters.x_bits, parameters.w_bits
    for name, cell in terms.items():
        wires = cell["connections"]
        at = ports["x_i"].index(wires["x_i"][0]) // x_bits if wires["x_i"][0] in ports["x_i"] else 0
        if (
            wires["x_i"] != ports["x_i"][at * x_bits : (at + 1) * x_bits]
            or wires["w_i"] != ports["w_i"][at * w_bits : (at + 1) * w_bits]
        ):
            raise ParityError(f"term `{name}` does not take one word of x and the word of w with its index")
        given = modules[cell["type"]].get("parameter_default_values", {})
        for generic, value in parameters.term.generics().items():
            if generic not in given or int(given[generic], 2) != value:
                raise ParityError(f"term `{name}` must have {generic} {value}")
        interpreter.define(wires["y_o"], at)
    _check_outputs(interpreter, parameters, ports, np.ones((1, parameters.n), dtype=np.int64))


def prove_term(parameters: MfTermParameters, texts: Mapping[str, str]) -> None:
    """Prove that the module `mf_term` is its definition for every pair of operands.

    Parameters
    ----------
    parameters : MfTermParameters
        The term with its choices.
    texts : mapping of str to str
        SystemVerilog by file name, `mf_term.sv` among them.

    Raises
    ------
    ParityError
        If the module differs from the definition for some operands.
    ToolError
        If Yosys is not installed, or stops.
    """
    circuit = {"mf_term.sv": texts["mf_term.sv"], DEFINITION.name: DEFINITION.read_text(encoding="utf-8")}
    passes = (*yosys.ELABORATE, "sat -verify -prove differ_o 0")
    try:
        yosys.netlist(circuit, DEFINITION.stem, passes, parameters.generics())
    except ToolError as error:
        if NOT_PROVED not in str(error):
            raise
        raise ParityError(f"{parameters.top} differs from the definition of a term for some operands") from error


def _ports(module: Mapping[str, Any]) -> dict[str, list[Any]]:
    return {name: port["bits"] for name, port in module["ports"].items()}


def _check_outputs(
    interpreter: Interpreter, parameters: Parameters, ports: Mapping[str, list[Any]], rows: np.ndarray
) -> None:
    """Interpret the netlist and compare each output word with its row of coefficients."""
    interpreter.define_flag(ports["valid_i"][0])
    interpreter.run(ports["clk_i"][0], ports["rst_ni"][0])
    size, bits = parameters.output.word.bits, ports["y_o"]
    for index, row in enumerate(rows):
        form, age = interpreter.word(bits[index * size : (index + 1) * size], f"output word {index}")
        if not np.array_equal(form.coefficients, row):
            raise ParityError(f"output word {index} has other coefficients than the definition")
        if age != parameters.latency:
            raise ParityError(f"output word {index} comes after {age} cycles, not {parameters.latency}")
    late = interpreter.age_of_flag(ports["valid_o"][0])
    if late != parameters.latency:
        raise ParityError(f"the valid output comes after {late} cycles, not {parameters.latency}")

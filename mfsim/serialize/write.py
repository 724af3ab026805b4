"""Write a program as `integer.onnx`: integer tensors only, run by stock ONNX Runtime with the simulator's codes.

Every node of the program becomes one node in the domain `org.mfsim.integer`, whose function is made of
standard operators (`INTEGER_BODIES` of its family, see `mfsim.ops.integer_body`). Its inputs are those of the program's node, then the
derived ones (`<node>/<name>`). A tensor is int32, or int64 where its proved range needs it. A node
computes in int64 where one of its tensors, its inner words or an intermediate of its body needs that;
Cast nodes stand between. The file needs nothing but the standard operators: it still runs when all
functions are inlined.

Memory: convolutions and pools gather all windows of a batch, kernel area times the input; a large
network should be run in small batches.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from mfsim import __version__, ops
from mfsim.errors import ExportError
from mfsim.ir.program import Node, Program, Tensor
from mfsim.keywords import check_keywords
from mfsim.ops.integer_body import CODE, DOMAIN, DOMAIN_VERSION, INDEX, OPSET, SHAPE, IntegerBody, bits_of
from mfsim.serialize.files import write_model
from mfsim.serialize.metadata import model_properties, node_properties, put, tensor_properties


def _collect() -> dict[str, IntegerBody]:
    bodies: dict[str, IntegerBody] = {}
    for file in ("onnx", "onnx_integer"):
        for module in ops.realisations(file):
            bodies |= module.INTEGER_BODIES if hasattr(module, "INTEGER_BODIES") else {}
    return {name: bodies[name] for name in sorted(bodies)}


BODIES: dict[str, IntegerBody] = _collect()
"""By op, its body in integer.onnx."""


IR_VERSION = 10

BATCH = "batch"

DTYPES: dict[int, type[np.signedinteger]] = {TensorProto.INT32: np.int32, TensorProto.INT64: np.int64}


@check_keywords
def integer_model(program: Program) -> onnx.ModelProto:
    """Return `program` as an ONNX model of integer tensors; its inputs and outputs are codes.

    Parameters
    ----------
    program : Program
        Integer program.

    Returns
    -------
    onnx.ModelProto
        The model, from which `read_integer` gives the same program.

    Raises
    ------
    ExportError
        If an op has no integer body, a tensor has no value, or its name is empty.
    """
    return _Emitter(program).model()


@check_keywords
def write_integer(program: Program, path: str | os.PathLike[str]) -> None:
    """Write `program` to `path`, whole or not at all.

    Parameters
    ----------
    program : Program
        Integer program.
    path : str or path
        File in a folder that is there.

    Raises
    ------
    ExportError
        As `integer_model`, or if the file cannot be written.
    """
    write_model(integer_model(program), path)


def _tensor_type(tensor: Tensor) -> int:
    """Return INT32, or INT64 where the proved range of `tensor` needs it."""
    return _type(bits_of(tensor.range.low, tensor.range.high))


def realise(node: Node, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> tuple[int, dict[str, np.ndarray]]:
    """Return the type that `node` computes in, and the derived inputs of its function by name, in order.

    Parameters
    ----------
    node : Node
        Node of a program.
    inputs, outputs : sequence of Tensor
        Its tensors, in order.

    Returns
    -------
    int
        ONNX element type, the smallest that holds every code and inner word.
    dict of str to integer array
        Derived inputs by name.
    """
    body, op = BODIES[node.op], ops.get(node.op)
    absent = body.input_names(op, len(inputs))[len(inputs) :]
    kinds = dict.fromkeys(absent, CODE) | dict(body.extra)
    derived = body.derived(node, inputs, outputs)
    arrays = {name: np.asarray(derived[name], dtype=np.int64) for name in kinds}
    ends = [end for tensor in (*inputs, *outputs) for end in (tensor.range.low, tensor.range.high)]
    ends += [end for word in node.words.values() for end in (word.lo, word.hi)]
    ends += [
        int(end) for name, kind in kinds.items() if kind == CODE for end in (arrays[name].min(), arrays[name].max())
    ]
    bits = max(bits_of(*ends), body.needs_bits(node, inputs, outputs))
    assert bits <= 64, f"the body of `{node.op}` is wider than its codes"
    dtypes = {CODE: DTYPES[_type(bits)], INDEX: np.int32, SHAPE: np.int64}
    return _type(bits), {name: array.astype(dtypes[kinds[name]]) for name, array in arrays.items()}


def _type(bits: int) -> int:
    return TensorProto.INT32 if bits <= 32 else TensorProto.INT64


class _Emitter:
    """One pass over the nodes of a program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self.functions: dict[str, onnx.FunctionProto] = {}
        self.casts: dict[tuple[str, int], str] = {}
        self.names = set(program.tensors)
        self.node_names: set[str] = set()

    def model(self) -> onnx.ModelProto:
        program = self.program
        self.check()
        for name in sorted(program.tensors):
            tensor = program.tensors[name]
            if tensor.codes is not None:
                codes = tensor.codes.astype(DTYPES[_tensor_type(tensor)])
                self.initializers.append(numpy_helper.from_array(codes, name))
                put(self.initializers[-1], tensor_properties(tensor))
        for node in program.nodes:
            self.emit(node)
        edges = [name for node in program.nodes for name in node.outputs if name not in program.outputs]
        graph = helper.make_graph(
            self.nodes,
            "integer",
            [self.value_info(name) for name in program.inputs],
            [self.value_info(name) for name in program.outputs],
            self.initializers,
            value_info=[self.value_info(name) for name in edges],
        )
        model = helper.make_model(
            graph,
            ir_version=IR_VERSION,
            opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid(DOMAIN, DOMAIN_VERSION)],
            functions=[self.functions[name] for name in sorted(self.functions)],
            producer_name="mfsim",
            producer_version=__version__,
        )
        put(model, model_properties(program))
        return model

    def check(self) -> None:
        """Raise `ExportError` where a program cannot be said in ONNX."""
        program = self.program
        written = set(program.inputs).union(*(node.outputs for node in program.nodes))
        for name, tensor in program.tensors.items():
            if not name:
                raise ExportError("a tensor has an empty name, which ONNX reads as a missing input")
            if not tensor.is_constant and name not in written:
                raise ExportError(f"tensor `{name}` has no value: it is no constant, no input and no node writes it")
        for node in program.nodes:
            if node.op not in BODIES:
                raise ExportError(f"node `{node.name}`: op `{node.op}` has no integer body")
            self.node_names.add(node.name)

    def emit(self, node: Node) -> None:
        """Append `node`, its derived inputs and the casts around it."""
        op, body = ops.get(node.op), BODIES[node.op]
        inputs, outputs = self.program.inputs_of(node), self.program.outputs_of(node)
        kind, derived = realise(node, inputs, outputs)
        arguments = [self.cast(tensor, kind) for tensor in inputs]
        for name, array in derived.items():
            arguments.append(self.fresh(f"{node.name}/{name}"))
            self.initializers.append(numpy_helper.from_array(array, arguments[-1]))
        function = body.function_name(op, len(inputs))
        if function not in self.functions:
            self.functions[function] = body.function(op, len(inputs))
        (output,) = outputs
        direct = _tensor_type(output) == kind
        result = output.name if direct else self.fresh(f"{output.name}/{_suffix(kind)}")
        made = helper.make_node(function, arguments, [result], name=node.name, domain=DOMAIN)
        for name, value in node.attributes.items():
            integers = onnx.AttributeProto.INTS if isinstance(value, tuple) else None
            made.attribute.append(helper.make_attribute(name, value, attr_type=integers))
        put(made, node_properties(node))
        self.nodes.append(made)
        if not direct:
            self.append_cast(result, output.name, _tensor_type(output))

    def cast(self, tensor: Tensor, kind: int) -> str:
        """Return the name of `tensor` as `kind`, casting it once."""
        if _tensor_type(tensor) == kind:
            return tensor.name
        if (tensor.name, kind) not in self.casts:
            self.casts[tensor.name, kind] = self.fresh(f"{tensor.name}/{_suffix(kind)}")
            self.append_cast(tensor.name, self.casts[tensor.name, kind], kind)
        return self.casts[tensor.name, kind]

    def append_cast(self, source: str, result: str, kind: int) -> None:
        """Append a Cast node; its name is that of its result."""
        name = result
        while name in self.node_names:
            name += "_"
        self.node_names.add(name)
        self.nodes.append(helper.make_node("Cast", [source], [result], name=name, to=kind))

    def fresh(self, name: str) -> str:
        """Return `name`, with a number behind it if it is taken."""
        fresh, number = name, 1
        while fresh in self.names:
            fresh, number = f"{name}_{number}", number + 1
        self.names.add(fresh)
        return fresh

    def value_info(self, name: str) -> onnx.ValueInfoProto:
        """Return the type, shape and metadata of a tensor; the batch is symbolic."""
        tensor = self.program.tensors[name]
        shape: list[str | int | None] = [*tensor.shape] if tensor.is_constant else [BATCH, *tensor.shape[1:]]
        info = helper.make_tensor_value_info(name, _tensor_type(tensor), shape)
        put(info, tensor_properties(tensor))
        return info


def _suffix(kind: int) -> str:
    return "int32" if kind == TensorProto.INT32 else "int64"

"""`Lowering`: the state of one compilation, and the small language that the rules are written in.

Every value of the file is one of four things: the name of a program tensor (`str`), stored integer codes
(`Coded`), quantized constant values (`Grid`), or a plain constant array. Rules ask for what they need and
get it, or raise an error that says what is wrong; `naming` puts the node in front.

A file of the dialect is `strict`: nothing is approximated. In a third-party file `multiplier_bits` is not
0, and what a rule approximates it says in a note.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Mapping, MutableMapping, MutableSet, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from mfsim.compiler.frontend.folding import fold
from mfsim.compiler.frontend.graph import FileGraph, FileNode
from mfsim.compiler.frontend.quantizer import Quantizer, quantizer_of
from mfsim.compiler.frontend.third_party import is_third_party_constant, linear_quantizer_of, of_constant
from mfsim.compiler.lower.grid import Grid, exact_grid
from mfsim.errors import FormatError, LostScaleError, MfsimError, ModelError
from mfsim.ir.builder import ProgramBuilder
from mfsim.ir.formats import Format, Scale
from mfsim.ir.program import Tensor
from mfsim.ops.elementwise.sub import OP as SUB
from mfsim.ops.grid.gain import OP as GAIN
from mfsim.ops.grid.gain import attributes_for as gain_attributes
from mfsim.ops.grid.shift import OP as SHIFT

QUANT_OPS = ("Quant", "IntQuant")

FLOAT_TYPES = (1, 10, 11, 16)
"""Element types of `Cast` that leave the values of an activation as they are: float of 32, 16, 64 bits, bfloat16."""


@dataclass(frozen=True)
class Coded:
    """Integers in the file: the codes of program tensor `name` + `zero_point`, whatever its scale is."""

    name: str
    zero_point: int


@dataclass(frozen=True)
class Waiting:
    """Program tensor `name`, moved by `nodes` of the file that wait for the next quantizer (`mfsim.compiler.lower.sink_layout`)."""

    name: str
    nodes: tuple[FileNode, ...]


Value = str | Coded | Waiting | Grid | np.ndarray


def is_quant(node: FileNode) -> bool:
    """Whether `node` is a quantizer of QONNX."""
    return node.domain.startswith("qonnx.") and node.op in QUANT_OPS


def is_quantizer(node: FileNode, strict: bool) -> bool:
    """Whether `node` turns reals into codes; the dialect has Quant only."""
    bipolar = node.domain.startswith("qonnx.") and node.op == "BipolarQuant"
    return is_quant(node) or (not strict and (bipolar or (node.domain, node.op) == ("", "QuantizeLinear")))


@contextlib.contextmanager
def naming(node: FileNode) -> Iterator[None]:
    """Raise errors of mfsim again with the node in front, unless they name a node already."""
    try:
        yield
    except MfsimError as error:
        if str(error).startswith("node `"):
            raise
        raise type(error)(f"{node.shown}: {error}") from error


class Lowering:
    """Values by name, the builder, and what the rules ask for.

    Attributes
    ----------
    graph : the file.
    builder : receives tensors and nodes.
    values : what each name of the file is.
    done : nodes that need no rule any more: evaluated, or taken in by another rule (a bias).
    input_quants : quantizers whose codes are what the program is fed with, and their zero points.
    multiplier_bits : of fixed-point multipliers; 0 where the file has to be in the dialect.
    notes : what is approximated, one sentence each.
    clips : Clip nodes whose bounds a QuantizeLinear in front has taken in.
    flips : for a product whose weights were multiplied by -1, 0 or 1 for each output: these factors.
    constants : the tensor of each constant that was added, by all that makes it.

    What is in these mappings and sets, and nothing else, carries anything from one rule to another
    (`mfsim.compiler.incremental.dependencies`).
    """

    def __init__(self, graph: FileGraph, multiplier_bits: int = 0) -> None:
        self.graph = graph
        self.multiplier_bits = multiplier_bits
        self.notes: list[str] = []
        self.flips: MutableMapping[str, np.ndarray] = {}
        self.clips: MutableMapping[FileNode, FileNode] = {}
        self.builder = ProgramBuilder()
        self.values: MutableMapping[str, Value] = dict(graph.constants)
        self.done: MutableSet[FileNode] = set()
        self.input_quants: MutableMapping[FileNode, int] = {}
        self.constants: MutableMapping[tuple[object, ...], str] = {}

    # What an input is.

    def value(self, node: FileNode, k: int) -> Value | None:
        """Return input `k`, or None where it is left out."""
        if k >= len(node.inputs) or not node.inputs[k]:
            return None
        if node.inputs[k] not in self.values:
            raise ModelError(f"input `{node.inputs[k]}` must be constant")
        return self.values[node.inputs[k]]

    @property
    def strict(self) -> bool:
        """Whether the file has to be in the dialect."""
        return self.multiplier_bits == 0

    def is_activation(self, node: FileNode, k: int) -> bool:
        """Whether input `k` is an activation."""
        return isinstance(self.value(node, k), (str, Coded, Waiting))

    def tensor(self, node: FileNode, k: int) -> Tensor:
        """Return the program tensor of input `k`, which must be an activation; integers of the file lie on the scale 1."""
        value = self.value(node, k)
        if isinstance(value, Coded):
            value = self.integers(node, value)
        if isinstance(value, Waiting):
            raise LostScaleError(
                f"the scale of `{value.name}` varies along an axis that `{value.nodes[0].name}` does not keep; "
                "requantize first"
            )
        if not isinstance(value, str):
            raise ModelError(f"input {k} must be an activation, not {self.shown(node, k)}")
        return self.builder.tensors[value]

    def optional_array(self, node: FileNode, k: int, what: str) -> np.ndarray | None:
        """Return input `k`, which must be constant, as an array of values; None where it is left out."""
        value = self.value(node, k)
        if isinstance(value, (str, Coded, Waiting)):
            raise ModelError(f"{what} must be constant, not the activation `{node.inputs[k]}`")
        return value.values() if isinstance(value, Grid) else value

    def array(self, node: FileNode, k: int, what: str) -> np.ndarray:
        """Return input `k`, which must be given and constant, as an array of values."""
        values = self.optional_array(node, k, what)
        if values is None:
            raise ModelError(f"{what} is missing")
        return values

    def optional_ints(self, node: FileNode, k: int, what: str) -> tuple[int, ...] | None:
        """Return input `k`, which must be constant, as ints; None where it is left out."""
        values = self.optional_array(node, k, what)
        return None if values is None else tuple(int(v) for v in values.reshape(-1))

    def ints(self, node: FileNode, k: int, what: str) -> tuple[int, ...]:
        """Return input `k`, which must be given and constant, as ints."""
        return tuple(int(v) for v in self.array(node, k, what).reshape(-1))

    def grid(self, node: FileNode, k: int, what: str) -> Grid:
        """Return the quantized constant of input `k`."""
        value = self.value(node, k)
        if not isinstance(value, Grid):
            raise ModelError(f"{what} must come from a Quant, not from {self.shown(node, k)}")
        return value

    def on_grid(self, node: FileNode, k: int, exponents: np.ndarray | int, what: str) -> np.ndarray:
        """Return the codes of constant input `k` on a grid; a `FormatError` says which value lies beside it.

        Parameters
        ----------
        node, k, what : a node of the file, the index of its input, and its name for messages
        exponents : e of the steps 2**e; an array broadcasts against the values

        Returns
        -------
        int64 array
        """
        value = self.value(node, k)
        try:
            return (
                value.at(exponents)
                if isinstance(value, Grid)
                else exact_grid(self.array(node, k, what), exponents).codes
            )
        except FormatError as error:
            raise FormatError(
                f"{what} `{node.inputs[k]}` must be quantized on the grid of what it meets: {error}"
            ) from error

    def shown(self, node: FileNode, k: int) -> str:
        """Return how an error names input `k`."""
        value = self.value(node, k)
        if value is None:
            return "nothing"
        if isinstance(value, (str, Coded, Waiting)):
            return f"the activation `{node.inputs[k]}`"
        return f"the {'quantized constant' if isinstance(value, Grid) else 'constant'} `{node.inputs[k]}`"

    def writer(self, name: str) -> FileNode:
        """Return the node that writes a value of the file, or the first that reads a graph input."""
        return next(node for node in self.graph.nodes if name in node.outputs or name in node.inputs)

    # What a rule makes.

    def note(self, node: FileNode, text: str) -> None:
        """Say what is approximated at `node`."""
        self.notes.append(f"{node.shown}: {text}")

    def integers(self, node: FileNode, value: Coded) -> str:
        """Return the tensor of the integers themselves, on the scale 1."""
        name = value.name
        if value.zero_point:
            tensor = self.builder.tensors[name]
            codes = np.array(-value.zero_point, dtype=np.int64)
            offset = self.constant(f"{name}.zero_point", codes, tensor.scale)
            name = self.inner(node, SUB.name, [name, offset])
        return self.relabelled(node, name, Scale())

    def relabelled(self, node: FileNode, name: str, scale: Scale, output: str | None = None) -> str:
        """Return a tensor of the same codes on another scale (per tensor, or along the axis of the old one).

        Parameters
        ----------
        node, name : node of the file that is lowered, and a tensor of the program
        scale : the new one
        output : value of the file that the result becomes; None for an inner tensor

        Returns
        -------
        str, name of the tensor
        """
        tensor = self.builder.tensors[name]
        if tensor.scale == scale and output is None:
            return name
        axis = scale.axis if scale.axis is not None else tensor.scale.axis
        size = 1 if axis is None else tensor.shape[axis]
        pairs = zip(scale.steps_along(size), tensor.scale.steps_along(size), strict=True)
        gains = [want / have for want, have in pairs]
        op, attributes = gain_node(gains, -1 if axis is None else axis)
        if output is None:
            return self.inner(node, op, [name], attributes)
        return self.emit(node, op, [name], attributes, output=output)

    def constant(self, name: str, codes: np.ndarray, scale: Scale, format_: Format | None = None) -> str:
        """Add a constant, once for equal ones of the same name, and return its name.

        Parameters
        ----------
        name : to start from
        codes, scale : int64 array without batch axis, and the scale of its codes
        format_ : word of the codes; None leaves it to the builder

        Returns
        -------
        str
        """
        key = (name, codes.shape, hashlib.sha256(np.ascontiguousarray(codes).data).digest(), scale, format_)
        if key not in self.constants:
            self.constants[key] = self.builder.constant(name, codes, format_, scale)
        return self.constants[key]

    def emit(
        self,
        node: FileNode,
        op: str,
        inputs: Sequence[str],
        attributes: Mapping[str, object] | None = None,
        *,
        output: str | None = None,
    ) -> str:
        """Add a node of the program whose output is the node's first output, or the value `output` of the file.

        Parameters
        ----------
        node, op : node of the file that is lowered, and the name of the op
        inputs, attributes : names of tensors of the program, and what is neither a default nor derived
        output : value of the file that the result becomes

        Returns
        -------
        str, name of that value
        """
        name = node.outputs[0] if output is None else output
        self.values[name] = self.builder.node(op, inputs, attributes, name=node.name, layer=node.layer, outputs=[name])
        return name

    def inner(
        self, node: FileNode, op: str, inputs: Sequence[str], attributes: Mapping[str, object] | None = None
    ) -> str:
        """Add a node of the program whose output only another node of the same rule reads; return its name.

        Parameters
        ----------
        node, op, inputs, attributes : as in `emit`

        Returns
        -------
        str
        """
        outputs = (self.inner_name(node, op),)
        return self.builder.node(op, inputs, attributes, name=node.name, layer=node.layer, outputs=outputs)

    def inner_name(self, node: FileNode, op: str) -> str:
        """Return a name that no value of the file has."""
        name, number = f"{node.outputs[0]}.{op}", 1
        while name in self.builder.tensors or name in self.graph.written:
            name, number = f"{node.outputs[0]}.{op}{number}", number + 1
        return name

    def alias(self, node: FileNode, value: Value) -> None:
        """Let the node's output be `value` itself."""
        self.values[node.outputs[0]] = value

    # Constants.

    def fold(self, node: FileNode) -> bool:
        """Evaluate `node` if all its inputs are constants and it can be; whether it was."""
        inputs: list[Grid | np.ndarray | None] = []
        for name in node.inputs:
            value = self.values.get(name) if name else None
            if isinstance(value, (str, Coded, Waiting)) or (value is None and name):
                return False
            inputs.append(value)
        results: Sequence[Grid | np.ndarray] | None
        with naming(node):
            if is_quant(node) and inputs and isinstance(inputs[0], (np.ndarray, Grid)):
                values = inputs[0].values() if isinstance(inputs[0], Grid) else inputs[0]
                values = values if self.strict else values.astype(np.float32)
                results = [replace(self.quantizer(node).of_constant(values), constant=node.constant)]
            elif not self.strict and is_third_party_constant(node, inputs):
                results = [of_constant(node, inputs)]
            else:
                results = fold(node, inputs, self.graph.opset)
        if results is None:
            return False
        self.values.update(zip(node.outputs, results, strict=True))
        self.done.add(node)
        return True

    def quantizer(self, node: FileNode) -> Quantizer:
        """Return what a Quant node says."""
        scale, zero_point, bit_width = (
            self.array(node, k + 1, what) for k, what in enumerate(("the scale", "the zero point", "the bit width"))
        )
        return quantizer_of(node, scale, zero_point, bit_width, self.strict)

    def linear(self, node: FileNode, rank: int, stored: np.dtype | None = None) -> Quantizer:
        """Return what a QuantizeLinear or DequantizeLinear says of values of `rank` axes.

        Parameters
        ----------
        node, rank : QuantizeLinear or DequantizeLinear, and the number of axes of the values
        stored : type of stored codes, of a DequantizeLinear

        Returns
        -------
        Quantizer
        """
        scale, zero_point = self.array(node, 1, "the scale"), self.optional_array(node, 2, "the zero point")
        return linear_quantizer_of(node, scale, zero_point, stored, rank)


def gain_node(gains: Sequence[Fraction], axis: int) -> tuple[str, dict[str, object]]:
    """Return op and attributes of a change of scale: `shift` for powers of two, else `gain`.

    Parameters
    ----------
    gains : positive factors, one for the tensor or one for each index of `axis`
    axis : of the tensor, unused for one gain

    Returns
    -------
    (str, dict)
    """
    scale = Scale.of_steps(gains, None if len(gains) == 1 else axis)
    if scale.factors:
        return GAIN.name, gain_attributes(list(gains), axis)
    return SHIFT.name, {"exponents": scale.exponents, "axis": -1 if scale.axis is None else axis}

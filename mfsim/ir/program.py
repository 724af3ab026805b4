"""The integer program: the one product of the compiler that everything else reads.

Nothing here knows ONNX, torch or a kernel. A `Program` is frozen and says only what the network
computes on codes; buffers, packed weights and storage types belong to the executor.

Axis 0 of every activation is the batch; it has the nominal size 1 here and is never counted.
A constant (`codes` is not None) has no batch axis.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from mfsim.errors import FormatError, ModelError, RangeError, ShapeError
from mfsim.ir.formats import Format, Range, Scale
from mfsim.ir.listing import listing, node_line, program_html, program_line, tensor_line
from mfsim.keywords import check_constructor

Value = int | str | tuple[int, ...]

CACHE, POSITION = "cache.", "position"
"""Keys of metadata: CACHE and a cache's input, for the output that is its new row; the input that says which row."""


def int64_codes(codes: object, what: str) -> np.ndarray:
    """Return `codes` as an int64 array.

    Parameters
    ----------
    codes : array-like of int, any shape
        Codes, which may be Python ints.
    what : str
        What the codes are, for the message.

    Returns
    -------
    int64 array
        The codes, in the shape of `codes`.

    Raises
    ------
    FormatError
        If one is no integer.
    RangeError
        If one does not fit int64.
    """
    array = np.asarray(codes)
    if array.size and array.dtype.kind not in "biu":
        odd = {type(value).__name__ for value in array.reshape(-1).tolist() if not isinstance(value, int)}
        if odd:
            raise FormatError(f"{what} must be integers, not {', '.join(sorted(odd))}")
    if array.dtype.kind in "Ou" and array.size and not -(2**63) <= int(array.min()) <= int(array.max()) < 2**63:
        raise RangeError(f"{what} must fit int64, and reach {int(array.min())}..{int(array.max())}")
    return array.astype(np.int64, copy=False)


@check_constructor
@dataclass(frozen=True, eq=False, repr=False)
class Tensor:
    """One edge or constant of a program.

    Attributes
    ----------
    name : unique in its program.
    shape : axis 0 is the batch (1) for activations; constants have none.
    format : the word that each code is stored in; it holds `range`.
    scale : the grid; real value = code * 2**exponent (times a factor where it is no power of two).
    range : proved bounds of the codes, per channel where known.
    codes : read-only int64 array for a constant, else None.
    """

    name: str
    shape: tuple[int, ...]
    format: Format
    scale: Scale
    range: Range
    codes: np.ndarray | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", tuple(int(n) for n in self.shape))
        if not self.format.holds(self.range.low, self.range.high):
            raise RangeError(
                f"tensor `{self.name}` has the range {self.range.low}..{self.range.high}, "
                f"which its word {self.format} ({self.format.lo}..{self.format.hi}) does not hold"
            )
        for what, axis, count in (
            ("scale", self.scale.axis, len(self.scale.exponents)),
            ("range", self.range.axis, len(self.range.lo)),
        ):
            if axis is not None and (not 0 <= axis < len(self.shape) or self.shape[axis] != count):
                raise ShapeError(
                    f"tensor `{self.name}` of shape {self.shape} has a {what} of {count} entries along axis {axis}"
                )
        if self.codes is not None:
            codes = int64_codes(self.codes, f"the codes of `{self.name}`")
            if codes.flags.writeable or codes.base is not None or not codes.flags.c_contiguous:
                codes = np.array(codes, order="C")  # whoever has the array may change it
            if codes.shape != self.shape:
                raise ShapeError(f"tensor `{self.name}` has codes of shape {codes.shape}, not {self.shape}")
            low, high = (int(codes.min()), int(codes.max())) if codes.size else (self.range.low, self.range.high)
            if low < self.range.low or high > self.range.high:
                raise RangeError(
                    f"tensor `{self.name}` has codes in {low}..{high}, outside its range {self.range.low}..{self.range.high}"
                )
            codes.flags.writeable = False
            object.__setattr__(self, "codes", codes)

    def __repr__(self) -> str:
        return tensor_line(self)

    @property
    def is_constant(self) -> bool:
        """Whether the codes are known before the program runs."""
        return self.codes is not None

    @property
    def sample_size(self) -> int:
        """Number of codes in one sample (all of them for a constant)."""
        return int(np.prod(self.shape if self.is_constant else self.shape[1:], dtype=object))


@check_constructor
@dataclass(frozen=True, eq=False, repr=False)
class Node:
    """One operation: `op` is a name in `mfsim.ops.REGISTRY`.

    `attributes` are ints, strings or tuples of ints; `words` names inner accumulators and their
    formats; `layer` is the dotted path of the module that it came from ("" if unknown).
    """

    name: str
    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Value] = field(default_factory=dict)
    words: Mapping[str, Format] = field(default_factory=dict)
    layer: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", tuple(self.inputs))
        object.__setattr__(self, "outputs", tuple(self.outputs))
        object.__setattr__(self, "attributes", MappingProxyType(dict(self.attributes)))
        object.__setattr__(self, "words", MappingProxyType(dict(self.words)))

    def __repr__(self) -> str:
        return node_line(self)


@check_constructor
@dataclass(frozen=True, eq=False, repr=False)
class Program:
    """A whole network on codes, its nodes in an order in which they can run.

    Use `mfsim.ir.builder.ProgramBuilder` to make one; it proves the ranges.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    tensors: Mapping[str, Tensor]
    nodes: tuple[Node, ...]
    metadata: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", tuple(self.inputs))
        object.__setattr__(self, "outputs", tuple(self.outputs))
        object.__setattr__(self, "tensors", MappingProxyType(dict(self.tensors)))
        object.__setattr__(self, "nodes", tuple(self.nodes))
        object.__setattr__(self, "metadata", MappingProxyType(dict(self.metadata)))
        self._check_names()
        known = set(self.inputs) | {name for name, tensor in self.tensors.items() if tensor.is_constant}
        for node in self.nodes:
            for name in node.inputs:
                if name not in known:
                    raise ModelError(f"node `{node.name}` ({node.op}) reads `{name}` before anything writes it")
            for name in node.outputs:
                if name in known:
                    raise ModelError(f"node `{node.name}` ({node.op}) writes `{name}`, which already has a value")
                known.add(name)
        for name in self.outputs:
            if name not in known:
                raise ModelError(f"output `{name}` is written by no node")
        for name in sorted(known):
            if name not in self.tensors:
                raise ModelError(f"`{name}` has no tensor")

    def _check_names(self) -> None:
        for name, tensor in self.tensors.items():
            if tensor.name != name:
                raise ModelError(f"tensor `{tensor.name}` is listed as `{name}`")
        for name in self.inputs:
            if name in self.tensors and self.tensors[name].is_constant:
                raise ModelError(f"input `{name}` must not be a constant")
        for what, names in (("inputs", self.inputs), ("nodes", tuple(node.name for node in self.nodes))):
            twice = next((name for name, times in Counter(names).items() if times > 1), None)
            if twice is not None:
                raise ModelError(f"two {what} are called `{twice}`")

    def __repr__(self) -> str:
        return program_line(self)

    def __str__(self) -> str:
        return listing(self)

    def _repr_html_(self) -> str:
        return program_html(self)

    def inputs_of(self, node: Node) -> list[Tensor]:
        """Return the input tensors of `node`, in order.

        Parameters
        ----------
        node : Node
            Node of this program.

        Returns
        -------
        list of Tensor
            Inputs.
        """
        return [self.tensors[name] for name in node.inputs]

    def outputs_of(self, node: Node) -> list[Tensor]:
        """Return the output tensors of `node`, in order.

        Parameters
        ----------
        node : Node
            Node of this program.

        Returns
        -------
        list of Tensor
            Outputs.
        """
        return [self.tensors[name] for name in node.outputs]

    def constants(self) -> Iterator[Tensor]:
        """Yield the constants that some node reads, in order of first use."""
        seen = set()
        for node in self.nodes:
            for name in node.inputs:
                if name not in seen and self.tensors[name].is_constant:
                    seen.add(name)
                    yield self.tensors[name]

    @property
    def caches(self) -> dict[str, str]:
        """For each input that is a cache of earlier tokens, the output that is its new row."""
        rows = {name: self.metadata.get(CACHE + name, "") for name in self.inputs}
        return {name: row for name, row in rows.items() if row}

    def layers(self) -> list[str]:
        """Return the layers in order of first appearance."""
        return list(dict.fromkeys(node.layer for node in self.nodes))

    def digest(self) -> str:
        """Return a sha256 over all that defines the program (names, words, scales, ranges, codes, metadata)."""
        digest = hashlib.sha256()

        def word(format_: Format) -> list[int]:
            return [format_.bits, int(format_.signed)]

        def put(value: object) -> None:
            digest.update(json.dumps(value, sort_keys=True, separators=(",", ":")).encode() + b"\n")

        put({"inputs": self.inputs, "outputs": self.outputs, "metadata": dict(self.metadata)})
        for name in sorted(self.tensors):
            tensor = self.tensors[name]
            put(
                {
                    "tensor": name,
                    "shape": tensor.shape,
                    "format": word(tensor.format),
                    "scale": [
                        tensor.scale.exponents,
                        tensor.scale.axis,
                        *([str(f) for f in tensor.scale.factors],) * bool(tensor.scale.factors),
                    ],
                    "range": [[str(v) for v in tensor.range.lo], [str(v) for v in tensor.range.hi], tensor.range.axis],
                    "constant": tensor.is_constant,
                }
            )
            if tensor.codes is not None:
                digest.update(tensor.codes.astype("<i8").tobytes())
        for node in self.nodes:
            put(
                {
                    "node": node.name,
                    "op": node.op,
                    "inputs": node.inputs,
                    "outputs": node.outputs,
                    "attributes": dict(node.attributes),
                    "words": {key: word(value) for key, value in node.words.items()},
                    "layer": node.layer,
                }
            )
        return digest.hexdigest()

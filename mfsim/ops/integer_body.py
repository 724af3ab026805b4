"""What an integer body is: one ONNX function of standard integer operators for one op.

Rules for every file in this room:
1. A body serves int32 and int64 alike: constants take the type of the codes by `CastLike`. Which type
   a node gets is decided outside, from the proved ranges and from `needs_bits`.
2. Whatever depends on attributes, shapes or scales comes in as a *derived input*, an initializer that
   `derived` computes: powers of two, clamps, index tables, target shapes. So the function of an op
   never depends on the node that calls it.
3. Only operators that stock ONNX Runtime >= 1.20 computes exactly on int32 and int64. Sums are MatMul
   with ones (ReduceSum goes through double); an arithmetic right shift is (x - Mod(x, 2**k)) / 2**k;
   divisors are powers of two. bool appears only between a comparison and a Where or Cast.
4. No intermediate needs more than 64 bits, whatever the words of at most 63 bits around the node are
   (sums may wrap around modulo 2**64: their result is proved to fit).
5. The batch is never written down: a target shape has 0 (copy) in its first place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx

from mfsim.ir.program import Node, Tensor
from mfsim.ops.op import Op

DOMAIN = "org.mfsim.integer"
"""The domain of the functions."""

DOMAIN_VERSION = 1

OPSET = 20
"""The version of the standard operators in bodies and graph."""

CODE, INDEX, SHAPE = "code", "index", "shape"
"""Kinds of derived inputs: of the type of the codes, int32 addresses, int64 shapes and pads."""

Arrays = dict[str, np.ndarray | Sequence[int] | int]

Tensors = Sequence[Tensor]


def _nothing(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    return {}


def _no_bits(node: Node, inputs: Tensors, outputs: Tensors) -> int:
    return 0


@dataclass(frozen=True)
class IntegerBody:
    """The body of one op.

    Attributes
    ----------
    text : statements in the syntax of `onnx.parser`; they read the op's inputs and the derived ones
        by name and end with `y`. A variadic input `x*` of n tensors is read as x0, ..., x{n-1}; then
        `text` is a function of n.
    extra : names and kinds of the derived inputs, in order.
    derived : returns an integer array for each name in `extra`, and for each optional input of the op
        that the node does not have (of kind code).
    needs_bits : bits of a signed word that holds every intermediate of the body, where neither the
        inputs, outputs and inner words of the node nor the derived inputs are as wide.
    """

    text: str | Callable[[int], str]
    extra: Mapping[str, str] = field(default_factory=dict)
    derived: Callable[[Node, Tensors, Tensors], Arrays] = _nothing
    needs_bits: Callable[[Node, Tensors, Tensors], int] = _no_bits

    def input_names(self, op: Op, count: int) -> list[str]:
        """Return the names of the op's inputs as the body reads them, for a node with `count` inputs.

        Parameters
        ----------
        op : Op
            The op of the body.
        count : int
            Inputs of a node, which decides how many a variadic one stands for.

        Returns
        -------
        list of str
            In the order of the op's inputs.
        """
        names = [name.rstrip("?") for name in op.inputs]
        if names[-1].endswith("*"):
            variadic = names.pop()[:-1]
            names += [f"{variadic}{k}" for k in range(count - len(names))]
        return names

    def function(self, op: Op, count: int) -> onnx.FunctionProto:
        """Return the function for nodes of `op` with `count` inputs (the same for every count if not variadic).

        Parameters
        ----------
        op : Op
            The op of the body.
        count : int
            Inputs of a node.

        Returns
        -------
        onnx.FunctionProto
            In the domain `org.mfsim.integer`, with the output `y`.
        """
        names = [*self.input_names(op, count), *self.extra]
        text = self.text if isinstance(self.text, str) else self.text(count)
        attributes = ", ".join(attribute.name for attribute in op.attributes)
        head = f'<opset_import: ["" : {OPSET}], domain: "{DOMAIN}"> {self.function_name(op, count)}'
        declared = f" <{attributes}>" if attributes else ""
        return onnx.parser.parse_function(f"{head}{declared} ({', '.join(names)}) => (y) {{{text}}}")

    @staticmethod
    def function_name(op: Op, count: int) -> str:
        """Return the op's name in CamelCase, followed by the number of inputs where that varies.

        Parameters
        ----------
        op : Op
            The op of the body.
        count : int
            Inputs of a node.

        Returns
        -------
        str
            Such as "MfMatmul" or "Concat3".
        """
        name = "".join(part[0].upper() + part[1:] for part in op.name.split("_"))
        return f"{name}{count}" if op.inputs[-1].endswith("*") else name


def attributes_of(node: Node) -> Mapping[str, Any]:
    """Return the attributes of `node`, whose kinds its op has checked.

    Parameters
    ----------
    node : Node
        Any node.

    Returns
    -------
    mapping
        Values by name.
    """
    return node.attributes


def bits_of(*values: int) -> int:
    """Return the bits of the smallest signed word that holds all `values`.

    Parameters
    ----------
    *values : int
        At least one.

    Returns
    -------
    int
        At least 1.
    """
    return 1 + max((v if v >= 0 else -v - 1).bit_length() for v in values)


def channelwise(values: Sequence[int], axis: int, ndim: int) -> np.ndarray:
    """Return `values`, one for each index of `axis` of `ndim` axes, in a shape that broadcasts; one value as a scalar.

    Parameters
    ----------
    values : sequence of int
        One, or one for each index of `axis`.
    axis : int
        0 to ndim - 1.
    ndim : int
        Axes of the array that it broadcasts to.

    Returns
    -------
    int64 array
        Shape () or (n, 1, ..., 1).
    """
    array = np.array(values, dtype=np.int64)
    return array.reshape(()) if array.size == 1 else array.reshape(-1, *[1] * (ndim - 1 - axis))


def target(shape: Sequence[int]) -> list[int]:
    """Return the argument of Reshape for an activation of `shape`, whatever its batch.

    Parameters
    ----------
    shape : sequence of int
        Shape, batch axis first.

    Returns
    -------
    list of int
        The shape with 0 (copy) for the batch.
    """
    return [0, *shape[1:]]


def greatest_sum(tensor: Tensor, axes: tuple[int, ...]) -> int:
    """Return the greatest sum of magnitudes of codes of `tensor` along `axes`: exact if constant, else a bound.

    Parameters
    ----------
    tensor : Tensor
        A constant or an activation.
    axes : tuple of int
        Axes that are summed along.

    Returns
    -------
    int
        In codes, at least 0.
    """
    if tensor.codes is None or not tensor.codes.size:
        return math.prod(tensor.shape[axis] for axis in axes) * tensor.range.bound
    magnitudes = np.abs(tensor.codes).astype(object)
    return int(np.max(np.sum(magnitudes, axis=axes)))

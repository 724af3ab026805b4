"""What an op is: one object that states its attributes, ranges, reference, counts and test cases.

Rules for every file in this room:
1. `infer` proves: the output range holds for every input inside the input ranges (`tight` where
   both ends are attained), and each inner word holds every partial sum in any order, bias included;
   `held` says which values of the plain kernel a word holds.
2. `reference` is written from the definition, in Python ints on object arrays, and shares no line
   with the kernel.
3. `count` gives the operations of one sample, as the plain kernel executes them, with the widths of
   the operands; work on constants alone has `offline=True`.
4. Nothing here imports onnx, torch or numba kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from mfsim.errors import FormatError, ShapeError, UnsupportedOpError, did_you_mean
from mfsim.ir.formats import Format, Range, Scale
from mfsim.ir.program import Node, Tensor, Value, int64_codes
from mfsim.ops.traits import Role, Signature, Trait

MULTIPLIED_BY = ("learned", "activation", "fixed")
"""The three classes of multiplication that are kept apart."""

TAPS = ("executed", "valid")
"""Which taps of windows count: all that are executed, padding included, or those inside the image."""
Held = Mapping[str, str | tuple[str, ...]]
"""By the place of a value in the plain kernel, the word that holds it."""


@dataclass(frozen=True)
class Attribute:
    """One attribute: `kind` is int, ints or str; `choices` limits it; without default it is required."""

    name: str
    kind: str
    doc: str
    default: Value | None = None
    choices: tuple[Value, ...] = ()
    derived: bool = False
    """Whether `Op.derive` computes it from the scales and ranges of the inputs."""

    def check(self, op: str, value: object) -> Value:
        """Return `value` in canonical form; a `FormatError` says what it must be.

        Parameters
        ----------
        op : str; name of the op, for messages
        value : object; what was given

        Returns
        -------
        int, str or tuple of int; by the attribute's `kind`

        Raises
        ------
        FormatError
            If `value` is of another kind, or not one of `choices`.
        """
        if self.kind == "ints" and isinstance(value, (list, tuple)):
            value = tuple(int(v) for v in value)
        elif self.kind == "int" and isinstance(value, (int, np.integer)):
            value = int(value)
        elif not (self.kind == "str" and isinstance(value, str)):
            raise FormatError(f"`{self.name}` of op `{op}` must be of kind {self.kind}, not {value!r}")
        if self.choices and value not in self.choices:
            hint = did_you_mean(str(value), [str(c) for c in self.choices])
            allowed = ", ".join(str(c) for c in self.choices)
            raise FormatError(f"`{self.name}` of op `{op}` must be one of {allowed}, not {value!r}{hint}")
        return value


@dataclass(frozen=True)
class Row:
    """`count` executions of one primitive for one sample, with the widths of its operands in bits.

    `multiplied_by` is one of `MULTIPLIED_BY` for mul, else "".
    """

    layer: str
    node: str
    op: str
    primitive: str
    widths: tuple[int, ...]
    count: int
    multiplied_by: str = ""
    offline: bool = False


@dataclass(frozen=True)
class Inference:
    """What `infer` proves: output tensors (names are filled in later), inner words, tightness."""

    outputs: tuple[Tensor, ...]
    words: Mapping[str, Format] = field(default_factory=dict)
    tight: bool = False


@dataclass(frozen=True)
class Case:
    """One conformance case: input tensors (constants carry codes), attributes.

    With `exhaustive`, the suite runs every combination of input codes in the input ranges (at most
    2**16 samples); else extremes and seeded random codes. `extra` are further samples that sit on
    ties, thresholds and guards: a tuple of samples, each a tuple of arrays without batch axis, one
    for each non-constant input.
    """

    name: str
    inputs: tuple[Tensor, ...]
    attributes: Mapping[str, Value] = field(default_factory=dict)
    exhaustive: bool = False
    extra: tuple[tuple[np.ndarray, ...], ...] = ()


@dataclass(frozen=True)
class Op:
    """One operation of the integer program.

    Attributes
    ----------
    name : snake case, equal to the name of its file in `mfsim/ops/<family>/`.
    summary : one line for the op table.
    attributes : their declarations.
    inputs : names of the inputs; a trailing "?" marks an optional one, a trailing "*" a variadic one.
    primitives : the primitives that the plain kernel may use; empty for layout ops and relabelling.
    realisations : what exists besides the reference; of "kernel", "fast", "torch", "onnx", "integer".
    infer, reference, count : see the module header.
    derive : returns the derived attributes (alignment shifts, clamps) for given input tensors.
    integer_body : whether its body in model.onnx computes in int64 between its input and its output, so
        that only these have to be exact in float32, not the inner words.
    windowed : whether it has windows over an image with padding; `count` then takes `taps`, one of `TAPS`.
    held : which inner word holds which value of the plain kernel: by the place of the value (keys as in
        `mfsim.simulate.exact_words`) the word, or several of which a node has one.
    traits : what engines rely on; see `Trait`.
    roles : what the inputs are, by their names; those left out are activations, or a second operand.
    signature : its form in model.onnx; None for an op that has standard ONNX ops there, or none.
    """

    name: str
    summary: str
    attributes: tuple[Attribute, ...]
    inputs: tuple[str, ...]
    primitives: frozenset[str]
    infer: Callable[[Sequence[Tensor], Mapping[str, Value]], Inference]
    reference: Callable[[Sequence[np.ndarray], Mapping[str, Value]], list[np.ndarray]]
    count: Callable[..., list[Row]]
    realisations: frozenset[str] = frozenset({"kernel", "torch", "onnx", "integer"})
    derive: Callable[[Sequence[Tensor], Mapping[str, Value]], Mapping[str, Value]] | None = None
    integer_body: bool = False
    windowed: bool = False
    held: Held = field(default_factory=dict, hash=False)
    traits: frozenset[Trait] = frozenset()
    roles: Mapping[str, Role] = field(default_factory=dict, hash=False)
    signature: Signature | None = None

    def rows(
        self, node: Node, inputs: Sequence[Tensor], outputs: Sequence[Tensor], taps: str = "executed"
    ) -> list[Row]:
        """Return the operations of one sample of `node`.

        Parameters
        ----------
        node : a node of this op.
        inputs, outputs : its tensors; their batch axis is not counted.
        taps : "executed" counts every tap of a window as the plain kernel executes it, padding included;
            "valid" counts windows as if they held only their taps inside the image. See `TAPS`.
        """
        return self.count(node, inputs, outputs, taps=taps) if self.windowed else self.count(node, inputs, outputs)

    @property
    def onnx(self) -> Signature:
        """Its form in model.onnx; an `UnsupportedOpError` for an op that has no node of `org.mfsim`."""
        if self.signature is None:
            raise UnsupportedOpError(f"op `{self.name}` has no form of its own in model.onnx")
        return self.signature

    def derived(self, tensors: Sequence[Tensor], attributes: Mapping[str, object]) -> dict[str, Value]:
        """Return all attributes for `tensors`: checked, defaults filled in, derived ones computed.

        A derived attribute that is already in `attributes` is kept; `infer` checks it.

        Parameters
        ----------
        tensors : sequence of Tensor; inputs of the node
        attributes : mapping; attributes that are given

        Returns
        -------
        dict; every attribute of the op

        Raises
        ------
        UnsupportedOpError
            If there is no attribute of a given name.
        FormatError
            If a value does not suit, or a needed one is missing.
        """
        given = self.complete(attributes, derived=False)
        if self.derive is not None:
            given = {**self.derive(tensors, given), **given}
        return self.complete(given)

    def complete(self, attributes: Mapping[str, object], derived: bool = True) -> dict[str, Value]:
        """Return all attributes, checked, defaults filled in; unknown ones are an error.

        With `derived` False, derived attributes that are not given are left out.

        Parameters
        ----------
        attributes : mapping; attributes that are given
        derived : bool; whether derived attributes must be there

        Returns
        -------
        dict; attributes in the order of their declarations

        Raises
        ------
        UnsupportedOpError
            If there is no attribute of a given name.
        FormatError
            If a value does not suit, or a needed one is missing.
        """
        known = {attribute.name: attribute for attribute in self.attributes}
        for name in attributes:
            if name not in known:
                raise UnsupportedOpError(f"op `{self.name}` has no attribute `{name}`{did_you_mean(name, known)}")
        complete = {}
        for name, attribute in known.items():
            if attribute.derived and not derived and name not in attributes:
                continue
            value = attributes.get(name, attribute.default)
            if value is None:
                raise FormatError(f"op `{self.name}` needs the attribute `{name}`")
            complete[name] = attribute.check(self.name, value)
        return complete

    def check_inputs(self, count: int) -> None:
        """Raise `ShapeError` unless `count` inputs suit this op.

        Parameters
        ----------
        count : int; inputs of a node, at least 0

        Raises
        ------
        ShapeError
            If the op takes more or fewer.
        """
        least = sum(not name.endswith(("?", "*")) for name in self.inputs)
        most = None if any(name.endswith("*") for name in self.inputs) else len(self.inputs)
        if count < least or (most is not None and count > most):
            raise ShapeError(
                f"op `{self.name}` takes the inputs {', '.join(self.inputs) or 'none'}, not {count} of them"
            )


def result(shape: Sequence[int], range_: Range, scale: Scale, where: str, format_: Format | None = None) -> Tensor:
    """Return an output tensor in the smallest word that holds `range_` (or in `format_`).

    Parameters
    ----------
    shape : sequence of int; shape, batch axis first
    range_ : Range; proved range of the codes
    scale : Scale; grid of the codes
    where : str; what the tensor is called, also in messages
    format_ : Format, optional; word, where it is not the smallest

    Returns
    -------
    Tensor; without codes

    Raises
    ------
    RangeError
        If no word of at most 63 bits holds the range.
    """
    return Tensor(where, tuple(shape), format_ or Format.of_range(range_.low, range_.high, where), scale, range_)


def constant(name: str, codes: npt.ArrayLike, format_: Format | None = None, scale: Scale | None = None) -> Tensor:
    """Return a constant tensor; its range is that of its codes.

    Parameters
    ----------
    name : str; name of the tensor
    codes : array_like of int; codes, in int64
    format_ : Format, optional; word; by default the smallest one
    scale : Scale, optional; grid; by default 1

    Returns
    -------
    Tensor; with int64 codes
    """
    array = int64_codes(codes, f"the codes of `{name}`")
    lo, hi = (int(array.min()), int(array.max())) if array.size else (0, 0)
    return Tensor(
        name, array.shape, format_ or Format.of_range(lo, hi, name), scale or Scale(), Range.of(lo, hi), array
    )


def activation(name: str, shape: Sequence[int], format_: Format, scale: Scale | None = None) -> Tensor:
    """Return an activation of the full range of its word; `shape` has no batch axis.

    Parameters
    ----------
    name : str; name of the tensor
    shape : sequence of int; shape of one sample
    format_ : Format; word of the codes
    scale : Scale, optional; grid; by default 1

    Returns
    -------
    Tensor; of shape (1, *shape), without codes
    """
    return Tensor(name, (1, *shape), format_, scale or Scale(), Range.of(format_.lo, format_.hi))


def rows(node: Node, *counts: tuple[Any, ...]) -> list[Row]:
    """Return rows for (primitive, widths, count[, multiplied_by]) tuples, leaving out the empty ones.

    Parameters
    ----------
    node : Node; the node that is counted
    *counts : tuple; primitive, widths of its operands in bits, executions for one sample; further fields of `Row`

    Returns
    -------
    list of Row; one for each count that is not 0
    """
    return [Row(node.layer, node.name, node.op, c[0], tuple(c[1]), int(c[2]), *c[3:]) for c in counts if c[2]]


def no_operations(node: Node, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> list[Row]:
    """Return no rows: layout and relabelling ops compute nothing.

    Parameters
    ----------
    node, inputs, outputs : Node and sequences of Tensor; not used

    Returns
    -------
    list of Row; empty
    """
    return []


def size(shape: Sequence[int]) -> int:
    """Return the number of codes of one sample of an activation shape.

    Parameters
    ----------
    shape : sequence of int; shape, batch axis first

    Returns
    -------
    int; product of all lengths but the first
    """
    total = 1
    for n in shape[1:]:
        total *= int(n)
    return total


def objects(codes: np.ndarray) -> np.ndarray:
    """Return `codes` as an object array of Python ints.

    Parameters
    ----------
    codes : integer array; codes of any integer type

    Returns
    -------
    object array; of the same shape
    """
    array = np.empty(np.shape(codes), dtype=object)
    array[...] = np.asarray(codes).astype(object)
    return array


def with_name(tensor: Tensor, name: str) -> Tensor:
    """Return `tensor` under another name.

    Parameters
    ----------
    tensor : Tensor; any tensor
    name : str; its new name

    Returns
    -------
    Tensor; equal but for the name
    """
    return replace(tensor, name=name)

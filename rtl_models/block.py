"""What a block is: one frozen parameter object from which its words, SystemVerilog, cycle model and vectors follow.

A block realises an op of the integer program. Its output word is the one that the op's own `infer`
proves, so the software and the circuit cannot disagree about a width; the SystemVerilog gets every
derived number as a parameter, and elaboration stops where the numbers do not fit each other.
"""

from __future__ import annotations

import abc
import functools
import pathlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from mfsim import ops
from mfsim.errors import FormatError, did_you_mean
from mfsim.ir.formats import Format
from mfsim.ir.program import Tensor
from mfsim.ops.op import Inference

Codes = dict[str, np.ndarray]
"""Codes of each port, int64, shape [vectors, words of the port]."""

Stage = Callable[[np.ndarray], np.ndarray]
"""What stands between two registers: words [lanes, ...] to words [lanes, ...]."""

_FOLDER = pathlib.Path(__file__).parent


@dataclass(frozen=True)
class Port:
    """A port of `length` words; word i lies in bits i*B to i*B + B - 1, B the bits of `word`."""

    name: str
    length: int
    word: Format

    @property
    def width(self) -> int:
        """Bits of the port."""
        return self.length * self.word.bits

    @property
    def declaration(self) -> str:
        """The type of the port in SystemVerilog; a port of one word has that word's sign."""
        return f"logic {'signed ' if self.length == 1 else ''}[{self.width - 1}:0]"


@dataclass(frozen=True)
class Parameters(abc.ABC):
    """Parameters of a block; the fields of a subclass are what a user chooses, all else is derived."""

    block: ClassVar[str]
    """Name of the block, of its folder and of its SystemVerilog module."""
    summary: ClassVar[str]
    sources: ClassVar[tuple[str, ...]]
    """SystemVerilog files below `rtl_models/`, leaves first."""
    cells: ClassVar[frozenset[str]]
    """Word-level cells that the block may consist of."""
    op: ClassVar[str]
    """The op of the integer program that the block realises."""

    @property
    @abc.abstractmethod
    def top(self) -> str:
        """Name of the module with all parameters filled in."""

    @property
    @abc.abstractmethod
    def equation(self) -> str:
        """What the block computes, in one line."""

    @property
    @abc.abstractmethod
    def attributes(self) -> dict[str, Any]:
        """Attributes of the op."""

    @property
    @abc.abstractmethod
    def inputs(self) -> tuple[Port, ...]:
        """Data inputs."""

    @property
    @abc.abstractmethod
    def latency(self) -> int:
        """Clock cycles from an input to its output; 0 for a block without a clock."""

    @property
    @abc.abstractmethod
    def adders(self) -> int:
        """Word-level adders and subtractors of the circuit."""

    @abc.abstractmethod
    def generics(self) -> dict[str, int]:
        """Return the parameters of the SystemVerilog module."""

    @abc.abstractmethod
    def tensors(self) -> list[Tensor]:
        """Return the input tensors of the op, one sample each."""

    @abc.abstractmethod
    def stages(self) -> list[Stage]:
        """Return what the circuit does before each register, on the operands that `joined` makes."""

    @functools.cached_property
    def inference(self) -> Inference:
        """What the op proves of this block: its output word and its inner words."""
        op = ops.REGISTRY[self.op]
        tensors = self.tensors()
        return op.infer(tensors, op.derived(tensors, self.attributes))

    @property
    def output(self) -> Port:
        """The data output, in the word that the op proves."""
        (tensor,) = self.inference.outputs
        return Port("y", int(np.prod(tensor.shape[1:])), tensor.format)

    def choices(self) -> dict[str, Any]:
        """Return what the user chose."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def joined(self, inputs: Codes) -> np.ndarray:
        """Return the words of all input ports side by side, [vectors, words].

        Parameters
        ----------
        inputs : dict of str to int64 array, shape (vectors, words)
            Codes by input port.

        Returns
        -------
        int64 array, shape (vectors, words of all ports)
            In the order of the ports.
        """
        return np.concatenate([inputs[port.name] for port in self.inputs], axis=1)

    def expected(self, inputs: Codes, by: str = "kernel") -> Codes:
        """Return what the software computes for `inputs`: `by` the op's "kernel", or its "reference".

        Parameters
        ----------
        inputs : dict of str to int64 array, shape (vectors, words)
            Codes by input port, in the range of its word.
        by : str
            "kernel" for the plain kernel of the op, "reference" for its definition in Python ints.

        Returns
        -------
        dict of str to int64 array, shape (vectors, words)
            Codes of the output port, under its name.
        """
        op, tensors = ops.REGISTRY[self.op], self.tensors()
        attributes = op.derived(tensors, self.attributes)
        count = len(inputs[self.inputs[0].name])
        operands = [
            inputs[port.name].reshape(count, *tensor.shape[1:])
            for port, tensor in zip(self.inputs, tensors, strict=True)
        ]
        shape = (count, *self.inference.outputs[0].shape[1:])
        if by == "reference":
            (result,) = op.reference([codes.astype(object) for codes in operands], attributes)
            made = np.array(result, dtype=np.int64)
        else:
            made = np.empty(shape, dtype=np.int64)
            run = ops.plain_kernel(self.op)
            run([np.ascontiguousarray(codes) for codes in operands], attributes, [made])
        return {self.output.name: made.reshape(count, self.output.length)}

    def texts(self) -> dict[str, str]:
        """Return the SystemVerilog of the block, by file name, leaves first, the filled-in top last."""
        made = {pathlib.PurePath(name).name: (_FOLDER / name).read_text(encoding="utf-8") for name in self.sources}
        return {**made, **self.top_text()}

    def top_text(self) -> dict[str, str]:
        """Return the filled-in top, by file name."""
        return {f"{self.top}.sv": self.wrapper()}

    def wrapper(self) -> str:
        """Return a module that fills in the parameters: its ports have plain numbers as widths."""
        clocked = self.latency > 0
        ports = [("input ", "logic", name) for name in ("clk_i", "rst_ni", "valid_i") if clocked]
        ports += [("input ", port.declaration, f"{port.name}_i") for port in self.inputs]
        ports += [("output", "logic", "valid_o")] if clocked else []
        ports += [("output", self.output.declaration, f"{self.output.name}_o")]
        wide = max(len(kind) for _, kind, _ in ports)
        listed = ",\n".join(f"  {direction} {kind:{wide}} {name}" for direction, kind, name in ports)
        long = max(len(name) for name in self.generics())
        given = ",\n".join(f"    .{name:{long}}({value})" for name, value in self.generics().items())
        long = max(len(name) for *_, name in ports)
        wired = ",\n".join(f"    .{name:{long}}({name})" for *_, name in ports)
        latency = f"{self.latency} clock cycles" if clocked else "0 (combinational)"
        return (
            f"// {self.block}: {self.summary}, with its parameters filled in.\n//\n//   {self.equation}\n//\n"
            f"// Latency {latency}. Words and schedule: {self.block}.sv\n\n"
            f"module {self.top} (\n{listed}\n);\n\n"
            f"  {self.block} #(\n{given}\n  ) u_{self.block} (\n{wired}\n  );\n\nendmodule\n"
        )


def check_int(name: str, value: object, lo: int, hi: int) -> None:
    """Raise `FormatError` unless `value` is an integer in lo..hi.

    Parameters
    ----------
    name : str
        What errors call the value.
    value : object
        Any value; a bool is no integer.
    lo, hi : int
        The range, both ends included.

    Raises
    ------
    FormatError
        If `value` is another type or out of range.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not lo <= value <= hi:
        raise FormatError(f"`{name}` must be an integer in {lo}..{hi}, not {value!r}")


def check_choice(name: str, value: object, choices: Sequence[object]) -> None:
    """Raise `FormatError` unless `value` is one of `choices`.

    Parameters
    ----------
    name : str
        What errors call the value.
    value : object
        Any value; a bool is no choice.
    choices : sequence
        The values allowed.

    Raises
    ------
    FormatError
        If `value` is none of them.
    """
    if value not in choices or isinstance(value, bool):
        hint = did_you_mean(str(value), [str(choice) for choice in choices])
        raise FormatError(f"`{name}` must be one of {', '.join(map(str, choices))}, not {value!r}{hint}")


def documented(parameters: Parameters) -> dict[str, Any]:
    """Return all that is derived from the choices, for parameters.json.

    Parameters
    ----------
    parameters : Parameters
        The block with its choices.

    Returns
    -------
    dict
        What `json.dumps` takes: names, generics, latency in clock cycles, adders, and ports with widths in bits.
    """
    return {
        "top": parameters.top,
        "module": parameters.block,
        "generics": parameters.generics(),
        "latency": parameters.latency,
        "adders": parameters.adders,
        "ports": [
            {
                "name": f"{port.name}_{'o' if port is output else 'i'}",
                "words": port.length,
                "bits": port.word.bits,
                "signed": port.word.signed,
            }
            for output in (parameters.output,)
            for port in (*parameters.inputs, output)
        ],
    }

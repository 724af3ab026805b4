"""Exact interpretation of a word-level netlist of adders and registers: a proof for every input.

Every signal becomes an integer-linear form of the block's data inputs, with the clock cycles since
they were applied. A form carries its exact range, so a word that is too narrow is found; a signal
that two forms of different age meet in is found; a cell that is not linear is found. Where the
interpretation ends without an error, the outputs equal their forms for all inputs.

A module that is kept whole (`opaque`) makes fresh variables: the dot product is proved as the sum of
its terms, whatever a term is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mfsim.errors import ParityError
from mfsim.ir.formats import Format

Bit = int | str
"""A net of the netlist, or the constant "0" or "1"."""


@dataclass(frozen=True, eq=False)
class Form:
    """An integer-linear form of variables, each in `lo`..`hi`; its word has `bits` bits."""

    coefficients: np.ndarray
    lo: int
    hi: int
    bits: int


class Seen(NamedTuple):
    """What a net carries: bit `at` of a form, `age` clock cycles after its inputs."""

    form: Form
    at: int
    age: int


class Interpreter:
    """Interprets one module.

    Parameters
    ----------
    module : the netlist of the module, as Yosys writes it in JSON.
    variables : how many variables there are.
    bits : bits of the word of each.
    lo, hi : the range of each.
    """

    def __init__(self, module: Mapping[str, Any], variables: int, bits: int, lo: int, hi: int) -> None:
        self._cells: dict[str, Any] = dict(module["cells"])
        self._variables, self._bits, self._lo, self._hi = variables, bits, lo, hi
        self._flag = Form(np.zeros(0, dtype=np.int64), 0, 1, 1)
        self.seen: dict[Bit, Seen] = {}

    def define(self, bits: Sequence[Bit], first: int) -> None:
        """Let `bits` carry the variables `first`, `first` + 1, ..., one word after the other.

        Parameters
        ----------
        bits : sequence of int or str
            Nets, lowest bit of the first word first; a multiple of the word's bits.
        first : int, at least 0
            Number of the variable in the first word.
        """
        size = self._bits
        for place in range(0, len(bits), size):
            one = np.zeros(self._variables, dtype=np.int64)
            one[first + place // size] = 1
            form = Form(one, self._lo, self._hi, size)
            self.seen.update((bit, Seen(form, i, 0)) for i, bit in enumerate(bits[place : place + size]))

    def define_flag(self, bit: Bit) -> None:
        """Let `bit` carry the valid flag, which no adder may take.

        Parameters
        ----------
        bit : int or str
            The net of the valid input.
        """
        self.seen[bit] = Seen(self._flag, 0, 0)

    def run(self, clock: Bit, reset: Bit) -> None:
        """Interpret every cell, each when its operands are known.

        Parameters
        ----------
        clock, reset : int or str
            Nets that every register must have as its clock and reset.

        Raises
        ------
        ParityError
            If a cell is not linear, loses bits, mixes ages, or has operands that are never known; it is named.
        """
        waiting = dict(self._cells)
        while waiting:
            done = [name for name, cell in waiting.items() if self._interpret(name, cell, clock, reset)]
            if not done:
                raise ParityError(f"cell `{next(iter(waiting))}` cannot be interpreted: its operands are not known")
            for name in done:
                del waiting[name]

    def word(self, bits: Sequence[Bit], where: str) -> tuple[Form, int]:
        """Return the form that `bits` are the word of, and its age.

        `bits` are the form's own, lowest first, then any number of copies of its sign; or fewer than
        the form has, where they hold its range.

        Parameters
        ----------
        bits : sequence of int or str, at least one
            Nets, lowest bit first.
        where : str
            What errors call the word.

        Returns
        -------
        tuple of (Form, int)
            The form, and the clock cycles since its inputs were applied.

        Raises
        ------
        ParityError
            If the bits are not the word of one form and age, or are too few for its range.
        """
        seen = [self.seen.get(bit) for bit in bits]
        first = seen[0]
        if first is None or first.at or first.form is self._flag:
            raise ParityError(f"{where} is not a word of the block")
        form, age = first.form, first.age
        for place, one in enumerate(seen):
            if one is None or one.form is not form or one.age != age or one.at != min(place, form.bits - 1):
                raise ParityError(f"bit {place} of {where} is not bit {min(place, form.bits - 1)} of its word")
        if not Format(len(bits)).holds(form.lo, form.hi):
            raise ParityError(f"{where} has {len(bits)} bits, too few for {form.lo}..{form.hi}")
        return form, age

    def age_of_flag(self, bit: Bit) -> int:
        """Return after how many clock cycles `bit` carries the valid flag.

        Parameters
        ----------
        bit : int or str
            The net of the valid output.

        Returns
        -------
        int, at least 0
            Clock cycles.

        Raises
        ------
        ParityError
            If the net does not carry the flag.
        """
        seen = self.seen.get(bit)
        if seen is None or seen.form is not self._flag:
            raise ParityError("the valid output does not carry the valid input")
        return seen.age

    def _interpret(self, name: str, cell: Mapping[str, Any], clock: Bit, reset: Bit) -> bool:
        kind, wires = cell["type"], cell["connections"]
        if kind in ("$dff", "$adff"):
            if wires["CLK"] != [clock] or _number(cell, "CLK_POLARITY") != 1:
                raise ParityError(f"cell `{name}` is not clocked by the rising edge of the clock")
            if kind == "$adff" and (
                wires["ARST"] != [reset] or _number(cell, "ARST_POLARITY") or _number(cell, "ARST_VALUE")
            ):
                raise ParityError(f"cell `{name}` is not cleared by the reset")
            return self._register(wires["D"], wires["Q"])
        if kind not in ("$add", "$sub"):
            raise ParityError(f"cell `{name}` of type `{kind}` is not linear")
        if any(bit not in self.seen and isinstance(bit, int) for port in "AB" for bit in wires[port]):
            return False
        self._add(name, cell, 1 if kind == "$add" else -1)
        return True

    def _register(self, inputs: Sequence[Bit], outputs: Sequence[Bit]) -> bool:
        """Take over each bit that is known; return whether all are, as a register may feed itself bit by bit."""
        for before, after in zip(inputs, outputs, strict=True):
            if before in self.seen:
                form, at, age = self.seen[before]
                self.seen[after] = Seen(form, at, age + 1)
        return all(bit in self.seen for bit in outputs)

    def _add(self, name: str, cell: Mapping[str, Any], sign: int) -> None:
        wires = cell["connections"]
        (left, age), (right, other) = (self.word(wires[port], f"operand {port} of cell `{name}`") for port in "AB")
        if age != other:
            raise ParityError(f"cell `{name}` adds words of different cycles, {age} and {other}")
        bits = len(wires["Y"])
        for port in "AB":
            if len(wires[port]) < bits and not (_number(cell, "A_SIGNED") and _number(cell, "B_SIGNED")):
                raise ParityError(f"operand {port} of cell `{name}` is extended without its sign")
        coefficients = left.coefficients + sign * right.coefficients
        plus, minus = int(coefficients[coefficients > 0].sum()), -int(coefficients[coefficients < 0].sum())
        lo = plus * self._lo - minus * self._hi
        hi = plus * self._hi - minus * self._lo
        if not Format(bits).holds(lo, hi):
            raise ParityError(f"cell `{name}` has {bits} bits, too few for {lo}..{hi}")
        form = Form(coefficients, lo, hi, bits)
        self.seen.update((bit, Seen(form, i, age)) for i, bit in enumerate(wires["Y"]))


def _number(cell: Mapping[str, Any], name: str) -> int:
    """Return a parameter of a cell, which Yosys writes as a string of binary digits."""
    return int(cell["parameters"][name], 2)

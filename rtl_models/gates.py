"""`GateNetlist`: a synthesised circuit of simple gates and flip-flops, run for many lanes at once.

Each lane is a circuit of its own, clocked with the others. The gates are those that Yosys wrote, one
for one; `mfsim/kernels/netlist.py` evaluates 64 lanes in a machine word.
"""

from __future__ import annotations

import graphlib
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from mfsim.errors import ParityError
from mfsim.rtl_models import yosys
from mfsim.rtl_models.block import Codes, Parameters

KINDS = {"$_AND_": 0, "$_OR_": 1, "$_XOR_": 2, "$_NOT_": 3, "$_MUX_": 4}
"""Gates by their number in `mfsim/kernels/netlist.py`."""
CONSTANTS: dict[int | str, int] = {"0": 0, "1": 1, "x": 0}
"""Rows of the nets that never change."""
REGISTER = re.compile(r"\$_DFF_P_|\$_DFF_PN0_")
"""Flip-flops: without reset, and with an active-low reset to 0."""


class GateNetlist:
    """A synthesised block.

    Parameters
    ----------
    parameters, texts, top : the block, its SystemVerilog, and the module to synthesise.
    lanes : a multiple of 64.

    Attributes
    ----------
    cells : number of gates and flip-flops of each type.
    """

    def __init__(self, parameters: Parameters, texts: Mapping[str, str], top: str, lanes: int = 512) -> None:
        module = yosys.netlist(texts, top, yosys.SYNTHESISE)[top]
        cells = module["cells"]
        self.parameters, self.lanes = parameters, lanes
        self.cells = dict(sorted(Counter(cell["type"] for cell in cells.values()).items()))
        strange = [kind for kind in self.cells if kind not in KINDS and not REGISTER.fullmatch(kind)]
        if strange:
            raise ParityError(f"{top} was synthesised to `{strange[0]}`, which is no simple gate and no flip-flop")
        self._numbers: dict[int | str, int] = dict(CONSTANTS)
        self._ports = {
            name: np.array([self._net(bit) for bit in port["bits"]]) for name, port in module["ports"].items()
        }
        registers = [cell["connections"] for cell in cells.values() if REGISTER.fullmatch(cell["type"])]
        resets = {wires["R"][0] for wires in registers if "R" in wires}
        clocks = {wires["C"][0] for wires in registers}
        named = {name: module["ports"][name]["bits"][0] for name in ("clk_i", "rst_ni") if name in module["ports"]}
        if clocks - {named.get("clk_i")} or resets - {named.get("rst_ni")}:
            raise ParityError(f"{top} has a flip-flop that clk_i does not clock or rst_ni does not clear")
        pairs = [(self._net(wires["D"][0]), self._net(wires["Q"][0])) for wires in registers]
        self._registers = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        self._cleared = np.array([self._net(wires["Q"][0]) for wires in registers if "R" in wires], dtype=np.int64)
        self._gates = self._sorted({n: c for n, c in cells.items() if c["type"] in KINDS})
        rng = np.random.default_rng(0)
        # Registers start with arbitrary bits: only what the reset and the pipeline do makes an output right.
        self._nets = rng.integers(0, 1 << 64, (len(self._numbers), lanes // 64), dtype=np.uint64)
        self._nets[0], self._nets[1] = 0, ~np.uint64(0)
        self._buffer = np.empty((len(pairs), lanes // 64), dtype=np.uint64)

    @property
    def gates(self) -> int:
        """Number of gates."""
        return len(self._gates)

    @property
    def flip_flops(self) -> int:
        """Number of flip-flops."""
        return len(self._registers)

    def reset(self) -> None:
        """Clear what the reset clears."""
        self._nets[self._cleared] = 0

    def step(self, inputs: Codes, valid: np.ndarray) -> tuple[Codes, np.ndarray]:
        """Return the outputs and their valid flags in the cycle in which `inputs` are applied, then clock.

        The same contract as that of `CycleModel.step`.

        Parameters
        ----------
        inputs : dict of str to int64 array, shape (lanes, words)
            Codes by input port, in the range of its word.
        valid : bool array, shape (lanes,)
            Whether a lane is given a vector in this cycle.

        Returns
        -------
        outputs : dict of str to int64 array, shape (lanes, words)
            Codes of the output port; they mean nothing in a lane that is not valid.
        flags : bool array, shape (lanes,)
            Whether a lane shows a result.
        """
        from mfsim.kernels import netlist

        for port in self.parameters.inputs:
            codes = np.ascontiguousarray(inputs[port.name].T)
            for word, rows in zip(codes, self._words(f"{port.name}_i", port.word.bits), strict=True):
                netlist.pack(word, rows, self._nets)
        if "valid_i" in self._ports:
            netlist.pack(valid.astype(np.int64), self._ports["valid_i"], self._nets)
        netlist.evaluate(self._gates, self._nets)
        port = self.parameters.output
        made = np.empty((port.length, self.lanes), dtype=np.int64)
        for word, rows in zip(made, self._words(f"{port.name}_o", port.word.bits), strict=True):
            netlist.unpack(self._nets, rows, port.word.signed, word)
        flags = valid
        if "valid_o" in self._ports:
            shown = np.empty(self.lanes, dtype=np.int64)
            netlist.unpack(self._nets, self._ports["valid_o"], False, shown)
            flags = shown != 0
        netlist.clock(self._registers, self._buffer, self._nets)
        return {port.name: made.T}, flags

    def _net(self, bit: int | str) -> int:
        return self._numbers.setdefault(bit, len(self._numbers) - len(CONSTANTS) + 2)

    def _words(self, port: str, bits: int) -> np.ndarray:
        return self._ports[port].reshape(-1, bits)

    def _sorted(self, cells: Mapping[str, Any]) -> np.ndarray:
        """Return the gates, each after those whose outputs it takes."""
        writers = {cell["connections"]["Y"][0]: name for name, cell in cells.items()}
        graph = {
            name: {writers[wires[port][0]] for port in "ABS" if port in wires and wires[port][0] in writers}
            for name, cell in cells.items()
            for wires in (cell["connections"],)
        }
        rows = []
        for name in graphlib.TopologicalSorter(graph).static_order():
            wires = cells[name]["connections"]
            operands = [self._net(wires[port][0]) if port in wires else 0 for port in "ABS"]
            rows.append([KINDS[cells[name]["type"]], *operands, self._net(wires["Y"][0])])
        return np.array(rows, dtype=np.int64).reshape(-1, 5)

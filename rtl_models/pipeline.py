"""`CycleModel`: what a block does in each clock cycle, for many independent lanes at once.

The registers are those of the SystemVerilog: one behind each stage, and a flag that says which hold
a valid word. A block without stages' registers (latency 0) answers in the same cycle.
"""

from __future__ import annotations

import numpy as np

from mfsim.rtl_models.block import Codes, Parameters


class CycleModel:
    """A block, cycle by cycle.

    Parameters
    ----------
    parameters : the block.
    lanes : how many copies run side by side.

    Attributes
    ----------
    registers : the words behind each stage, [lanes, words of that stage]; None before the first cycle.
    valid : whether each register holds a result, [latency, lanes].
    """

    def __init__(self, parameters: Parameters, lanes: int = 1) -> None:
        self.parameters = parameters
        self._stages = parameters.stages()
        self.registers: list[np.ndarray | None] = [None] * parameters.latency
        self.valid = np.zeros((parameters.latency, lanes), dtype=bool)

    def reset(self) -> None:
        """Clear the valid flags, as `rst_ni` does."""
        self.valid[:] = False

    def step(self, inputs: Codes, valid: np.ndarray) -> tuple[Codes, np.ndarray]:
        """Return the outputs and their valid flags in the cycle in which `inputs` are applied, then clock.

        Parameters
        ----------
        inputs : int64 codes of each input port, [lanes, words].
        valid : bool [lanes].

        Returns
        -------
        outputs, valid
            The outputs mean nothing in a lane that is not valid.
        """
        name, words = self.parameters.output.name, self.parameters.joined(inputs)
        if not self.registers:
            for stage in self._stages:
                words = stage(words)
            return {name: words}, valid
        last = self.registers[-1]
        shown = np.zeros((len(valid), self.parameters.output.length), dtype=np.int64) if last is None else last
        flags = self.valid[-1].copy()
        for index in range(len(self.registers) - 1, 0, -1):
            before = self.registers[index - 1]
            self.registers[index] = None if before is None else self._stages[index](before)
        self.registers[0] = self._stages[0](words)
        self.valid[1:] = self.valid[:-1].copy()
        self.valid[0] = valid
        return {name: shown}, flags

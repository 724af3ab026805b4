"""`verify`: prove that a block computes what the software computes, and that it has no multiplier.

1. Elaboration, and the cells of the word-level netlist: an allow-list, and the exact number of adders.
2. A proof for all inputs: of the transform and the dot product by linear interpretation of the netlist, of
   a term by a SAT solver (`proofs.py`) and, up to `EXHAUSTIVE` bits together, by running every pair of operands.
3. Vectors through the synthesised gates, cycle by cycle, compared in every cycle with the cycle model, and
   with the op's kernel: every code and every valid flag.
"""

from __future__ import annotations

import collections
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mfsim.errors import DataError, ParityError
from mfsim.rtl_models import blocks
from mfsim.rtl_models.block import Codes, Parameters
from mfsim.rtl_models.cells import check_cells
from mfsim.rtl_models.gates import GateNetlist
from mfsim.rtl_models.mf_term.parameters import MfTermParameters
from mfsim.rtl_models.pipeline import CycleModel
from mfsim.rtl_models.proofs import prove
from mfsim.rtl_models.stimuli import all_pairs, cycles

EXHAUSTIVE = 24
"""Bits of both operands of a term together, up to which every pair is run."""
LANES, TERM_LANES = 512, 8192
"""Lanes of a block, and of a term, which has few nets: as many as keep the nets in a core's cache."""


@dataclass(frozen=True)
class BlockReport:
    """Result of `verify`; it exists only if every check passed.

    Attributes
    ----------
    cells : word-level cells by type.
    proved : what was proved for all inputs.
    gates, flip_flops : of the circuit that the vectors ran through.
    vectors : how many ran without a difference.
    """

    top: str
    cells: dict[str, int]
    adders: int
    proved: str
    gates: int
    flip_flops: int
    vectors: int

    def to_json(self) -> dict[str, Any]:
        """Return the report as a JSON object."""
        return dict(vars(self))


def verify(
    block: str,
    values: Mapping[str, Any] | Parameters,
    *,
    vectors: int = 1_000_000,
    seed: int = 0,
    texts: Mapping[str, str] | None = None,
    progress: Callable[[str, int, int], None] = lambda what, done, total: None,
) -> BlockReport:
    """Prove a block equal to the software and free of multipliers.

    Parameters
    ----------
    block, values : name of the block and its parameters, as in `write`.
    vectors : how many run through the synthesised gates, at least 1.
    seed : of the vectors.
    texts : SystemVerilog to check in place of the block's own, by file name; its top has the same name.
    progress : called with (what is done, done, total).

    Returns
    -------
    BlockReport
        Cells, adders, what is proved, and the gates, flip-flops and vectors of the run.

    Raises
    ------
    ParityError
        If anything differs; the sentence says what.
    ToolError
        If Yosys is missing or stops.
    DataError
        If `vectors` is below 1.
    """
    if vectors < 1:
        raise DataError(f"`vectors` must be at least 1, not {vectors}")
    parameters = blocks.parameters(block, values)
    top, texts = parameters.top, texts or parameters.texts()
    progress("cells", 0, 1)
    cells = check_cells(parameters, texts, top)
    progress("proof", 0, 1)
    proved = prove(parameters, texts, top)
    progress("synthesis", 0, 1)
    netlist = GateNetlist(parameters, texts, top, TERM_LANES if isinstance(parameters, MfTermParameters) else LANES)
    if isinstance(parameters, MfTermParameters):
        proved += _all_pairs(parameters, netlist)
    played = cycles(parameters, vectors, netlist.lanes, np.random.default_rng(seed))
    run = compare(parameters, netlist, played, lambda done: progress("vectors", done, vectors))
    return BlockReport(top, cells, parameters.adders, proved, netlist.gates, netlist.flip_flops, run)


def _all_pairs(parameters: MfTermParameters, netlist: GateNetlist) -> str:
    """Run every pair of operands where there are not too many; return what that proves."""
    bits = parameters.x_bits + parameters.w_bits
    if bits > EXHAUSTIVE:
        return ""
    valid = np.ones(netlist.lanes, dtype=bool)
    compare(parameters, netlist, ((codes, valid) for codes in all_pairs(parameters, netlist.lanes)))
    return f"; all {1 << bits:,} pairs of operands run through the gates"


def compare(
    parameters: Parameters,
    netlist: GateNetlist,
    stimuli: Iterator[tuple[Codes, np.ndarray]],
    progress: Callable[[int], None] = lambda done: None,
) -> int:
    """Run `stimuli` (inputs and valid flags of one cycle each) after a reset; return how many vectors ran.

    Parameters
    ----------
    parameters : Parameters
        The block with its choices.
    netlist : GateNetlist
        Its synthesised gates.
    stimuli : iterator of (dict of str to int64 array, shape (lanes, words), bool array, shape (lanes,))
        Codes by input port and valid flags, cycle by cycle.
    progress : callable
        Called with the number of vectors that have run so far.

    Returns
    -------
    int
        Valid vectors in all lanes together.

    Raises
    ------
    ParityError
        At the first cycle in which the gates, the cycle model and the kernel are not equal.
    """
    model = CycleModel(parameters, netlist.lanes)
    netlist.reset()
    name, count = parameters.output.name, 0
    none = (np.zeros((netlist.lanes, parameters.output.length), dtype=np.int64), np.zeros(netlist.lanes, dtype=bool))
    waiting = collections.deque([none] * parameters.latency)
    idle = {port.name: np.zeros((netlist.lanes, port.length), dtype=np.int64) for port in parameters.inputs}
    rest = [(idle, none[1])] * parameters.latency
    for cycle, (inputs, valid) in enumerate(itertools.chain(stimuli, rest)):
        waiting.append((parameters.expected(inputs)[name], valid))
        codes, flags = waiting.popleft()
        for what, (shown, ready) in (
            ("gates", netlist.step(inputs, valid)),
            ("cycle model", model.step(inputs, valid)),
        ):
            if not np.array_equal(ready, flags):
                raise ParityError(f"{parameters.top}: the valid flag of the {what} is wrong in cycle {cycle}")
            wrong = np.argwhere((shown[name] != codes) & flags[:, None])
            if len(wrong):
                lane, word = (int(i) for i in wrong[0])
                raise ParityError(
                    f"{parameters.top}: word {word} of the {what} is {shown[name][lane, word]}, "
                    f"not {codes[lane, word]}, in cycle {cycle}"
                )
        count += int(valid.sum())
        progress(count)
    return count

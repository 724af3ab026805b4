"""`Recompiler`: compiles one model again after constants of it have changed, and only what these changes reach.

The graph is decoded once. Every step of a compilation leaves a record; a step is run again if something that it
read is no longer what it was, and what it then makes is compared with what it made before, so that changes
end where they make no difference. Tensors and nodes of the program that did not change are the same objects as before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, replace

import onnx

from mfsim.compiler.frontend.checks import check_constant, check_domains, check_numbers
from mfsim.compiler.frontend.graph import array_of, graph_of
from mfsim.compiler.incremental.dependencies import Dependencies, Key, Record, joined, same
from mfsim.compiler.incremental.digest import ModelDigest
from mfsim.compiler.lower.lowering import Lowering
from mfsim.compiler.lower.steps import program_of, steps_of
from mfsim.ir.program import Program

BLOCK = 16
"""Steps in a row of which nothing is looked at if none of them has to run again."""


@dataclass(frozen=True)
class _Known:
    """The records of all steps, and those of blocks of them."""

    records: list[Record]
    blocks: list[Record]


class Recompiler:
    """The compiler of one model in the dialect of mfsim, whose initializers and metadata may change between two calls.

    The program is the one that `compile_model` makes of the model as it is.

    Parameters
    ----------
    model : ModelProto
        With its data inside. Its nodes must stay as they are, and whoever changes an initializer says so.
    """

    def __init__(self, model: onnx.ModelProto) -> None:
        graph = graph_of(model, check_domains(model))
        check_numbers(graph)
        self._model = model
        self._constants = dict(graph.constants)
        self._graph = replace(graph, constants=self._constants)
        self._places = {tensor.name: tensor for tensor in model.graph.initializer}
        self._digest = ModelDigest(model)
        self._steps = steps_of(graph)
        self._known: _Known | None = None
        self._readers: defaultdict[Key, set[int]] = defaultdict(set)
        self._changed: set[str] = set()

    def change(self, initializers: Collection[str]) -> None:
        """Take in changes of `initializers`, by name, and of the metadata of the model.

        Parameters
        ----------
        initializers : collection of str
            Names of changed initializers.

        Raises
        ------
        ModelError
            If one of them holds NaN or infinity.
        """
        for name in initializers:
            values = array_of(self._places[name])
            check_constant(self._graph, name, values)
            if not same(self._constants[name], values):
                self._constants[name] = values
                self._changed.add(name)
        self._digest.renew(initializers)

    def program(self) -> Program:
        """Return the program of the model as it is; errors are those of `compile_model`."""
        lowering = Lowering(self._graph)
        journal = Dependencies(lowering)
        known, self._known = self._known, None  # after an error nothing is kept
        stale = {k for name in self._changed for k in self._readers["values", name]}
        self._changed.clear()
        records: list[Record] = []
        blocks: list[Record] = []
        for number in range(0, len(self._steps), BLOCK):
            block = range(number, min(number + BLOCK, len(self._steps)))
            if known is not None and stale.isdisjoint(block):
                records += known.records[number : block.stop]
                blocks.append(known.blocks[number // BLOCK])
                journal.repeat(blocks[-1])
                continue
            for k in block:
                old = None if known is None else known.records[k]
                if old is None or k in stale:
                    record, changed = journal.run(self._steps[k], old)
                    stale.update(*(self._readers[key] for key in changed))
                    self._note(k, record.reads, frozenset() if old is None else old.reads)
                else:
                    record = old
                    journal.repeat(record)
                records.append(record)
            blocks.append(joined(records[number:]))
        journal.leave()
        program = program_of(lowering, self._model, self._digest.text(), [record.result for record in records])
        self._known = _Known(records, blocks)
        return program

    def _note(self, number: int, reads: frozenset[Key], before: frozenset[Key]) -> None:
        """Keep which steps read a key, for a step that reads other ones than before."""
        for key in reads - before:
            self._readers[key].add(number)
        for key in before - reads:
            self._readers[key].discard(number)

"""`Recompiler`: compiles one model again after constants of it have changed, and only what these changes reach.

The graph is decoded once. Every step of a compilation leaves a record; a step is run again if something that it
read is no longer what it was, and what it then makes is compared with what it made before, so that changes
end where they make no difference. Tensors and nodes of the program that did not change are the same objects as before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import replace

import onnx

from mfsim.compiler.checks import check_constant, check_domains, check_numbers
from mfsim.compiler.digest import ModelDigest
from mfsim.compiler.graph import array_of, graph_of
from mfsim.compiler.journal import Journal, Key, Record, same
from mfsim.compiler.lowering import Lowering
from mfsim.compiler.steps import program_of, steps_of
from mfsim.program import Program


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
        self._records: list[Record] = []
        self._readers: defaultdict[Key, set[int]] = defaultdict(set)
        self._changed: set[str] = set()

    def change(self, initializers: Collection[str]) -> None:
        """Take in changes of `initializers`, by name, and of the metadata of the model.

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
        journal = Journal(lowering)
        known: list[Record | None] = [*self._records] or [None] * len(self._steps)
        stale = {k for name in self._changed for k in self._readers["values", name]}
        self._records, records = [], list[Record]()  # after an error nothing is kept
        self._changed.clear()
        for number, (step, old) in enumerate(zip(self._steps, known, strict=True)):
            if old is not None and number not in stale:
                journal.repeat(old)
                records.append(old)
                continue
            record, changed = journal.run(step, old)
            for key in changed:
                stale |= self._readers[key]
            before: frozenset[Key] = frozenset() if old is None else old.reads
            for key in record.reads - before:
                self._readers[key].add(number)
            for key in before - record.reads:
                self._readers[key].discard(number)
            records.append(record)
        program = program_of(lowering, self._model, self._digest.text(), [record.result for record in records])
        self._records = records
        return program

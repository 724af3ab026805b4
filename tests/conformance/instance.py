"""A case of an op, computed once: its one-node program, input codes, and the codes that every realisation must give."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

import numpy as np

from mfsim import ops
from mfsim.ir.builder import ProgramBuilder
from mfsim.ir.program import Node, Program
from mfsim.ops.op import Case, Op, objects
from mfsim.simulate.dispatch import plain_kernel_of
from tests.bits import assert_bit_equal
from tests.conformance.samples import samples
from tests.ops.fourier import exact

MANY = 1024
"""Samples from which on a reference in int64 is used, where there is one."""


def program_of(op: Op, case: Case) -> Program:
    """Return the one-node program of a case."""
    builder = ProgramBuilder()
    names = [
        builder.constant_tensor(tensor) if tensor.is_constant else builder.input_tensor(tensor)
        for tensor in (replace(tensor, name=f"{tensor.name}{k}") for k, tensor in enumerate(case.inputs))
    ]
    return builder.finish([builder.node(op.name, names, case.attributes, layer="layer")])


def inputs_of(case: Case, arrays: list[np.ndarray]) -> list[np.ndarray]:
    """Return the codes of all inputs of a case, constants included."""
    dynamic = iter(arrays)
    return [np.array(t.codes) if t.is_constant else next(dynamic) for t in case.inputs]


def expected_of(op: Op, case: Case, node: Node, arrays: list[np.ndarray]) -> list[np.ndarray]:
    """Return the reference outputs as int64; the reference itself computes in Python ints, which never wrap.

    For the exhaustive cases of a transform it computes some of the samples; it equals `exact` on them, which
    computes all.
    """
    count = len(arrays[0])
    if count < MANY or op.name not in exact.REFERENCES:
        return _referred(op, case, node, arrays)
    some = np.unique(np.linspace(0, count - 1, MANY // 4).astype(int))
    everything = exact.REFERENCES[op.name](inputs_of(case, arrays), node.attributes)
    (referred,) = _referred(op, case, node, [array[some] for array in arrays])
    assert_bit_equal(everything[some], referred, "the reference in int64")
    return [everything]


def _referred(op, case, node, arrays):
    results = op.reference([objects(a) for a in inputs_of(case, arrays)], node.attributes)
    assert all(type(code) is int for r in results for code in np.ravel(np.asarray(r, dtype=object)))
    return [np.array(r, dtype=np.int64).reshape(np.shape(r)) for r in results]


def run_kernel(op: Op, node: Node, program: Program, inputs: list[np.ndarray], batch: int) -> list[np.ndarray]:
    """Run the compiled plain kernel and return its outputs."""
    outputs = [np.full((batch, *t.shape[1:]), -(2**62), dtype=np.int64) for t in program.outputs_of(node)]
    ops.plain_kernel(op.name)(inputs, node.attributes, outputs)
    return outputs


@dataclass(frozen=True)
class Instance:
    """A case of an op with all that its realisations are held against; each part is computed when it is first read."""

    op: Op
    case: Case

    @functools.cached_property
    def program(self) -> Program:
        return program_of(self.op, self.case)

    @property
    def node(self) -> Node:
        return self.program.nodes[0]

    @property
    def outputs(self):
        return self.program.outputs_of(self.node)

    @functools.cached_property
    def arrays(self) -> list[np.ndarray]:
        return samples(self.case)

    @functools.cached_property
    def expected(self) -> list[np.ndarray]:
        return expected_of(self.op, self.case, self.node, self.arrays)

    def inputs(self, arrays: list[np.ndarray] | None = None) -> list[np.ndarray]:
        return inputs_of(self.case, self.arrays if arrays is None else arrays)

    @functools.cached_property
    def _events(self) -> dict[int, int | None]:
        return {}

    def events(self, count: int) -> int | None:
        """Return how many codes do not fit, as the plain kernel counts them in the first `count` samples."""
        if count not in self._events:
            outputs = [np.empty((count, *t.shape[1:]), np.int64) for t in self.outputs]
            inputs = self.inputs([array[:count] for array in self.arrays])
            self._events[count] = plain_kernel_of(self.op.name)(inputs, self.node.attributes, outputs)
        return self._events[count]

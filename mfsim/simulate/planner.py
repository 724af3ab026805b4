"""`Plan`: which steps run a program, and where each buffer lies in one block of memory.

Nothing here changes a code. In a plan of fast kernels

- what only relabels a tensor or sees it in another shape is another view of its buffer;
- a node that does to the same tensor what an earlier one did shares its result;
- a product fits its sums into the word of the requantize behind it (see `mfsim.simulate.fusion`);
- each buffer holds the narrowest machine words for its proved range.

Buffers share memory where no reader of the one is left when the other is filled. A tensor that has to be seen,
because it is an output or somebody asked for it, is always written.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mfsim import ops
from mfsim.ir.program import Node, Program
from mfsim.ir.stages import stages
from mfsim.kernels.operands import Operand, stored
from mfsim.ops.traits import Trait
from mfsim.simulate.dispatch import Run, any_word, fast_kernel_of, operand_of, plain_kernel_of, prepared_kernel
from mfsim.simulate.exact_words import exact_kernel_of
from mfsim.simulate.fusion import Chain, chains

LINE = 64
"""Buffers begin at multiples of this many bytes."""


@dataclass(frozen=True)
class View:
    """A tensor as a step sees it: the name of its buffer, and its own shape without the batch; a constant's whole."""

    buffer: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Step:
    """One call of a kernel; `counts` are the nodes whose overflow events it returns, `shown` what is then to be seen."""

    run: Run
    attributes: Mapping[str, Any]
    inputs: tuple[View, ...]
    outputs: tuple[View, ...]
    counts: tuple[str, ...]
    shown: tuple[str, ...]


@dataclass
class Buffer:
    """Codes of one type; `size` elements for each sample from byte `offset` on (for one sample), live in some steps."""

    dtype: type[np.signedinteger[Any] | np.unsignedinteger[Any]]
    size: int
    first: int
    last: int
    offset: int = 0

    @property
    def bytes(self) -> int:
        """Bytes of one sample."""
        return self.size * np.dtype(self.dtype).itemsize


class Plan:
    """How `program` is run.

    Parameters
    ----------
    program : Program
    kernels : "fast", or "plain": node by node, with plain kernels, in 64-bit words; "exact": as plain, with every
        intermediate held against its proved word
    seen : names of activations, besides the outputs, that have to be written

    Attributes
    ----------
    steps : in order.
    buffers : of activations, by the name of the tensor that is written there.
    views : of every activation that is seen or an input.
    shown : names of what is to be seen in each buffer.
    sample : bytes of all buffers for one sample.
    """

    def __init__(self, program: Program, kernels: str, seen: Collection[str] = ()) -> None:
        self.program, self._fast, self._exact = program, kernels == "fast", kernels == "exact"
        self._same: dict[str, str] = {}
        self._shared: defaultdict[str, list[str]] = defaultdict(list)
        self.shown: defaultdict[str, list[str]] = defaultdict(list)
        nodes = self._distinct() if self._fast else list(program.nodes)
        visible = dict.fromkeys([*program.inputs, *program.outputs, *seen])
        for name in visible:
            self.shown[self._source(name)].append(name)
        self.views = {name: self._view(name) for name in visible}
        self.buffers: dict[str, Buffer] = {}
        for name in program.inputs:
            self._add(name, operand_of(program.tensors[name]), 0)
        self.steps: list[Step] = []
        found = chains(program, stages(program, nodes, self._same, self.shown)) if self._fast else {}
        covered = {node.name for chain in found.values() for node in chain.nodes}
        for node in nodes:
            if node.name in found:
                self._add_chain(node, found[node.name])
            elif node.name not in covered:
                self._add_node(node)
        self.sample = self._place()

    def _source(self, name: str) -> str:
        while name in self._same:
            name = self._same[name]
        return name

    def _view(self, name: str) -> View:
        tensor = self.program.tensors[name]
        return View(self._source(name), tensor.shape if tensor.is_constant else tensor.shape[1:])

    def _distinct(self) -> list[Node]:
        """Return the nodes that compute something new."""
        known: dict[Any, Node] = {}
        for node in self.program.nodes:
            views = tuple(self._view(name) for name in node.inputs)
            key = node.op, views, tuple(sorted(node.attributes.items()))
            if node.op in ops.named(Trait.VIEW) and not self.program.tensors[node.inputs[0]].is_constant:
                self._same[node.outputs[0]] = node.inputs[0]
            elif key in known:
                self._shared[known[key].name].append(node.name)
                self._same.update(zip(node.outputs, known[key].outputs, strict=True))
            else:
                known[key] = node
        return list(known.values())

    def _add_node(self, node: Node) -> None:
        if self._fast:
            run = fast_kernel_of(self.program, node) or any_word(node.op)
        else:
            run = exact_kernel_of(self.program, node) if self._exact else plain_kernel_of(node.op)
        outputs = {name: operand_of(self.program.tensors[name]) for name in node.outputs}
        self._add_step(run, node, node.inputs, outputs, node)

    def _add_chain(self, node: Node, chain: Chain) -> None:
        """Add a product that fits its sums, and then what moves the fitted codes."""
        target = operand_of(self.program.tensors[chain.result])

        def narrow(name: str) -> Operand:
            return target._replace(shape=self.program.tensors[name].shape[1:])

        ends = [chain.sums, *(mover.outputs[0] for mover in chain.movers)]
        buffers = [*ends[:-1], chain.result]
        self._add_step(chain.run, node, node.inputs, {buffers[0]: narrow(ends[0])}, chain.fitting)
        for mover, source, end, buffer in zip(chain.movers, buffers[:-1], ends[1:], buffers[1:], strict=True):
            moved, result = narrow(mover.inputs[0]), narrow(end)
            run = prepared_kernel(mover.op, [moved], [result], mover.attributes) or any_word(mover.op)
            self._add_step(run, mover, (View(source, moved.shape),), {buffer: result}, None)

    def _add_step(
        self,
        run: Run,
        node: Node,
        inputs: tuple[str | View, ...],
        outputs: Mapping[str, Operand],
        counted: Node | None,
    ) -> None:
        number = len(self.steps)
        views = tuple(name if isinstance(name, View) else self._view(name) for name in inputs)
        for view in views:
            self._use(view.buffer, number)
        for name, operand in outputs.items():
            self._add(name, operand, number)
        self.steps.append(
            Step(
                run,
                node.attributes,
                views,
                tuple(View(name, operand.shape) for name, operand in outputs.items()),
                () if counted is None else (counted.name, *self._shared[counted.name]),
                tuple(name for output in outputs for name in self.shown[output]),
            )
        )

    def _add(self, name: str, operand: Operand, number: int) -> None:
        dtype = stored(operand.low, operand.high) if self._fast else np.int64
        size = int(np.prod(operand.shape, dtype=np.int64))
        self.buffers[name] = Buffer(dtype, size, number, number)

    def _use(self, name: str, number: int) -> None:
        if name in self.buffers:
            self.buffers[name].last = max(self.buffers[name].last, number)

    def _place(self) -> int:
        """Give each buffer, the largest first, the lowest place that is free while it is live; return the end of all."""
        placed: list[Buffer] = []
        for buffer in sorted(self.buffers.values(), key=lambda buffer: -buffer.bytes):
            others = [o for o in placed if o.first <= buffer.last and buffer.first <= o.last]
            for other in sorted(others, key=lambda other: other.offset):
                if buffer.offset + buffer.bytes <= other.offset:
                    break
                buffer.offset = max(buffer.offset, other.offset + -(-other.bytes // LINE) * LINE)
            placed.append(buffer)
        return max((buffer.offset + buffer.bytes for buffer in placed), default=0)

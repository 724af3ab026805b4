"""`Executor`: a plan run chunk by chunk, each in a block of memory that is made once and lent to one thread at a time."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from mfsim.ir.program import Program, Tensor
from mfsim.kernels.rows.packed import narrow
from mfsim.kernels.scratch import aligned, scratch
from mfsim.simulate.dispatch import bound
from mfsim.simulate.inputs import check_codes, fill_codes, is_real
from mfsim.simulate.planner import Plan, View

CACHE = 1 << 24
"""Bytes of buffers that a chunk shall have. Small chunks lie nearer to the core, but threads wait for each other in Python."""
MOST_SAMPLES = 256
MOST_SIZES = 4
"""Sizes of chunks whose calls are kept."""

Visit = Callable[[str, np.ndarray], None]


_Shown = list[tuple[str, np.ndarray]]


@dataclass(frozen=True)
class _Call:
    run: Callable[[], int | None]
    counts: tuple[str, ...]
    shown: _Shown


_Bound = tuple[dict[str, tuple[np.ndarray, _Shown]], list[_Call]]
"""For a chunk of some size: by input where its codes go and what is shown of it, and the calls."""


@dataclass
class _Room:
    """Memory for one chunk at a time, the buffers of kernels, and the calls in it by number of samples."""

    memory: np.ndarray = field(default_factory=lambda: _memory(0))
    buffers: dict[str, np.ndarray] = field(default_factory=dict)
    bound: dict[int, _Bound] = field(default_factory=dict)


def _take(tensor: Tensor, codes: np.ndarray, buffer: np.ndarray) -> None:
    """Fill the buffer of an input; a `DataError` if codes are outside its proved range."""
    if tensor.range.axis is not None or not codes.size:
        check_codes(tensor, codes)
        buffer[...] = codes
        return
    native = np.ascontiguousarray(codes, codes.dtype.newbyteorder("="))
    lo, hi = narrow(native.reshape(-1), buffer.reshape(-1))
    if lo < tensor.range.low or hi > tensor.range.high:
        check_codes(tensor, codes)


def _memory(size: int) -> np.ndarray:
    block: np.ndarray = aligned((size,), np.uint8)  # type: ignore[no-untyped-call]  # kernels have no types
    return block


class Executor:
    """A program ready to run: its kernels prepared, its weights packed.

    Parameters
    ----------
    program : Program
    kernels : "fast", "plain" or "exact"
    seen : names of activations that are shown, besides the outputs

    Attributes
    ----------
    samples : how many samples of a chunk fit the cache; 1 for "exact", where each takes long.
    """

    def __init__(self, program: Program, kernels: str = "fast", seen: Collection[str] = ()) -> None:
        self.program = program
        self.plan = Plan(program, kernels, seen)
        fitting = min(max(CACHE // max(self.plan.sample, 1), 1), MOST_SAMPLES)
        self.samples = 1 if kernels == "exact" else fitting
        # Writable copies: kernels are compiled for one kind of array.
        self._constants = {
            name: np.array(tensor.codes) for name, tensor in program.tensors.items() if tensor.is_constant
        }
        self._free: list[_Room] = []

    def run(self, inputs: Mapping[str, np.ndarray], visit: Visit) -> dict[str, int]:
        """Run one chunk, show what is to be seen to `visit`, and return the overflow events by node.

        Parameters
        ----------
        inputs : mapping of str to array, shape (batch, ...)
            Floating-point inputs are real values and are quantized; integers are codes.
        visit : callable of (str, integer array)
            Gets a tensor's name and its codes, of any integer type, which hold only until it returns.

        Returns
        -------
        dict of str to int
            Overflow events by node.

        Raises
        ------
        DataError
            If codes are outside the range of an input, or values cannot be quantized.
        """
        batch = len(next(iter(inputs.values()))) if inputs else 0
        try:
            room = self._free.pop()
        except IndexError:
            room = _Room()
        with scratch.lent(room.buffers):
            events = self._run(room, batch, inputs, visit)
        self._free.append(room)
        return events

    def _run(self, room: _Room, batch: int, inputs: Mapping[str, np.ndarray], visit: Visit) -> dict[str, int]:
        sources, calls = self._bound(room, batch)
        for name, values in inputs.items():
            if is_real(name, values):
                fill_codes(self.program, name, values, sources[name][0])
            else:
                _take(self.program.tensors[name], values, sources[name][0])
        for _, shown in sources.values():
            for name, codes in shown:
                visit(name, codes)
        events: dict[str, int] = {}
        for call in calls:
            number = call.run()
            if number is not None:
                events.update(dict.fromkeys(call.counts, int(number)))
            for name, codes in call.shown:
                visit(name, codes)
        return events

    def _bound(self, room: _Room, batch: int) -> _Bound:
        """Return the inputs and the calls for a chunk of `batch` samples in the memory of `room`."""
        if batch in room.bound:
            return room.bound[batch]
        size = self.plan.sample * batch
        if room.memory.size < size:
            room.memory = _memory(size)
            room.bound.clear()
        memory = room.memory

        def array(view: View) -> np.ndarray:
            if view.buffer in self._constants:
                return self._constants[view.buffer]
            buffer = self.plan.buffers[view.buffer]
            first = buffer.offset * batch
            flat = memory[first : first + buffer.bytes * batch].view(buffer.dtype)
            return np.reshape(flat, (batch, *view.shape))

        def shown(names: Iterable[str]) -> _Shown:
            return [(name, array(self.plan.views[name])) for name in names]

        calls = [
            _Call(
                bound(
                    step.run,
                    [array(view) for view in step.inputs],
                    step.attributes,
                    [array(view) for view in step.outputs],
                ),
                step.counts,
                shown(step.shown),
            )
            for step in self.plan.steps
        ]
        inputs = {name: (array(self.plan.views[name]), shown(self.plan.shown[name])) for name in self.program.inputs}
        if len(room.bound) >= MOST_SIZES:
            room.bound.pop(next(iter(room.bound)))
        room.bound[batch] = inputs, calls
        return room.bound[batch]

    @functools.cached_property
    def overflowing(self) -> list[str]:
        """The nodes that can overflow, found by running an empty batch."""
        empty = {name: np.empty((0, *self.program.tensors[name].shape[1:]), np.int64) for name in self.program.inputs}
        return list(self.run(empty, lambda name, codes: None))

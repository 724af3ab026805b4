"""`simulate`: a program on a batch of codes or real values, in chunks, on several threads, in bounded memory.

Chunks never meet: each runs the whole program on its own samples, so the codes do not depend on how
a batch is cut or how many threads there are. What is asked for is copied out where it appears. Memory is that of the
chunks in work, and of the results.
"""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Callable, Collection, Generator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from queue import SimpleQueue

import numpy as np

from mfsim.analysis.listing import Listing
from mfsim.analysis.tabular import Tabular
from mfsim.display import counted, cut
from mfsim.errors import DataError, UnsupportedOpError, did_you_mean
from mfsim.ir.program import Program
from mfsim.kernels import cpu
from mfsim.keywords import check_constructor, check_keywords
from mfsim.rtl_models.vectors import VectorWriter
from mfsim.simulate.executor import Executor
from mfsim.simulate.inputs import Inputs, by_name, check_codes, check_whole, is_real

KERNELS = ("fast", "plain")
"""Which kernels may run; the codes are the same."""

_Found = tuple[int, dict[str, int], dict[str, tuple[int, int]]]
"""What a chunk finds: its size, overflow events by node, extreme codes by tensor."""


@check_constructor
@dataclass(frozen=True, repr=False)
class Simulation(Tabular):
    """Result of a simulation: output codes and observations.

    Attributes
    ----------
    samples : how many samples ran.
    outputs : int64 codes [samples, ...] of each output.
    observed : least and greatest code of every activation; empty without `observe` or samples.
    overflows : how many codes did not fit, for each node that can overflow.
    kept : int64 codes [samples, ...] of the tensors that were asked for.
    """

    samples: int
    outputs: dict[str, np.ndarray]
    observed: dict[str, tuple[int, int]] = field(default_factory=dict)
    overflows: dict[str, int] = field(default_factory=dict)
    kept: dict[str, np.ndarray] = field(default_factory=dict)

    def headline(self) -> str:
        """Return samples, outputs, and what overflowed."""
        outputs = ", ".join(f"{name}[{','.join(map(str, codes.shape[1:]))}]" for name, codes in self.outputs.items())
        observed = f", {counted(len(self.observed), 'tensor')} observed" if self.observed else ""
        overflows = counted(sum(self.overflows.values()), "overflow")
        return f"{counted(self.samples, 'sample')}, outputs {cut(outputs)}{observed}, {overflows}"

    def listings(self) -> list[Listing]:
        """Return least and greatest code of each output, kept and observed tensor, and the overflow events of nodes."""
        roles = dict.fromkeys(self.observed, "observed") | dict.fromkeys(self.kept, "kept")
        roles |= dict.fromkeys(self.outputs, "output")
        codes = self.kept | self.outputs
        rows = []
        for name, role in roles.items():
            found = codes.get(name)
            shape = None if found is None else " x ".join(map(str, found.shape[1:]))
            extremes = self.observed.get(name, (None, None))
            if found is not None and found.size:
                extremes = int(found.min()), int(found.max())
            rows.append((name, role, shape, *extremes))
        return [
            Listing("simulation", ("tensor", "role", "shape", "least", "greatest"), tuple(rows)),
            Listing("overflows", ("node", "overflows"), tuple(self.overflows.items())),
        ]

    @property
    def output(self) -> np.ndarray:
        """The codes of the only output; a `DataError` if there are several."""
        if len(self.outputs) != 1:
            raise DataError(f"the program has the outputs {', '.join(self.outputs)}; choose one of `outputs`")
        return next(iter(self.outputs.values()))


@check_constructor
class Simulator:
    """A program ready to run again and again: its kernels prepared and its weights packed once.

    Parameters
    ----------
    program : Program
    kernels : `fast` takes the fast kernel of an op where it has one; `plain` never does
    exact_words : whether to run plain kernels with every intermediate held against its proved word (see `simulate`)

    Raises
    ------
    DataError
        If there are no such kernels.
    UnsupportedOpError
        If `MFSIM_CPU` names no level of this machine.
    """

    def __init__(self, program: Program, *, kernels: str = "fast", exact_words: bool = False) -> None:
        if kernels not in KERNELS:
            raise DataError(f"`kernels` must be one of {', '.join(KERNELS)}, not {kernels!r}")
        try:
            cpu.best(("portable",))
        except ValueError as error:
            raise UnsupportedOpError(str(error)) from None
        self.program, self.kernels = program, "exact" if exact_words else kernels
        self._executors: dict[frozenset[str], Executor] = {}
        self._pools: dict[tuple[int, int], ThreadPoolExecutor] = {}

    @check_keywords
    def run(
        self,
        inputs: Inputs,
        *,
        batch_size: int | None = None,
        threads: int | None = None,
        observe: bool = False,
        keep: Collection[str] = (),
        trace: str | os.PathLike[str] | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Simulation:
        """Bit-exact run of the program: output codes and what was observed.

        Parameters
        ----------
        inputs : array, or mapping of str to array, shape (batch, ...)
            Real values, which are quantized, or integer codes within the range of the input.
        batch_size : int, optional
            Samples of a chunk, at least 1.
        threads : int, optional
            Threads that run chunks, at least 1; one for exact kernels.
        observe : bool
            Whether the least and the greatest code of each tensor are found.
        keep : collection of str
            Activations whose codes are returned too.
        trace : str or path, optional
            Folder that golden vectors are written to.
        progress : callable of (int, int), optional
            Called with the samples done and all samples.

        Returns
        -------
        Simulation
            Codes int64, observed ranges and overflow events.

        Raises
        ------
        DataError
            If an input, a name or a number is not what it must be.
        ShapeError
            If an array has not the shape of its input.
        """
        program = self.program
        for name, value in (("batch_size", batch_size), ("threads", threads)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise DataError(f"`{name}` must be an integer of at least 1, not {value!r}")
        keep = (keep,) if isinstance(keep, str) else tuple(keep)
        for name in keep:
            if name not in program.tensors or program.tensors[name].is_constant:
                raise DataError(f"the program has no activation `{name}`{did_you_mean(name, program.tensors)}")
        arrays = by_name(program, inputs)
        samples = len(next(iter(arrays.values()))) if arrays else 0
        for name, values in arrays.items():
            if not is_real(name, values) and trace is not None:
                check_codes(program.tensors[name], values)
        if not samples:
            check_whole(program, arrays)
        results = {
            name: np.empty((samples, *program.tensors[name].shape[1:]), np.int64) for name in (*program.outputs, *keep)
        }
        executor = self._executor(observe or trace is not None, keep)
        observed: dict[str, tuple[int, int]] = {}
        overflows = dict.fromkeys(executor.overflowing, 0)
        with contextlib.ExitStack() as stack:
            writer = stack.enter_context(VectorWriter(trace, program, samples)) if trace is not None else None

            def chunk(start: int) -> _Found:
                seen: dict[str, tuple[int, int]] = {}

                def visit(name: str, codes: np.ndarray) -> None:
                    if name in results:
                        results[name][start : start + len(codes)] = codes
                    if observe and codes.size:
                        seen[name] = int(codes.min()), int(codes.max())
                    if writer is not None:
                        writer.put(name, start, codes.astype(np.int64))

                stop = min(start + size, samples)
                part = {name: array[start:stop] for name, array in arrays.items()}
                try:
                    events = executor.run(part, visit)
                except DataError:
                    # Say where it is, or what codes reach, in all samples, not in this chunk.
                    check_whole(program, arrays)
                    raise
                return stop - start, events, seen

            # Python runs one thread at a time, and of many errors the first shall be told.
            threads = 1 if self.kernels == "exact" else threads or _cores()
            done, size = 0, batch_size or _chunk(samples, executor.samples, threads)
            found = stack.enter_context(contextlib.closing(self._mapped(chunk, range(0, samples, size), threads)))
            for count, events, seen in found:
                done += count
                for name, number in events.items():
                    overflows[name] += number
                for name, (lo, hi) in seen.items():
                    low, high = observed.get(name, (lo, hi))
                    observed[name] = min(lo, low), max(hi, high)
                if progress is not None:
                    progress(done, samples)
        return Simulation(
            samples,
            {name: results[name] for name in program.outputs},
            observed,
            overflows,
            {name: results[name] for name in keep},
        )

    def _mapped(self, function: Callable[[int], _Found], starts: range, threads: int) -> Generator[_Found, None, None]:
        """Yield `function` of each start, as they end; when it is closed, what has not begun never does.

        The calling thread works too, as a thread that has to be woken may wait for the core of another.
        """
        todo, ready = deque(starts), SimpleQueue[Future[_Found]]()

        def work() -> None:
            with contextlib.suppress(IndexError):
                while True:
                    ready.put(_outcome(function, todo.popleft(), BaseException))

        helpers = min(threads, len(starts)) - 1
        futures = []
        try:
            if helpers > 0:
                pool = self._pool(helpers)
                futures += [pool.submit(work) for _ in range(helpers)]
            for _ in starts:
                if ready.empty() and todo:
                    with contextlib.suppress(IndexError):
                        ready.put(_outcome(function, todo.popleft(), Exception))
                yield ready.get().result()
        finally:
            todo.clear()
            wait(futures)

    def _pool(self, helpers: int) -> ThreadPoolExecutor:
        """Return threads, which are kept; but another process has none of those of this one."""
        made_for = os.getpid(), helpers
        pool = self._pools.get(made_for)
        if pool is None:
            pool = ThreadPoolExecutor(helpers, thread_name_prefix="mfsim")
            self._pools = {made_for: pool}
        return pool

    def _executor(self, every: bool, keep: Collection[str]) -> Executor:
        tensors = self.program.tensors
        seen = (
            frozenset(name for name, tensor in tensors.items() if not tensor.is_constant) if every else frozenset(keep)
        )
        if seen not in self._executors:
            self._executors[seen] = Executor(self.program, self.kernels, seen)
        return self._executors[seen]


@check_keywords
def simulate(
    program: Program,
    inputs: Inputs,
    *,
    batch_size: int | None = None,
    threads: int | None = None,
    observe: bool = False,
    keep: Collection[str] = (),
    trace: str | os.PathLike[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
    kernels: str = "fast",
    exact_words: bool = False,
) -> Simulation:
    """Run `program` and return its output codes and what was observed.

    Parameters
    ----------
    program : Program
    inputs : array [batch, ...] for a program of one input, or a dict of them by name
        Of each input, a floating-point array holds real values, which are quantized chunk by chunk as `quantize_input`
        does; an integer array holds codes in its proved range. The batch may be empty.
    batch_size : samples of one chunk, at least 1; by default as many as stay in a core's cache
    threads : chunks in work at a time, at least 1; the number of usable cores by default
    observe : whether to find the least and greatest code of every activation
    keep : names of activations whose codes are returned in `kept`
    trace : folder for golden vectors of every tensor (see `mfsim.rtl_models.vectors`)
    progress : called with (samples done, samples in all) after each chunk
    kernels : `fast` takes the fast kernel of an op where it has one; `plain` never does
    exact_words : whether to check the proof on the way: plain kernels run as Python, whatever `kernels` says, and
        each intermediate is held against the word of its node that was proved for it, each result against its
        format. Some million operations a second in one thread, so only for a few samples.

    Returns
    -------
    Simulation
        The same for any `batch_size`, `threads`, `kernels` and `exact_words`.

    Raises
    ------
    DataError, ShapeError
        If inputs, options or names do not suit the program.
    UnsupportedOpError
        If `MFSIM_CPU` names no level of this machine.
    WordOverflowError
        With `exact_words`, if a value does not fit its word; the sentence names node, word and value.
    """
    return Simulator(program, kernels=kernels, exact_words=exact_words).run(
        inputs,
        batch_size=batch_size,
        threads=threads,
        observe=observe,
        keep=keep,
        trace=trace,
        progress=progress,
    )


def _outcome(function: Callable[[int], _Found], start: int, caught: type[BaseException]) -> Future[_Found]:
    """Return what `function(start)` returned, which is called now, or its error if that is one of `caught`."""
    outcome: Future[_Found] = Future()
    try:
        outcome.set_result(function(start))
    except caught as error:
        outcome.set_exception(error)
    return outcome


def _chunk(samples: int, most: int, threads: int) -> int:
    """Return how many samples a chunk has: as many as fit, but some chunks for each thread, all about as long."""
    chunks = max(-(-samples // most), 1)
    return max(-(-samples // (-(-chunks // threads) * threads)), 1)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

"""Worker processes: each opens the model once, then takes one point after the other.

A worker writes a point itself, so what is finished is safe even if no one is left to hear of it. It ends
when its pipe closes, as it does however the process that started it ends. Ctrl-C is that process's
business alone: workers do not get the signal. A worker that dies takes its point with it; the point
runs once more in a new one, and has failed if that dies too.

`concurrent.futures` and loky have no such retry: a process that dies breaks their whole pool, every point
that runs or waits fails with it, and none of them says which point it was.
"""

from __future__ import annotations

import collections
import contextlib
import multiprocessing
import multiprocessing.connection
import os
import pathlib
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection

from mfsim.errors import MfsimError, SweepError
from mfsim.export.edit import open_model
from mfsim.quant.recipe import Recipe
from mfsim.sweep.measure import Samples, outcome
from mfsim.sweep.store import SweepFolder

TRIES = 2
"""So often is a point begun before it counts as failed because its worker dies."""


@dataclass(frozen=True)
class Task:
    """A point to be computed: its key and its recipe."""

    key: str
    recipe: Recipe


@dataclass(frozen=True, eq=False)
class Setup:
    """What all workers need: the model file and the digest that it must have, the sweep's folder, and the samples."""

    model: pathlib.Path
    digest: str
    folder: pathlib.Path
    samples: Samples


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def spread(setup: Setup, tasks: Sequence[Task], workers: int) -> Iterator[Task]:
    """Compute `tasks` in `workers` processes; yield each when its result is in the folder.

    Parameters
    ----------
    setup : Setup
        Model file, its digest, the folder of the sweep, and the samples.
    tasks : sequence of Task
        The points to compute, each with its key and recipe.
    workers : int, at least 1
        The most processes at once.

    Yields
    ------
    Task
        Each task once, in the order in which they finish.

    Raises
    ------
    SweepError
        If a worker cannot even start, finds another model, or cannot write its result.
    """
    folder = SweepFolder(setup.folder)
    waiting = collections.deque((task, 1) for task in tasks)
    pool: dict[Connection, _Worker] = {}
    try:
        while waiting or any(worker.task is not None for worker in pool.values()):
            for worker in pool.values():
                if worker.ready and worker.task is None and waiting:
                    worker.give(*waiting.popleft())
            while len(pool) < workers and len(pool) < len(waiting) + sum(w.task is not None for w in pool.values()):
                started = _Worker(setup)
                pool[started.pipe] = started
            for pipe in multiprocessing.connection.wait([*pool]):
                worker = pool[pipe]  # type: ignore[index]  # wait returns what it was given
                finished, tries = worker.task, worker.tries
                if worker.heard():
                    if finished is not None:
                        yield finished
                    continue
                del pool[worker.pipe]
                status = worker.end()
                if finished is None:
                    raise SweepError(
                        f"a worker process ended before it could start, with exit status {status}; a script that sweeps "
                        'must do so under `if __name__ == "__main__":`'
                    )
                if tries < TRIES:
                    waiting.appendleft((finished, tries + 1))
                    continue
                folder.write(finished.key, {"figures": None, "error": _death(status)})
                yield finished
    finally:
        for worker in pool.values():
            worker.terminate()
        for worker in pool.values():
            worker.end()


class _Worker:
    """One process, the pipe to it, and what it computes."""

    def __init__(self, setup: Setup) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.ready, self.tries = False, 0
        self.task: Task | None = None
        self._samples = setup.samples
        self._process = context.Process(
            target=_work, args=(theirs, setup.model, setup.digest, setup.folder), daemon=True
        )
        resource_tracker.ensure_running()  # where starting it is left to `start`, it lifts the mask below
        # The child inherits the mask, so that Ctrl-C never reaches it; here the signal waits for a moment.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()

    def give(self, task: Task, tries: int) -> None:
        """Let the process compute `task`."""
        self.task, self.tries = task, tries
        self._send(task)

    def heard(self) -> bool:
        """Take in one message and answer it; False if the process is dead, `SweepError` if it gives up."""
        try:
            wish, reason = self.pipe.recv()
        except (EOFError, OSError):
            return False
        if wish == "samples":
            self._send(self._samples)  # only now, when it reads: they fill more than a pipe
            return True
        if wish == "end":
            raise SweepError(reason)
        self.ready, self.task = True, None
        return True

    def _send(self, message: Task | Samples) -> None:
        with contextlib.suppress(OSError):  # a dead process is noticed when it is next listened to
            self.pipe.send(message)

    def terminate(self) -> None:
        """Stop the process, whatever it does."""
        self._process.terminate()

    def end(self) -> int:
        """Wait until the process has ended and return its exit status, below 0 for a signal."""
        self.pipe.close()
        self._process.join()
        return self._process.exitcode or 0


def _work(pipe: Connection, model: pathlib.Path, digest: str, path: pathlib.Path) -> None:
    """Compute points until the pipe closes: what a worker process does."""
    with contextlib.suppress(EOFError, ConnectionError):
        try:
            pipe.send(("samples", ""))
            samples, opened, folder = pipe.recv(), open_model(model), SweepFolder(path)
            if opened.digest != digest:  # its points would get figures of another model
                raise SweepError(f"`{model}` was exported again while its sweep ran; start the sweep again")
            while True:
                pipe.send(("task", ""))
                task = pipe.recv()
                folder.write(task.key, outcome(opened, task.recipe, samples))
        except MfsimError as error:
            pipe.send(("end", str(error)))


def _death(status: int) -> str:
    how = f"of signal {-status}" if status < 0 else f"with exit status {status}"
    return f"the worker process died {how}, {TRIES} times; it may have run out of memory"

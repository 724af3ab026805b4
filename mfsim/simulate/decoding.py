"""`Decoding`: a program of one step run token by token, its caches kept between the steps."""

from __future__ import annotations

import numpy as np

from mfsim.errors import DataError, ShapeError
from mfsim.ir.program import POSITION, Program
from mfsim.keywords import check_constructor
from mfsim.simulate.api import Simulator


@check_constructor
class Decoding:
    """Sequences that grow by a token with each step.

    Parameters
    ----------
    program : Program
        With caches; see `Program.caches`.
    samples : int
        Number of sequences, at least 1.
    threads : int
        Of each step.

    Attributes
    ----------
    position : int
        How many tokens each sequence has.
    caches : int64 codes [samples, rows, features] by input; rows from `position` on are 0.

    Raises
    ------
    DataError
        If the program has no caches, or needs more beside them than ids and a position.
    ShapeError
        If `samples` is less than 1.
    """

    def __init__(self, program: Program, samples: int = 1, *, threads: int = 1) -> None:
        if not program.caches:
            raise DataError("this program has no caches; decoding needs the program of one step (`decoder_step`)")
        others = [name for name in program.inputs if name not in (*program.caches, program.metadata[POSITION])]
        if len(others) != 1:
            raise DataError(
                f"decoding feeds one input beside the caches and their position, and this program has {len(others)}"
            )
        if samples < 1:
            raise ShapeError(f"`samples` must be at least 1, not {samples}")
        self.program, self.samples, self.threads, self.position = program, samples, threads, 0
        (self._ids,) = others
        self._simulator = Simulator(program)
        self.caches = {
            name: np.zeros((samples, *program.tensors[name].shape[1:]), dtype=np.int64) for name in program.caches
        }

    @property
    def tokens(self) -> int:
        """The most tokens of a sequence: the rows of a cache, and the last token."""
        return int(next(iter(self.caches.values())).shape[1]) + 1

    def step(self, ids: np.ndarray) -> dict[str, np.ndarray]:
        """Return the outputs for the next token of each sequence, int64 codes [samples, ...] by name.

        Parameters
        ----------
        ids : int array, shape [samples]

        Raises
        ------
        ShapeError
            If `ids` has another shape, or the sequences have all the tokens that they can have.
        DataError
            If an id is not in the vocabulary.
        """
        ids = np.asarray(ids)
        if ids.shape != (self.samples,):
            raise ShapeError(
                f"`ids` must have the shape ({self.samples},), one token for each sequence, not {ids.shape}"
            )
        if self.position >= self.tokens:
            raise ShapeError(f"the caches are full: the program decodes sequences of {self.tokens} tokens")
        places = np.full((self.samples, 1), self.position)
        feeds = {self._ids: ids[:, None], self.program.metadata[POSITION]: places, **self.caches}
        outputs = self._simulator.run(feeds, threads=self.threads).outputs
        if self.position < self.tokens - 1:
            for name, row in self.program.caches.items():
                self.caches[name][:, self.position] = outputs[row][:, 0]
        self.position += 1
        return {name: codes for name, codes in outputs.items() if name not in self.program.caches.values()}

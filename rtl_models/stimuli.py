"""Input vectors of a block: extreme words, words near them, and random ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from mfsim.errors import DataError, RangeError, ShapeError
from mfsim.rtl_models.block import Codes, Parameters, Port

SHARE = 0.125
"""How many of the words are extreme."""
VALID = 0.9
"""How many of the lanes bring a vector in a cycle; the others test the valid flag."""


def random_vectors(parameters: Parameters, count: int, rng: np.random.Generator) -> Codes:
    """Return `count` vectors; an eighth of their words are the least, the greatest, 0, or next to one of these.

    Parameters
    ----------
    parameters : Parameters
        The block with its choices.
    count : int, at least 0
        Vectors.
    rng : numpy.random.Generator
        Source of all values.

    Returns
    -------
    dict of str to int64 array, shape (count, words)
        Codes by input port, in the range of its word.
    """
    made = {}
    for port in parameters.inputs:
        word, shape = port.word, (count, port.length)
        codes = rng.integers(word.lo, word.hi, shape, dtype=np.int64, endpoint=True)
        extreme = rng.choice(np.clip([word.lo, word.lo + 1, -1, 0, 1, word.hi], word.lo, word.hi), shape)
        made[port.name] = np.where(rng.random(shape) < SHARE, extreme, codes)
    return made


def vectors(parameters: Parameters, wanted: int | Mapping[str, np.ndarray], seed: int) -> Codes:
    """Return given vectors, checked, or `wanted` made ones, of which the first are all least, all greatest, all 0.

    Parameters
    ----------
    parameters : Parameters
        The block with its choices.
    wanted : int, at least 1, or mapping of str to integer array, shape (vectors, words)
        How many vectors to make, or the codes of each input port in the range of its word.
    seed : int, at least 0
        Seed of made vectors.

    Returns
    -------
    dict of str to int64 array, shape (vectors, words)
        Codes by input port.

    Raises
    ------
    DataError
        If `wanted` is no positive number, or has not one array for each input port.
    ShapeError, RangeError
        If an array is not of its port.
    """
    if isinstance(wanted, int):
        if isinstance(wanted, bool) or wanted < 1:
            raise DataError(f"`vectors` must be at least 1, not {wanted}")
        made = random_vectors(parameters, wanted, np.random.default_rng(seed))
        for port in parameters.inputs:
            for row, code in zip(made[port.name], (port.word.lo, port.word.hi, 0), strict=False):
                row[:] = code
        return made
    names = [port.name for port in parameters.inputs]
    if sorted(wanted) != sorted(names):
        raise DataError(f"`vectors` must hold {' and '.join(names)}, not {', '.join(sorted(wanted)) or 'nothing'}")
    made = {port.name: _checked(port, np.asarray(wanted[port.name])) for port in parameters.inputs}
    if len({len(codes) for codes in made.values()}) != 1:
        raise ShapeError("`vectors` must hold the same number of vectors for every port")
    return made


def _checked(port: Port, codes: np.ndarray) -> np.ndarray:
    if codes.dtype.kind not in "iu" or codes.ndim != 2 or not len(codes) or codes.shape[1] != port.length:
        raise ShapeError(
            f"vectors of port {port.name} must be integers [vectors, {port.length}], not {codes.dtype} {codes.shape}"
        )
    if not port.word.holds(int(codes.min()), int(codes.max())):
        raise RangeError(f"vectors of port {port.name} must be in {port.word.lo}..{port.word.hi}")
    return np.ascontiguousarray(codes, dtype=np.int64)


def cycles(
    parameters: Parameters, count: int, lanes: int, rng: np.random.Generator
) -> Iterator[tuple[Codes, np.ndarray]]:
    """Yield random stimuli, inputs and valid flags of one clock cycle after the other, until at least `count` were valid.

    Parameters
    ----------
    parameters : Parameters
        The block with its choices.
    count : int
        Vectors that have to be valid in all lanes together.
    lanes : int, at least 1
        Copies that run side by side.
    rng : numpy.random.Generator
        Source of all values.

    Yields
    ------
    tuple of (dict of str to int64 array, shape (lanes, words), bool array, shape (lanes,))
        Codes by input port, and the valid flags.
    """
    done = 0
    while done < count:
        valid = rng.random(lanes) < VALID
        done += int(valid.sum())
        yield random_vectors(parameters, lanes, rng), valid


def all_pairs(parameters: Parameters, lanes: int) -> Iterator[Codes]:
    """Yield the exhaustive stimuli of two ports of one word each, `lanes` pairs at a time; the last ones may repeat.

    Parameters
    ----------
    parameters : Parameters
        A block with two input ports of one word each.
    lanes : int, at least 1
        Pairs at a time.

    Yields
    ------
    dict of str to int64 array, shape (lanes, 1)
        Codes by input port.
    """
    x, w = parameters.inputs
    total = 1 << (x.word.bits + w.word.bits)
    for start in range(0, total, lanes):
        index = np.arange(start, start + lanes, dtype=np.int64) % total
        pairs = (index >> w.word.bits) + x.word.lo, (index & ((1 << w.word.bits) - 1)) + w.word.lo
        yield {port.name: codes[:, None] for port, codes in zip((x, w), pairs, strict=True)}

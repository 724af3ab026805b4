"""Caches of a file that decodes token by token: which output is the new row of which input.

    mfsim.cache.<input>   name of the output that goes into it, as metadata of the model
    mfsim.position        name of the input that says at which row

A cache is [N, rows, features], its new row [N, 1, features] in the same word and on the same scale.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import onnx

from mfsim.errors import ModelError
from mfsim.ir.program import CACHE, POSITION, Tensor

PREFIX = "mfsim."


def caches_of(
    model: onnx.ModelProto, inputs: Sequence[str], outputs: Sequence[str], tensors: Mapping[str, Tensor]
) -> dict[str, str]:
    """Key-value caches that the metadata of a file states, as metadata of the program.

    Parameters
    ----------
    model : onnx.ModelProto
        Model; its metadata are read.
    inputs, outputs : sequence of str
        Names of the program's inputs and outputs.
    tensors : mapping of str to Tensor
        Tensors by name.

    Returns
    -------
    dict of str to str
        New row of each cache, and the input that is their position; empty without caches.

    Raises
    ------
    ModelError
        If a cache, its row or the position is not there, or they do not fit each other.
    """
    keys = (PREFIX + CACHE, PREFIX + POSITION)
    stated = {entry.key: entry.value for entry in model.metadata_props if entry.key.startswith(keys)}
    caches = {
        key.removeprefix(PREFIX + CACHE): row for key, row in sorted(stated.items()) if key.startswith(PREFIX + CACHE)
    }
    if not caches:
        return {}
    position = stated.get(PREFIX + POSITION, "")
    if position not in inputs:
        raise ModelError(
            f"the model states caches, and as their position the input `{position}`, which it does not have"
        )
    for name, row in caches.items():
        if name not in inputs or row not in outputs:
            raise ModelError(
                f"the model states the cache `{name}` with the new row `{row}`, which are no input and output"
            )
        _check(tensors[name], tensors[row])
    return {CACHE + name: row for name, row in caches.items()} | {POSITION: position}


def _check(cache: Tensor, row: Tensor) -> None:
    """Raise `ModelError` unless `row` can be kept in `cache`."""
    fits = len(cache.shape) == 3 and row.shape == (1, 1, cache.shape[2])
    if not fits or row.format != cache.format or row.scale != cache.scale:
        raise ModelError(
            f"the new row `{row.name}` {row.shape} {row.format} {row.scale} does not suit the cache "
            f"`{cache.name}` {cache.shape} {cache.format} {cache.scale}"
        )

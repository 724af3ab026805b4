"""What determines the result of a point, as one sha256: its key.

Everything counts that can change a figure: the model file, the images and their labels, the float
network that logits are compared with, the recipe, and the code that edits, compiles, counts and runs.
Two points with one key have one result, so a result is never computed twice, and never used for a
question that it does not answer.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import json
import os
import pathlib

import numpy as np

import mfsim
from mfsim.data import Split
from mfsim.quant.recipe import Recipe

CODE = ("analysis", "compiler", "export", "ir", "kernels", "nn", "ops", "quant", "serialize", "simulate", "sweep")
"""Rooms whose code decides a figure, besides the files that stand beside the rooms."""
PACKAGES = ("numba", "numpy")
"""Packages that compute it."""


def file_digest(path: str | os.PathLike[str]) -> str:
    """Return the sha256 of a file in hexadecimal.

    Parameters
    ----------
    path : str or os.PathLike
        A file.

    Returns
    -------
    str
        64 hexadecimal digits.

    Raises
    ------
    OSError
        If the file cannot be read.
    """
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def data_digest(split: Split) -> str:
    """Return the sha256 of images and labels, shapes included: which images ran, and how many.

    Parameters
    ----------
    split : Split
        Images [n, ...] and labels [n].

    Returns
    -------
    str
        64 hexadecimal digits.
    """
    digest = hashlib.sha256()
    for array in (split.images, split.labels):
        digest.update(f"{array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


@functools.cache
def code_digest() -> str:
    """Return the sha256 of the code that computes a point, and of the versions of what it is compiled by."""
    digest = hashlib.sha256()
    for package in PACKAGES:
        digest.update(f"{package} {importlib.metadata.version(package)}\n".encode())
    root = pathlib.Path(mfsim.__file__).parent
    paths = [*root.glob("*.py"), *(path for room in CODE for path in (root / room).rglob("*.py"))]
    for path in sorted(paths):
        digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def point_key(recipe: Recipe, **digests: str) -> str:
    """Return the key of a point: `recipe` on what `digests` name, computed by this code.

    Parameters
    ----------
    recipe : Recipe
        The recipe of the point; the order of its layer patterns counts.
    **digests : str
        Digests of the model, the float network and the data, by name.

    Returns
    -------
    str
        64 hexadecimal digits, of the code of mfsim too.
    """
    content = {"recipe": recipe.to_dict(), "code": code_digest(), **digests}
    # The order of the layers' patterns stays: the later one wins.
    return hashlib.sha256(json.dumps(content, separators=(",", ":")).encode()).hexdigest()

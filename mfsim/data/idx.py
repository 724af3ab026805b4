"""IDX files, the format of MNIST and its kin: one file, or a folder of the usual four.

A file is two zero bytes, a type (8: unsigned bytes, the only one read here), the number of axes, each
length as a big-endian 32-bit integer, then the values; it may be compressed with gzip.
"""

from __future__ import annotations

import gzip
import math
import pathlib
import struct
import zlib

import numpy as np

from mfsim.data.dataset import Dataset, Split, as_images, as_labels, from_arrays
from mfsim.errors import DataError

UNSIGNED_BYTES = 8
DEBIAN_FOLDER = pathlib.Path("/usr/share/datasets/fashion-mnist")
"""Where Debian's package `dataset-fashion-mnist` puts its files."""


def _content(path: pathlib.Path) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error
    if data[:2] != b"\x1f\x8b":
        return data
    try:
        return gzip.decompress(data)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{path} is a damaged gzip file; fetch it again") from error


def read_idx(path: str | pathlib.Path) -> np.ndarray:
    """Return the uint8 array of an IDX file, compressed or not.

    Parameters
    ----------
    path : str or pathlib.Path

    Returns
    -------
    uint8 array
        Of the shape that the file's header says; read-only.

    Raises
    ------
    DataError
        If the file cannot be read, is no IDX file of unsigned bytes, or is too short or too long.
    """
    path = pathlib.Path(path)
    data = _content(path)
    if len(data) < 4 or data[:2] != b"\0\0":
        raise DataError(f"{path} is no IDX file: it must start with two zero bytes, a type and a number of axes")
    if data[2] != UNSIGNED_BYTES:
        raise DataError(f"{path} must hold unsigned bytes (IDX type 8), not IDX type {data[2]}")
    start = 4 + 4 * data[3]
    if len(data) < start:
        raise DataError(f"{path} is cut off within its header; fetch it again")
    shape = struct.unpack(f">{data[3]}I", data[4:start])
    if len(data) - start != math.prod(shape):
        raise DataError(
            f"{path} must hold {math.prod(shape)} values for its shape {shape}, not {len(data) - start}; fetch it again"
        )
    return np.frombuffer(data, dtype=np.uint8, offset=start).reshape(shape)


def _find(folder: pathlib.Path, parts: tuple[str, ...], kind: str) -> pathlib.Path:
    names = [
        p for p in sorted(folder.iterdir()) if kind in p.name and any(part in p.name for part in parts) and p.is_file()
    ]
    if len(names) != 1:
        found = " and ".join(p.name for p in names) or "none"
        raise DataError(
            f"{folder} must hold one IDX file whose name has {' or '.join(parts)} and {kind} in it, not {found}"
        )
    return names[0]


def _read_split(folder: pathlib.Path, parts: tuple[str, ...]) -> Split:
    images_path, labels_path = _find(folder, parts, "images"), _find(folder, parts, "labels")
    images = as_images(read_idx(images_path), str(images_path))
    return Split(images, as_labels(read_idx(labels_path), len(images), str(labels_path)))


def is_idx_folder(folder: pathlib.Path) -> bool:
    """Whether `folder` has a file that is named like one of IDX images.

    Parameters
    ----------
    folder : pathlib.Path
        A folder that is there.

    Returns
    -------
    bool
    """
    return any("images" in path.name and path.is_file() for path in folder.iterdir())


def load_idx_folder(folder: str | pathlib.Path, name: str = "") -> Dataset:
    """Return the data set of a folder with the four files of MNIST.

    Their names hold `train` or (`t10k` or `test`), and `images` or `labels`, as in
    `train-images-idx3-ubyte.gz`. A tenth of the training images becomes the validation split.

    Parameters
    ----------
    folder : str or pathlib.Path
    name : str
        Of the data set; "" for the folder's path.

    Returns
    -------
    Dataset
        Images float32 [N, 1, H, W] in 0..1.

    Raises
    ------
    DataError
        If one of the four files is missing, there twice, damaged, or holds something else.
    """
    folder = pathlib.Path(folder)
    train, test = _read_split(folder, ("train",)), _read_split(folder, ("t10k", "test"))
    return from_arrays(name or str(folder), train.images, train.labels, test)


def load_fashion_mnist() -> Dataset:
    """Return Fashion-MNIST from Debian's package; `DataError` says how to get it."""
    if not DEBIAN_FOLDER.is_dir():
        raise DataError(
            f"`fashion-mnist` is not in {DEBIAN_FOLDER}; install Debian's package with "
            "`apt-get install dataset-fashion-mnist`, or give a folder that holds its four IDX files"
        )
    return load_idx_folder(DEBIAN_FOLDER, "fashion-mnist")

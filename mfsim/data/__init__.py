"""Labelled images: digits (the default), Fashion-MNIST, CIFAR-10, folders of pictures or IDX files, `.npz` files."""

from __future__ import annotations

import os
import pathlib

from mfsim.data.cifar import is_cifar, load_cifar10
from mfsim.data.dataset import Dataset, Split, from_split
from mfsim.data.digits import load_digits
from mfsim.data.idx import is_idx_folder, load_fashion_mnist, load_idx_folder
from mfsim.data.npz import load_npz
from mfsim.data.pictures import folders_in, load_pictures, sized
from mfsim.errors import DataError, did_you_mean
from mfsim.keywords import check_keywords

__all__ = ["DATASETS", "Dataset", "Split", "as_labelled", "load"]

DATASETS = {"digits": load_digits, "fashion-mnist": load_fashion_mnist}
"""Data sets with a name."""
KINDS = "a folder of pictures, CIFAR-10 batches or IDX files, an .npz file or CIFAR-10's archive"


@check_keywords
def load(spec: str | os.PathLike[str]) -> Dataset:
    """Return a data set by name or path.

    Parameters
    ----------
    spec : str or path
        `digits`, `fashion-mnist`, or a path: a folder of CIFAR-10's batches, of pictures by class, or of
        IDX files; an `.npz` file; CIFAR-10's archive. A size behind a folder of pictures, as in
        `flowers@32` or `flowers@24x32`, stretches all of them.

    Raises
    ------
    DataError
        If it is missing or damaged; the message says how to get it.
    """
    if str(spec) in DATASETS:
        return DATASETS[str(spec)]()
    text, size = sized(str(spec))
    path = pathlib.Path(text)
    if path.is_dir() and folders_in(path) and not is_cifar(path) and not is_idx_folder(path):
        return load_pictures(path, size)
    if size is not None and path.exists():
        raise DataError(f"only a folder of pictures, one folder for each class, can have a size behind it, not {path}")
    if path.is_dir():
        return load_cifar10(path) if is_cifar(path) else load_idx_folder(path)
    if path.suffix == ".npz":
        return load_npz(path)
    if is_cifar(path):
        return load_cifar10(path)
    raise DataError(
        f"`data` must be {', '.join(DATASETS)}, {KINDS}, not {str(spec)!r}{did_you_mean(str(spec), DATASETS)}"
    )


def as_labelled(data: Dataset | Split | str | os.PathLike[str]) -> Dataset:
    """Return labelled images in three splits: a data set as it is, what `load` gives, or a `Split` cut in two.

    Parameters
    ----------
    data : Dataset, Split, str or path
        Of a `Split`, a tenth of the images, each class in its proportion, becomes the validation split; its test
        split is empty.

    Raises
    ------
    DataError
        If `data` is something else, is missing, damaged, or has labels that are no integers.
    """
    if isinstance(data, Dataset):
        return data
    if isinstance(data, Split):
        return from_split(data)
    if isinstance(data, (str, os.PathLike)):
        return load(data)
    raise DataError(f"`data` must be a data set, its name, or `Split(images, labels)`, not {type(data).__name__}")

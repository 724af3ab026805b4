"""Labelled images: digits (the default), Fashion-MNIST, folders of IDX files, `.npz` files."""

from __future__ import annotations

import pathlib

from mfsim.data.dataset import Dataset, Split
from mfsim.data.digits import load_digits
from mfsim.data.idx import load_fashion_mnist, load_idx_folder
from mfsim.data.npz import load_npz
from mfsim.errors import DataError, did_you_mean

__all__ = ["DATASETS", "Dataset", "Split", "load"]

DATASETS = {"digits": load_digits, "fashion-mnist": load_fashion_mnist}
"""Data sets with a name."""


def load(spec: str | pathlib.Path) -> Dataset:
    """Return the data set that `spec` means.

    Parameters
    ----------
    spec : str or path
        `digits`, `fashion-mnist`, a folder of IDX files, or the path of an `.npz` file.

    Raises
    ------
    DataError
        If it is missing or damaged; the message says how to get it.
    """
    if str(spec) in DATASETS:
        return DATASETS[str(spec)]()
    path = pathlib.Path(spec)
    if path.is_dir():
        return load_idx_folder(path)
    if path.suffix == ".npz":
        return load_npz(path)
    raise DataError(
        f"`data` must be {', '.join(DATASETS)}, a folder of IDX files or an .npz file, not {str(spec)!r}"
        f"{did_you_mean(str(spec), DATASETS)}"
    )

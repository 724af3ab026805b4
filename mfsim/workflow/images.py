"""The images that the steps of a run folder take. Needs no torch."""

from __future__ import annotations

from mfsim import data as datasets
from mfsim.data import Dataset, Split
from mfsim.errors import DataError
from mfsim.run_folder import RunFolder


def load_data(run: RunFolder, data: str | None = None) -> Dataset:
    """Return the data set `data`, by default the one that the network was trained on; it must suit the network.

    Parameters
    ----------
    run : RunFolder
        Run folder of the network.
    data : str, optional
        Name or path of a data set.

    Returns
    -------
    Dataset
        The data set.

    Raises
    ------
    DataError
        If there is no such data set, or its images have another shape than the network's input.
    """
    about = run.read()
    dataset = datasets.load(data or about["data"])
    if list(dataset.input_shape) != about["input_shape"]:
        raise DataError(
            f"the images of `{dataset.name}` must have the shape {tuple(about['input_shape'])}, not {dataset.input_shape}"
        )
    return dataset


def chosen(dataset: Dataset, split: str) -> Split:
    """Split of a data set by name.

    Parameters
    ----------
    dataset : Dataset
        Data set.
    split : {"train", "validation", "test"}
        Name of the split.

    Returns
    -------
    Split
        Images and labels.

    Raises
    ------
    DataError
        If there is no such split.
    """
    if split not in ("train", "validation", "test"):
        raise DataError(f"`split` must be train, validation or test, not {split!r}")
    found: Split = getattr(dataset, split)
    return found

"""`.npz` files of one's own: arrays x_train, y_train, x_test, y_test, or images and labels.

Images and labels as in `mfsim.data.dataset.as_images` and `as_labels`. Without test arrays a fifth of
the images becomes the test split; always a tenth of the rest becomes the validation split.
"""

from __future__ import annotations

import pathlib
import zipfile
import zlib

import numpy as np

from mfsim.data.dataset import Dataset, Split, as_images, as_labels, from_arrays
from mfsim.errors import DataError

LAYOUTS = (("x_train", "y_train", "x_test", "y_test"), ("images", "labels"))


def load_npz(path: str | pathlib.Path) -> Dataset:
    """Return the data set in an `.npz` file.

    Parameters
    ----------
    path : str or pathlib.Path
        A file of one of `LAYOUTS`; pickled objects in it are not read.

    Returns
    -------
    Dataset
        Images float32 [N, C, H, W] in 0..1.

    Raises
    ------
    DataError
        If the file cannot be read or is damaged, or its arrays are others.
    """
    path = pathlib.Path(path)
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            names = next((layout for layout in LAYOUTS if all(name in archive for name in layout)), None)
            if names is None:
                wanted = " or ".join(", ".join(layout) for layout in LAYOUTS)
                raise DataError(f"{path} must hold the arrays {wanted}, not {', '.join(archive) or 'none'}")
            arrays = [archive[name] for name in names]
    except DataError:
        raise
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or 'it is no .npz file'}") from error
    except (ValueError, EOFError, KeyError, AttributeError, TypeError, zipfile.BadZipFile, zlib.error) as error:
        raise DataError(f"{path} is no .npz file of plain arrays, or it is damaged") from error
    splits = []
    for k in range(0, len(names), 2):
        images = as_images(arrays[k], f"`{names[k]}` of {path}")
        splits.append(Split(images, as_labels(arrays[k + 1], len(images), f"`{names[k + 1]}` of {path}")))
    return from_arrays(path.stem, splits[0].images, splits[0].labels, splits[1] if len(splits) > 1 else None)

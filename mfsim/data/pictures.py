"""Folders of pictures: `train/<class>/*.png` beside `test/` and perhaps `validation/`, or only `<class>/*.png`.

The classes are the names of the folders, sorted. Pictures have 8 bits; if all are grey there is one
channel, otherwise there are three. They must have one size, or are stretched to one (bilinear, with
Pillow, whose arithmetic is integer and so the same everywhere) by a size behind the path: `flowers@32`,
`flowers@24x32` (rows x columns).
"""

from __future__ import annotations

import pathlib
import re
import warnings

import numpy as np
from PIL import Image

from mfsim.data.dataset import Dataset, Split, as_images, from_arrays
from mfsim.errors import DataError, did_you_mean

SUFFIXES = (".bmp", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp")
LARGEST = 4096
"""Pixels along a side that pictures may be stretched to; a thousand of that size fill any memory."""
SPLITS = ("train", "validation", "test")
GREY = ("1", "L")
COLOUR = ("CMYK", "LA", "La", "P", "PA", "RGB", "RGBA", "RGBX", "RGBa", "YCbCr")
SIZED = re.compile(r"(?P<path>.+)@(?P<rows>[1-9]\d*)(?:x(?P<columns>[1-9]\d*))?")


def sized(spec: str) -> tuple[str, tuple[int, int] | None]:
    """Return path and size of a path that may have a size behind it.

    Parameters
    ----------
    spec : str
        Such as `flowers`, `flowers@32` or `flowers@24x32` (rows x columns); what exists under that name has no size.

    Returns
    -------
    tuple of (str, tuple of (rows, columns) or None)
        Rows and columns in pixels, at least 1.

    Examples
    --------
    >>> sized("flowers@24x32"), sized("flowers@32"), sized("flowers")
    (('flowers', (24, 32)), ('flowers', (32, 32)), ('flowers', None))
    """
    found = SIZED.fullmatch(spec)
    if found is None or pathlib.Path(spec).exists():
        return spec, None
    rows = int(found["rows"])
    return found["path"], (rows, int(found["columns"] or rows))


def folders_in(folder: pathlib.Path) -> list[pathlib.Path]:
    """Return the folders in `folder`, sorted, without hidden ones.

    Parameters
    ----------
    folder : pathlib.Path
        A folder that is there.

    Returns
    -------
    list of pathlib.Path
    """
    return sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))


def load_pictures(folder: str | pathlib.Path, size: tuple[int, int] | None = None) -> Dataset:
    """Return the data set of a folder of pictures.

    Parameters
    ----------
    folder : path
        Holds `train` and `test`, and perhaps `validation`, each with a folder for each class; or the
        folders of the classes, of which a fifth becomes the test split. Without `validation` a tenth
        of the training pictures becomes the validation split.
    size : (rows, columns)
        Stretch every picture to it; by default all must have one size.

    Raises
    ------
    DataError
        If a split, a class or a picture is missing, unreadable, or of another size.
    """
    folder = pathlib.Path(folder)
    names = [path.name for path in folders_in(folder)]
    if not any(folders_in(folder / name) for name in ("train", "test") if name in names):  # a class may be called train
        files, labels = _files(folder, names)
        return from_arrays(str(folder), _images(files, size, folder), labels)
    for name in ("train", "test"):
        if name not in names:
            raise DataError(
                f"{folder} must hold the folders train and test, each with a folder for each class, and has no {name}"
            )
    classes = [path.name for path in folders_in(folder / "train")]
    found = {name: _files(folder / name, classes) for name in SPLITS if name in names}
    images = _images([file for files, _ in found.values() for file in files], size, folder)
    splits, start = {}, 0
    for name, (files, labels) in found.items():
        splits[name] = Split(images[start : start + len(files)], labels)
        start += len(files)
    return from_arrays(
        str(folder), splits["train"].images, splits["train"].labels, splits["test"], validated=splits.get("validation")
    )


def _files(folder: pathlib.Path, classes: list[str]) -> tuple[list[pathlib.Path], np.ndarray]:
    """Return the pictures of one split and their labels."""
    for path in folders_in(folder):
        if path.name not in classes:
            raise DataError(f"{path} is no class of the training pictures{did_you_mean(path.name, classes)}")
    if len(classes) < 2:
        raise DataError(f"{folder} must hold a folder of pictures for each of at least two classes, not {len(classes)}")
    files: list[pathlib.Path] = []
    labels: list[int] = []
    for label, name in enumerate(classes):
        inside = sorted(path for path in (folder / name).glob("[!.]*") if path.suffix.lower() in SUFFIXES)
        if not inside:
            raise DataError(f"{folder / name} must hold pictures ({', '.join(SUFFIXES)}), and has none")
        files += inside
        labels += [label] * len(inside)
    return files, np.array(labels, np.int64)


def _images(files: list[pathlib.Path], size: tuple[int, int] | None, folder: pathlib.Path) -> np.ndarray:
    """Return float32 [N, C, H, W]."""
    if size is not None and max(size) > LARGEST:
        raise DataError(
            f"the size behind {folder} must be at most {LARGEST} in rows and columns, not {size[0]}x{size[1]}"
        )
    pictures = [_picture(path) for path in files]
    if size is not None:
        pictures = [picture.resize((size[1], size[0]), Image.Resampling.BILINEAR) for picture in pictures]
    first = pictures[0]
    for path, picture in zip(files, pictures, strict=True):
        if picture.size != first.size:
            raise DataError(
                f"the pictures of {folder} must have one size, and {files[0].relative_to(folder)} has "
                f"{first.height} x {first.width}, {path.relative_to(folder)} {picture.height} x {picture.width}; "
                f"write {folder}@{first.height}x{first.width} to stretch all of them"
            )
    mode = "L" if all(picture.mode == "L" for picture in pictures) else "RGB"
    array = np.stack([np.asarray(picture.convert(mode)) for picture in pictures])
    return as_images(array if mode == "L" else array.transpose(0, 3, 1, 2), str(folder))


def _picture(path: pathlib.Path) -> Image.Image:
    """Return a picture in the mode L or RGB."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of harmless oddities in a file; a bomb of pixels is an error below
            with Image.open(path) as opened:
                opened.load()
                picture = opened.copy()
    except Exception as error:  # Pillow's readers raise whatever a damaged file leads to
        raise DataError(f"{path} cannot be read as a picture; fetch it again, or remove it") from error
    if picture.mode not in (*GREY, *COLOUR):
        raise DataError(f"{path} must have 8 bits for each channel, and its mode is {picture.mode}")
    return picture.convert("L" if picture.mode in GREY else "RGB")

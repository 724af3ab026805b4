"""CIFAR-10 from a local copy: the folder `cifar-10-batches-py`, or the archive `cifar-10-python.tar.gz`.

A batch is a pickle of a dict with `data`, bytes [N, 3072] (the planes red, green, blue of 32 x 32), and
`labels`. A pickle may name any function of Python, so these are read by an unpickler that knows five
names only, and gives classes of its own for them: nothing of the file's choosing runs, numpy included.
Source of the layout: A. Krizhevsky, https://www.cs.toronto.edu/~kriz/cifar.html.
"""

from __future__ import annotations

import io
import pathlib
import pickle
import tarfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from mfsim.data.dataset import Dataset, Split, as_images, as_labels, from_arrays
from mfsim.errors import DataError

FOLDER = "cifar-10-batches-py"
TRAIN = tuple(f"data_batch_{k}" for k in range(1, 6))
TEST = "test_batch"
SHAPE = (3, 32, 32)
CLASSES = 10


class _Array:
    """An array as a pickle describes it; `state` is (version, shape, dtype, column-major, bytes)."""

    state: Any = None

    def __init__(self, *arguments: object) -> None:
        pass

    def __setstate__(self, state: Any) -> None:
        self.state = state

    def bytes_of(self) -> np.ndarray:
        """Return the array of unsigned bytes; a `ValueError` if it is another one."""
        _, shape, dtype, fortran, data = self.state
        if not isinstance(dtype, _DType) or dtype.code not in ("u1", b"u1") or fortran or not isinstance(data, bytes):
            raise ValueError("not an array of unsigned bytes")
        return np.frombuffer(data, np.uint8).reshape(shape)


class _DType:
    """The type of an array as a pickle describes it."""

    def __init__(self, code: str | bytes, *arguments: object) -> None:
        self.code = code

    def __setstate__(self, state: object) -> None:
        pass


class _Bytes(bytes):
    """Bytes that Python 3 writes as text into pickles of protocol 2."""

    def __new__(cls, text: str, encoding: str) -> _Bytes:
        return super().__new__(cls, text.encode("latin1"))

    def __setstate__(self, state: object) -> None:
        pass


NAMES: dict[tuple[str, str], type] = {
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("numpy._core.multiarray", "_reconstruct"): _Array,
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _DType,
    ("_codecs", "encode"): _Bytes,
}
"""Everything that a batch may name, and what it gets: classes, whose state a pickle cannot reach."""


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in NAMES:
            raise DataError(f"it names `{module}.{name}`, which no batch of CIFAR-10 needs")
        return NAMES[module, name]


def _batch(content: bytes, where: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the bytes [N, 3, 32, 32] and labels [N] of one batch."""
    try:
        batch = _Unpickler(io.BytesIO(content), encoding="bytes").load()
        fields = {key.decode() if isinstance(key, bytes) else key: value for key, value in batch.items()}
        data, labels = fields["data"].bytes_of(), np.array(fields["labels"])
    except DataError as error:
        raise DataError(f"{where} is no batch of CIFAR-10: {error}") from error
    except Exception as error:  # a damaged pickle may raise anything
        raise DataError(f"{where} is no batch of CIFAR-10, or it is damaged; fetch it again") from error
    if data.ndim != 2 or data.shape[1] != 3072 or not len(data):
        raise DataError(f"`data` of {where} must hold bytes [N, 3072], not {data.shape}")
    labels = as_labels(labels, len(data), f"`labels` of {where}")
    if labels.max() >= CLASSES:
        raise DataError(f"`labels` of {where} must be in 0..{CLASSES - 1}, not {labels.max()}")
    return data.reshape(-1, *SHAPE), labels


def is_cifar(path: pathlib.Path) -> bool:
    """Whether `path` is a folder with a batch, or one with the folder of batches, or an archive.

    Parameters
    ----------
    path : pathlib.Path
        Folder or file.

    Returns
    -------
    bool
        Of a file, only the name is looked at.
    """
    if path.is_dir():
        return any((path / inside / name).is_file() for inside in ("", FOLDER) for name in (*TRAIN, TEST))
    return path.name.endswith((".tar.gz", ".tgz", ".tar"))


@contextmanager
def _reader(path: pathlib.Path) -> Iterator[Callable[[str], bytes | None]]:
    """Yield a function that returns the content of a batch, or None where there is none."""
    if path.is_dir():
        folder = path / FOLDER if (path / FOLDER).is_dir() else path
        yield lambda name: (folder / name).read_bytes() if (folder / name).is_file() else None
        return
    with tarfile.open(path) as archive:
        members = {member.name.rpartition("/")[2]: member for member in archive if member.isfile()}

        def read(name: str) -> bytes | None:
            file = archive.extractfile(members[name]) if name in members else None
            return None if file is None else file.read()

        yield read


def load_cifar10(path: str | pathlib.Path) -> Dataset:
    """Return CIFAR-10 from its folder or archive; a tenth of the training images becomes the validation split.

    Parameters
    ----------
    path : str or path
        Folder of batches, the folder around it, or a tar archive.

    Returns
    -------
    Dataset
        Images float32 (N, 3, 32, 32) in [0, 1], 10 classes.

    Raises
    ------
    DataError
        If it cannot be read, a batch is missing or damaged, or a batch holds something else.
    """
    path = pathlib.Path(path)
    batches: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    try:
        with _reader(path) as read:
            for name in (*TRAIN, TEST):
                content = read(name)
                if content is None:
                    raise DataError(f"{path} must hold {name} of CIFAR-10, and it is missing; fetch the archive again")
                batches[name] = _batch(content, f"{name} of {path}")
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise DataError(f"{path} is no tar archive, or it is damaged; fetch it again") from error
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from error
    images = as_images(np.concatenate([batches[name][0] for name in TRAIN]), str(path))
    labels = np.concatenate([batches[name][1] for name in TRAIN])
    tests, test_labels = batches[TEST]
    return from_arrays("cifar-10", images, labels, Split(as_images(tests, str(path)), test_labels))

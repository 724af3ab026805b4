"""IDX files: the format, folders of four files, and damage of every kind."""

from __future__ import annotations

import gzip
import struct

import numpy as np
import pytest

from mfsim import data
from mfsim.data import idx
from mfsim.data.idx import read_idx
from mfsim.errors import DataError


def encoded(array):
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.astype(np.uint8).tobytes()


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    for name, count in (("train", 40), ("t10k", 10)):
        images, labels = rng.integers(0, 256, (count, 4, 6)), np.arange(count) % 3
        (tmp_path / f"{name}-images-idx3-ubyte.gz").write_bytes(gzip.compress(encoded(images)))
        (tmp_path / f"{name}-labels-idx1-ubyte").write_bytes(encoded(labels))
    return tmp_path


def test_known_bytes(tmp_path):
    # The header as the MNIST page prints it: magic 0x00000803, then big-endian lengths.
    path = tmp_path / "x"
    path.write_bytes(bytes.fromhex("00000803 00000002 00000001 00000003 010203 0405ff"))
    assert read_idx(path).tolist() == [[[1, 2, 3]], [[4, 5, 255]]]
    path.write_bytes(gzip.compress(path.read_bytes()))
    assert read_idx(path).tolist() == [[[1, 2, 3]], [[4, 5, 255]]]


def test_a_folder_beside_the_files_makes_them_no_pictures(folder):
    (folder / "raw").mkdir()
    assert data.load(folder).input_shape == (1, 4, 6)


def test_folder(folder):
    dataset = data.load(folder)
    assert (len(dataset.train), len(dataset.validation), len(dataset.test)) == (36, 4, 10)
    assert (dataset.classes, dataset.input_shape, dataset.name) == (3, (1, 4, 6), str(folder))
    raw = read_idx(folder / "t10k-images-idx3-ubyte.gz")
    assert np.array_equal(dataset.test.images[:, 0] * 256, raw)
    assert dataset.test.labels.tolist() == [k % 3 for k in range(10)]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is no IDX file: it must start with two zero bytes, a type and a number of axes"),
        (b"\0\1\x08\1", "is no IDX file: it must start with two zero bytes, a type and a number of axes"),
        (b"\0\0\x0d\1\0\0\0\0", "must hold unsigned bytes (IDX type 8), not IDX type 13"),
        (b"\0\0\x08\3\0\0\0\1", "is cut off within its header; fetch it again"),
        (b"\0\0\x08\1\0\0\0\5abcd", "must hold 5 values for its shape (5,), not 4; fetch it again"),
        (b"\0\0\x08\1\0\0\0\3abcd", "must hold 3 values for its shape (3,), not 4; fetch it again"),
        (
            b"\0\0\x08\3" + b"\xff" * 12,
            "must hold 79228162458924105385300197375 values for its shape (4294967295, 4294967295, 4294967295), "
            "not 0; fetch it again",
        ),
        (gzip.compress(bytes(range(256)) * 4, mtime=0)[:-12], "is a damaged gzip file; fetch it again"),
        (gzip.compress(b"abcd", mtime=0)[:12] + b"\0" * 12, "is a damaged gzip file; fetch it again"),
        (b"\x1f\x8b\0\0", "is a damaged gzip file; fetch it again"),
        (None, "cannot be read: No such file or directory"),
    ],
)
def test_damaged_files(tmp_path, content, sentence):
    path = tmp_path / "x"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError) as error:
        read_idx(path)
    assert str(error.value) == f"{path} {sentence}"


def test_a_folder_lacks_a_file(folder):
    (folder / "t10k-labels-idx1-ubyte").unlink()
    with pytest.raises(DataError) as error:
        data.load(folder)
    assert str(error.value) == f"{folder} must hold one IDX file whose name has t10k or test and labels in it, not none"


def test_a_folder_has_two_files_for_one(folder):
    (folder / "train-images-copy").write_bytes(b"")
    with pytest.raises(DataError) as error:
        data.load(folder)
    assert str(error.value) == (
        f"{folder} must hold one IDX file whose name has train and images in it, "
        "not train-images-copy and train-images-idx3-ubyte.gz"
    )


def test_fashion_mnist_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setattr(idx, "DEBIAN_FOLDER", tmp_path / "none")
    with pytest.raises(DataError) as error:
        data.load("fashion-mnist")
    assert str(error.value) == (
        f"`fashion-mnist` is not in {tmp_path}/none; install Debian's package with "
        "`apt-get install dataset-fashion-mnist`, or give a folder that holds its four IDX files"
    )


def test_fashion_mnist_is_there(folder, monkeypatch):
    monkeypatch.setattr(idx, "DEBIAN_FOLDER", folder)
    assert data.load("fashion-mnist").name == "fashion-mnist"

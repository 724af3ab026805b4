"""`.npz` files of one's own."""

from __future__ import annotations

import numpy as np
import pytest

from mfsim import data
from mfsim.errors import DataError


@pytest.fixture
def arrays():
    rng = np.random.default_rng(0)
    return rng.integers(0, 256, (50, 4, 4), dtype=np.uint8), (np.arange(50) % 5).astype(np.int32)


def test_given_splits(tmp_path, arrays):
    images, labels = arrays
    path = tmp_path / "own.npz"
    np.savez_compressed(path, x_train=images[:40], y_train=labels[:40], x_test=images[40:], y_test=labels[40:], other=1)
    dataset = data.load(path)
    assert (dataset.name, dataset.classes, dataset.input_shape) == ("own", 5, (1, 4, 4))
    assert (len(dataset.train), len(dataset.validation)) == (36, 4)
    assert np.array_equal(dataset.test.images[:, 0] * 256, images[40:])
    assert np.array_equal(dataset.test.labels, labels[40:])


def test_one_set_is_split(tmp_path, arrays):
    path = tmp_path / "own.npz"
    np.savez(path, images=arrays[0], labels=arrays[1])
    dataset = data.load(str(path))
    assert (len(dataset.train), len(dataset.validation), len(dataset.test)) == (36, 4, 10)
    assert np.bincount(dataset.test.labels).tolist() == [2] * 5


def refused(path, sentence):
    with pytest.raises(DataError) as error:
        data.load(path)
    assert str(error.value) == sentence


def test_other_arrays(tmp_path, arrays):
    path = tmp_path / "own.npz"
    np.savez(path, x=arrays[0], labels=arrays[1])
    refused(path, f"{path} must hold the arrays x_train, y_train, x_test, y_test or images, labels, not x, labels")


def test_labels_of_the_wrong_number(tmp_path, arrays):
    path = tmp_path / "own.npz"
    np.savez(path, images=arrays[0], labels=arrays[1][:-1])
    refused(path, f"`labels` of {path} must hold one integer for each of the 50 images, not int32 (49,)")


def test_objects_are_never_unpickled(tmp_path, arrays):
    path = tmp_path / "own.npz"
    np.savez(path, images=np.array([None] * 3, dtype=object), labels=arrays[1])
    refused(path, f"{path} is no .npz file of plain arrays, or it is damaged")


@pytest.mark.parametrize("damage", ["empty", "text", "cut", "middle", "npy"])
def test_damaged_files(tmp_path, arrays, damage):
    path = tmp_path / "own.npz"
    np.savez_compressed(path, images=arrays[0], labels=arrays[1])
    content = path.read_bytes()
    if damage == "npy":
        with path.open("wb") as file:
            np.save(file, arrays[0])
    else:
        path.write_bytes(
            {
                "empty": b"",
                "text": b"not an archive",
                "cut": content[:-30],
                "middle": content[:100] + b"\0" * 50 + content[150:],
            }[damage]
        )
    refused(path, f"{path} is no .npz file of plain arrays, or it is damaged")


def test_no_file(tmp_path):
    refused(tmp_path / "own.npz", f"{tmp_path}/own.npz cannot be read: No such file or directory")

"""CIFAR-10 from pickles and archives, which must not run anything."""

from __future__ import annotations

import gzip
import io
import pickle
import struct
import tarfile

import numpy as np
import pytest

from mfsim import data
from mfsim.data.cifar import FOLDER, TEST, TRAIN
from mfsim.errors import DataError

COUNT = 20


def batch(number: int) -> tuple[np.ndarray, list[int]]:
    """Return bytes [COUNT, 3072] and labels."""
    values = np.random.default_rng(number).integers(0, 256, (COUNT, 3072), dtype=np.uint8)
    return values, [k % 10 for k in range(COUNT)]


def python2(values: np.ndarray, labels: list[int]) -> bytes:
    """Return the batch as Python 2 and an old numpy pickled it: byte strings, protocol 2, `numpy.core`."""

    def text(word: bytes) -> bytes:
        return b"U" + bytes([len(word)]) + word

    dtype = (
        b"cnumpy\ndtype\n(" + text(b"u1") + b"K\0K\1tR(K\3" + text(b"|") + b"NNN" + b"J\xff\xff\xff\xff" * 2 + b"K\0tb"
    )
    shape = b"(" + b"".join(b"J" + struct.pack("<i", n) for n in values.shape) + b"t"
    content = b"T" + struct.pack("<i", values.nbytes) + values.tobytes()
    array = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\0t" + text(b"b") + b"tR(K\1" + shape
    numbers = b"](" + b"".join(b"K" + bytes([label]) for label in labels) + b"e"
    return b"\x80\2}(" + text(b"labels") + numbers + text(b"data") + array + dtype + b"\x89" + content + b"tbu."


@pytest.fixture
def folder(tmp_path):
    (tmp_path / FOLDER).mkdir()
    for number, name in enumerate((*TRAIN, TEST)):
        (tmp_path / FOLDER / name).write_bytes(python2(*batch(number)))
    return tmp_path / FOLDER


def check(dataset: data.Dataset) -> None:
    """Compare a data set with the batches it was made from."""
    assert (dataset.name, dataset.classes, dataset.input_shape) == ("cifar-10", 10, (3, 32, 32))
    assert (len(dataset.train), len(dataset.validation), len(dataset.test)) == (90, 10, 20)
    values, labels = batch(5)
    assert np.array_equal(dataset.test.images.reshape(COUNT, -1) * 256, values)
    assert dataset.test.labels.tolist() == labels
    given = {row.tobytes(): label for k in range(5) for row, label in zip(*batch(k), strict=True)}
    for split in (dataset.train, dataset.validation):
        rows = (split.images.reshape(len(split), -1) * 256).astype(np.uint8)
        assert [given[row.tobytes()] for row in rows] == split.labels.tolist()


def test_the_folder_and_the_one_around_it(folder):
    check(data.load(folder))
    check(data.load(str(folder.parent)))


@pytest.mark.parametrize("protocol", [2, 4])
def test_batches_that_python_3_wrote(folder, protocol):
    for number, name in enumerate((*TRAIN, TEST)):
        values, labels = batch(number)
        (folder / name).write_bytes(pickle.dumps({b"data": values, b"labels": labels}, protocol))
    check(data.load(folder))


def test_the_archive(folder, tmp_path):
    with tarfile.open(tmp_path / "cifar-10-python.tar.gz", "w:gz") as archive:
        archive.add(folder, FOLDER)
    check(data.load(tmp_path / "cifar-10-python.tar.gz"))


def refused(path, sentence):
    with pytest.raises(DataError) as error:
        data.load(path)
    assert str(error.value) == sentence


class Evil:
    """Pickled as a call of something that would tell."""

    def __init__(self, *call: object) -> None:
        self.call = call

    def __reduce__(self):
        return self.call[0], self.call[1:]


@pytest.mark.parametrize("call", ["open", "eval", "zeros"])
def test_a_pickle_runs_nothing(folder, tmp_path, call):
    target = tmp_path / "written"
    evil = {
        "open": Evil(open, str(target), "w"),
        "eval": Evil(eval, f"open({str(target)!r}, 'w')"),
        "zeros": Evil(np.zeros, 1 << 40),
    }[call]
    named = {"open": f"{open.__module__}.open", "eval": "builtins.eval", "zeros": "numpy.zeros"}[call]
    (folder / TEST).write_bytes(pickle.dumps({"data": evil, "labels": []}, 4))
    refused(
        folder,
        f"{TEST} of {folder} is no batch of CIFAR-10: it names `{named}`, which no batch of CIFAR-10 needs",
    )
    assert not target.exists()


def test_a_pickle_cannot_change_the_reader(folder):
    """The state of a class is not the file's to set: `BUILD` on the class itself fails."""
    for module, name in (("numpy", "dtype"), ("numpy", "ndarray"), ("_codecs", "encode")):
        content = f"c{module}\n{name}\n".encode() + b"}(U\x04codeU\x02u1ub."
        (folder / TEST).write_bytes(b"\x80\2" + content)
        refused(folder, f"{TEST} of {folder} is no batch of CIFAR-10, or it is damaged; fetch it again")
    (folder / TEST).write_bytes(python2(*batch(5)))
    check(data.load(folder))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"text",
        python2(*batch(0))[:-40],
        pickle.dumps([1]),
        pickle.dumps({"data": 3, "labels": []}),
        pickle.dumps({"data": np.zeros((20, 3072), np.float32), "labels": [0] * 20}, 2),
        pickle.dumps({"data": np.array([None] * 4), "labels": [0] * 4}, 2),
    ],
    ids=["empty", "text", "cut", "list", "number", "floats", "objects"],
)
def test_damaged_batches(folder, content):
    (folder / "data_batch_3").write_bytes(content)
    refused(folder, f"data_batch_3 of {folder} is no batch of CIFAR-10, or it is damaged; fetch it again")


def write(folder, values, labels):
    (folder / TEST).write_bytes(pickle.dumps({"data": values, "labels": labels}, 2))


def test_wrong_shapes_and_labels(folder):
    where = f"{TEST} of {folder}"
    write(folder, np.zeros((20, 3000), np.uint8), [0] * 20)
    refused(folder, f"`data` of {where} must hold bytes [N, 3072], not (20, 3000)")
    write(folder, np.zeros((20, 3072), np.uint8), [0] * 19)
    refused(folder, f"`labels` of {where} must hold one integer for each of the 20 images, not int64 (19,)")
    write(folder, np.zeros((20, 3072), np.uint8), [0] * 19 + [10])
    refused(folder, f"`labels` of {where} must be in 0..9, not 10")


def test_a_missing_batch(folder):
    (folder / "data_batch_4").unlink()
    refused(folder, f"{folder} must hold data_batch_4 of CIFAR-10, and it is missing; fetch the archive again")


def test_damaged_archives(folder, tmp_path):
    path = tmp_path / "cifar.tar.gz"
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        archive.add(folder, FOLDER)
    for content in (b"text", stream.getvalue()[:-1000], gzip.compress(b"no archive" * 100)):
        path.write_bytes(content)
        refused(path, f"{path} is no tar archive, or it is damaged; fetch it again")
    refused(tmp_path / "none.tar.gz", f"{tmp_path}/none.tar.gz cannot be read: No such file or directory")

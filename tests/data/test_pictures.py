"""Folders of pictures: their layout, modes and sizes, and what can be wrong with them."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from mfsim import data
from mfsim.errors import DataError


def draw(path, value: int, shape=(4, 6), mode="L"):
    """Write a picture of rows x columns whose first pixel is `value` and the rest 7."""
    path.parent.mkdir(parents=True, exist_ok=True)
    array = np.full(shape, 7, np.uint8)
    array[0, 0] = value
    Image.fromarray(array).convert(mode).save(path)


@pytest.fixture
def classes(tmp_path):
    """Return a folder of two classes with ten grey pictures each."""
    for label, name in enumerate(("ant", "bee")):
        for k in range(10):
            draw(tmp_path / "insects" / name / f"{k}.png", 100 * label + k)
    return tmp_path / "insects"


@pytest.fixture
def splits(tmp_path):
    """Return a folder with train and test of two classes."""
    for split, count in (("train", 10), ("test", 3)):
        for label, name in enumerate(("ant", "bee")):
            for k in range(count):
                draw(tmp_path / "split" / split / name / f"{k}.png", 100 * label + k)
    return tmp_path / "split"


def first_pixels(split: data.Split) -> list[int]:
    return (split.images[:, 0, 0, 0] * 256).astype(int).tolist()


def test_one_folder_of_classes_is_split(classes):
    dataset = data.load(classes)
    assert (dataset.name, dataset.classes, dataset.input_shape) == (str(classes), 2, (1, 4, 6))
    assert (len(dataset.train), len(dataset.validation), len(dataset.test)) == (15, 1, 4)
    pixels = [value for s in (dataset.train, dataset.validation, dataset.test) for value in first_pixels(s)]
    assert sorted(pixels) == [*range(10), *range(100, 110)]
    for split in (dataset.train, dataset.validation, dataset.test):
        assert [value >= 100 for value in first_pixels(split)] == split.labels.astype(bool).tolist()
    again = data.load(str(classes))
    assert np.array_equal(again.test.images, dataset.test.images)


def test_given_splits(splits):
    dataset = data.load(splits)
    assert (len(dataset.train), len(dataset.validation), len(dataset.test)) == (18, 2, 6)
    assert first_pixels(dataset.test) == [0, 1, 2, 100, 101, 102]
    assert dataset.test.labels.tolist() == [0, 0, 0, 1, 1, 1]
    draw(splits / "validation" / "ant" / "x.png", 50)
    draw(splits / "validation" / "bee" / "x.png", 60)
    dataset = data.load(splits)
    assert (first_pixels(dataset.validation), len(dataset.train)) == ([50, 60], 20)


def test_a_class_may_be_called_train(classes):
    for k in range(10):
        draw(classes / "train" / f"{k}.png", 200)
    assert data.load(classes).classes == 3


def test_one_colour_picture_makes_three_channels(splits):
    draw(splits / "test" / "ant" / "0.png", 9, mode="RGB")
    dataset = data.load(splits)
    assert dataset.input_shape == (3, 4, 6)
    assert np.array_equal(dataset.train.images[:, 0], dataset.train.images[:, 2])


def test_channels_keep_their_order(classes):
    array = np.zeros((4, 6, 3), np.uint8)
    array[1, 2] = 10, 20, 30
    for name in ("ant", "bee"):
        for k in range(10):
            Image.fromarray(array).save(classes / name / f"{k}.png")
    assert (data.load(classes).train.images[0, :, 1, 2] * 256).tolist() == [10, 20, 30]


@pytest.mark.parametrize("mode", ["1", "P", "LA", "RGBA", "CMYK"])
def test_other_modes_of_eight_bits(classes, mode):
    name = "0.tif" if mode == "CMYK" else "0.png"
    (classes / "ant" / "0.png").unlink()
    draw(classes / "ant" / name, 0, mode=mode)
    assert data.load(classes).input_shape == ((1 if mode == "1" else 3), 4, 6)


def test_other_files_are_passed_over(classes):
    (classes / "ant" / "notes.txt").write_text("mine")
    (classes / "ant" / "._0.png").write_bytes(b"")
    (classes / ".thumbnails").mkdir()
    assert len(data.load(classes).train) == 15


def test_a_size_stretches_all(classes):
    for path in classes.glob("*/*.png"):
        Image.fromarray(np.array([[0, 64]], np.uint8)).save(path)
    draw(classes / "bee" / "3.png", 7, (9, 5))
    dataset = data.load(f"{classes}@1x4")
    assert dataset.input_shape == (1, 1, 4)
    rows = [(image[0, 0] * 256).tolist() for split in (dataset.train, dataset.test) for image in split.images]
    # Centres of the new pixels lie at 1/4, 3/4, 5/4 and 7/4 of an old one, whose own lie at 1/2 and 3/2.
    assert [0, 16, 48, 64] in rows
    assert [7, 7, 7, 7] in rows
    assert data.load(f"{classes}@5").input_shape == (1, 5, 5)


def test_a_folder_whose_name_has_an_at_sign(classes):
    moved = classes.rename(classes.with_name("insects@8"))
    assert data.load(moved).input_shape == (1, 4, 6)
    assert data.load(f"{moved}@8").input_shape == (1, 8, 8)


def refused(spec, sentence):
    with pytest.raises(DataError) as error:
        data.load(spec)
    assert str(error.value) == sentence


def test_unequal_sizes(classes):
    draw(classes / "bee" / "3.png", 0, (8, 6))
    refused(
        classes,
        f"the pictures of {classes} must have one size, and ant/0.png has 4 x 6, bee/3.png 8 x 6; "
        f"write {classes}@4x6 to stretch all of them",
    )


@pytest.mark.parametrize(("size", "shown"), [("4097", "4097x4097"), ("4x99999999999999", "4x99999999999999")])
def test_a_size_that_no_memory_holds(classes, size, shown):
    refused(f"{classes}@{size}", f"the size behind {classes} must be at most 4096 in rows and columns, not {shown}")


def test_too_few_pictures_to_split(tmp_path):
    for name in ("ant", "bee"):
        draw(tmp_path / name / "0.png", 0)
    refused(tmp_path, "2 images are too few for a training, a validation and a test split; at least 3 are needed")


def test_an_unreadable_picture(classes):
    path = classes / "bee" / "3.png"
    for content in (b"", b"text", path.read_bytes()[:60]):
        path.write_bytes(content)
        refused(classes, f"{path} cannot be read as a picture; fetch it again, or remove it")


def test_sixteen_bits(classes):
    Image.fromarray(np.zeros((4, 6), np.uint16)).save(classes / "bee" / "3.png")
    refused(classes, f"{classes}/bee/3.png must have 8 bits for each channel, and its mode is I;16")


def test_a_class_without_pictures(classes):
    (classes / "cat").mkdir()
    refused(
        classes,
        f"{classes}/cat must hold pictures (.bmp, .jpeg, .jpg, .pgm, .png, .ppm, .tif, .tiff, .webp), and has none",
    )


def test_one_class(tmp_path):
    draw(tmp_path / "ant" / "0.png", 0)
    refused(tmp_path, f"{tmp_path} must hold a folder of pictures for each of at least two classes, not 1")


def test_a_split_is_missing(splits):
    (splits / "test").rename(splits / "tset")
    refused(
        splits,
        f"{splits} must hold the folders train and test, each with a folder for each class, and has no test",
    )


def test_a_class_that_training_lacks(splits):
    (splits / "test" / "bee").rename(splits / "test" / "bees")
    refused(splits, f"{splits}/test/bees is no class of the training pictures; did you mean `bee`?")


def test_a_size_behind_something_else(tmp_path):
    np.savez(tmp_path / "own.npz", images=np.zeros((9, 4, 4)), labels=np.arange(9) % 3)
    refused(
        f"{tmp_path}/own.npz@8",
        f"only a folder of pictures, one folder for each class, can have a size behind it, not {tmp_path}/own.npz",
    )

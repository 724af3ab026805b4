"""The study of attention units: a tiny one runs and is resumed, its tables, and the page in the documentation."""

from __future__ import annotations

import csv
import json
import pathlib
import sys

import pytest
import torch

from mfsim.errors import DataError, MfsimError, ShapeError
from tests.examples.test_examples import ROOT, run

FOLDER = ROOT / "examples" / "attention_study"
PAGE = ROOT / "docs" / "attention-study.md"
TINY = ["--units", "qkv", "--seeds", "1", "--epochs", "1", "--quantized-epochs", "0", "--depth", "1", "--width", "16"]
FEW = ["--train", "100", "--validation", "32", "--test", "40"]


@pytest.fixture(scope="module")
def point():
    """Return the module of the study that computes a point."""
    return _imported("point")


@pytest.fixture(scope="module")
def study():
    """Return the module of the study that is started."""
    return _imported("study")


@pytest.fixture(scope="module")
def table():
    """Return the module of the study that writes tables."""
    return _imported("table")


def _imported(name):
    sys.path.insert(0, str(FOLDER))
    try:
        return __import__(name)
    finally:
        sys.path.remove(str(FOLDER))


def test_a_study_is_resumed_and_leaves_tables(tmp_path):
    command = [str(FOLDER / "study.py"), *TINY, *FEW, "--out", "found"]
    first = run(command, tmp_path)
    assert first.startswith("[1/1] qkv, seed 0: float ")
    files = {path.name: path.read_bytes() for path in (tmp_path / "found" / "points").iterdir()}
    assert len(files) == 1
    again = run(command, tmp_path)
    assert "[1/1]" not in again, "a finished point was computed again"
    other = run([*command, "--seeds", "2", "--tables"], tmp_path)
    assert other == again, "`--tables` computes nothing"
    assert again.strip() in first
    assert {path.name: path.read_bytes() for path in (tmp_path / "found" / "points").iterdir()} == files
    study = json.loads((tmp_path / "found" / "study.json").read_text())
    (row,) = study["rows"]
    assert (study["asked"], study["finished"], row["unit"], row["seeds"]) == (2, 1, "qkv", 1)
    assert study["images"] == {"train": 100, "validation": 32, "test": 40}
    assert row["differences"] == 0
    assert row["learned"] > 0 < row["activation"]
    assert row["multiplication_free"] is False
    (cells,) = csv.DictReader((tmp_path / "found" / "study.csv").read_text().splitlines())
    assert (cells["unit"], int(cells["operations"])) == ("qkv", row["operations"])
    assert f"| `qkv` | {row['parameters']:,} | {100 * row['float_mean']:.2f} |" in again


def test_all_realisations_of_a_unit_are_compared(tmp_path):
    few = ["--units", "qkk", "--epochs", "1", "--width", "16", "--depth", "1", "--test", "20", "--out", "found.md"]
    printed = run([str(FOLDER / "equality.py"), *few], tmp_path)
    assert (tmp_path / "found.md").read_text() == printed
    _, unit, _, compared, differ, _ = printed.splitlines()[2].split("|")
    # Five pairs on all images, one digest, and two images from the definitions of the ops.
    assert (unit, compared, differ) == (" `qkk` ", f" {5 * 20 * 10 + 1 + 2 * 10:,} ", " 0 ")


def test_other_settings_images_or_seeds_are_other_points(point):
    changes = {"train": 100, "validation": 20, "test": 20}
    setup = point.Setup.of("reduced", "digits", changes)
    keys = {
        setup.key("qkv", 0),
        setup.key("qkv", 1),
        setup.key("qkk", 0),
        point.Setup.of("reduced", "digits", changes | {"epochs": 7}).key("qkv", 0),
        point.Setup.of("reduced", "digits", changes | {"train": 99}).key("qkv", 0),
        point.Setup.of("reduced", "digits", changes | {"width": 32}).key("qkv", 0),
        point.Setup.of("paper", "digits", changes).key("qkv", 0),
    }
    assert len(keys) == 7
    assert setup.key("qkv", 0) == point.Setup.of("reduced", "digits", changes).key("qkv", 0)


def test_units_that_share_a_point_are_the_same_network(point):
    setup = point.Setup.of("reduced", "digits", {"width": 16, "depth": 1})
    images = torch.from_numpy(setup.dataset.test.images[:8])
    for unit, other in point.SAME.items():
        assert setup.key(unit, 3) == setup.key(other, 3)
        networks = [point.network(name, setup, 3).eval() for name in (unit, other)]
        with torch.no_grad():
            assert torch.equal(*[network(images) for network in networks])
    assert point.same("qvv2", {"width": 48}) == "qvv2"


def test_units_that_do_not_fit_the_model_are_named_before_anything_is_trained(point, study):
    setup = point.Setup.of("paper-compact", "digits", {"depth": 1})
    with pytest.raises(ShapeError) as error:
        study.check_units(["qkv", "gqa", "hadamard-o", "hadamard-o-pad", "mf-vit"], setup)
    assert str(error.value) == (
        "gqa, hadamard-o do not fit this compact-vit; name the others with --units "
        "(`gqa`: `kv_heads` must divide `heads`, which is 3: 1, 3, not 2)"
    )


def test_every_unit_has_the_size_of_the_preset(point):
    sizes = {"paper": (128, 4), "paper-compact": (192, 6), "reduced": (64, 2)}
    for preset, (width, depth) in sizes.items():
        setup = point.Setup.of(preset, "digits", {})
        for unit in ("qkv", "mf-vit", "chained-vo"):
            blocks = point.network(unit, setup, 0).blocks
            assert (blocks[0].attention.width, len(blocks)) == (width, depth)


def test_every_unit_has_a_network_that_takes_both_data_sets(point):
    for shape in ((1, 8, 8), (1, 28, 28)):
        setup = point.Setup.of("reduced", "digits", {"width": 16, "depth": 1})
        object.__setattr__(setup.dataset, "input_shape", shape)
        for unit in point.UNITS:
            assert point.network(unit, setup, 0).eval()(torch.zeros(2, *shape)).shape == (2, 10)


def test_weights_that_round_to_zero_keep_their_sign_in_mf_aggregate(point):
    setup = point.Setup.of("reduced", "digits", {"width": 16, "depth": 1})
    assert point.network("mf-aggregate", setup, 0).blocks[0].attention.aggregate.sign_zero == 1


def test_filters_are_normalised(point):
    setup = point.Setup.of("reduced", "digits", {"width": 16, "depth": 1})
    for unit in ("qk-sk", "q-sk-sk", "sq-sk-k", "sq-sk-sk"):
        assert point.network(unit, setup, 0).blocks[0].attention.config.normalise_filters


def test_units_have_their_own_rates(point):
    training = point.Training(1, 1, {"": (1.0, 2.0), "mf-vit": (3.0, 4.0)}, 8, 0.0, 0.0, 0.0)
    assert training.settings("qkv")["rates"] == (1.0, 2.0)
    assert training.settings("mf-vit")["rates"] == (3.0, 4.0)


@pytest.mark.parametrize(("name", "value", "least"), [("test", -4, 0), ("epochs", 0, 1), ("quantized_epochs", -1, 0)])
def test_numbers_that_are_too_small(point, name, value, least):
    with pytest.raises(MfsimError, match=f"`{name}` must be at least {least}, not {value}"):
        point.Setup.of("reduced", "digits", {name: value})


def test_cifar10_is_looked_for_in_the_current_folder(point, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError) as error:
        point.Setup.of("paper", "cifar10", {})
    assert str(error.value) == (
        "`cifar10` must be in the current folder, as cifar-10-batches-py or cifar-10-python.tar.gz"
    )
    (tmp_path / "cifar-10-python.tar.gz").touch()
    assert point.found("cifar10") == "cifar-10-python.tar.gz"


def test_a_row_has_mean_and_sample_deviation_and_a_unit_without_integers_has_none(table):
    counts = {"multiplications": dict.fromkeys(table.CLASSES, 3), "operations": 1234, "multiplication_free": False}
    points = [
        {"parameters": 5000, "float": 0.5, "integer": 0.25, "compared": 9, "differences": 0, **counts},
        {"parameters": 5000, "float": 0.75, "integer": 0.5, "compared": 9, "differences": 1, **counts},
    ]
    row = table.row("digits", "qkv", points)
    assert (row["float_mean"], row["integer_mean"], row["differences"]) == (0.625, 0.375, 1)
    assert row["float_deviation"] == pytest.approx(0.25 / 2**0.5)  # float arithmetic of the square root
    none = table.row("digits", "qk-dftk", [{"parameters": 7, "float": 1.0, "integer": None, "reason": "no"}])
    assert (none["integer_mean"], none["operations"], none["note"]) == (None, None, "no")
    assert table.markdown([row, none]).splitlines()[2:] == [
        "| `qkv` | 5,000 | 62.50 ± 17.68 | 37.50 ± 17.68 | 1,234 | 3 | 3 | 3 | 3 | 3 |",
        "| `qk-dftk` | 7 | 100.00 | none |  |  |  |  |  |  |",
    ]


def test_remarks_name_the_largest_loss(table):
    rows = [
        {"unit": "a", "seeds": 1, "float_mean": 0.9, "integer_mean": 0.88, "compared": 5, "differences": 0, "note": ""},
        {"unit": "b", "seeds": 3, "float_mean": 0.9, "integer_mean": 0.8, "compared": 5, "differences": 2, "note": ""},
        {
            "unit": "c",
            "seeds": 3,
            "float_mean": 0.9,
            "integer_mean": None,
            "compared": None,
            "differences": None,
            "note": "x",
        },
    ]
    assert table.remarks(rows) == [
        "Seeds for each unit: 1 to 3.",
        "Largest loss from float to 8-bit integers: 10.00 points (`b`).",
        "Images whose output codes were compared between the quantized torch network and the simulator: 10, with 2 that differ.",
        "`c`: x.",
    ]
    gained = [row | {"integer_mean": 0.95} for row in rows[:1]]
    assert table.remarks(gained)[1] == "No unit is less accurate in 8-bit integers than in float."


def test_the_command_that_is_shown_computes_and_writes_no_page(study):
    given = ["--data", "digits", "--tables", "--docs", "docs/page.md", "--units", "qkv"]
    assert study.command(given) == "python examples/attention_study/study.py --data digits --units qkv"


def test_the_page_has_the_tables_of_its_studies(table):
    assert table.renew(PAGE, PAGE.with_suffix("")) == PAGE.read_text()


def test_a_page_without_marks_is_refused(table, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("nothing")
    with pytest.raises(MfsimError) as error:
        table.renew(page, pathlib.Path(tmp_path))
    assert str(error.value) == f"`{page}` must have the marks of a study, and `{tmp_path}` at least one study"

"""A small exported network to sweep."""

from __future__ import annotations

import shutil

import pytest

from mfsim.run_folder import RunFolder


@pytest.fixture(scope="session")
def exported(tmp_path_factory):
    """Return a run folder with float.onnx and model.onnx; tests must not change it."""
    from mfsim.workflow.settings import Settings
    from mfsim.workflow.steps import export_step, quantize_step, train_step

    run = RunFolder.create(tmp_path_factory.mktemp("sweep") / "small")
    settings = Settings(epochs=3, quantized_epochs=0)
    train_step(run, "tests.cli.networks:small", "digits", settings)
    quantize_step(run, settings=settings)
    export_step(run)
    return run


@pytest.fixture
def run(exported, tmp_path):
    """Return a copy of the run folder."""
    return RunFolder(shutil.copytree(exported.path, tmp_path / "small"))


@pytest.fixture(scope="session")
def images(exported):
    """Return the first images of the test set."""
    from mfsim.workflow.images import load_data

    return load_data(exported).test.first(60)

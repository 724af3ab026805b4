"""One small network that went through every step, for all tests of commands."""

from __future__ import annotations

import json
import shutil

import pytest
from typer.testing import CliRunner

from mfsim.cli.app import app


class Invoked:
    """What a command left behind: exit status, stdout, stderr."""

    def __init__(self, result) -> None:
        self.status, self.stdout, self.stderr = result.exit_code, result.stdout, result.stderr

    @property
    def json(self):
        """The object on stdout."""
        return json.loads(self.stdout)


def mfsim(*arguments) -> Invoked:
    """Run a command in this process."""
    return Invoked(CliRunner().invoke(app, [str(argument) for argument in arguments]))


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """Return a run folder that every step has passed; tests must not change it."""
    from mfsim.workflow.settings import Settings
    from mfsim.workflow.steps import run_network

    folder = tmp_path_factory.mktemp("cli") / "small"
    run_network(
        folder, "tests.cli.networks:small", "digits", Settings(epochs=4, quantized_epochs=0, reference_samples=2)
    )
    return folder


@pytest.fixture
def folder(finished, tmp_path):
    """Return a copy of the finished run folder."""
    return shutil.copytree(finished, tmp_path / "small")

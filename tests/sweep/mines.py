"""Recipes that end the worker process which unpickles them."""

from __future__ import annotations

import os
import pathlib
import signal

from mfsim.quant.recipe import Recipe


class Mine:
    """Kills the process that unpickles it; with `path`, only while that file is there, which goes with it."""

    def __init__(self, path: pathlib.Path | None = None) -> None:
        self.path = path

    def __reduce__(self):
        return explode, (self.path,)


def explode(path: pathlib.Path | None) -> Recipe:
    """Kill this process, or return a recipe if `path` is gone."""
    if path is None or path.exists():
        if path is not None:
            path.unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    return Recipe()

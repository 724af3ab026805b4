"""A run folder: everything that one network goes through, each step in its own file.

A step reads what earlier steps wrote and writes its own file whole or not at all, so an interrupted
run can go on where it stopped. A folder is a run folder if it has a `run.json`, which says where the
network comes from and how accurate it was at each step.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from mfsim.analysis.listing import write_text
from mfsim.errors import MfsimError, ModelError
from mfsim.keywords import check_constructor, check_keywords

if TYPE_CHECKING:
    from mfsim.ir.program import Program

STEPS = {
    "run.json": "train",
    "float.safetensors": "train",
    "quantized.safetensors": "quantize",
    "recipe.toml": "quantize",
    "float.onnx": "export",
    "model.onnx": "export",
    "check.json": "check",
    "integer.onnx": "compile",
    "simulation.json": "simulate",
    "count.json": "count",
    "report": "report",
}
"""Every file of a run folder and the command that writes it."""

ORIGIN: dict[str, type] = {
    "name": str,
    "model": str,
    "options": dict,
    "seed": int,
    "data": str,
    "input_shape": list,
    "classes": int,
    "accuracy": dict,
}
"""What every run.json says, and in which type; later steps need it."""


@check_constructor
class RunFolder:
    """The files of one network in the folder `path`.

    >>> RunFolder("runs/wht-cnn").file("model.onnx").as_posix()
    'runs/wht-cnn/model.onnx'
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = pathlib.Path(path)

    @classmethod
    def create(cls, path: str | os.PathLike[str]) -> RunFolder:
        """Run folder at `path`, made where it is missing.

        Parameters
        ----------
        path : str or path
            Folder.

        Returns
        -------
        RunFolder
            The folder.

        Raises
        ------
        MfsimError
            If it cannot be made or written to.
        """
        run = cls(path)
        make_folder(run.path)
        return run

    @classmethod
    @contextlib.contextmanager
    def new(cls, path: str | os.PathLike[str]) -> Iterator[RunFolder]:
        """Yield `create(path)`; if the body fails, the folders that were made for it and are still empty go again.

        Parameters
        ----------
        path : str or path
            Folder.

        Yields
        ------
        RunFolder
            The folder.

        Raises
        ------
        MfsimError
            If it cannot be made or written to.
        """
        folder = pathlib.Path(path)
        made = [parent for parent in (folder, *folder.parents) if not parent.exists()]
        try:
            yield cls.create(path)
        except BaseException:
            with contextlib.suppress(OSError):
                for parent in made:
                    parent.rmdir()
            raise

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> RunFolder:
        """Existing run folder at `path`.

        Parameters
        ----------
        path : str or path
            Folder.

        Returns
        -------
        RunFolder
            The folder.

        Raises
        ------
        ModelError
            If `path` is no run folder, or its run.json is damaged.
        """
        run = cls(path)
        if not run.path.is_dir():
            raise ModelError(f"there is no folder `{run.path}`")
        if not run.file("run.json").is_file():
            raise ModelError(f"`{run.path}` is no run folder: it has no run.json; `mfsim train` makes one")
        origin = run.read()
        for key, kind in ORIGIN.items():
            if not isinstance(origin.get(key), kind):
                raise ModelError(
                    f"`{run.file('run.json')}` must have a {kind.__name__} under `{key}`; `mfsim train` writes it"
                )
        return run

    def file(self, name: str) -> pathlib.Path:
        """Return the path of the file called `name`, one of `STEPS`.

        Parameters
        ----------
        name : str
            Name of the file.

        Returns
        -------
        path
            Its path, also where it is not there.

        Raises
        ------
        KeyError
            If `name` is none of `STEPS`.
        """
        if name not in STEPS:
            raise KeyError(name)
        return self.path / name

    def has(self, name: str) -> bool:
        """Whether the step that writes `name` has run.

        Parameters
        ----------
        name : str
            Name of the file, one of `STEPS`.

        Returns
        -------
        bool
            True if it is there.
        """
        return self.file(name).exists()

    def need(self, name: str) -> pathlib.Path:
        """Path of a file that must be there.

        Parameters
        ----------
        name : str
            Name of the file, one of `STEPS`.

        Returns
        -------
        path
            Its path.

        Raises
        ------
        ModelError
            If it is not there; the message says which command writes it.
        """
        path = self.file(name)
        if not path.exists():
            raise ModelError(f"`{self.path}` has no {name}; run `mfsim {STEPS[name]} {self.path}` first")
        return path

    def read(self, name: str = "run.json") -> dict[str, Any]:
        """Return the content of a JSON file of the folder.

        Parameters
        ----------
        name : str
            Name of a JSON file, one of `STEPS`.

        Returns
        -------
        dict
            Its content.

        Raises
        ------
        ModelError
            If it is not there, or holds no JSON object.
        """
        return read_json(self.need(name))

    def write(self, name: str, content: Mapping[str, object]) -> pathlib.Path:
        """Write a JSON file of the folder and return its path.

        Parameters
        ----------
        name : str
            Name of a JSON file, one of `STEPS`.
        content : mapping of str to object
            JSON content without NaN.

        Returns
        -------
        path
            Its path.

        Raises
        ------
        MfsimError
            If it cannot be written.
        """
        return write_json(self.file(name), content)

    def forget_from(self, step: str) -> None:
        """Remove what `step` and all later ones wrote, but for run.json: it was made from files that change now.

        Parameters
        ----------
        step : str
            Command of the first step, such as "export".
        """
        steps = list(dict.fromkeys(STEPS.values()))
        late = steps[steps.index(step) :]
        for name, writer in STEPS.items():
            if writer in late and name != "run.json":
                path = self.file(name)
                if path.is_dir():
                    shutil.rmtree(path)
                else:
                    path.unlink(missing_ok=True)

    def update(self, **entries: object) -> dict[str, Any]:
        """Set `entries` in run.json and return its content."""
        content = self.read() | entries
        self.write("run.json", content)
        return content

    def __str__(self) -> str:
        return str(self.path)


def make_folder(path: str | os.PathLike[str]) -> pathlib.Path:
    """Folder at `path`, made where it is missing and checked for writing.

    Parameters
    ----------
    path : str or path
        Folder.

    Returns
    -------
    path
        The folder.

    Raises
    ------
    MfsimError
        If it is a file, or cannot be made or written to.
    """
    path = pathlib.Path(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise MfsimError(f"`{path}` must be a folder, and it is a file") from None
    except OSError as error:
        raise MfsimError(f"the folder `{path}` cannot be made: {error.strerror or error}") from error
    try:
        # Asking for permissions is not enough: a read-only file system grants them to root.
        with tempfile.TemporaryFile(dir=path):
            return path
    except OSError as error:
        raise MfsimError(f"the folder `{path}` cannot be written to: {error.strerror or error}") from error


def read_json(path: str | os.PathLike[str]) -> dict[str, Any]:
    """JSON object in a file.

    Parameters
    ----------
    path : str or path
        File in UTF-8.

    Returns
    -------
    dict
        Its content.

    Raises
    ------
    ModelError
        If it cannot be read, is no JSON, or holds no object.
    """
    try:
        content = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelError(f"`{path}` cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise ModelError(f"`{path}` is no JSON file: {error}") from error
    if not isinstance(content, dict):
        raise ModelError(f"`{path}` must hold a JSON object, not a {type(content).__name__}")
    return content


def write_json(path: str | os.PathLike[str], content: Mapping[str, object]) -> pathlib.Path:
    """Write `content` as JSON whole or not at all, and return the path.

    Parameters
    ----------
    path : str or path
        File to write.
    content : mapping of str to object
        JSON content.

    Returns
    -------
    path
        The file.

    Raises
    ------
    MfsimError
        If it cannot be written.
    ValueError
        If a number is NaN or infinite.
    """
    return write_text(path, json.dumps(content, indent=1, allow_nan=False) + "\n")


@check_keywords
def load_program(target: str | os.PathLike[str]) -> Program:
    """Return the integer program of a run folder, of a quantized model.onnx, or of an integer.onnx.

    A run folder's program is its integer.onnx; before `mfsim compile`, its model.onnx is compiled here.

    Parameters
    ----------
    target : str or path
        Run folder or ONNX file.

    Returns
    -------
    Program
        Integer program.

    Raises
    ------
    ModelError
        If the folder or file is none of these, or has no program.
    MfsimError
        If a model.onnx cannot be compiled.
    """
    from mfsim.serialize.read import load  # a folder's list of files needs no ONNX

    path = pathlib.Path(target)
    if path.is_dir():
        run = RunFolder.open(path)
        path = run.file("integer.onnx") if run.has("integer.onnx") else run.need("model.onnx")
    return load(path)

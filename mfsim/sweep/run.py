"""`sweep`: many recipes on one exported network, side by side on all cores, and only what is missing."""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
from collections.abc import Callable, Sequence

import numpy as np

from mfsim.analysis.sweeps import SweepFigures, SweepReport, SweepRow
from mfsim.data import Split
from mfsim.errors import SweepError
from mfsim.export import runtime
from mfsim.export.edit import open_model
from mfsim.keywords import check_keywords
from mfsim.run_folder import RunFolder
from mfsim.sweep.axes import Axis
from mfsim.sweep.grid import Point, grid
from mfsim.sweep.keys import data_digest, file_digest, point_key
from mfsim.sweep.measure import Samples
from mfsim.sweep.output import FOLDER, write_sweep
from mfsim.sweep.store import SweepFolder
from mfsim.sweep.workers import Setup, Task, cores, spread

IDENTITY = {"model": "the model", "data": "the images"}
"""What a sweep's folder is of, for good."""

Progress = Callable[[str, int, int], None]


@check_keywords
def sweep(
    run: RunFolder,
    split: Split,
    axes: Sequence[Axis],
    *,
    sensitivity: bool = False,
    out: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    retry: bool = False,
    progress: Progress = lambda what, done, total: None,
) -> SweepReport:
    """Measure the network of a run folder with every recipe on `axes`; return what was found.

    Points that are in the folder already are not computed again. An interruption leaves all finished
    points, and tables of them, in the folder.

    Parameters
    ----------
    run : holds float.onnx and model.onnx.
    split : the images, which must suit the network.
    axes : see `parse_axes`.
    sensitivity : change one layer at a time instead of all together.
    out : the sweep's folder; by default below `sweeps` in the run folder, named by what is asked for.
    workers : processes, at least 1; by default one for each core.
    retry : compute points again that have failed.
    progress : called with (what is done, points done, points in all).

    Returns
    -------
    SweepReport
        The points that have run, failed ones too.

    Raises
    ------
    ModelError
        If the run folder has not been exported.
    SweepError
        If an axis matches nothing, or the folder is of another model or other images.
    """
    if workers is not None and workers < 1:
        raise SweepError(f"`workers` must be at least 1, not {workers}")
    model, floats = run.need("model.onnx"), run.need("float.onnx")
    progress("open", 0, 1)
    opened = open_model(model)
    points = grid(axes, opened.recipe, opened.keys, sensitivity=sensitivity)
    digests = {"model": opened.digest, "float": file_digest(floats), "data": data_digest(split)}
    asked = {"axes": [str(axis) for axis in axes], "sensitivity": sensitivity}
    path = pathlib.Path(out) if out is not None else run.path / FOLDER / default_name(axes, asked, digests["data"])
    folder = SweepFolder.open(path, digests | asked | {"images": len(split)}, IDENTITY)
    keys = [point_key(point.recipe, **digests) for point in points]
    tasks = {key: Task(key, point.recipe) for key, point in zip(keys, points, strict=True) if _open(folder, key, retry)}

    def report() -> SweepReport:
        rows = [_row(point, folder.read(key)) for key, point in zip(keys, points, strict=True)]
        about = {
            "model": opened.digest,
            "model.onnx": file_digest(model),
            "data": digests["data"],
            "images": str(len(split)),
        }
        names = tuple(axis.name for axis in axes)
        return SweepReport(path.name, names, sensitivity, len(points), tuple(r for r in rows if r is not None), about)

    try:
        if tasks:
            done = len(set(keys)) - len(tasks)
            progress("sweep", done, len(set(keys)))
            samples = Samples(split.images, split.labels, _logits(floats, split))
            for _ in spread(Setup(model, opened.digest, path, samples), list(tasks.values()), workers or cores()):
                done += 1
                progress("sweep", done, len(set(keys)))
    finally:
        found = report()
        write_sweep(found, path)
    return found


def default_name(axes: Sequence[Axis], asked: object, data: str) -> str:
    """Return the folder's name for what is asked for: the axes, and a digest of their values and of the images.

    Parameters
    ----------
    axes : sequence of Axis
        The axes, whose keys the name begins with.
    asked : object that `json.dumps` takes
        Texts of the axes, and whether layers change one at a time.
    data : str
        Digest of the images and labels.

    Returns
    -------
    str
        The keys and eight hexadecimal digits, joined by "-".
    """
    digest = hashlib.sha256(json.dumps([asked, data]).encode()).hexdigest()[:8]
    return "-".join([*dict.fromkeys(axis.key for axis in axes), digest])


def _open(folder: SweepFolder, key: str, retry: bool) -> bool:
    """Whether a point is still to be computed."""
    content = folder.read(key)
    return content is None or (retry and bool(content["error"]))


def _row(point: Point, content: dict[str, object] | None) -> SweepRow | None:
    if content is None:
        return None
    figures = SweepFigures(**content["figures"]) if content["figures"] else None  # type: ignore[arg-type]
    return SweepRow(point.number, point.layer, point.values, figures, str(content["error"]))


def _logits(path: pathlib.Path, split: Split) -> np.ndarray:
    """Return the logits of float.onnx."""
    outputs = runtime.run(runtime.session(path), split.images)
    return next(iter(outputs.values()))

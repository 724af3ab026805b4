"""Sweep the words of an exported network, and write the report of networks: run folders, programs and results."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from mfsim.analysis import count, energy, layers, memory, widths
from mfsim.analysis.sweeps import SweepReport
from mfsim.cim import CimArray, load_array, map_program
from mfsim.data import Dataset, Split
from mfsim.data import load as load_data
from mfsim.ir.program import Program
from mfsim.keywords import check_keywords
from mfsim.report import NetworkResult, write_report
from mfsim.run_folder import RunFolder
from mfsim.sweep import Axis, parse_axes
from mfsim.sweep import sweep as sweep_points
from mfsim.workflow.images import chosen
from mfsim.workflow.images import load_data as load_run_data
from mfsim.workflow.summary import summary

if TYPE_CHECKING:
    Network = NetworkResult | Program | RunFolder | str | os.PathLike[str]


@check_keywords
def sweep(
    run: RunFolder | str | os.PathLike[str],
    axes: str | Axis | Sequence[str | Axis],
    data: Dataset | Split | str | os.PathLike[str] | None = None,
    *,
    split: str = "test",
    sensitivity: bool = False,
    out: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    retry: bool = False,
    progress: Callable[[str, int, int], None] = lambda what, done, total: None,
) -> SweepReport:
    """Measure an exported network with other words, a point for each; finished points are never computed again.

    Parameters
    ----------
    run : RunFolder or path
        A folder with float.onnx and model.onnx, such as a run folder that has been exported.
    axes : str, Axis, or several of them
        Such as "weight=2:8" or "accumulator@head=12:24:4"; see `mfsim.sweep.Axis`. All combinations are points.
    data : Dataset, Split, str or path
        Labelled images; by default those that the run folder's network was trained on.
    split : str
        Of a data set: test, validation or train.
    sensitivity : bool
        Change one layer at a time instead of all together.
    out : folder
        By default below `sweeps` in `run`, named by what is asked for.
    workers : int
        Processes, at least 1; by default one for each core.
    retry : bool
        Compute points again that have failed.
    progress : callable
        Called with (what is done, points done, points in all).

    Raises
    ------
    ModelError
        If a file is missing; the message says which command writes it.
    SweepError, RecipeError
        If an axis has another form, matches nothing, or takes a value that its key does not.
    DataError
        If the images are missing or do not suit the network.
    """
    folder = run if isinstance(run, RunFolder) else RunFolder(run)
    given = (axes,) if isinstance(axes, (str, Axis)) else tuple(axes)
    parsed = parse_axes([str(axis) for axis in given])
    if data is None:
        images = chosen(load_run_data(RunFolder.open(folder.path)), split)
    elif isinstance(data, Split):
        images = data
    else:
        images = chosen(data if isinstance(data, Dataset) else load_data(data), split)
    return sweep_points(
        folder, images, parsed, sensitivity=sensitivity, out=out, workers=workers, retry=retry, progress=progress
    )


@check_keywords
def report(
    networks: Network | Sequence[Network] | Mapping[str, Network],
    folder: str | os.PathLike[str],
    *,
    title: str = "Multiplication-free networks",
    array: CimArray | str | None = None,
) -> pathlib.Path:
    """Write report.html, report.json, report.md and csv/*.csv of some networks, side by side; return the page's path.

    Parameters
    ----------
    networks : NetworkResult, Program, RunFolder or path, or several of them
        A path is that of a run folder that has been simulated. A program is shown with its operations, widths and
        memory. A dict gives programs their names; one without is called `network`.
    folder : folder
        Made where it is missing; files of an earlier report are replaced.
    title : str
        Heading of the page.
    array : CimArray, or what `mfsim.cim.load_array` takes
        Show what run folders and programs cost on this in-memory-compute array too.

    Raises
    ------
    DataError
        If there is no network, or two have one name.
    ModelError
        If a file of a run folder is missing; the message says which command writes it.
    CountError
        If something in a program cannot be counted.
    """
    on = load_array(array) if isinstance(array, str) else array
    if isinstance(networks, Mapping):
        results = [_result(network, name, on) for name, network in networks.items()]
    elif isinstance(networks, (NetworkResult, Program, RunFolder, str, os.PathLike)):
        results = [_result(networks, "network", on)]
    else:
        results = [_result(network, "network", on) for network in networks]
    return write_report(results, folder, title)


def _result(network: Network, name: str, array: CimArray | None) -> NetworkResult:
    if isinstance(network, NetworkResult):
        return network
    if not isinstance(network, Program):
        return summary(network if isinstance(network, RunFolder) else RunFolder.open(network), array)
    counts, words, needed = count(network), widths(network), memory(network)
    return NetworkResult(
        name=name,
        accuracy={},
        parity=(),
        counts=counts,
        words=words,
        memory=needed,
        layers=layers(network, counts, words, needed),
        energy=energy(counts),
        cim=map_program(network, array) if array is not None else None,
    )

"""What a sweep leaves for a person: sweep.csv, sweep.json, and a picture of each kind that it has numbers for."""

from __future__ import annotations

import pathlib
from dataclasses import replace

from mfsim.analysis.listing import write_listings, write_text
from mfsim.analysis.sweeps import SweepReport
from mfsim.keywords import check_keywords
from mfsim.report.sweeps import sweep_pictures
from mfsim.run_folder import RunFolder, read_json, write_json
from mfsim.sweep.keys import file_digest

FOLDER = "sweeps"
"""Where the sweeps of a run folder are."""


@check_keywords
def write_sweep(report: SweepReport, folder: pathlib.Path) -> None:
    """Write tables and pictures of `report` into `folder`; the same report gives the same bytes.

    Pictures of an earlier call that this one has no numbers for are removed.

    Parameters
    ----------
    report : SweepReport
        The sweep.
    folder : pathlib.Path
        Where `sweep.csv`, `sweep.json` and the .svg pictures go.

    Raises
    ------
    MfsimError
        If the folder cannot be made or written to.
    """
    write_listings([report.listing()], folder)
    pictures = {f"{picture.stem}.svg": picture.file() for picture in sweep_pictures("sweep", report)}
    for name, text in pictures.items():
        write_text(folder / name, text)
    for path in folder.glob("*.svg"):
        if path.name not in pictures:
            path.unlink()
    write_json(folder / "sweep.json", report.to_json())


@check_keywords
def read_sweeps(run: RunFolder) -> tuple[SweepReport, ...]:
    """Return the sweeps of a run folder by name; those of an earlier model.onnx say so.

    Parameters
    ----------
    run : RunFolder
        The run folder, with its model.onnx.

    Returns
    -------
    tuple of SweepReport
        Empty without sweeps; `outdated` is True for those of an earlier model.onnx.

    Raises
    ------
    ModelError
        If a sweep.json is damaged, or there are sweeps but no model.onnx.
    """
    paths = sorted((run.path / FOLDER).glob("*/sweep.json"))
    if not paths:
        return ()
    now = file_digest(run.need("model.onnx"))
    found = [SweepReport.from_json(read_json(path)) for path in paths]
    return tuple(replace(report, outdated=report.about.get("model.onnx") != now) for report in found)

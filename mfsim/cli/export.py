"""`mfsim export`: float.onnx and model.onnx."""

from __future__ import annotations

from typing import Annotated

import typer

from mfsim.cli.options import Debug, Json, Run
from mfsim.cli.session import session

Allow = Annotated[
    bool,
    typer.Option(
        "--allow-inexact", help="Write the file even if a sum may exceed 2^24, beyond which float32 is inexact."
    ),
]


def command(run: Run, allow_inexact: Allow = False, json: Json = False, debug: Debug = False) -> None:
    """Write the float and the quantized network as ONNX files that stock ONNX Runtime runs.\f

    Parameters
    ----------
    run : path
        Run folder after `mfsim quantize`.
    allow_inexact : bool
        Whether to write the file even if a sum may exceed 2**24, beyond which float32 is inexact.
    json : bool
        Whether to print one JSON object on stdout and nothing else.
    debug : bool
        Whether to show tracebacks and warnings.
    """  # noqa: D301, D400
    with session(json, debug) as out:
        from mfsim.run_folder import RunFolder
        from mfsim.workflow.steps import export_step

        folder = RunFolder.open(run)
        with out.stages(str(folder)) as stages:
            stages("export", 0, 1)
            export_step(folder, allow_inexact=allow_inexact)
        files = [folder.file(name) for name in ("float.onnx", "model.onnx")]
        out.result(files=[str(path) for path in files])
        for path in files:
            out.say(f"{path}, {path.stat().st_size:,} bytes")
        out.say(f"next: mfsim check {folder}")

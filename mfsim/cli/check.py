"""`mfsim check`: the exported files in ONNX Runtime against their torch models."""

from __future__ import annotations

from typing import Annotated

import typer

from mfsim.cli.options import Data, Debug, Json, Run, SplitName
from mfsim.cli.session import session

Difference = Annotated[
    float, typer.Option(min=0.0, help="float.onnx: allowed difference, as a fraction of the largest output.")
]
Ties = Annotated[float, typer.Option(min=0.0, max=1.0, help="float.onnx: allowed fraction of samples with a sign tie.")]
Mismatches = Annotated[
    int,
    typer.Option(min=0, help="model.onnx: allowed number of output codes that differ from the quantized torch model."),
]
Top1 = Annotated[float | None, typer.Option(min=0.0, max=1.0, help="Required top-1 agreement of quantized with float.")]
Sqnr = Annotated[float | None, typer.Option(help="Required SQNR of each quantized output, in dB.")]


def command(
    run: Run,
    data: Data = None,
    split: SplitName = "test",
    max_difference: Difference = 1e-5,
    max_sign_ties: Ties = 0.005,
    max_code_mismatches: Mismatches = 0,
    min_top1: Top1 = None,
    min_sqnr: Sqnr = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Compare float.onnx and model.onnx in ONNX Runtime, optimisations on and off, with the torch models.\f

    Parameters
    ----------
    run : path
        Run folder after `mfsim export`.
    data : str, optional
        Name or path of a data set; the one of the training where left out.
    split : {"test", "validation", "train"}
        Split of the data set.
    max_difference : float
        float.onnx: allowed difference, at least 0, as a fraction of the largest output.
    max_sign_ties : float
        float.onnx: allowed fraction of samples with a sign tie, in 0..1.
    max_code_mismatches : int
        model.onnx: allowed number of output codes that differ, at least 0.
    min_top1 : float, optional
        Required top-1 agreement of quantized with float, in 0..1.
    min_sqnr : float, optional
        Required SQNR of each quantized output, in dB.
    json : bool
        Whether to print one JSON object on stdout and nothing else.
    debug : bool
        Whether to show tracebacks and warnings.
    """  # noqa: D301, D400
    with session(json, debug) as out:
        from mfsim.errors import ParityError
        from mfsim.export.check_report import Limits
        from mfsim.run_folder import RunFolder
        from mfsim.workflow.steps import check_step

        limits = Limits(max_difference, max_sign_ties, max_code_mismatches, min_top1, min_sqnr)
        with out.stages("check") as stages:
            report = check_step(RunFolder.open(run), data, limits=limits, split=split, progress=stages)
        out.result(**report.to_json())
        on = {True: "on", False: "off"}
        out.table(
            "float.onnx against the float torch model",
            ("optimisations", "samples", "largest difference", "sign ties", "failures"),
            [(on[p.optimised], p.samples, p.worst, len(p.ties), len(p.failures)) for p in report.floats],
        )
        out.table(
            "model.onnx against the quantized torch model",
            ("optimisations", "codes compared", "codes that differ", "by at most (LSB)"),
            [(on[p.optimised], p.compared, p.mismatches, p.worst) for p in report.codes],
        )
        figures = [(entry.name, entry.figures) for entry in (*report.layers, *report.outputs)]
        out.table(
            "model.onnx against float, by layer and output",
            ("of", "max error", "mean error", "SQNR (dB)", "cosine", "top-1 agreement"),
            [(name, f.max_abs, f.mean_abs, "exact" if f.exact else f.sqnr_db, f.cosine, f.top1) for name, f in figures],
        )
        if not report.passed:
            raise ParityError("; ".join(report.reasons))
        out.say("passed", "green")

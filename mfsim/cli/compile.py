"""`mfsim compile`: model.onnx, or a QONNX, QDQ or QLinear file of another tool, to the integer program in integer.onnx."""

from __future__ import annotations

import pathlib
from typing import Annotated

import typer

from mfsim.cli.options import Debug, Json
from mfsim.cli.session import session

Source = Annotated[
    pathlib.Path, typer.Argument(help="A run folder, a quantized model.onnx, or a quantized third-party file.")
]
File = Annotated[
    pathlib.Path | None, typer.Option("--out", help="Output file; default: integer.onnx beside the model.")
]
Bits = Annotated[
    int | None,
    typer.Option(
        "--multiplier-bits",
        help="Bits of the fixed-point multipliers for scales that are not powers of two; 0 refuses such scales. "
        "Default: 31 for a third-party file, 0 for one of mfsim.",
        show_default=False,
    ),
]
Inputs = Annotated[
    pathlib.Path | None,
    typer.Option("--measure", help="Inputs as .npy; compare the program with ONNX Runtime on them."),
]


def command(
    source: Source,
    out_file: File = None,
    multiplier_bits: Bits = None,
    measure: Inputs = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Compile a quantized model to an integer program and save it as integer.onnx.\f

    Parameters
    ----------
    source : path
        Run folder, quantized model.onnx or quantized third-party file.
    out_file : path, optional
        Output file; integer.onnx beside the model where left out.
    multiplier_bits : int, optional
        Bits of fixed-point multipliers; 0 refuses scales that need them.
    measure : path, optional
        Inputs as .npy, on which the program is compared with ONNX Runtime.
    json : bool
        Whether to print one JSON object on stdout and nothing else.
    debug : bool
        Whether to show tracebacks and warnings.
    """  # noqa: D301, D400
    with session(json, debug) as out:
        from mfsim.compiler import approximations
        from mfsim.run_folder import RunFolder
        from mfsim.workflow.steps import compile_file, compile_step, measure_file

        model = RunFolder.open(source).need("model.onnx") if source.is_dir() else source
        if source.is_dir() and out_file is None and multiplier_bits is None:
            run = RunFolder.open(source)
            program, path = compile_step(run), run.file("integer.onnx")
        else:
            path = out_file or model.with_name("integer.onnx")
            program = compile_file(model, path, multiplier_bits=multiplier_bits)
        rows = [
            (
                node.layer,
                node.op,
                tensor.name,
                " ".join(map(str, tensor.shape[1:])),
                str(tensor.format),
                str(tensor.scale),
            )
            for node in program.nodes
            for tensor in program.outputs_of(node)
        ]
        out.table("Integer program", ("layer", "op", "tensor", "shape", "word", "scale"), rows)
        notes = approximations(program)
        if notes:
            out.table("Approximations", ("what is not exact",), [(note,) for note in notes])
        errors = [] if measure is None else measure_file(model, program, measure)
        for error in errors:
            out.say(str(error))
        out.say(f"{len(program.nodes)} nodes written to {path}; digest {program.digest()}")
        out.result(
            path=str(path),
            digest=program.digest(),
            nodes=len(program.nodes),
            inputs=list(program.inputs),
            outputs=list(program.outputs),
            approximations=notes,
            measured=[
                {"output": e.name, "compared": e.compared, "different": e.different, "greatest_lsb": e.greatest}
                for e in errors
            ],
        )

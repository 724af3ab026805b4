"""`mfsim compile`: model.onnx to the integer program, saved as integer.onnx."""

from __future__ import annotations

import pathlib
from typing import Annotated

import typer

from mfsim.cli.options import Debug, Json
from mfsim.cli.session import session

Source = Annotated[pathlib.Path, typer.Argument(help="A run folder, or a quantized model.onnx.")]
File = Annotated[pathlib.Path | None, typer.Option("--out", help="The file; default integer.onnx beside the model.")]


def command(source: Source, out_file: File = None, json: Json = False, debug: Debug = False) -> None:
    """Compile a quantized model to an integer program and save it as integer.onnx."""
    with session(json, debug) as out:
        from mfsim.pipeline import compile_file, compile_step
        from mfsim.run import RunFolder

        if source.is_dir() and out_file is None:
            run = RunFolder.open(source)
            program, path = compile_step(run), run.file("integer.onnx")
        else:
            model = RunFolder.open(source).need("model.onnx") if source.is_dir() else source
            path = out_file or model.with_name("integer.onnx")
            program = compile_file(model, path)
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
        out.say(f"{len(program.nodes)} nodes written to {path}; digest {program.digest()}")
        out.result(
            path=str(path),
            digest=program.digest(),
            nodes=len(program.nodes),
            inputs=list(program.inputs),
            outputs=list(program.outputs),
        )

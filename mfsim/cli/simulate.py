"""`mfsim simulate`: the integer program over a data set, bit for bit."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mfsim.cli.options import Data, Debug, Json, SplitName, Target
from mfsim.cli.session import Session, session
from mfsim.workflow.settings import DEFAULTS

if TYPE_CHECKING:
    from mfsim.data import Split
    from mfsim.ir.program import Program

Threads = Annotated[int | None, typer.Option(min=1, help="Number of threads; default: one for each core.")]
Trace = Annotated[
    pathlib.Path | None,
    typer.Option(help="Write the codes of every edge into this folder, as .npy and .hex.", show_default=False),
]
References = Annotated[int, typer.Option(min=0, help="Run folder: number of samples that the reference computes, too.")]
ExactWords = Annotated[
    bool,
    typer.Option(
        "--exact-words",
        help="Check each intermediate value against its proved word; slow: some million operations a second.",
    ),
]
OutputsOnly = Annotated[
    bool, typer.Option("--outputs-only", help="Run folder: compare the outputs of the files alone, not every edge.")
]
Samples = Annotated[int | None, typer.Option(min=1, help="Use only the first samples.")]


def command(
    target: Target,
    data: Data = None,
    split: SplitName = "test",
    samples: Samples = None,
    trace: Trace = None,
    batch_size: Annotated[
        int | None, typer.Option(min=1, help="Batch size; default: as many samples as fit the cache of a core.")
    ] = None,
    threads: Threads = None,
    exact_words: ExactWords = False,
    references: References = DEFAULTS.reference_samples,
    outputs_only: OutputsOnly = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Simulate the integer program on a data set: accuracy, observed ranges, overflow events.

    The program of a run folder is also compared, code by code, with the quantized torch model, model.onnx,
    integer.onnx (both on every edge) and the reference, and layer by layer with the float network.

    \f

    Parameters
    ----------
    target : path
        Run folder, quantized model.onnx or integer.onnx.
    data : str, optional
        Name or path of a data set; the one of the training where left out, needed for a file.
    split : {"test", "validation", "train"}
        Split of the data set.
    samples : int, optional
        Number of first samples to use, at least 1.
    trace : path, optional
        Folder that the codes of every edge are written to.
    batch_size : int, optional
        Samples of a chunk, at least 1; as many as fit the cache of a core where left out.
    threads : int, optional
        Threads, at least 1; one for each core where left out.
    exact_words : bool
        Whether to check each intermediate value against its proved word.
    references : int
        Run folder: samples that the reference computes too, at least 0.
    outputs_only : bool
        Run folder: whether to compare the outputs of the files alone, not every edge.
    json : bool
        Whether to print one JSON object on stdout and nothing else.
    debug : bool
        Whether to show tracebacks and warnings.
    """  # noqa: D301
    with session(json, debug) as out:
        from mfsim.run_folder import RunFolder, load_program

        options = {"trace": trace, "batch_size": batch_size, "threads": threads, "exact_words": exact_words}
        if target.is_dir():
            RunFolder.open(target).need("integer.onnx")
            _verify(
                out,
                load_program(target),
                target,
                data,
                split,
                samples,
                references,
                {**options, "edges": not outputs_only},
            )
        elif data is None:
            raise typer.BadParameter("a file needs --data, which says what it is simulated on")
        else:
            _simulate(out, load_program(target), data, split, samples, options)


def _simulate(
    out: Session, program: Program, data: str, split: str, samples: int | None, options: Mapping[str, Any]
) -> None:
    """Simulate a program that comes from a file alone."""
    from mfsim import data as datasets
    from mfsim.simulate import simulate
    from mfsim.simulate.values import classes

    images = _first(getattr(datasets.load(data), split), samples)
    with out.progress("simulate") as progress:
        found = simulate(program, images.images, observe=True, progress=progress, **options)
    accuracy = float((classes(program, found.output) == images.labels).mean())
    out.result(samples=found.samples, accuracy=accuracy, observed=found.observed, overflows=found.overflows)
    _ranges(out, program, found.observed, found.overflows)
    out.say(f"{accuracy:.2%} of {found.samples} samples are classified correctly")


def _verify(
    out: Session,
    program: Program,
    target: pathlib.Path,
    data: str | None,
    split: str,
    samples: int | None,
    references: int,
    options: Mapping[str, Any],
) -> None:
    """Simulate a run folder's program, and compare it with everything else in the folder."""
    from mfsim.errors import ParityError
    from mfsim.run_folder import RunFolder
    from mfsim.workflow.images import load_data
    from mfsim.workflow.steps import load_quantized
    from mfsim.workflow.verify import simulate_step

    run = RunFolder.open(target)
    images = _first(getattr(load_data(run, data), split), samples)
    whole = data is None and split == "test" and samples is None
    quantized = load_quantized(run)
    with out.stages("simulate") as stages:
        found = simulate_step(
            run, program, images, quantized=quantized, references=references, record=whole, progress=stages, **options
        )
    out.result(**found.to_json())
    _ranges(out, program, found.observed, found.overflows)
    (listing,) = found.errors.listings()
    out.listing(listing, "Codes against float, by layer")
    for listing in found.added.listings():
        out.listing(listing, "What each integer function adds, in LSB of its result")
    out.table(
        "Realisations, code by code",
        ("pair", "compared", "that differ"),
        [(pair.name, pair.compared, pair.mismatches) for pair in found.parity],
    )
    out.say(f"{found.accuracy:.2%} of {found.samples} samples are classified correctly")
    for pair in found.parity:
        if pair.mismatches:
            raise ParityError(f"{pair.name}: {pair.mismatches} of {pair.compared} codes differ")
    out.say("every code is equal in every realisation", "green")


def _first(split: Split, samples: int | None) -> Split:
    return split if samples is None else split.first(samples)


def _ranges(
    out: Session, program: Program, observed: Mapping[str, tuple[int, int]], overflows: Mapping[str, int]
) -> None:
    rows = []
    for node in program.nodes:
        for name in node.outputs:
            tensor = program.tensors[name]
            seen = observed.get(name, (None, None))
            bounds = (tensor.range.low, tensor.range.high)
            rows.append((node.layer, node.op, name, str(tensor.format), *bounds, *seen, overflows.get(node.name)))
    columns = ("layer", "op", "tensor", "word", "proved lo", "proved hi", "observed lo", "observed hi", "overflows")
    out.table("Ranges of the codes", columns, rows)

"""`mfsim cim`: what a network costs on in-memory-compute arrays."""

from __future__ import annotations

import pathlib
from typing import Annotated

import typer

from mfsim.cli.options import ArrayName, Debug, Json, Target
from mfsim.cli.session import session

Rows = Annotated[int | None, typer.Option(help="Rows of the array.")]
Columns = Annotated[int | None, typer.Option(help="Columns of the array.")]
CellBits = Annotated[int | None, typer.Option(help="Bits that one cell stores.")]
ConverterBits = Annotated[str | None, typer.Option(help="Bits of the converters, or ideal.")]
InputBits = Annotated[int | None, typer.Option(help="Bits that a line carries in one step.")]
SharedBy = Annotated[int | None, typer.Option(help="Number of sums that share one converter.")]
CycleNs = Annotated[float | None, typer.Option(help="Cycle time in ns; default: the delay of the converter model.")]
Csv = Annotated[pathlib.Path | None, typer.Option(help="Write every table as CSV into this folder.")]

COLUMNS = (
    "layer",
    "op",
    "tiles",
    "steps",
    "dense_steps",
    "activations",
    "conversions",
    "adds",
    "cycles",
    "utilisation",
    "lossless_bits",
    "missing_bits",
    "pj",
    "digital_pj",
)


def command(
    target: Target,
    array: ArrayName = "mf-net-8x62",
    rows: Rows = None,
    columns: Columns = None,
    cell_bits: CellBits = None,
    converter_bits: ConverterBits = None,
    input_bits: InputBits = None,
    shared_by: SharedBy = None,
    cycle_ns: CycleNs = None,
    csv: Csv = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Map products and transforms to in-memory-compute arrays: tiles, steps, conversions, adders, energy.

    The options after `--array` override single properties of that array.

    \f

    Parameters
    ----------
    target : path
        Run folder, quantized model.onnx or integer.onnx.
    array : str
        Name of a shipped array, or a TOML file.
    rows, columns : int, optional
        Size of the array.
    cell_bits : int, optional
        Bits that one cell stores.
    converter_bits : str, optional
        Bits of the converters, or "ideal".
    input_bits : int, optional
        Bits that a line carries in one step.
    shared_by : int, optional
        Sums that share one converter.
    cycle_ns : float, optional
        Cycle time in ns; the delay of the converter model where left out.
    csv : path, optional
        Folder that every table is written to as CSV.
    json : bool
        Whether to print one JSON object on stdout and nothing else.
    debug : bool
        Whether to show tracebacks and warnings.
    """  # noqa: D301
    with session(json, debug) as out:
        from mfsim.cim import load_array, map_program
        from mfsim.run_folder import load_program

        bits = int(converter_bits) if converter_bits and converter_bits.isdecimal() else converter_bits
        given = {
            "rows": rows,
            "columns": columns,
            "cell_bits": cell_bits,
            "converter_bits": bits,
            "input_bits": input_bits,
            "shared_by": shared_by,
            "cycle_ns": cycle_ns,
        }
        chosen = load_array(array).changed(**{key: value for key, value in given.items() if value is not None})
        report = map_program(load_program(target), chosen)
        if csv is not None:
            report.write_csv(csv)
        out.result(**report.to_json())
        listings = {listing.name: listing for listing in report.listings()}
        if report.nodes:
            nodes = listings["cim_nodes"].records()
            out.table(
                f"On {chosen.name}, one sample",
                [c.replace("_", " ") for c in COLUMNS],
                [[n[c] for c in COLUMNS] for n in nodes],
            )
        out.listing(listings["cim_digital"], "In digital logic")
        out.listing(listings["cim_totals"], "Totals of one sample")
        out.listing(listings["cim_energy_by_basis"], "What the energy rests on")
        if chosen.source:
            out.say(chosen.source)
        if not report.nodes:
            out.say(f"no node can use the array {chosen.name}", "yellow")
        missing = [f"`{node.node}` ({node.missing_bits})" for node in report.nodes if node.missing_bits]
        if missing:
            out.say(f"converters lack bits, so sums are not exact, at {', '.join(missing)}", "yellow")

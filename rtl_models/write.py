"""`write`: a block as a folder for a hardware designer; `read` gives its parameters and vectors back.

    <top>.sv, <block>.sv, ...   SystemVerilog; <top> has the parameters filled in
    <top>_tb.sv                 a bench that plays the vectors and compares every output
    x_i.hex, ..., y_o.hex       one vector a line (`hexfile.py`)
    parameters.json             choices, derived numbers, ports, files
    README.md                   the same for a person

A new folder appears whole or not at all; one that holds a block already is replaced.
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import tempfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from mfsim.errors import DataError
from mfsim.rtl_models import blocks
from mfsim.rtl_models.bench import bench
from mfsim.rtl_models.block import Codes, Parameters, Port, documented
from mfsim.rtl_models.hexfile import port_codes, port_lines
from mfsim.rtl_models.stimuli import vectors as made_vectors

DESCRIPTION = "parameters.json"
LAYOUT = "mfsim rtl 1"


def write(
    block: str,
    values: Mapping[str, Any] | Parameters,
    folder: str | os.PathLike[str],
    *,
    vectors: int | Mapping[str, np.ndarray] = 1000,
    seed: int = 0,
) -> dict[str, Any]:
    """Write a block with vectors, and return what parameters.json says.

    Parameters
    ----------
    block : a name in `BLOCKS`.
    values : its parameters by name (what is left out has its default), or its parameter object.
    folder : new or empty, or one that holds a block, which is replaced.
    vectors : how many to make, extreme words among them; or integer codes of each input port by name,
        [vectors, words]. The outputs come from the op's kernel.
    seed : of the made vectors.

    Raises
    ------
    UnsupportedOpError, FormatError
        If there is no such block or parameter.
    DataError, ShapeError, RangeError
        If the vectors are not of the ports, or the folder cannot be written.
    """
    parameters = blocks.parameters(block, values)
    inputs = made_vectors(parameters, vectors, seed)
    outputs = parameters.expected(inputs)
    count = len(inputs[parameters.inputs[0].name])
    files: dict[str, bytes] = {name: text.encode() for name, text in parameters.texts().items()}
    sources = list(files)
    files[f"{parameters.top}_tb.sv"] = bench(parameters, count).encode()
    for name, port in _ports(parameters).items():
        files[f"{name}.hex"] = port_lines({**inputs, **outputs}[port.name], port)
    described = {
        "layout": LAYOUT,
        "block": block,
        "parameters": parameters.choices(),
        **documented(parameters),
        "sources": sources,
        "bench": f"{parameters.top}_tb.sv",
        "vectors": count,
    }
    files["README.md"] = _readme(parameters, described).encode()
    files[DESCRIPTION] = (json.dumps(described, indent=1) + "\n").encode()
    _put(pathlib.Path(folder), files)
    return described


def read(folder: str | os.PathLike[str]) -> tuple[Parameters, Codes]:
    """Parameters and vectors of a folder that `write` made.

    Parameters
    ----------
    folder : str or path
        Folder of a block.

    Returns
    -------
    parameters : Parameters
        Parameters of the block.
    dict of str to int64 array, shape (vectors, words of the port)
        Codes by port name, outputs too.

    Raises
    ------
    DataError
        If the folder holds no block or is damaged.
    """
    folder = pathlib.Path(folder)
    described = _described(folder)
    if not described:
        raise DataError(f"`{folder}` holds no block of mfsim")
    try:
        parameters = blocks.parameters(described["block"], described["parameters"])
        codes = {
            port.name: port_codes((folder / f"{name}.hex").read_bytes(), port)
            for name, port in _ports(parameters).items()
        }
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise DataError(f"the block in `{folder}` is damaged: {error}") from error
    return parameters, codes


def _ports(parameters: Parameters) -> dict[str, Port]:
    """Return the data ports by their names in SystemVerilog."""
    ports = {f"{port.name}_i": port for port in parameters.inputs}
    return {**ports, f"{parameters.output.name}_o": parameters.output}


def _described(folder: pathlib.Path) -> dict[str, Any]:
    """Return parameters.json of a folder, empty if it holds no block."""
    try:
        described = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
        return described if described["layout"] == LAYOUT else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _readme(parameters: Parameters, described: Mapping[str, Any]) -> str:
    rows = [
        f"| `{port['name']}` | {port['words']} | {port['bits']} | {'signed' if port['signed'] else 'unsigned'} |"
        for port in described["ports"]
    ]
    chosen = ", ".join(f"{name} = {value}" for name, value in described["parameters"].items())
    clocked = parameters.latency > 0
    timing = (
        f"{parameters.latency} clock cycles from `valid_i` to `valid_o`, one result each cycle. `rst_ni` (asynchronous, "
        "active low) clears `valid_o`; data registers have no reset."
        if clocked
        else "0: the block has no clock."
    )
    return "\n".join(
        [
            f"# {parameters.top}",
            "",
            f"{parameters.summary[0].upper()}{parameters.summary[1:]}, written by mfsim.",
            "",
            f"    {parameters.equation}",
            "",
            f"- Parameters: {chosen}.",
            f"- Latency: {timing}",
            f"- Adders and subtractors: {parameters.adders}. Multipliers: none.",
            "",
            "| port | words | bits of a word | sign |",
            "| --- | --- | --- | --- |",
            *rows,
            "",
            "Word i of a port lies in bits i*B to i*B + B - 1, B the bits of a word.",
            "",
            f"The `.hex` files hold {described['vectors']} vectors, one port value a line for `$readmemh`: line k of",
            f"`y_o.hex` is the result of line k of the inputs. `{described['bench']}` plays them and prints PASS or FAIL:",
            "",
            f"    verilator --binary --timing --top {parameters.top}_tb {' '.join(described['sources'])} {described['bench']}",
            f"    ./obj_dir/V{parameters.top}_tb",
            "",
        ]
    )


def _put(folder: pathlib.Path, files: Mapping[str, bytes]) -> None:
    """Write the files into a draft beside `folder`, then put it in place."""
    try:
        if folder.exists() and (not folder.is_dir() or (os.listdir(folder) and not _described(folder))):
            raise DataError(f"`{folder}` must be a new or empty folder, or hold a block already")
        parent = folder.absolute().parent
        parent.mkdir(parents=True, exist_ok=True)
        draft = pathlib.Path(tempfile.mkdtemp(prefix=".rtl-", dir=parent))
        try:
            draft.chmod(0o755)
            for name, content in files.items():
                (draft / name).write_bytes(content)
            old = _described(folder)
            for name in (
                *old.get("sources", ()),
                old.get("bench", ""),
                *(f"{p['name']}.hex" for p in old.get("ports", ())),
            ):
                (folder / pathlib.Path(name or DESCRIPTION).name).unlink(missing_ok=True)
            folder.mkdir(exist_ok=True)
            for name in files:
                (draft / name).replace(folder / name)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    except OSError as error:
        raise DataError(f"the block cannot be written to `{folder}`: {error.strerror}") from error

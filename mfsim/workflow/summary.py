"""Gather what the files of a run folder say into the result that a report shows."""

from __future__ import annotations

import importlib.metadata
import platform

from mfsim import __version__
from mfsim.analysis import count, energy, layers, memory, widths
from mfsim.cim import CimArray, map_program
from mfsim.report import NetworkResult
from mfsim.run_folder import RunFolder, load_program
from mfsim.sweep.output import read_sweeps
from mfsim.workflow.verify import read_verification

TOOLS = ("numpy", "numba", "torch", "brevitas", "onnx", "onnxruntime")
"""Packages whose versions may decide a last bit."""


def tool_versions() -> dict[str, str]:
    """Return the versions of what makes and runs the networks."""
    packages = {name: importlib.metadata.version(name) for name in TOOLS}
    return {"mfsim": __version__, "python": platform.python_version(), **packages}


def summary(run: RunFolder, array: CimArray | None = None) -> NetworkResult:
    """Return the result of a run folder whose steps have all run, with what it costs on `array` if one is given.

    Parameters
    ----------
    run : RunFolder
        Run folder after `mfsim simulate`.
    array : CimArray, optional
        In-memory-compute array.

    Returns
    -------
    NetworkResult
        Accuracy, parity, operations, memory and energy of one network.

    Raises
    ------
    ModelError
        If a file is missing; the message says which command writes it.
    CountError
        If something in the program cannot be counted.
    """
    about, verified, program = run.read(), read_verification(run), load_program(run.path)
    counts, words, needed = count(program), widths(program, verified.simulation), memory(program)
    return NetworkResult(
        name=about["name"],
        accuracy=about["accuracy"],
        parity=verified.parity,
        counts=counts,
        words=words,
        memory=needed,
        layers=layers(program, counts, words, needed, verified.errors),
        errors=verified.errors,
        added=verified.added,
        info=_information(run),
        energy=energy(counts),
        cim=map_program(program, array) if array is not None else None,
        recipe=run.need("recipe.toml").read_text(encoding="utf-8"),
        sweeps=read_sweeps(run),
    )


def _information(run: RunFolder) -> dict[str, dict[str, str]]:
    """Return sections of texts about the run: model, data, training, quantization, check, tools."""
    about = run.read()
    rules = ", ".join(f"{rule['match']} to {rule['to']}" for rule in about.get("convert", ()))
    sections: dict[str, dict[str, object]] = {
        "Model": {
            "model": about["model"],
            **about["options"],
            **({"converted": rules} if rules else {}),
            "seed": about["seed"],
        },
        "Data": {
            "data": about["data"],
            "input shape": about["input_shape"],
            "classes": about["classes"],
            **about["samples"],
        },
        "Training": about["training"],
        "Quantization": about.get("quantization", {}),
        "Tools": about["tools"],
    }
    if run.has("check.json"):
        checked = run.read("check.json")
        sections["Check against float"] = {
            "passed": checked["passed"],
            "samples": checked["samples"],
            "float.onnx, largest difference": max(f"{entry['worst']:.2g}" for entry in checked["floats"]),
            "float.onnx, sign ties": max(len(entry["ties"]) for entry in checked["floats"]),
            "model.onnx, codes that differ": max(entry["mismatches"] for entry in checked["codes"]),
        }
    return {
        title: {key.replace("_", " "): _text(value) for key, value in entries.items()}
        for title, entries in sections.items()
    }


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        return " x ".join(str(entry) for entry in value)
    return str(value)

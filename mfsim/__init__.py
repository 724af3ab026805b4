"""mfsim: bit-true simulation, counting and export of multiplication-free networks.

The names below are the public surface; each is imported when it is first used, so `import mfsim` and
`mfsim --help` start neither torch nor Numba. Torch layers are in `mfsim.nn`, ONNX in `mfsim.export`.
"""

from __future__ import annotations

from mfsim.lazy import public

__version__ = "0.1.0"

_PUBLIC = {
    "mfsim.analysis": ("count", "energy", "memory", "strict_multiplication_free", "widths"),
    "mfsim.api.networks": ("check", "export", "quantize", "train"),
    "mfsim.api.runs": ("report", "sweep"),
    "mfsim.ir.builder": ("ProgramBuilder",),
    "mfsim.cim": ("CimArray", "map_program"),
    "mfsim.compiler": ("compile_model",),
    "mfsim.conversion": ("Conversion", "Rules", "convert"),
    "mfsim.data": ("Dataset", "Split"),
    "mfsim.errors": (
        "ArrayError",
        "ConversionError",
        "CountError",
        "DataError",
        "ExportError",
        "FailedPointsError",
        "FormatError",
        "KeywordError",
        "MfsimError",
        "MissingLibraryError",
        "ModelError",
        "ParityError",
        "RangeError",
        "RecipeError",
        "ShapeError",
        "SweepError",
        "UnsupportedOpError",
    ),
    "mfsim.ir.formats": ("Format", "Overflow", "Range", "Rounding", "Scale"),
    "mfsim.ir.program": ("Node", "Program", "Tensor"),
    "mfsim.parity.realisations": ("compare_realisations",),
    "mfsim.quant.recipe": ("Recipe",),
    "mfsim.report": ("write_report",),
    "mfsim.serialize.read": ("load", "read_integer"),
    "mfsim.run_folder": ("RunFolder", "load_program"),
    "mfsim.simulate.api": ("Simulation", "Simulator", "simulate"),
    "mfsim.workflow.settings": ("Settings",),
    "mfsim.workflow.steps": ("run_network",),
}
_HOME = {name: module for module, names in _PUBLIC.items() for name in names}

__all__ = ["__version__", *sorted(_HOME)]


__getattr__, __dir__ = public(__name__, _HOME)

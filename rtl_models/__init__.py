"""For hardware: golden vectors of a program (`vectors`), and models of blocks.

A block is a folder with its SystemVerilog, the parameter object from which every width follows, and a
cycle model. `write` puts a block with its vectors and a bench into a folder; `verify` proves it equal
to the software and free of multipliers.

The names below are imported when they are first used: the simulator takes no more than the vectors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mfsim.lazy import public

if TYPE_CHECKING:
    from mfsim.rtl_models.block import Parameters, Port
    from mfsim.rtl_models.blocks import BLOCKS, parameters
    from mfsim.rtl_models.mf_dot.parameters import MfDotParameters
    from mfsim.rtl_models.mf_term.parameters import MfTermParameters
    from mfsim.rtl_models.pipeline import CycleModel
    from mfsim.rtl_models.verify import BlockReport, verify
    from mfsim.rtl_models.wht.parameters import WhtParameters
    from mfsim.rtl_models.write import read, write

_HOME = {
    "BLOCKS": "blocks",
    "BlockReport": "verify",
    "CycleModel": "pipeline",
    "MfDotParameters": "mf_dot.parameters",
    "MfTermParameters": "mf_term.parameters",
    "Parameters": "block",
    "Port": "block",
    "WhtParameters": "wht.parameters",
    "parameters": "blocks",
    "read": "write",
    "verify": "verify",
    "write": "write",
}

__all__ = [
    "BLOCKS",
    "BlockReport",
    "CycleModel",
    "MfDotParameters",
    "MfTermParameters",
    "Parameters",
    "Port",
    "WhtParameters",
    "parameters",
    "read",
    "verify",
    "write",
]

__getattr__, __dir__ = public(__name__, {name: f"{__name__}.{home}" for name, home in _HOME.items()})

"""Proof that a block has no multiplier: the cells of its word-level netlist, by an allow-list and an exact count.

It reads the netlist before anything is mapped: there a product is still a `$mul` (after synthesis it
has become gates, and a check would prove nothing). A product made of conditional additions has no
`$mul`, but more adders than the block states.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from mfsim.errors import ParityError
from mfsim.rtl_models import yosys
from mfsim.rtl_models.block import Parameters

ADDERS = ("$add", "$sub", "$neg", "$alu", "$macc", "$macc_v2")


def word_cells(texts: Mapping[str, str], top: str) -> dict[str, int]:
    """Return how many word-level cells of each type module `top` consists of, sorted by type.

    Parameters
    ----------
    texts : mapping of str to str
        SystemVerilog by file name.
    top : str
        Name of the module.

    Returns
    -------
    dict of str to int
        Number of cells by type, such as "$add".

    Raises
    ------
    ToolError
        If Yosys is not installed, or stops.
    """
    module = yosys.netlist(texts, top, yosys.ELABORATE)[top]
    return dict(sorted(Counter(cell["type"] for cell in module["cells"].values()).items()))


def check_cells(parameters: Parameters, texts: Mapping[str, str], top: str) -> dict[str, int]:
    """Return the cells of a block after checking them.

    Parameters
    ----------
    parameters : Parameters
        The block, with its allow-list and its number of adders.
    texts : mapping of str to str
        SystemVerilog by file name.
    top : str
        Name of the block's module.

    Returns
    -------
    dict of str to int
        Number of cells by type, such as "$add".

    Raises
    ------
    ParityError
        If a cell is not in the block's allow-list, or the number of adders and subtractors is not the stated one.
    ToolError
        If Yosys is not installed, or stops.
    """
    cells = word_cells(texts, top)
    strange = sorted(set(cells) - parameters.cells)
    if strange:
        listed = ", ".join(f"{cells[kind]} `{kind}`" for kind in strange)
        raise ParityError(f"{top} has {listed}, and may consist of {', '.join(sorted(parameters.cells))} alone")
    adders = sum(cells.get(kind, 0) for kind in ADDERS)
    if adders != parameters.adders:
        raise ParityError(f"{top} has {adders} adders, not {parameters.adders}")
    return cells

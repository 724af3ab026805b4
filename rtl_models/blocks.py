"""The blocks by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from mfsim.errors import FormatError, UnsupportedOpError, did_you_mean
from mfsim.rtl_models.block import Parameters
from mfsim.rtl_models.mf_dot.parameters import MfDotParameters
from mfsim.rtl_models.mf_term.parameters import MfTermParameters
from mfsim.rtl_models.wht.parameters import WhtParameters

BLOCKS: dict[str, type[Parameters]] = {kind.block: kind for kind in (MfTermParameters, MfDotParameters, WhtParameters)}


def parameters(block: str, values: Mapping[str, Any] | Parameters) -> Parameters:
    """Return the parameter object of `block` from its chosen values; what is left out has its default.

    Parameters
    ----------
    block : str
        A key of `BLOCKS`.
    values : mapping of str or Parameters
        Chosen values by parameter name, or a finished object, which is returned as it is.

    Returns
    -------
    parameters : Parameters
        The checked parameters of the block.

    Raises
    ------
    UnsupportedOpError
        If there is no such block.
    FormatError
        If a parameter is unknown or impossible, or the object is of another block.

    Examples
    --------
    >>> parameters("wht", {"n": 16}).top
    'wht_n16_x8_natural'
    """
    if block not in BLOCKS:
        raise UnsupportedOpError(
            f"a block must be one of {', '.join(BLOCKS)}, not {block!r}{did_you_mean(block, BLOCKS)}"
        )
    if isinstance(values, Parameters):
        if values.block != block:
            raise FormatError(f"the parameters are those of block `{values.block}`, not of `{block}`")
        return values
    known = [field.name for field in fields(BLOCKS[block])]
    for name in values:
        if name not in known:
            raise FormatError(f"block `{block}` has no parameter `{name}`{did_you_mean(name, known)}")
    return BLOCKS[block](**values)

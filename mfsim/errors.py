"""Errors of mfsim, each one sentence: *"`frac_bits` must be in 0..31, not 40"*.

Every error that a user can cause derives from `MfsimError`; where a builtin error is expected as
well (a bad value, a bad type), the class also derives from that builtin. `did_you_mean` writes the
hint for a mistyped name.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class MfsimError(Exception):
    """Base class of all errors that mfsim raises."""


class FormatError(MfsimError, ValueError):
    """A word length, scale, rounding or overflow rule is not allowed."""


class LostScaleError(FormatError):
    """A scale varies along an axis that an operation does not keep."""


class RangeError(MfsimError, ValueError):
    """A proved range does not fit the word it has to fit, or does not fit 63 bits."""


class WordOverflowError(MfsimError, OverflowError):
    """A value does not fit the word that was proved for it."""


class ShapeError(MfsimError, ValueError):
    """A shape does not suit the operation."""


class UnsupportedOpError(MfsimError, ValueError):
    """A node, layer or option that mfsim does not know."""


class ModelError(MfsimError, ValueError):
    """A model file or a torch module cannot be used as it is."""


class ExportError(MfsimError, ValueError):
    """A model cannot be written to ONNX without losing something."""


class ParityError(MfsimError, ValueError):
    """Two realisations that must agree do not."""


class DataError(MfsimError, ValueError):
    """A data set is missing, damaged or of the wrong shape."""


class RecipeError(MfsimError, ValueError):
    """A quantization recipe says something that cannot be done."""


class SweepError(MfsimError, ValueError):
    """A sweep asks for something that cannot be done, or its folder belongs to another one."""


class ConversionError(MfsimError, ValueError):
    """Rules for a conversion say something that cannot be done."""


class FailedPointsError(SweepError):
    """Points of a sweep have failed; the others are finished."""


class ArrayError(MfsimError, ValueError):
    """A description of an in-memory-compute array says something that cannot be built."""


class CountError(MfsimError, ValueError):
    """Something in a program cannot be counted, or a counted limit is passed."""


class KeywordError(MfsimError, TypeError):
    """A function or a constructor was given a keyword that it does not have."""


class ToolError(MfsimError, RuntimeError):
    """A program that is needed is not installed, or failed."""


class MissingLibraryError(MfsimError, ImportError):
    """A Python library that is needed, and that mfsim does not require, is not installed."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `"; did you mean `x`?"` for the known name closest to `name`, or an empty string.

    Parameters
    ----------
    name : str
        Name that is not known.
    known : iterable of str
        Known names.

    Returns
    -------
    str
        The hint, to be put at the end of a message.
    """
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean `{close[0]}`?" if close else ""

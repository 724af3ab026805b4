"""Swap layers of an existing torch network for MF, Walsh-Hadamard and shift layers, by rules over module paths."""

from __future__ import annotations

from mfsim.conversion.convert import convert
from mfsim.conversion.report import Change, Conversion, Left
from mfsim.conversion.rules import Rule, Rules

__all__ = ["Change", "Conversion", "Left", "Rule", "Rules", "convert"]

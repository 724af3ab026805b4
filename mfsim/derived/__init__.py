"""Integers that derive from scales and words: tables, thresholds and guards of the integer functions.

Everything here is made from the correctly rounded function in mpmath, at 50 digits, and is a Python int
afterwards, so the torch layer, the file and the program hold the same codes on every machine. Who changes
a scale or a word makes them again.
"""

from __future__ import annotations

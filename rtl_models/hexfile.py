"""Vectors of a port as lines of hexadecimal digits, as `$readmemh` reads them into `[width-1:0]` words.

A line is the whole port: word 0 in its lowest bits, each word in two's complement, padded with zero
bits to whole digits.
"""

from __future__ import annotations

import numpy as np

from mfsim.errors import DataError
from mfsim.rtl_models.block import Port

_DIGITS = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)
_VALUES = np.full(256, 255, dtype=np.uint8)
_VALUES[_DIGITS] = np.arange(16)
_AT_ONCE = 4096


def port_lines(codes: np.ndarray, port: Port) -> bytes:
    r"""Return the `$readmemh` lines of a port: `codes` [vectors, words], one vector a line.

    Parameters
    ----------
    codes : int64 array, shape (vectors, words)
        Codes in the range of the port's word.
    port : Port
        The port, of `words` words.

    Returns
    -------
    bytes
        Hexadecimal digits of the port's bits, word 0 lowest, and a line feed for each vector.

    Examples
    --------
    >>> from mfsim.ir.formats import Format
    >>> port_lines(np.array([[1, -1], [2, 3]]), Port("x", 2, Format(6)))
    b'fc1\n0c2\n'
    """
    digits = (port.width + 3) // 4
    parts = []
    for start in range(0, len(codes), _AT_ONCE):
        some = codes[start : start + _AT_ONCE]
        bits = np.zeros((len(some), 4 * digits), dtype=np.uint8)
        bits[:, : port.width] = ((some[:, :, None] >> np.arange(port.word.bits)) & 1).reshape(len(some), port.width)
        lines = np.empty((len(some), digits + 1), dtype=np.uint8)
        lines[:, :digits] = _DIGITS[
            (bits.reshape(len(some), digits, 4) << np.arange(4, dtype=np.uint8)).sum(2)[:, ::-1]
        ]
        lines[:, digits] = ord("\n")
        parts.append(lines.tobytes())
    return b"".join(parts)


def port_codes(text: bytes, port: Port) -> np.ndarray:
    """Return the codes that `port_lines` wrote.

    Parameters
    ----------
    text : bytes
        The content of a .hex file.
    port : Port
        The port that it is of.

    Returns
    -------
    int64 array, shape (vectors, words)
        Codes in the range of the port's word.

    Raises
    ------
    DataError
        If a line has another length, no hexadecimal digit, or more bits than the port.
    """
    digits = (port.width + 3) // 4
    lines = np.frombuffer(text, dtype=np.uint8)
    if lines.size % (digits + 1) or (lines.reshape(-1, digits + 1)[:, digits] != ord("\n")).any():
        raise DataError(f"every line must have {digits} hexadecimal digits")
    nibbles = (
        _VALUES[lines.reshape(-1, digits + 1)[:, digits - 1 :: -1]] if lines.size else np.zeros((0, digits), np.uint8)
    )
    bits = ((nibbles[:, :, None] >> np.arange(4)) & 1).reshape(len(nibbles), 4 * digits)
    if (nibbles > 15).any() or bits[:, port.width :].any():
        raise DataError(f"every line must be a word of {port.width} bits")
    words = bits[:, : port.width].reshape(len(bits), port.length, port.word.bits).astype(np.int64)
    codes = (words << np.arange(port.word.bits)).sum(axis=2)
    sign = 1 << (port.word.bits - 1)
    return np.asarray((codes ^ sign) - sign if port.word.signed else codes, dtype=np.int64)

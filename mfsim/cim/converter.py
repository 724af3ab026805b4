"""Energy and delay of what makes an array analog: converters, line drivers, cells.

Source: the 28 nm models of ZigZag-IMC (`zigzag/hardware/architecture/imc_array.py`, `imc_unit.py`). The
converter and the driver are fits to measured macros; the cell is an estimate from gate capacitances:
half an ND2 gate for the product and half for its piece of the sum line.
"""

from __future__ import annotations

from mfsim.analysis.energy import ND2, Cost
from mfsim.cim.array import CimArray

SOURCES = (
    ("conversion", "(100*b + 0.001*4^b) * Vdd^2 fJ, fit", "ZigZag-IMC, 28 nm, successive approximation of b bits"),
    ("delay of a conversion", "b * (0.00653*cells + 0.640) ns, fit", "ZigZag-IMC, 28 nm, sum line of so many cells"),
    ("line", "50*b * Vdd^2 fJ, fit; 0 for one bit", "ZigZag-IMC, 28 nm, driver of b bits; one bit needs no DAC"),
    ("cell", "0.7 * Vdd^2 fJ, estimate", "ZigZag-IMC, 28 nm, half an ND2 each for the product and its sum line"),
)
"""(what, figure, source) of everything in this file."""


def conversion(array: CimArray, bits: int) -> Cost:
    """Return the energy of one analog-to-digital conversion to `bits` bits: the array's own figure, else the fit.

    Parameters
    ----------
    array : CimArray
        The array, whose `conversion_pj` or `vdd` (volts) counts.
    bits : int, at least 1
        Resolution of the converter in bits.

    Returns
    -------
    Cost
        Energy in pJ, with the basis "given" or "fit".

    Examples
    --------
    >>> round(conversion(CimArray(rows=8, columns=8, vdd=1.0), 5).pj, 6)
    0.501024
    """
    if array.conversion_pj is not None:
        return Cost(array.conversion_pj, "given")
    return Cost((100 * bits + 0.001 * 4**bits) * array.vdd**2 / 1000, "fit")


def conversion_ns(bits: int, cells: int) -> float:
    """Return the delay of one analog-to-digital conversion to `bits` bits of a sum line of `cells` cells.

    Parameters
    ----------
    bits : int, at least 1
        Resolution of the converter in bits.
    cells : int, at least 1
        Cells on the sum line.

    Returns
    -------
    float
        Nanoseconds.
    """
    return bits * (0.00653 * cells + 0.640)


def line(bits: int, vdd: float) -> Cost:
    """Return the energy of driving one line with a digit of `bits` bits; one bit needs no DAC.

    Parameters
    ----------
    bits : int, at least 1
        Bits of the digit that the line carries in one step.
    vdd : float
        Supply in volts.

    Returns
    -------
    Cost
        Energy in pJ, with the basis "fit".
    """
    return Cost(50 * bits * vdd**2 / 1000 if bits > 1 else 0.0, "fit")


def cell(vdd: float) -> Cost:
    """Return the energy of one active cell.

    Parameters
    ----------
    vdd : float
        Supply in volts.

    Returns
    -------
    Cost
        Energy in pJ, with the basis "estimate".
    """
    return Cost(ND2 * vdd**2 / 1000, "estimate")


def used_bits(array: CimArray, lossless_bits: int) -> int:
    """Return the resolution of the array's converter; an ideal one is charged as one that is just loss-free.

    Parameters
    ----------
    array : CimArray
        The array; its `converter_bits` is None for an ideal converter.
    lossless_bits : int, at least 1
        Bits that tell all values of the sum apart.

    Returns
    -------
    int
        Bits of the conversion.
    """
    return lossless_bits if array.converter_bits is None else array.converter_bits

"""A million codes, element by element, beside fxpmath and apytypes: requantize and add; one thread, the same codes."""

from __future__ import annotations

import apytypes
import fxpmath
import numpy as np
import pytest

from benchmarks.rows import medians
from mfsim.ir.builder import ProgramBuilder
from mfsim.ir.formats import Format, Scale
from mfsim.simulate import Simulator

SIDE = 1024
WIDE, FINE = 20, 12
"""Bits of the codes, and how many of them are behind the binary point."""
SHORT, COARSE = 8, 5
"""The same after requantize."""


def codes(seed: int) -> np.ndarray:
    """Return a million codes of `WIDE` bits."""
    return np.random.default_rng(seed).integers(-(1 << WIDE - 1), 1 << WIDE - 1, (SIDE, SIDE))


def compared(runs: dict, record, what: str) -> None:
    """Record the speeds; `runs` maps mfsim and its peers to functions that return what can be compared."""
    times = medians({name: run for name, (run, _) in runs.items()}, rounds=3)
    results = {name: shown(run()) for name, (run, shown) in runs.items()}
    for peer in ("fxpmath", "apytypes"):
        assert np.array_equal(results["mfsim"], results[peer])
        record("elements", f"{what}: speed of {peer}", times[peer] / times["mfsim"])


def simulated(op: str, attributes: dict, arrays: dict[str, np.ndarray]):
    """Return a function that simulates a program of one node."""
    builder = ProgramBuilder()
    names = [builder.input(name, (SIDE,), Format(WIDE), Scale.of(-FINE)) for name in arrays]
    simulator = Simulator(builder.finish([builder.node(op, names, attributes)]))
    return lambda: simulator.run(arrays, batch_size=SIDE, threads=1).output


def in_fxpmath(x: np.ndarray) -> fxpmath.Fxp:
    """Return codes as fxpmath holds them."""
    return fxpmath.Fxp(np.ldexp(x.astype(np.float64), -FINE), True, WIDE, FINE)


def in_apytypes(x: np.ndarray) -> apytypes.APyFixedArray:
    """Return codes as apytypes holds them."""
    return apytypes.APyFixedArray(x, int_bits=WIDE - FINE, frac_bits=FINE)


def signed(bits: np.ndarray, width: int) -> np.ndarray:
    """Return the codes of two's complement words of `width` bits."""
    words = bits.astype(np.int64)
    return words - ((words >> width - 1) << width)


@pytest.mark.filterwarnings("ignore")
def test_requantize(record):
    x = codes(0)
    attributes = {"shift": (FINE - COARSE,), "axis": -1, "rounding": "half_even", "overflow": "saturate"}
    attributes |= {"bits": SHORT}
    left, right = in_fxpmath(x), in_apytypes(x)
    nearest, saturate = apytypes.QuantizationMode.RND_CONV, apytypes.OverflowMode.SAT
    runs = {
        "mfsim": (simulated("requantize", attributes, {"x": x}), np.asarray),
        "fxpmath": (
            lambda: fxpmath.Fxp(left, True, SHORT, COARSE, rounding="around", overflow="saturate"),
            lambda y: y.val,
        ),
        "apytypes": (
            lambda: right.cast(SHORT - COARSE, COARSE, quantization=nearest, overflow=saturate),
            lambda y: signed(y.to_bits(True), SHORT),
        ),
    }
    compared(runs, record, "requantize of 1 M codes of 20 bits to 8")


@pytest.mark.filterwarnings("ignore")
def test_add(record):
    x, y = codes(0), codes(1)
    left, right = [(in_fxpmath(a), in_apytypes(a)) for a in (x, y)]
    runs = {
        "mfsim": (simulated("add", {}, {"x": x, "y": y}), np.asarray),
        "fxpmath": (lambda: left[0] + right[0], lambda z: z.val),
        "apytypes": (lambda: left[1] + right[1], lambda z: signed(z.to_bits(True), WIDE + 1)),
    }
    compared(runs, record, "add of 1 M codes of 20 bits")

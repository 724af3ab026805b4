"""mf_conv2d, fast form: windows as rows of an exact int8 product, with weights packed once, or line by line."""

from __future__ import annotations

from mfsim.kernels import line_windows
from mfsim.kernels.int8_parts import mf_sums
from mfsim.kernels.int8_product import LAYOUTS
from mfsim.kernels.int8_windows import prepared

FORMS = tuple(LAYOUTS)
SHIFTS = ("shift_x", "shift_w")


def prepare(inputs, outputs, attributes, after=None):
    """Return a `run` for these operands; with `after`, the `Fit` of the sums, None if there is no int8 product of them."""
    x, y = ((operand.low, operand.high) for operand in (inputs[0], outputs[0]))

    def sums_of(w, bias, part, run):
        shifts = {name: attributes[name][part] if len(attributes[name]) > 1 else attributes[name] for name in SHIFTS}
        return mf_sums(x, w, bias, y, attributes | shifts, run)

    run = prepared(inputs, y, attributes, sums_of, after)
    return run if run or after else line_windows.prepared(inputs, outputs, attributes, mf=True)

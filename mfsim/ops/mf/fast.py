"""Fast kernels of the multiplication-free products."""

from __future__ import annotations

from mfsim.kernels.gemm import direct
from mfsim.kernels.gemm.decomposition import mf_sums
from mfsim.kernels.gemm.implicit import prepared as prepared_convolution
from mfsim.kernels.gemm.matmul import prepared as prepared_matmul
from mfsim.kernels.gemm.product import LAYOUTS

# mf_matmul, fast kernel for words of 8 bits: an exact int8 product, with constant weights packed once.

MF_MATMUL_ISAS = tuple(LAYOUTS)


def prepare_mf_matmul(inputs, outputs, attributes, after=None):
    """Return a `run`, or None if some word is wider than 8 bits; `after` is the `Epilogue` of the sums.

    Parameters
    ----------
    inputs : list of Operand
        x [..., K]; w, constant [K, O] or activation [..., K, O]; perhaps a bias [O], for constant w; shapes are
        those of one sample.
    outputs : list of one Operand
        y [..., O], with its proved range.
    attributes : mapping
        Complete attributes: `form`, `sign_zero`, `grid`, `shift_x`, `shift_w`.
    after : Epilogue, optional
        What is done to the results before they are written; by default nothing.

    Returns
    -------
    callable or None
        run(inputs, attributes, outputs); it returns the overflows where `after` counts them, else None.
    """
    x, y = ((operand.low, operand.high) for operand in (inputs[0], outputs[0]))
    return prepared_matmul(inputs, y, lambda w, bias, probe, run: mf_sums(x, w, bias, y, attributes, run, probe), after)


# mf_conv2d, fast kernel: windows as rows of an exact int8 product, with weights packed once, or line by line.

MF_CONV2D_ISAS = tuple(LAYOUTS)

SHIFTS = ("shift_x", "shift_w")


def prepare_mf_conv2d(inputs, outputs, attributes, after=None):
    """Return a `run` for these operands; with `after`, the `Epilogue` of the sums, None if there is no int8 product of them.

    Parameters
    ----------
    inputs : list of Operand
        x [C, H, W]; constant w [O, C / groups, rows, columns]; perhaps a bias [O]; shapes are those of one
        sample.
    outputs : list of one Operand
        y [O, H', W'], with its proved range.
    attributes : mapping
        Complete attributes: `form`, `sign_zero`, `grid`, `shift_x`, `shift_w`, `strides`, `pads`, `dilations`,
        `groups`.
    after : Epilogue, optional
        What is done to the results before they are written; by default nothing.

    Returns
    -------
    callable or None
        run(inputs, attributes, outputs); it returns the overflows where `after` counts them, else None.
    """
    x, y = ((operand.low, operand.high) for operand in (inputs[0], outputs[0]))

    def sums_of(w, bias, part, run):
        shifts = {name: attributes[name][part] if len(attributes[name]) > 1 else attributes[name] for name in SHIFTS}
        return mf_sums(x, w, bias, y, attributes | shifts, run)

    run = prepared_convolution(inputs, y, attributes, sums_of, after)
    return run if run or after else direct.prepared(inputs, outputs, attributes, mf=True)

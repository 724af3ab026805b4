"""Fast kernels of the dense products."""

from __future__ import annotations

from mfsim.kernels.gemm import batched, direct
from mfsim.kernels.gemm.decomposition import dense_sums
from mfsim.kernels.gemm.implicit import prepared as prepared_convolution
from mfsim.kernels.gemm.matmul import prepared as prepared_matmul
from mfsim.kernels.gemm.product import LAYOUTS
from mfsim.kernels.rows.transpose import prepared as prepare_transpose
from mfsim.kernels.scratch import scratch

# matmul, fast kernel for words of 8 bits: an exact int8 product, with constant weights packed once.

MATMUL_ISAS = tuple(LAYOUTS)


def prepare_matmul(inputs, outputs, attributes, after=None):
    """Return a `run`, or None if some word is wider than 8 bits; `after` is the `Epilogue` of the sums.

    Parameters
    ----------
    inputs : list of Operand
        x [..., K]; w, constant [K, O] or activation [..., K, O]; perhaps a bias [O], for constant w; shapes are
        those of one sample.
    outputs : list of one Operand
        y [..., O], with its proved range.
    attributes : mapping
        Complete attributes: `constant`, `triangle`.
    after : Epilogue, optional
        What is done to the results before they are written; by default nothing.

    Returns
    -------
    callable or None
        run(inputs, attributes, outputs); it returns the overflows where `after` counts them, else None.
    """
    x, y = ((operand.low, operand.high) for operand in (inputs[0], outputs[0]))
    return prepared_matmul(inputs, y, lambda w, bias, probe, run: dense_sums(x, w, bias, y, run, probe), after)


# conv2d, fast kernel: windows as rows of an exact int8 product, with weights packed once, or line by line.

CONV2D_ISAS = tuple(LAYOUTS)


def prepare_conv2d(inputs, outputs, attributes, after=None):
    """Return a `run` for these operands; with `after`, the `Epilogue` of the sums, None if there is no int8 product of them.

    Parameters
    ----------
    inputs : list of Operand
        x [C, H, W]; constant w [O, C / groups, rows, columns]; perhaps a bias [O]; shapes are those of one
        sample.
    outputs : list of one Operand
        y [O, H', W'], with its proved range.
    attributes : mapping
        Complete attributes: `strides`, `pads`, `dilations`, `groups`.
    after : Epilogue, optional
        What is done to the results before they are written; by default nothing.

    Returns
    -------
    callable or None
        run(inputs, attributes, outputs); it returns the overflows where `after` counts them, else None.
    """
    x, y = ((operand.low, operand.high) for operand in (inputs[0], outputs[0]))

    def sums_of(w, bias, part, run):
        return dense_sums(x, w, bias, y, run)

    run = prepared_convolution(inputs, y, attributes, sums_of, after)
    return run if run or after else direct.prepared(inputs, outputs, attributes, mf=False)


# gram, fast kernel for words of 8 bits: an exact int8 product of x with its own rows as columns.

GRAM_ISAS = tuple(LAYOUTS)


def prepare_gram(inputs, outputs, attributes):
    """Return a `run`, or None if some word is wider than 8 bits, or has 8 without a sign.

    Parameters
    ----------
    inputs : list of Operand
        x [..., N, K]; shapes are those of one sample.
    outputs : list of one Operand
        y [..., N, N], symmetric, with its proved range.
    attributes : mapping
        Not used: the op has none.

    Returns
    -------
    callable or None
        run(inputs, attributes, outputs); it returns None.
    """
    (x,), (*outer, rows, length) = inputs, inputs[0].shape
    columns = x._replace(shape=(*outer, length, rows))
    ends, y = (x.low, x.high), (outputs[0].low, outputs[0].high)
    multiply = batched.prepared(x, columns, lambda w, bias, probe, run: dense_sums(ends, w, bias, y, run, probe), None)
    if multiply is None:
        return None
    last = len(x.shape)
    perm = {"perm": (*range(last - 1), last, last - 1)}
    turn = prepare_transpose(inputs, [columns], perm)

    def run(inputs, attributes, outputs):
        x = inputs[0]
        turned = scratch.get("turned rows", (len(x), *columns.shape), x.dtype)
        turn([x], perm, [turned])
        multiply([x, turned], attributes, outputs)

    return run

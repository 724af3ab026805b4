"""Dispatch: which kernel of an op, plain or fast, runs a node."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from mfsim import ops
from mfsim.ir.program import Node, Program, Tensor
from mfsim.kernels import cpu
from mfsim.kernels.operands import Operand
from mfsim.kernels.rows.epilogue import Epilogue, Pooling, requantizing
from mfsim.ops.traits import Trait

Run = Callable[[Sequence[np.ndarray], Mapping[str, Any], Sequence[np.ndarray]], int | None]
"""`run(inputs, attributes, outputs)` fills the outputs and may return how many codes did not fit."""

NO_SHIFT = {"shift": (0,), "axis": -1, "rounding": "floor", "narrow": 0}
"""The attributes of a requantize that an epilogue without them, an accumulator, stands for."""

_KEPT: WeakKeyDictionary[Node, dict[bool, tuple[tuple[object, ...], Run | None]]] = WeakKeyDictionary()
"""By node, and by whether it fits nothing: what the kernel was made of, and the kernel."""


def operand_of(tensor: Tensor) -> Operand:
    """Return what a fast kernel is told of a tensor.

    Parameters
    ----------
    tensor : Tensor
        Tensor of a program.

    Returns
    -------
    Operand
        Range, shape of one sample (of a constant: its shape) and codes of a constant.
    """
    shape = tensor.shape if tensor.is_constant else tensor.shape[1:]
    return Operand(tensor.range.low, tensor.range.high, shape, tensor.codes)


def prepared_kernel(
    op: str,
    inputs: Sequence[Operand],
    outputs: Sequence[Operand],
    attributes: Mapping[str, Any],
    after: Epilogue | None = None,
) -> Run | None:
    """Return the fast kernel for these operands, or None if the op, or such words, have none.

    It takes codes, in C order, of any integer type that holds them; constants as int64. With `after`, one rule for each
    channel of the product, its sums are fitted before they are written.

    Parameters
    ----------
    op : str
        Name of a registered op.
    inputs, outputs : sequence of Operand
        What is known of the operands and results.
    attributes : mapping
        Complete attributes of the op.
    after : Epilogue, optional
        Requantization that the kernel does too.

    Returns
    -------
    callable or None
        Run(inputs, attributes, outputs), which fills the outputs and returns overflow events or None.
    """
    if "fast" not in ops.get(op).realisations:
        return None
    prepare = ops.fast_kernel(op)
    run: Run | None = prepare(inputs, outputs, attributes, after) if after else prepare(inputs, outputs, attributes)
    return run


@dataclass(frozen=True)
class Ending:
    """What is done to the sums of a product.

    Attributes
    ----------
    fitting : a requantize or an accumulator.
    rectified : whether ReLU comes before it.
    pool : the windows of a convolution that are joined before both, or None.
    pool_rectified : whether ReLU comes before those.
    """

    fitting: Node
    rectified: bool = False
    pool: Node | None = None
    pool_rectified: bool = False


def fast_kernel_of(program: Program, node: Node, ending: Ending | None = None) -> Run | None:
    """Return the fast kernel of a node, or None if there is none; see `prepared_kernel`.

    With `ending`, its sums are fitted as that says. Forms are kept as long as their node lives: programs that were edited
    share the nodes that no edit reached.

    Parameters
    ----------
    program : Program
        Program of the node.
    node : Node
        Node to run.
    ending : Ending, optional
        Nodes behind it that the kernel does too.

    Returns
    -------
    callable or None
        The kernel, as of `prepared_kernel`.
    """
    inputs, outputs = program.inputs_of(node), program.outputs_of(node)
    done: tuple[object, ...] = ()
    if ending is not None:
        joined = program.outputs_of(ending.pool) if ending.pool is not None else ()
        done = ending.fitting, ending.rectified, ending.pool, ending.pool_rectified, *joined
    made_of = (*inputs, *outputs, *done, cpu.best(cpu.ISAS))
    known = _KEPT.setdefault(node, {}).get(ending is None)
    if known is not None and len(known[0]) == len(made_of) and all(map(operator.is_, known[0], made_of)):
        return known[1]
    operands, results = ([operand_of(tensor) for tensor in tensors] for tensors in (inputs, outputs))
    run: Run | None
    if ending is None:
        run = prepared_kernel(node.op, operands, results, node.attributes)
    else:
        fit = _fit(program, results[0], ending)
        run = None if fit is None else prepared_kernel(node.op, operands, results, node.attributes, fit)
    _KEPT[node][ending is None] = made_of, run
    return run


def _fit(program: Program, sums: Operand, ending: Ending) -> Epilogue | None:
    """Return what `ending` does to the sums, or None if no word holds it."""
    fitting, pool, low, high = ending.fitting, ending.pool, sums.low, sums.high
    if pool is not None:
        joined = program.tensors[pool.outputs[0]].range
        low, high = min(low, joined.low), max(high, joined.high)
    attributes = {**NO_SHIFT, **fitting.attributes}
    fit = requantizing(low, high, attributes, ending.rectified)
    if fit is None or pool is None:
        return fit
    kernel: Any = pool.attributes["kernel"]
    windows = Pooling(kernel[0], kernel[1], int(pool.op in ops.named(Trait.MAX_POOL)))
    return fit._replace(pool=windows._replace(floor=0) if ending.pool_rectified else windows)


def bound(
    run: Run, inputs: Sequence[np.ndarray], attributes: Mapping[str, Any], outputs: Sequence[np.ndarray]
) -> Callable[[], int | None]:
    """Return a function that runs a kernel on these arrays, whatever codes they hold.

    A kernel may have an attribute `bind(inputs, outputs)` that returns one, made once for many runs.

    Parameters
    ----------
    run : callable
        Form of a node.
    inputs : sequence of integer arrays in C order
        Codes, axis 0 the batch but for constants.
    attributes : mapping
        Complete attributes of the op.
    outputs : sequence of integer arrays in C order
        Preallocated results.

    Returns
    -------
    callable
        Fills the outputs and returns overflow events or None.
    """
    bind: Callable[..., Callable[[], int | None]] | None = getattr(run, "bind", None)
    return functools.partial(run, inputs, attributes, outputs) if bind is None else bind(inputs, outputs)


def plain_kernel_of(op: str) -> Run:
    """Return the plain kernel of an op, which takes and fills int64 codes.

    Parameters
    ----------
    op : str
        Name of a registered op.

    Returns
    -------
    callable
        Run(inputs, attributes, outputs) on int64 arrays in C order.
    """
    run: Run = ops.plain_kernel(op)
    return run


def any_word(op: str) -> Run:
    """Return the plain kernel of an op for codes of any integer type: through int64 where it moves more than codes.

    Parameters
    ----------
    op : str
        Name of a registered op.

    Returns
    -------
    callable
        Run(inputs, attributes, outputs) on arrays of any integer types that hold the codes.
    """
    run = plain_kernel_of(op)
    if op in ops.named(Trait.ANY_WORD):
        return run

    def widened(
        inputs: Sequence[np.ndarray], attributes: Mapping[str, Any], outputs: Sequence[np.ndarray]
    ) -> int | None:
        wide = [np.empty(y.shape, np.int64) for y in outputs]
        events = run([x.astype(np.int64, copy=False) for x in inputs], attributes, wide)
        for y, codes in zip(outputs, wide, strict=True):
            y[...] = codes
        return events

    return widened

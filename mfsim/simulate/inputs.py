"""What a program is fed with: codes, checked; or real values, quantized as the file says."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mfsim.errors import DataError, ShapeError, did_you_mean
from mfsim.ir.fixed_point import quantize, quantize_into, round_floats
from mfsim.ir.program import Program, Tensor
from mfsim.keywords import check_keywords

Inputs = np.ndarray | Mapping[str, np.ndarray]


def by_name(program: Program, inputs: Inputs) -> dict[str, np.ndarray]:
    """Return one array for each input of `program`, all of one batch size, in the program's order.

    Parameters
    ----------
    program : Program
        Integer program.
    inputs : array, or mapping of str to array, shape (batch, ...)
        A bare array is that of the only input.

    Returns
    -------
    dict of str to array
        Arrays by input name.

    Raises
    ------
    DataError
        If an input is missing or unknown, or the batch sizes differ.
    ShapeError
        If an array has not the shape of its input.
    """
    if isinstance(inputs, Mapping):
        given = {name: np.asanyarray(values) for name, values in inputs.items()}
    elif len(program.inputs) == 1:
        given = {program.inputs[0]: np.asanyarray(inputs)}
    else:
        raise DataError(f"this program has {len(program.inputs)} inputs, {_listed(program)}; give a dict of them")
    for name in given:
        if name not in program.inputs:
            raise DataError(
                f"the program has no input `{name}`{did_you_mean(name, program.inputs)}; it has {_listed(program)}"
            )
    for name in program.inputs:
        if name not in given:
            raise DataError(f"the input `{name}` is missing")
        shape = program.tensors[name].shape[1:]
        if given[name].ndim < 1 or given[name].shape[1:] != shape:
            wanted = ", ".join(["batch", *map(str, shape)])
            raise ShapeError(f"the input `{name}` must have the shape ({wanted}), not {given[name].shape}")
    sizes = {name: len(given[name]) for name in program.inputs}
    if len(set(sizes.values())) > 1:
        raise DataError(
            f"all inputs must have one batch size, not {', '.join(f'{n} in `{k}`' for k, n in sizes.items())}"
        )
    return {name: given[name] for name in program.inputs}


def is_real(name: str, values: np.ndarray) -> bool:
    """Return whether `values` of the input `name` are real values, which are floating-point, or else integer codes.

    Parameters
    ----------
    name : str
        Name of the input, for the message.
    values : array
        Values or codes.

    Returns
    -------
    bool
        True for floating-point values.

    Raises
    ------
    DataError
        If they are neither.
    """
    if values.dtype.kind not in "fiu":
        raise DataError(f"the input `{name}` must be floating-point values or integer codes, not {values.dtype}")
    return values.dtype.kind == "f"


def check_whole(program: Program, arrays: Mapping[str, np.ndarray]) -> None:
    """Check of all samples of all inputs at once, so that an error is about the whole batch.

    Parameters
    ----------
    program : Program
        Integer program.
    arrays : mapping of str to array, shape (batch, ...)
        Values or codes by input name.

    Raises
    ------
    DataError
        If an input cannot be quantized, or its codes are outside its range.
    """
    for name, values in arrays.items():
        codes = _codes(program, name, values) if is_real(name, values) else values
        check_codes(program.tensors[name], codes)


def check_codes(tensor: Tensor, codes: np.ndarray) -> None:
    """Range check of the codes of an input.

    Parameters
    ----------
    tensor : Tensor
        The input, with its proved range.
    codes : integer array, shape (batch, ...)
        Codes.

    Raises
    ------
    DataError
        If a code is outside the range.
    """
    axis = tensor.range.axis
    rows = codes.reshape(1, -1) if axis is None else np.moveaxis(codes, axis, 0).reshape(codes.shape[axis], -1)
    if codes.size:
        for row, low, high in zip(rows, tensor.range.lo, tensor.range.hi, strict=True):
            lo, hi = int(row.min()), int(row.max())
            if lo < low or hi > high:
                raise DataError(
                    f"the codes of input `{tensor.name}` must be in {low}..{high}, of its word {tensor.format}, and reach {lo}..{hi}"
                )


@check_keywords
def quantize_input(program: Program, images: Inputs) -> np.ndarray | dict[str, np.ndarray]:
    """Return the codes of real inputs: rounded as the file's first Quant does, saturated to the input's word.

    An input that numbers rows (the ids of tokens) is integers and stays as it is.

    Parameters
    ----------
    program : Program
    images : floating-point array [batch, ...], or a dict of them by input name; integers where these number rows

    Returns
    -------
    int64 array, or a dict of them where a dict was given

    Raises
    ------
    DataError
        If the values are not floating-point or not finite, or an input is missing or unknown; if integers are not,
        or number rows that are not there.
    ShapeError
        If an array has not the shape of its input.
    """
    made = {name: _codes(program, name, values) for name, values in by_name(program, images).items()}
    return made if isinstance(images, Mapping) else made[program.inputs[0]]


def fill_codes(program: Program, name: str, values: np.ndarray, codes: np.ndarray) -> None:
    """Fill `codes` with what `quantize_input` makes of `values`.

    Parameters
    ----------
    program : Program
        Integer program.
    name : str
        Name of the input.
    values : array, shape (batch, ...)
        Real values, or codes.
    codes : integer array in C order, shape of `values`
        Filled; its type holds the range of the input.

    Raises
    ------
    DataError
        If values cannot be quantized, or codes are outside the range.
    """
    tensor, metadata = program.tensors[name], program.metadata
    rounding = metadata.get(f"input.{name}.rounding", "half_even")
    exact = rounding not in ("none", "bipolar") and not tensor.scale.factors
    exact = exact and tensor.range.axis is None and int(metadata.get(f"input.{name}.zero_point", "0")) == 0
    if values.dtype.kind == "f" and exact:
        limits = tensor.range.low, tensor.range.high
        if quantize_into(codes, values, tensor.scale, limits, rounding):
            return
    made = _codes(program, name, values)
    check_codes(tensor, made)
    codes[...] = made


def _codes(program: Program, name: str, values: np.ndarray) -> np.ndarray:
    tensor = program.tensors[name]
    rounding = program.metadata.get(f"input.{name}.rounding", "half_even")
    if rounding == "none":
        if values.dtype.kind not in "iu":
            raise DataError(f"the input `{name}` must be integers, which number rows, not {values.dtype}")
        check_codes(tensor, values)
        return values.astype(np.int64)
    if values.dtype.kind != "f":
        raise DataError(f"the input `{name}` must be floating-point values, not {values.dtype}")
    zero_point = int(program.metadata.get(f"input.{name}.zero_point", "0"))
    if rounding == "bipolar":
        _check_finite(name, values)
        return np.where(values >= 0, 1, -1)
    if tensor.scale.factors or zero_point:
        _check_finite(name, values)
        added_before = program.metadata.get(f"input.{name}.added", "after") == "before"
        codes = _in_float(values, tensor, zero_point, rounding, added_before)
        return np.asarray(np.clip(codes, tensor.range.low, tensor.range.high).astype(np.int64))
    try:
        codes = quantize(values, tensor.scale, tensor.format, rounding=rounding)
    except DataError:
        _check_finite(name, values)
        raise
    if (tensor.range.low, tensor.range.high) == (tensor.format.lo, tensor.format.hi):
        return codes
    return np.asarray(np.clip(codes, tensor.range.low, tensor.range.high))


def _check_finite(name: str, values: np.ndarray) -> None:
    wrong = ~np.isfinite(values)
    if wrong.any():
        at = int(np.argwhere(wrong)[0][0])
        raise DataError(f"sample {at} of input `{name}` holds {'NaN' if np.isnan(values[at]).any() else 'infinity'}")


def _in_float(values: np.ndarray, tensor: Tensor, zero_point: int, rounding: str, added_before: bool) -> np.ndarray:
    """Return codes as a third-party file computes them: the quotient, and a sum with the zero point, in the type of the values."""
    steps = np.array([float(step) for step in tensor.scale.steps]).astype(values.dtype)
    if tensor.scale.axis is not None:
        steps = steps.reshape(-1, *[1] * (values.ndim - 1 - tensor.scale.axis))
    quotients = values / steps
    if added_before:
        return round_floats(quotients + np.asarray(zero_point, dtype=values.dtype), rounding).astype(np.float64)
    return round_floats(quotients, rounding).astype(np.float64) + zero_point


def _listed(program: Program) -> str:
    return ", ".join(f"`{name}`" for name in program.inputs)

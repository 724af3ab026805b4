"""Input codes for a conformance case: exhaustive, or extremes, ties and seeded random codes."""

from __future__ import annotations

import itertools
import zlib

import numpy as np

from mfsim.ops.op import Case


def limits(tensor):
    """Return the lowest and highest allowed code of each element of one sample."""
    shape = tensor.shape[1:]
    if tensor.range.axis is None:
        return np.full(shape, tensor.range.low), np.full(shape, tensor.range.high)
    view = [1] * len(tensor.shape)
    view[tensor.range.axis] = -1
    lo = np.broadcast_to(np.array(tensor.range.lo).reshape(view), tensor.shape)[0]
    hi = np.broadcast_to(np.array(tensor.range.hi).reshape(view), tensor.shape)[0]
    return lo, hi


def samples(case: Case, count: int = 24) -> list[np.ndarray]:
    """Return one int64 array [batch, ...] for each non-constant input of `case`."""
    tensors = [tensor for tensor in case.inputs if not tensor.is_constant]
    bounds = [limits(tensor) for tensor in tensors]
    if case.exhaustive:
        lows, highs = (
            np.concatenate([end.reshape(-1) for end in ends]).astype(np.int64) for ends in zip(*bounds, strict=True)
        )
        total = int(np.prod(highs - lows + 1, dtype=object))
        assert total <= 2**16, f"case {case.name} has {total} combinations; it must not be exhaustive"
        grid, left = np.empty((total, len(lows)), dtype=np.int64), np.arange(total)
        for k in reversed(range(len(lows))):  # the last code changes fastest
            left, digit = np.divmod(left, highs[k] - lows[k] + 1)
            grid[:, k] = lows[k] + digit
        arrays, start = [], 0
        for tensor in tensors:
            size = tensor.sample_size
            arrays.append(np.ascontiguousarray(grid[:, start : start + size]).reshape(total, *tensor.shape[1:]))
            start += size
        return arrays
    rng = np.random.default_rng(zlib.crc32(case.name.encode()))
    batches = [[] for _ in tensors]
    for ends in itertools.product(("low", "high", "zero", "one", "minus"), repeat=min(len(tensors), 2)):
        for k, (low, high) in enumerate(bounds):
            end = ends[k % len(ends)]
            value = {"low": low, "high": high, "zero": 0 * low, "one": 0 * low + 1, "minus": 0 * low - 1}[end]
            batches[k].append(np.clip(value, low, high))
    for _ in range(count):
        for k, (low, high) in enumerate(bounds):
            values = rng.integers(low, high, endpoint=True)
            at_end = rng.random(values.shape)
            values = np.where(at_end < 0.1, low, np.where(at_end > 0.9, high, values))
            batches[k].append(np.where(rng.random(values.shape) < 0.1, np.clip(0, low, high), values))
    for sample in case.extra:
        for k, values in enumerate(sample):
            batches[k].append(np.asarray(values))
    return [np.array(batch, dtype=np.int64) for batch in batches]

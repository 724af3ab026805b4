"""The torch form of an op on values = codes * scale: the reference's codes.

In float32 where every partial sum is at most 2**24 units of the finest grid, and in float64 up to
2**53; other cases, and those that torch has no form for, are left out, and each op must have some that
are not (test_declared.py).
"""

from __future__ import annotations

import functools

import numpy as np
import torch
from torch.nn import functional as F

from mfsim import ops
from mfsim.export.exactness import largest_sum
from mfsim.nn import functional
from mfsim.nn.gains import csd_gain
from mfsim.nn.matrices import gram
from mfsim.ops.distance import torch as aligned
from mfsim.ops.mf.torch import hard_sign
from mfsim.ops.norm import torch as norms
from mfsim.ops.power_of_two import torch as power_weights
from mfsim.quant.quantizers import ActivationQuant
from tests.bits import assert_bit_equal
from tests.conformance.normaliser_forms import TORCH_FORMS

LARGEST = {torch.float32: 2**24, torch.float64: 2**53}
"""Integers up to these are exact."""


def unit_of(tensor):
    """Return the scale of a tensor, shaped so that it broadcasts against [batch, ...]."""
    unit = np.ldexp(1.0, np.array(tensor.scale.exponents))
    axis = tensor.scale.axis
    return unit if axis is None else unit.reshape([-1 if k == axis else 1 for k in range(len(tensor.shape))])


def along(vector, axis, ndim):
    """Return a vector shaped so that it broadcasts along `axis` of `ndim` axes."""
    return vector.reshape([-1 if k == axis % ndim else 1 for k in range(ndim)])


def _mf(a):
    return {name: a[name] for name in ("form", "sign_zero", "grid")}


def _biased(y, bias, view=()):
    return y + bias[0].reshape(-1, *view) if bias else y


def _convolution(convolve):
    def form(a, tensors, x, w, *bias):
        y = convolve(x, w, stride=a["strides"], padding=a["pads"], dilation=a["dilations"], groups=a["groups"])
        return _biased(y, bias, (1, 1))

    return form


def _csd_gain(a, tensors, x, c):
    return csd_gain(x, along(c, a["axis"], x.ndim) if len(c) > 1 else c, a["digits"])


def _zero_padded(x, pads, value=0.0):
    top, left, bottom, right = pads
    return F.pad(x, (left, right, top, bottom), value=value)


def _accumulator(a, tensors, x):
    scale = torch.from_numpy(unit_of(tensors[0])).to(x)
    return functional.accumulator(x, scale, a["bits"], overflow=a["overflow"], signed=bool(a["signed"]))


def _clip(a, tensors, x):
    unit = 2.0 ** tensors[0].scale.exponent
    return x.clamp(a["lo"] * unit, a["hi"] * unit)


def _conv2d(a, tensors, x, w, *bias):
    y = F.conv2d(_zero_padded(x, a["pads"]), w, stride=a["strides"], dilation=a["dilations"], groups=a["groups"])
    return _biased(y, bias, (1, 1))


def _max_pool2d(a, tensors, x):
    padded = _zero_padded(x, a["pads"], float("-inf"))
    return F.max_pool2d(padded, a["kernel"], a["strides"], dilation=a["dilations"])


def _mf_conv2d(a, tensors, x, w, *bias):
    y = functional.mf_conv2d(
        x, w, stride=a["strides"], padding=a["pads"], dilation=a["dilations"], groups=a["groups"], **_mf(a)
    )
    return _biased(y, bias, (1, 1))


def _pad(a, tensors, x):
    amounts = np.array(a["pads"]).reshape(2, -1).T[::-1].reshape(-1).tolist()
    return F.pad(x, amounts, value=a["value"] * 2.0 ** tensors[0].scale.exponents[0])


def _requantize(a, tensors, x):
    if a["axis"] >= 0 or a["narrow"] or a["rounding"] != "half_even" or a["overflow"] != "saturate" or a["bits"] < 2:
        return "no such quantizer of activations"
    scale = 2.0 ** (tensors[0].scale.exponent + a["shift"][0])
    return ActivationQuant(a["bits"], bool(a["signed"]), scale).to(x.dtype).eval()(x)


def _slice(a, tensors, x):
    if min(a["steps"], default=1) < 0:
        return "no negative steps"
    for axis, start, end, step in zip(a["axes"], a["starts"], a["ends"], a["steps"], strict=True):
        x = x[(slice(None),) * axis + (slice(start, end, step),)]
    return x


def _sum_pool2d(a, tensors, x):
    if not a["mean"]:
        return "no sum without a division"
    return functional.sum_pool2d(x, a["kernel"], a["strides"], a["pads"])


def _soft_threshold(a, tensors, x, t):
    return functional.soft_threshold(x, along(t, a["axis"], x.ndim) if len(t) > 1 else t)


def _shift(a, tensors, x):
    gain = torch.tensor([2.0**e for e in a["exponents"]], dtype=x.dtype)
    return functional.shift(x, along(gain, a["axis"], x.ndim) if len(gain) > 1 else gain)


def _table(a, tensors, x, entries):
    codes = torch.tensor(tensors[1].codes)
    return functional.table(x, 2.0 ** tensors[0].scale.exponent, codes, a["first"], 2.0 ** tensors[1].scale.exponent)


def _root_norm(function):
    def run(a, tensors, x, gamma, *beta):
        scales = [2.0**tensor.scale.exponent for tensor in tensors[:2]]
        integers = [torch.tensor(a["eps"]), torch.tensor(1 << a["guard"])]
        recip_one = torch.tensor(1 << a["reciprocal"]) if "reciprocal" in a else None
        return function(x, scales[0], gamma, scales[1], *beta, *integers, 2.0 ** -a["fraction"], recip_one)

    return run


def _shift_norm(kind):
    def run(a, tensors, x, thresholds, beta):
        gains = torch.tensor([1 << g + 8 for g in a["exponents"]])
        scale, steps = 2.0 ** tensors[0].scale.exponent, torch.tensor(tensors[1].codes)
        return norms.shift_norm(x, scale, gains, beta, steps, 2.0 ** -a["fraction"], kind)

    return run


def _own(op):
    """Return the function called like the op in its family's `torch.py`, with the attributes of its signature."""

    def form(a, tensors, *values):
        function = getattr(ops.realisation(op.name, "torch"), op.name)
        return function(*values, **{name: a[name] for name in op.onnx.attributes})

    return form


FORMS = {
    "abs": lambda a, tensors, x: x.abs(),
    "accumulator": _accumulator,
    "add": lambda a, tensors, x, y: x + y,
    "adder_conv2d": _convolution(aligned.adder_conv2d),
    "adder_matmul": lambda a, tensors, x, w, *bias: _biased(aligned.adder_matmul(x, w), bias),
    "clip": _clip,
    "concat": lambda a, tensors, *parts: torch.cat(parts, a["axis"]),
    "conv2d": _conv2d,
    "csd_gain": _csd_gain,
    "embedding": lambda a, tensors, x, rows: rows[x.long()],
    "flatten": lambda a, tensors, x: x.flatten(1) if x.ndim > 1 else "no axis to flatten",
    "gram": lambda a, tensors, x: gram(x),
    "layer_norm": _root_norm(norms.layer_norm),
    "layer_norm_recip": _root_norm(norms.layer_norm),
    "matmul": lambda a, tensors, x, w, *bias: _biased(x @ w, bias),
    "max_pool2d": _max_pool2d,
    "mf_conv2d": _mf_conv2d,
    "mf_matmul": lambda a, tensors, x, w, *bias: _biased(functional.mf_matmul(x, w, **_mf(a)), bias),
    "min_conv2d": _convolution(aligned.min_conv2d),
    "min_matmul": lambda a, tensors, x, w, *bias: _biased(aligned.min_matmul(x, w), bias),
    "mul": lambda a, tensors, x, w: x * w,
    "neg": lambda a, tensors, x: -x,
    "pad": _pad,
    "relu": lambda a, tensors, x: F.relu(x),
    "requantize": _requantize,
    "reshape": lambda a, tensors, x: x.reshape(len(x), *a["shape"]),
    "rms_norm": _root_norm(norms.rms_norm),
    "rms_norm_recip": _root_norm(norms.rms_norm),
    "shift": _shift,
    "shift_conv2d": _convolution(power_weights.shift_conv2d),
    "shift_matmul": lambda a, tensors, x, w, *bias: _biased(power_weights.shift_matmul(x, w), bias),
    "shift_norm_l1": _shift_norm("l1"),
    "shift_norm_l2": _shift_norm("l2"),
    "sign": lambda a, tensors, x: hard_sign(x, a["sign_zero"]),
    "slice": _slice,
    "soft_threshold": _soft_threshold,
    "sub": lambda a, tensors, x, y: x - y,
    "sum_pool2d": _sum_pool2d,
    "table": _table,
    "transpose": lambda a, tensors, x: x.permute(a["perm"]),
    **TORCH_FORMS,
}
FORMS |= {op.name: _own(op) for op in ops.REGISTRY.values() if op.signature and op.name not in FORMS}
"""By op; where a signature says it all, it is enough."""


def exact_types(program):
    """Return the float types in which the node's inputs and sums are exact."""
    (node,) = program.nodes
    largest = max(largest_sum(node, program), *(t.range.bound for t in program.inputs_of(node)))
    return [dtype for dtype, limit in LARGEST.items() if largest <= limit]


def run(given, arrays, dtype):
    """Return the float64 output of the torch form, or why there is none."""
    values = [
        torch.from_numpy(codes * unit_of(tensor)).to(dtype)
        for codes, tensor in zip(given.inputs(arrays), given.program.inputs_of(given.node), strict=True)
    ]
    result = FORMS[given.op.name](given.node.attributes, given.program.inputs_of(given.node), *values)
    if isinstance(result, str):
        return result
    assert result.dtype == dtype
    return result.detach().double().numpy()


def types_of(given):
    """Return the float types in which the torch form of a case can be compared."""
    if "torch" not in given.op.realisations or isinstance(
        run(given, [array[:1] for array in given.arrays], torch.float64), str
    ):
        return []
    return exact_types(given.program)


def checks(given):
    for dtype in types_of(given):
        yield str(dtype), functools.partial(check, dtype=dtype)


def check(given, dtype):
    (tensor,), (expected,) = given.outputs, given.expected
    codes = run(given, given.arrays, dtype) / unit_of(tensor)
    assert np.array_equal(codes, np.rint(codes)), "the values leave their grid"
    assert_bit_equal(codes.astype(np.int64), expected, tensor.name)
    empty = run(given, [array[:0] for array in given.arrays], dtype)
    assert empty.shape == (0, *expected.shape[1:])

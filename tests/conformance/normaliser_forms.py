"""Softmax, tanh-l1, Fourier magnitudes, cosine transforms and filterbanks as one node of an exported file, and as a torch function, for the conformance suite."""

from __future__ import annotations

import numpy as np
import torch

from mfsim.ops.fourier import dct_tables as cosine_constants
from mfsim.ops.fourier import dft_tables as constants
from mfsim.ops.fourier import filterbank_tables as filterbank_constants
from mfsim.ops.fourier.torch import dct, dft_alpha_beta, dft_magnitude, filterbank
from mfsim.ops.model_bodies import DOMAINS
from mfsim.ops.softmax.torch import softmax, softmax_log, softmax_recip, softmax_shift, tanh_l1, tanh_l1_shift

MFSIM = next(iter(DOMAINS))


def _onnx(op, without, *powers):
    """Return the form of an op with `without` inputs before the mask; int64 scalars follow the tables.

    `powers` are attributes that the node states as 2**attribute; eps stands behind the first table."""

    def build(form, node, tensors):
        scales = [form.constant(np.float32(2.0**e)) for e in (tensors[0].scale.exponent, -node.attributes["fraction"])]
        tables = [form.constant(np.array(tensor.codes)) for tensor in tensors[1:without]]
        tables[1:1] = [form.constant(np.int64(node.attributes[name])) for name in ("eps",) if name in node.attributes]
        scalars = [form.constant(np.int64(1 << node.attributes[name])) for name in powers]
        inputs = [form.input(0), scales[0], *tables, *scalars, scales[1]]
        if len(tensors) == without:
            return form.add(op, inputs, MFSIM)
        return form.add(f"Masked{op}", [*inputs, form.input(without)], MFSIM)

    return build


def _torch(function, without, *powers):
    def run(a, tensors, x, *others):
        tables = [torch.tensor(tensor.codes) for tensor in tensors[1:without]]
        tables[1:1] = [torch.tensor(a[name]) for name in ("eps",) if name in a]
        scalars = [torch.tensor(1 << a[name]) for name in powers]
        mask = others[without - 1] if len(others) == without else None
        return function(x, 2.0 ** tensors[0].scale.exponent, *tables, *scalars, 2.0 ** -a["fraction"], mask)

    return run


def _dft_constants(attributes, tensors, factors_of=constants.factors):
    """Return the int64 constants of a transform."""
    x, table = tensors
    n, bits = x.shape[-1], -table.scale.exponent
    factors = factors_of(n, attributes["guard"], attributes["fraction"], x.scale.exponent, bits)
    return [np.array(values) for values in (*constants.stages(n, bits), constants.bins(n), factors)]


def _dct_constants(attributes, tensors):
    x, table = tensors
    n, bits = x.shape[-1], -table.scale.exponent
    factors = cosine_constants.factors(n, attributes["guard"], attributes["fraction"], x.scale.exponent, bits)
    return [np.array(values) for values in (*cosine_constants.stages(n, bits), factors)]


def _onnx_dct(form, node, tensors):
    scales = [form.constant(np.float32(2.0**e)) for e in (tensors[0].scale.exponent, -node.attributes["fraction"])]
    stated = [form.constant(values) for values in _dct_constants(node.attributes, tensors)]
    return form.add("DCT", [form.input(0), scales[0], *stated, scales[1]], MFSIM, products=node.attributes["products"])


def _torch_dct(a, tensors, x, table):
    stated = map(torch.tensor, _dct_constants(a, tensors))
    return dct(x, 2.0 ** tensors[0].scale.exponent, *stated, 2.0 ** -a["fraction"])


def _onnx_dft(form, node, tensors):
    scales = [form.constant(np.float32(2.0**e)) for e in (tensors[0].scale.exponent, -node.attributes["fraction"])]
    stated = [form.constant(values) for values in _dft_constants(node.attributes, tensors)]
    return form.add("DFTMagnitude", [form.input(0), scales[0], *stated, scales[1]], MFSIM)


def _torch_dft(a, tensors, x, table):
    stated = map(torch.tensor, _dft_constants(a, tensors))
    return dft_magnitude(x, 2.0 ** tensors[0].scale.exponent, *stated, 2.0 ** -a["fraction"])


def _onnx_dft_alpha_beta(form, node, tensors):
    scales = [form.constant(np.float32(2.0**e)) for e in (tensors[0].scale.exponent, -node.attributes["fraction"])]
    stated = [form.constant(v) for v in _dft_constants(node.attributes, tensors, constants.estimate_factors)]
    inputs = [form.input(0), scales[0], *stated, scales[1]]
    return form.add("DFTAlphaBeta", inputs, MFSIM, products=node.attributes["products"])


def _torch_dft_alpha_beta(a, tensors, x, table):
    stated = map(torch.tensor, _dft_constants(a, tensors, constants.estimate_factors))
    return dft_alpha_beta(x, 2.0 ** tensors[0].scale.exponent, *stated, 2.0 ** -a["fraction"])


def _filterbank_constants(attributes, tensors):
    x, table, gains = tensors
    grid, bits = gains.shape[1], -table.scale.exponent
    factors = filterbank_constants.factors(grid, attributes["guard"], attributes["fraction"], x.scale.exponent, bits)
    return [np.array(values) for values in (*filterbank_constants.stages(grid, bits), factors)]


def _onnx_filterbank(form, node, tensors):
    exponents = (tensors[0].scale.exponent, tensors[2].scale.exponent, -node.attributes["fraction"])
    x_scale, gain_scale, y_scale = (form.constant(np.float32(2.0**e)) for e in exponents)
    stated = [form.constant(values) for values in _filterbank_constants(node.attributes, tensors)]
    inputs = [form.input(0), x_scale, form.input(2), gain_scale, *stated, y_scale]
    return form.add("Filterbank", inputs, MFSIM, **{name: node.attributes[name] for name in ("passing", "products")})


def _torch_filterbank(a, tensors, x, table, gains):
    stated = map(torch.tensor, _filterbank_constants(a, tensors))
    scales = [2.0 ** tensors[k].scale.exponent for k in (0, 2)]
    return filterbank(x, scales[0], gains, scales[1], *stated, 2.0 ** -a["fraction"], a["passing"])


ONNX_FORMS = {
    "dct": _onnx_dct,
    "dft_alpha_beta": _onnx_dft_alpha_beta,
    "dft_magnitude": _onnx_dft,
    "filterbank": _onnx_filterbank,
    "softmax": _onnx("Softmax", 2),
    "softmax_log": _onnx("SoftmaxLog", 6, "fine_bits"),
    "softmax_recip": _onnx("SoftmaxRecip", 2, "reciprocal"),
    "softmax_shift": _onnx("SoftmaxShift", 3),
    "tanh_l1": _onnx("TanhL1", 2),
    "tanh_l1_shift": _onnx("TanhL1Shift", 3),
}
TORCH_FORMS = {
    "dct": _torch_dct,
    "dft_alpha_beta": _torch_dft_alpha_beta,
    "dft_magnitude": _torch_dft,
    "filterbank": _torch_filterbank,
    "softmax": _torch(softmax, 2),
    "softmax_log": _torch(softmax_log, 6, "fine_bits"),
    "softmax_recip": _torch(softmax_recip, 2, "reciprocal"),
    "softmax_shift": _torch(softmax_shift, 3),
    "tanh_l1": _torch(tanh_l1, 2),
    "tanh_l1_shift": _torch(tanh_l1_shift, 3),
}

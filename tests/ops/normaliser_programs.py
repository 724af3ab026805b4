"""One-node programs of softmax and tanh-l1 with derived constants, run by their kernels."""

from __future__ import annotations

import numpy as np

from mfsim import ops
from mfsim.ir.builder import ProgramBuilder
from mfsim.ir.formats import Format, Scale
from mfsim.ops.softmax.tables import (
    eps_code,
    exp_table,
    log_tables,
    reciprocal_bits,
    softmax_shift_thresholds,
    softmax_table_bits,
    tanh_l1_shift_thresholds,
    tanh_l1_table_bits,
    tanh_table,
)

SOFTMAXES = {"softmax": 2, "softmax_recip": 2, "softmax_shift": 3, "softmax_log": 6}
TANHS = {"tanh_l1": 2, "tanh_l1_shift": 3}


def program(op, shape, exponent=-4, fraction=8, bits=8, gain=1.0, table_bits=None, mask=None, **options):
    """Return the program of `op` on rows of `shape`; `mask` is an array, or the shape of an activation."""
    builder, length = ProgramBuilder(), shape[-1]
    x = builder.input("x", shape, Format(bits), Scale.of(exponent))
    attributes = {"fraction": fraction}
    if op in TANHS:
        table_bits = table_bits or tanh_l1_table_bits(fraction)
        tables = {"tanh_table": tanh_table(exponent, bits, table_bits, gain)}
        attributes["eps"] = eps_code(options.get("eps", 1e-3), table_bits)
        thresholds = tanh_l1_shift_thresholds(table_bits, length)
    else:
        default = 12 if op == "softmax_log" else softmax_table_bits(fraction, length)
        table_bits = table_bits or default
        tables = {"exp_table": exp_table(exponent, bits, table_bits, gain)}
        thresholds = softmax_shift_thresholds(table_bits, length)
    if op.endswith("_shift"):
        tables["thresholds"] = thresholds
    if op == "softmax_recip":
        attributes["reciprocal"] = reciprocal_bits(fraction, table_bits) + options.get("more", 0)
    if op == "softmax_log":
        logs = log_tables(
            exponent, length, fraction, gain, table_bits, options.get("fine_bits"), options.get("mantissa_bits", 8)
        )
        tables |= {name: getattr(logs, name) for name in ("thresholds", "lnk_table", "lnm_table", "out_table")}
        attributes["fine_bits"] = logs.fine.bit_length() - 1
    names = [x, *(builder.constant(name, np.array(codes)) for name, codes in tables.items())]
    if isinstance(mask, tuple):
        names.append(builder.input("mask", mask, Format(1, False)))
    elif mask is not None:
        names.append(builder.constant("mask", mask, Format(1, False)))
    return builder.finish([builder.node(op, names, attributes, name="node", layer="layer")])


def run(made, *codes):
    """Return the codes of the result of a one-node program for codes of its inputs."""
    (node,) = made.nodes
    (output,) = made.outputs_of(node)
    given = dict(zip(made.inputs, codes, strict=True))
    inputs = [given[name] if name in given else np.array(made.tensors[name].codes) for name in node.inputs]
    result = np.empty((len(codes[0]), *output.shape[1:]), dtype=np.int64)
    ops.plain_kernel(node.op)(inputs, node.attributes, [result])
    return result


def rows(count, length, exponent, deviation, bits=8, seed=0):
    """Return codes of `count` rows of normal values, and ties and saturated codes as they come."""
    values = np.random.default_rng(seed).normal(0, deviation, (count, length))
    half = 2 ** (bits - 1)
    return np.clip(np.rint(values * 2.0**-exponent), -half, half - 1).astype(np.int64)

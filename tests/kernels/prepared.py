"""Programs of one product, and the comparison of its fast kernel with the plain one."""

from __future__ import annotations

import numpy as np

from mfsim import ops
from mfsim.ir.builder import ProgramBuilder
from mfsim.ir.formats import Format, Scale
from mfsim.simulate.dispatch import fast_kernel_of
from tests.bits import assert_bit_equal


def prepared(program):
    """Return the fast kernel of the only node, or None."""
    (node,) = program.nodes
    return fast_kernel_of(program, node)


def program_of(op, x, w, attributes=None, bias=False, rng=None):
    """Return a program of one product: `x` is (shape, format, exponent), `w` (codes, exponents) or like x."""
    builder = ProgramBuilder()
    names = [builder.input("x", x[0], x[1], Scale.of(x[2]))]
    if isinstance(w[1], Format):
        names.append(builder.input("w", w[0], w[1], Scale.of(w[2])))
    else:
        axis = 1 if op.endswith("matmul") else 0
        scale = Scale(tuple(w[1]), axis) if len(w[1]) > 1 else Scale.of(w[1][0])
        names.append(builder.constant("w", w[0], Format(8), scale))
        if bias:
            product = op in ("matmul", "conv2d")
            exponents = [x[2] + e if product else min(x[2], e) for e in w[1]]
            start = Scale(tuple(exponents), 0) if len(w[1]) > 1 else Scale.of(exponents[0])
            names.append(builder.constant("b", rng.integers(-500, 500, w[0].shape[axis]), Format(16), start))
    return builder.finish([builder.node(op, names, attributes or {})])


def check(program, rng, batch=3):
    """Compare the fast kernel with the plain one on codes that reach the ends of the inputs."""
    (node,) = program.nodes
    inputs = []
    for name in node.inputs:
        tensor = program.tensors[name]
        if tensor.is_constant:
            inputs.append(np.array(tensor.codes))
            continue
        codes = rng.integers(tensor.range.low, tensor.range.high + 1, (batch, *tensor.shape[1:]))
        where = rng.random(codes.shape)
        inputs.append(
            np.select([where < 0.1, where < 0.2, where < 0.3], [tensor.range.low, tensor.range.high, 0], codes)
        )
    (result,) = program.outputs_of(node)
    plain, fast = (np.empty((batch, *result.shape[1:]), np.int64) for _ in range(2))
    ops.plain_kernel(node.op)(inputs, node.attributes, [plain])
    run = prepared(program)
    assert run is not None, "no fast kernel"
    run(inputs, node.attributes, [fast])
    assert_bit_equal(fast, plain)

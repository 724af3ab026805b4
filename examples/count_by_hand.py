"""Build a small integer program by hand, read its proved words, and count it.

The counts that pencil and paper give for one sample stand beside the ones of `mfsim.count`:
a Walsh-Hadamard transform of 8 codes takes 8 * log2(8) = 24 additions and subtractions; an MF product
with 8 inputs and a bias takes 2 * 8 additions, one negation and one shift for each of its 3 outputs.
"""

from __future__ import annotations

import numpy as np

import mfsim


def main() -> None:
    """Build, show and count the program."""
    builder = mfsim.ProgramBuilder()
    x = builder.input("x", (8,), mfsim.Format(8), mfsim.Scale.of(-7))
    y = builder.node("wht", [x], {"norm": "shift"}, layer="transform")
    y = builder.node("requantize", [y], {"shift": (3,), "bits": 8}, layer="transform")
    weights = np.random.default_rng(0).integers(-7, 8, (8, 3))
    w = builder.constant("w", weights, mfsim.Format(4), mfsim.Scale.of(-6))
    bias = builder.constant("bias", np.array([3, -2, 0]), scale=mfsim.Scale.of(-6))
    y = builder.node("mf_matmul", [y, w, bias], {"form": "ef"}, layer="head")
    program = builder.finish([y])

    for node in program.nodes:
        for tensor in program.outputs_of(node):
            print(f"{node.op:10} {tensor.name:12} word {tensor.format}, range {tensor.range.low}..{tensor.range.high}")

    report = mfsim.strict_multiplication_free(program)
    by_op = report.by_op()
    print("operations of one sample:", report.by_primitive())
    assert by_op["wht"] == {"addsub": 24}
    assert by_op["mf_matmul"]["addsub"] == 3 * 2 * 8
    assert by_op["mf_matmul"]["neg"] == by_op["mf_matmul"]["shift"] == 3


if __name__ == "__main__":
    main()

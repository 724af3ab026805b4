"""The plain kernels on one thread, beside a copy of the same array."""

from __future__ import annotations

import importlib
from collections.abc import Iterator

import numpy as np

from benchmarks.timing import Case
from mfsim.builder import ProgramBuilder
from mfsim.formats import Format, Scale


def kernel_case(
    name: str, op: str, shape: tuple[int, ...], constants: list[np.ndarray], attributes: dict, work: int
) -> Case:
    """Return the case of one op on 8-bit codes; `shape` has the batch in front."""
    builder = ProgramBuilder()
    x = builder.input("x", shape[1:], Format(8), Scale.of(-7))
    names = [x, *(builder.constant("c", codes, Format(8), Scale.of(-7)) for codes in constants)]
    program = builder.finish([builder.node(op, names, attributes)])
    (node,) = program.nodes
    codes = np.random.default_rng(0).integers(-128, 128, shape)
    inputs = [codes, *(np.array(program.tensors[n].codes) for n in node.inputs[1:])]
    outputs = [np.empty((shape[0], *t.shape[1:]), dtype=np.int64) for t in program.outputs_of(node)]
    run = importlib.import_module(f"mfsim.kernels.{op}").run
    return Case(name, lambda: run(inputs, node.attributes, outputs), work, "operations")


def cases() -> Iterator[Case]:
    """Yield the cases."""
    rng = np.random.default_rng(1)
    codes = rng.integers(-128, 128, (1024, 1024))
    target = np.empty_like(codes)
    yield Case("copy of 1 M codes", lambda: np.copyto(target, codes), codes.size, "codes")
    for n in (16, 256, 1024):
        work = codes.size * (n.bit_length() - 1)
        yield kernel_case(f"wht, 1 M codes in blocks of {n}", "wht", (1024, 1024), [], {"block": n}, work)
    weights = rng.integers(-127, 128, (256, 256))
    yield kernel_case("mf_matmul 256x256x256", "mf_matmul", (256, 256), [weights], {}, 2 * 256**3)
    yield kernel_case("matmul 256x256x256", "matmul", (256, 256), [weights], {}, 2 * 256**3)
    filters = rng.integers(-127, 128, (16, 16, 3, 3))
    attributes = {"pads": (1, 1, 1, 1)}
    work = 2 * 32 * 16 * 16 * 16 * 16 * 9
    yield kernel_case("mf_conv2d 32x16x16x16, 3x3", "mf_conv2d", (32, 16, 16, 16), [filters], attributes, work)

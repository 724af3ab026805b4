"""The simulator on the built-in networks: 8 bits, weights as they are made, images of 8 x 8."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from benchmarks.timing import Case
from mfsim.compiler import compile_model
from mfsim.data import load
from mfsim.export import quantized_model
from mfsim.nn import models
from mfsim.program import Program
from mfsim.quant import Recipe, fold, quantize
from mfsim.simulate import quantize_input, simulate

IMAGES = 360


def program_of(name: str) -> Program:
    """Return the integer program of a built-in network."""
    example = torch.zeros(2, 1, 8, 8)
    network = quantize(fold(models.create(name, seed=0), example), Recipe(), load("digits").train.images[:256])
    return compile_model(quantized_model(network, example))


def cases() -> Iterator[Case]:
    """Yield the cases."""
    images = load("digits").test.images[:IMAGES]
    for name in ("mf-mlp", "mf-cnn", "wht-cnn", "dense-cnn"):
        program = program_of(name)
        codes = quantize_input(program, images)
        for threads in (1, 2):
            yield Case(
                f"{name}, {threads} thread{'s' if threads > 1 else ''}",
                lambda program=program, codes=codes, threads=threads: simulate(program, codes, threads=threads),
                IMAGES,
                "images",
            )

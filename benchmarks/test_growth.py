"""Writes the pictures of docs/performance: work of a second by batch, by width and by length, on one thread."""

from __future__ import annotations

from functools import partial

from benchmarks import growth
from benchmarks.networks import images, simulated
from mfsim.kernels import cpu
from mfsim.ops.wht.fast import WHT_ISAS

BATCHES = (1, 2, 4, 8, 16, 32, 64, 128)
WIDTHS = (16, 32, 64, 128, 256, 512, 1024)
ROWS = 1024
LENGTHS = tuple(1 << q for q in range(1, 17))
CODES, SAMPLES = 1 << 16, 8


def test_batch(networks):
    values = images(max(BATCHES))
    runs = {
        name: [partial(simulated, networks(name), values[:count]) for count in BATCHES]
        for name in ("mini-vit", "mf-vit", "wht-cnn", "dense-cnn")
    }
    note = "Images of 3 x 32 x 32, one thread."
    caption = "Images a second by the images of a call"
    growth.draw("batch", caption, note, BATCHES, ("", 1), growth.rates(runs, BATCHES))


def test_width():
    runs = {op: [growth.product(op, width, ROWS) for width in WIDTHS] for op in ("matmul", "mf_matmul", "adder_matmul")}
    work = [ROWS * width * width for width in WIDTHS]
    note = f"{ROWS} rows of 8-bit codes times a square matrix, and requantize; one thread."
    growth.draw("width", "Terms a second of a product by its width", note, WIDTHS, ("G", 1e9), growth.rates(runs, work))


def test_length():
    runs = {
        "simulated, with requantize": [growth.simulated_transform(length, CODES, SAMPLES) for length in LENGTHS],
        "kernel alone in place, int32": [
            growth.transform_alone("int32", length, CODES * SAMPLES) for length in LENGTHS
        ],
        "kernel alone in place, int8": [growth.transform_alone("int8", length, CODES * SAMPLES) for length in LENGTHS],
    }
    note = f"{SAMPLES} x {CODES} codes of 8 bits; one thread, {cpu.best(tuple(WHT_ISAS))}."
    work = [CODES * SAMPLES] * len(LENGTHS)
    growth.draw(
        "length", "Codes a second by the length of their transform", note, LENGTHS, ("G", 1e9), growth.rates(runs, work)
    )

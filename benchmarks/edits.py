"""Time from a model.onnx to the codes of some images, in a process that has nothing yet: `python -m benchmarks.edits FILE IMAGES`."""

from __future__ import annotations

import sys
import time

import numpy as np

from mfsim.compiler import compile_model
from mfsim.simulate import quantize_input, simulate


def main(file: str, images: str) -> None:
    """Print the processor time that compiling `file` and simulating the array in `images` took, in seconds."""
    values = np.load(images)
    start = time.process_time()
    program = compile_model(file)
    simulate(program, quantize_input(program, values), threads=1)
    print(time.process_time() - start)


if __name__ == "__main__":
    main(*sys.argv[1:])

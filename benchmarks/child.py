"""What fresh processes do, started from a program's integer.onnx and without torch.

`python -m benchmarks.child WHAT INTEGER ...`:

- `first INTEGER` prints "done" at the first result, and how many kernels were compiled, not taken from the cache;
- `memory INTEGER IMAGES` prints the peak of its memory, and what inputs and outputs take;
- `network INTEGER MODEL IMAGES` prints the times of mfsim and of ONNX Runtime on model.onnx.
"""

from __future__ import annotations

import json
import pathlib
import re
import sys

import numpy as np
from numba.core import event

from mfsim.serialize.read import read_integer
from mfsim.simulate import Simulator, quantize_input, simulate


def first(integer: str) -> None:
    """Simulate one image."""
    program = read_integer(integer)
    (name,) = program.inputs
    image = np.zeros((1, *program.tensors[name].shape[1:]), np.float32)
    with event.install_recorder("numba:compile") as compiled:
        simulate(program, quantize_input(program, image))
    assert "torch" not in sys.modules
    print("done", len(compiled.buffer) // 2, flush=True)


def peak() -> int:
    """Return the most bytes of memory that this process held; Linux alone tells without those of its parent."""
    found = re.search(r"VmHWM:\s+(\d+) kB", pathlib.Path("/proc/self/status").read_text())
    assert found is not None
    return 1024 * int(found[1])


def memory(integer: str, count: int) -> dict[str, int]:
    """Simulate `count` images of random codes on one thread."""
    program = read_integer(integer)
    (tensor,) = (program.tensors[name] for name in program.inputs)
    shape = (count, *tensor.shape[1:])
    codes = np.random.default_rng(0).integers(tensor.range.low, tensor.range.high + 1, shape, dtype=np.int8)
    output = simulate(program, codes, threads=1).output
    return {"peak": peak(), "data": codes.nbytes + output.nbytes}


def network(integer: str, model: str, count: int) -> dict[str, float]:
    """Time a network on one thread."""
    import time

    import onnx

    from benchmarks.networks import images, session
    from benchmarks.rows import medians

    program, run, values = read_integer(integer), session(onnx.load(model)), images(count)
    simulator = Simulator(program)
    runs = {
        "mfsim": lambda: simulator.run(quantize_input(program, values), threads=1),
        "one file": lambda: run(values),
    }
    return medians(runs, 5, clock=time.process_time)


if __name__ == "__main__":
    if sys.argv[1] == "first":
        first(sys.argv[2])
    elif sys.argv[1] == "memory":
        print(json.dumps(memory(sys.argv[2], int(sys.argv[3]))))
    else:
        print(json.dumps(network(*sys.argv[2:4], int(sys.argv[4]))))
